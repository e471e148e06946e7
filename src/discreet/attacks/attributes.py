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
from numpy.typing import ArrayLike, NDArray

from discreet.attacks.outcome import Estimate, Outcome, share
from discreet.errors import InvalidValue, MissingExtra

_FEWEST = 20
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
) -> Outcome:
    """The share of targets whose attribute is found; chance names the commonest one of all.

    Args:
        auxiliary: Released vectors of the attacker's public examples.
        auxiliary_attributes: Their attributes.
        targets: Released vectors under attack.
        target_attributes: Their attributes; only to measure.
        unprotected: The vectors of both, without noise.
        seed: Of the network and of the held-out examples.
    """
    names = sorted(set(auxiliary_attributes))
    if len(names) < 2:
        raise InvalidValue(
            f"an attribute attack needs at least 2 different attributes; got {len(names)}"
        )
    places = {name: index for index, name in enumerate(names)}
    known = np.array([places[name] for name in auxiliary_attributes])
    truth = np.array([places.get(name, -1) for name in target_attributes])  # -1 is never guessed
    if len(known) < _FEWEST or not len(truth):
        raise InvalidValue(
            f"an attribute attack needs at least {_FEWEST} public examples and a target; "
            f"got {len(known)} and {len(truth)}"
        )
    success = _attacked(auxiliary, known, targets, truth, len(names), seed)
    base = None
    if unprotected is not None:
        base = _attacked(unprotected[0], known, unprotected[1], truth, len(names), seed)
    commonest = int(np.bincount(known).argmax())
    return Outcome(
        "attribute inference",
        f"accuracy among {len(names)} attributes",
        success,
        float((truth == commonest).mean()),
        base,
        len(truth),
    )


def _attacked(
    auxiliary: ArrayLike,
    known: NDArray[np.int64],
    targets: ArrayLike,
    truth: NDArray[np.int64],
    classes: int,
    seed: int,
) -> Estimate:
    seen, hidden = (np.asarray(x, dtype=np.float32) for x in (auxiliary, targets))
    if seen.ndim != 2 or hidden.ndim != 2 or seen.shape[1] != hidden.shape[1]:
        raise InvalidValue("auxiliary and target vectors must be rows of one length")
    if (len(seen), len(hidden)) != (len(known), len(truth)):
        raise InvalidValue("an attribute attack needs an attribute for each vector")
    centre, spread = seen.mean(axis=0), seen.std(axis=0) + 1e-6
    guesses = _learnt((seen - centre) / spread, known, (hidden - centre) / spread, classes, seed)
    return share(guesses == truth)


def _learnt(
    vectors: NDArray[np.float32],
    classes_of: NDArray[np.int64],
    targets: NDArray[np.float32],
    classes: int,
    seed: int,
) -> NDArray[np.int64]:
    """The classes that a network trained on the first predicts for the second."""
    try:
        import torch
    except ImportError as error:
        raise MissingExtra("an attribute attack", "encoder") from error
    from torch import nn

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = nn.Sequential(
            nn.Linear(vectors.shape[1], _WIDTH),
            nn.ReLU(),
            nn.Linear(_WIDTH, _WIDTH),
            nn.ReLU(),
            nn.Linear(_WIDTH, classes),
        )
        order = torch.randperm(len(vectors))
        held, rest = order[: len(order) // _HELD_OUT], order[len(order) // _HELD_OUT :]
        rows, labels = torch.from_numpy(vectors), torch.from_numpy(classes_of)
        loss = nn.CrossEntropyLoss()
        optimiser = torch.optim.AdamW(network.parameters(), lr=1e-3, weight_decay=1e-2)
        best, waited = float("inf"), 0
        kept: dict[str, Any] = {}
        for _ in range(_EPOCHS):
            for part in torch.split(rest[torch.randperm(len(rest))], _BATCH):
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
        with torch.inference_mode():
            found: NDArray[np.int64] = network(torch.from_numpy(targets)).argmax(dim=1).numpy()
    return found
