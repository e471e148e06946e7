"""A denoising rewriter: reads released words, writes the words that were probably meant.

It is a function of the release alone, trained on public text, so it costs no privacy. It is also
what an attacker would build: what it restores shows what somebody may learn from the release, all
of it within the statement of the mechanism.

Every position of the output belongs to one position of the release. At each the network scores the
words of the public text it was trained on, and the released word itself: a word that it never
learnt is not replaced by force.
"""

import hashlib
import inspect
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Ids, Progress, ragged_places, row_blocks
from discreet.devices import AUTO, array_of, device_of, find_device, moved, room_for
from discreet.errors import InvalidValue, needs_extra, read_as
from discreet.models.bert import network_of
from discreet.tensors import load_tensors, save_tensors
from discreet.text.tokens import TokenBatch

with needs_extra("a rewriter", "train"):
    import torch
    from torch import Tensor, nn

KIND = "rewriter"
WINDOW = 128
"""Longer documents are read in pieces of so many words."""


class BiLSTM(nn.Module):
    """One bidirectional LSTM over the vectors of the released words."""

    kind = "bilstm"

    def __init__(self, dimension: int, *, hidden: int, dropout: float = 0.3) -> None:
        super().__init__()
        self.width = 2 * hidden
        self.settings: dict[str, Any] = {"hidden": hidden, "dropout": dropout}
        self.before = nn.Dropout(dropout)
        self.lstm = nn.LSTM(dimension, hidden, batch_first=True, bidirectional=True)
        self.after = nn.Dropout(dropout)

    def forward(self, _released: Tensor, vectors: Tensor) -> Tensor:
        """Vectors ``(texts, words, dimension)`` to states ``(texts, words, width)``."""
        states: Tensor = self.after(self.lstm(self.before(vectors))[0])
        return states


class MaskedBody(nn.Module):
    """The layers of a BERT-style model, which reads every released word at once.

    Args:
        config: The model's configuration.
        table: For each word of the space what the model reads: the mean of its pieces' embeddings.
        ends: The embeddings of the marks before and after a text.
        model: The model with its weights; a fresh one if they are to be loaded afterwards.
        weights: How many there are to be loaded.
    """

    kind = "masked"
    table: Tensor
    ends: Tensor

    def __init__(
        self,
        config: dict[str, Any],
        table: Tensor,
        ends: Tensor,
        model: Any = None,
        weights: int = 0,
    ) -> None:
        super().__init__()
        self.settings: dict[str, Any] = {"config": config}
        self.width = int(table.shape[1])
        self.register_buffer("table", table)
        self.register_buffer("ends", ends)
        if model is None:
            model = network_of(config, weights)
        # Its own token matrix is not used: most of the file would be that.
        model.set_input_embeddings(nn.Embedding(1, self.width))
        if hasattr(model, "pooler"):
            model.pooler = None
        self.model = model

    def forward(self, released: Tensor, _vectors: Tensor) -> Tensor:
        """Ids ``(texts, words)`` to states ``(texts, words, width)``."""
        ends = self.ends[:, None, None].expand(2, len(released), 1, self.width)
        inputs = torch.cat([ends[0], self.table[released], ends[1]], dim=1)
        states: Tensor = self.model(inputs_embeds=inputs).last_hidden_state
        return states[:, 1:-1]


class RewriterNetwork(nn.Module):
    """Scores of every word that may be written, at every position.

    Where y was released, word x scores ``(query + own(v_y)) . w_x + b_x``: what the neighbours
    tell, how near x is to y, and how frequent x is. It starts with a multiple of ``v_y . v_x`` and
    the logarithm of the public frequency, which is about Bayes' rule for a word on its own, and
    learns the rest.

    Args:
        vectors: A vector for every word of the space, in which the mechanism's noise is measured.
        candidates: Ids of the words that may be written, besides the released one itself.
        body: What reads the release.
        unknown: The word that is never written.
    """

    vectors: Tensor
    candidates: Tensor
    leavable: Tensor

    def __init__(
        self,
        vectors: Tensor,
        candidates: Tensor,
        body: BiLSTM | MaskedBody,
        unknown: int | None,
    ) -> None:
        super().__init__()
        words, dimension = vectors.shape
        self.body = body
        self.unknown = unknown
        self.register_buffer("vectors", vectors)
        self.register_buffer("candidates", candidates)
        leavable = torch.ones(words, dtype=torch.bool)
        leavable[candidates] = False  # such a word is written as the candidate that it is
        if unknown is not None:
            leavable[unknown] = False
        self.register_buffer("leavable", leavable, persistent=False)
        self.query = nn.Linear(body.width, dimension)
        self.own = nn.Linear(dimension, dimension, bias=False)
        self.output = nn.Parameter(vectors[candidates].clone())
        self.bias = nn.Parameter(torch.zeros(len(candidates)))
        self.rare = nn.Parameter(torch.zeros(()))
        """The bias of every word that is no candidate."""

    def start(self, frequencies: Tensor, rare: float, closeness: float) -> None:
        """Begin near Bayes' rule for a word on its own.

        Args:
            frequencies: Of each candidate in the public text, above 0.
            rare: Of any one word that is no candidate.
            closeness: How much it counts that a word is near the released one.
        """
        with torch.no_grad():
            self.query.weight.mul_(0.1)
            self.query.bias.zero_()
            torch.nn.init.eye_(self.own.weight).mul_(closeness)
            self.bias.copy_(frequencies.log())
            self.rare.fill_(float(np.log(rare)))

    def forward(self, released: Tensor) -> Tensor:
        """``(texts, words)`` ids to ``(texts, words, candidates + 1)`` scores; last: leave it."""
        vectors = self.vectors[released]
        wanted = self.query(self.body(released, vectors)) + self.own(vectors)
        scores = wanted @ self.output.T + self.bias
        leave = (wanted * vectors).sum(dim=-1) + self.rare
        leave = leave.masked_fill(~self.leavable[released], -torch.inf)
        return torch.cat([scores, leave[..., None]], dim=-1)


@dataclass(frozen=True)
class Rewriter:
    """A trained network with what it was trained for; ``train_rewriter`` makes one.

    Attributes:
        network: The scores.
        mechanism: What :func:`described` says of the mechanism whose noise it has seen.
        about: Settings, public text and figures, ready for JSON.
    """

    network: RewriterNetwork = field(repr=False)
    mechanism: dict[str, Any]
    about: dict[str, Any]

    def rewrite(self, released: TokenBatch, progress: Progress | None = None) -> TokenBatch:
        """The words that were probably meant, one for each released word.

        Privacy: a function of the release alone, so the mechanism's statement holds for the result.

        Args:
            released: What the mechanism released, document by document.
            progress: Called with (done, total) words.
        """
        words = len(self.network.vectors)
        ids = released.ids.astype(np.int64)
        if len(ids) and (ids.min() < 0 or ids.max() >= words):
            raise InvalidValue(f"released ids must be whole numbers from 0 to {words - 1}")
        out = ids.copy()
        candidates, device = array_of(self.network.candidates), device_of(self.network)
        self.network.eval()
        done = 0
        with torch.inference_mode():
            # One piece at a time: beside others its scores would differ in the last bits, and what
            # stands beside it depends on how long the unreleased texts were.
            for places in windows(released.offsets, 1):
                best = array_of(self.network(moved(ids[places], device)).argmax(dim=-1))
                known = best < len(candidates)
                out[places[known]] = candidates[best[known]]
                done += places.size
                if progress is not None:
                    progress(done, len(ids))
        return TokenBatch(out.astype(released.ids.dtype), released.offsets)

    def require(self, mechanism: Any) -> None:
        """Refuse a mechanism whose noise it has not been trained on."""
        wanted = described(mechanism)
        if wanted == self.mechanism:
            return
        if wanted["space"] != self.mechanism.get("space"):
            raise InvalidValue(
                "this rewriter was trained for another space of words; train one for this space, "
                "or use the space it was trained for"
            )
        raise InvalidValue(
            f"this rewriter was trained for {_said(self.mechanism)}, not for {_said(wanted)}; "
            "train one for this setting, or use the one it was trained for"
        )

    def save(self, path: Path, *, force: bool = False) -> None:
        """Write it as safetensors, with the mechanism that it is for."""
        body = self.network.body
        arrays = {name: array_of(value) for name, value in self.network.state_dict().items()}
        about = {
            "mechanism": self.mechanism,
            "body": body.kind,
            "settings": body.settings,
            "unknown": self.network.unknown,
            "about": self.about,
        }
        save_tensors(path, KIND, arrays, about, force=force)

    @classmethod
    def load(cls, path: Path, *, device: str = AUTO) -> "Rewriter":
        """Read what :meth:`save` wrote, onto a device."""
        where = find_device(device)
        arrays, about = load_tensors(path, KIND)
        with read_as(f"{path} does not hold a whole rewriter; train it again"):
            state = {name: torch.from_numpy(array.copy()) for name, array in arrays.items()}
            with torch.device("meta"):  # a network of the wrong size is never in memory
                sizes = {n: w.shape for n, w in _network(state, about).state_dict().items()}
            # In a file a single number is a list of one.
            wanted = {name: tuple(size) or (1,) for name, size in sizes.items()}
            if wanted != {name: array.shape for name, array in arrays.items()}:
                raise ValueError("the weights and the settings differ")
            network = _network(state, about)
            network.load_state_dict(state)
            mechanism, made = about["mechanism"], about["about"]
            if not (isinstance(mechanism, dict) and isinstance(made, dict)):
                raise TypeError("the description is no object")
            with room_for("the rewriter", "use --device cpu"):
                return cls(network.eval().to(where), mechanism, made)


def _network(state: dict[str, Tensor], about: dict[str, Any]) -> RewriterNetwork:
    """The network that a file says it holds, with weights of chance."""
    kind, settings = about["body"], about["settings"]
    body: BiLSTM | MaskedBody
    if kind == MaskedBody.kind:
        ends = state["body.ends"]
        body = MaskedBody(settings["config"], state["body.table"], ends, weights=len(state))
    elif kind == BiLSTM.kind:
        body = BiLSTM(state["vectors"].shape[1], **settings)
    else:
        raise ValueError("an unknown kind of network")
    return RewriterNetwork(state["vectors"], state["candidates"], body, about["unknown"])


def described(mechanism: Any) -> dict[str, Any]:
    """A word mechanism in words and numbers: two that say the same have the same law.

    >>> from discreet.spaces.space import EmbeddingSpace
    >>> from discreet.mechanisms.word import SanText
    >>> space = EmbeddingSpace.from_arrays(["tea", "cup"], [[0.0], [1.0]])
    >>> said = described(SanText(space, epsilon=2.0))
    >>> said["name"], said["parameters"]
    ('santext', {'epsilon': 2.0, 'calibration': 'certified'})
    """
    accepted = inspect.signature(type(mechanism)).parameters
    given = {name: getattr(mechanism, name, None) for name in accepted}
    plain = {k: v for k, v in given.items() if isinstance(v, bool | int | float | str)}
    sensitive = getattr(mechanism, "sensitive", None)
    if sensitive is not None:
        listed = np.sort(np.asarray(sensitive, dtype="<i8"))
        plain["sensitive"] = hashlib.sha256(listed.tobytes()).hexdigest()
    return {"name": mechanism.name, "parameters": plain, "space": mechanism.space.fingerprint}


def windows(
    offsets: NDArray[np.int64], tokens: int, rng: np.random.Generator | None = None
) -> Iterator[Ids]:
    """Positions of the words of some documents as ``(texts, words)`` arrays, without padding.

    Pieces of one length go together, so that no padding has to be kept apart from words.

    Args:
        offsets: Where each document begins, and where the last ends.
        tokens: How many words go into an array at most, or one piece.
        rng: Shuffles the pieces and the arrays; None keeps them in order of length.
    """
    sizes = np.diff(offsets)
    within, owner = ragged_places(np.zeros_like(sizes), -(-sizes // WINDOW))
    starts = offsets[:-1][owner] + within * WINDOW
    lengths = np.minimum(WINDOW, offsets[1:][owner] - starts)
    order = np.arange(len(starts)) if rng is None else rng.permutation(len(starts))
    order = order[np.argsort(lengths[order], kind="stable")]
    _, first = np.unique(lengths[order], return_index=True)
    groups: list[Ids] = []
    for alike in np.split(order, first[1:]):
        length = int(lengths[alike].max(initial=0))
        groups += [alike[part] for part in row_blocks(len(alike), length, numbers=tokens)]
    for number in range(len(groups)) if rng is None else rng.permutation(len(groups)):
        chosen = groups[number]
        yield starts[chosen][:, None] + np.arange(lengths[chosen[0]])


def _said(mechanism: dict[str, Any]) -> str:
    parameters = mechanism.get("parameters", {})
    shown = ", ".join(f"{k} {v}" for k, v in parameters.items() if k != "sensitive")
    return f"{mechanism.get('name')} ({shown})"
