"""Which attribute does a released vector give away? A small network learns it from public examples.

The attacker has public sentences with the attribute, whose vectors went through the same mechanism,
and trains a network of three layers on them.

Paper: Song and Raghunathan, "Information Leakage in Embedding Models", CCS 2020, as used by Du et
al., WWW 2023. Where we differ: training stops when held-out public examples say so, so that noise
is not learnt by heart and the attack is not weaker than it need be.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from discreet.arrays import Floats32, Ids
from discreet.attacks.outcome import AttackOutcome, Estimate, share
from discreet.attacks.public_halves import checked_halves
from discreet.devices import AUTO, array_of, find_device, in_halves, moved, own_chance, room_for
from discreet.errors import InvalidValue, needs_extra

_HELD_OUT = 5
_WIDTH = 128
_EPOCHS, _PATIENCE = 200, 10
_BATCH = 128


def attribute_attack(
    auxiliary: ArrayLike,
    auxiliary_attributes: Sequence[str],
    targets: ArrayLike,
    target_attributes: Sequence[str],
    *,
    unprotected: tuple[ArrayLike, ArrayLike] | None = None,
    seed: int = 0,
    device: str = AUTO,
) -> list[AttackOutcome]:
    """The share of targets whose attribute is found; chance names the commonest one of all.

    Args:
        auxiliary: Released vectors of the attacker's public examples.
        auxiliary_attributes: Their attributes.
        targets: Released vectors under attack.
        target_attributes: Their attributes; only to measure.
        unprotected: The vectors of both, without noise.
        seed: For the network and the held-out examples.
        device: Where the network is trained, see :func:`discreet.devices.find_device`.
    """
    where = find_device(device)
    names = sorted(set(auxiliary_attributes))
    if len(names) < 2:
        raise InvalidValue(
            f"an attribute attack needs at least 2 different attributes; got {len(names)}"
        )
    places = {name: index for index, name in enumerate(names)}
    known = np.array([places[name] for name in auxiliary_attributes])
    truth = np.array([places.get(name, -1) for name in target_attributes])  # -1 is never guessed

    def attacked(learnt_from: ArrayLike, under_attack: ArrayLike) -> Estimate:
        checked = checked_halves(
            learnt_from, known, under_attack, truth, ("an attribute", "attribute")
        )
        seen, hidden = (rows.astype(np.float32) for rows in checked)
        centre, spread = seen.mean(axis=0), seen.std(axis=0) + 1e-6
        standard = (seen - centre) / spread, (hidden - centre) / spread
        return share(_learnt(standard[0], known, standard[1], len(names), seed, where) == truth)

    success = attacked(auxiliary, targets)
    chance = float((truth == np.bincount(known).argmax()).mean())
    base = None if unprotected is None else attacked(*unprotected)
    measure = f"accuracy among {len(names)} attributes"
    return [AttackOutcome("attribute inference", measure, success, chance, base, len(truth))]


def _learnt(
    vectors: Floats32, classes_of: Ids, targets: Floats32, classes: int, seed: int, device: str
) -> Ids:
    """The classes that a network trained on the first predicts for the second."""
    with needs_extra("an attribute attack", "encoder"):
        import torch
        from torch import nn

    memory = room_for("an attribute attack on so many vectors", "use fewer, or --device cpu")
    with own_chance(device), memory:
        torch.manual_seed(seed)
        network = nn.Sequential(
            nn.Linear(vectors.shape[1], _WIDTH),
            nn.ReLU(),
            nn.Linear(_WIDTH, _WIDTH),
            nn.ReLU(),
            nn.Linear(_WIDTH, classes),
        ).to(device)
        order = torch.randperm(len(vectors)).to(device)
        held, rest = order[: len(order) // _HELD_OUT], order[len(order) // _HELD_OUT :]
        rows, labels = moved(vectors, device), moved(classes_of, device)
        loss = nn.CrossEntropyLoss()
        optimiser = torch.optim.AdamW(network.parameters(), lr=1e-3, weight_decay=1e-2)
        best, waited = float("inf"), 0
        kept: dict[str, Any] = {}
        for _ in range(_EPOCHS):
            for part in torch.split(rest[torch.randperm(len(rest)).to(device)], _BATCH):
                optimiser.zero_grad()
                loss(network(rows[part]), labels[part]).backward()
                optimiser.step()
            with torch.inference_mode():
                now = float(loss(network(rows[held]), labels[held]))
            if now < best:
                best, waited = now, 0
                kept = {name: value.clone() for name, value in network.state_dict().items()}
            else:
                waited += 1
                if waited == _PATIENCE:
                    break
        network.load_state_dict(kept)

        def guessed(some: Floats32) -> Ids:
            return array_of(network(moved(some, device)).argmax(dim=1))

        with torch.inference_mode():
            return np.concatenate(in_halves(guessed, targets, "a vector"))
