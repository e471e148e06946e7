"""Mask-token inference: hide a word of the sanitised text and let a masked language model guess it.

The attack of the SanText paper (Yue et al. 2021, section 5.3): each word of the sanitised text in
turn is masked, the model predicts from the words around, and the attacker wins if the prediction is
the *original* word. It ignores the released word itself and the mechanism, both of which a real
attacker has, so it is reported beside two that do not: :mod:`discreet.attacks.bayes` inverts the
mechanism with a public prior, and the *informed* attacker does so with what the language model
expects at that place as the prior. Where a guide reads along, the law that is inverted is the one
at that place, given what was released before it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet import check
from discreet.arrays import Ids, Progress, ragged_places, row_blocks
from discreet.attacks.bayes import best_guesses, guesses_from, says_its_law
from discreet.attacks.inverted import likelihoods_at, originals, reads_on
from discreet.attacks.outcome import Rate
from discreet.devices import array_of, device_of, in_halves, moved
from discreet.errors import InvalidValue
from discreet.models.bert import MaskedModel
from discreet.protocols import WordMechanism
from discreet.text.tokens import TokenBatch
from discreet.training.texts.alignment import IGNORED, PieceTable, padded, piece_table

_AT_ONCE = 64
_WINDOW = 128
"""Words of context, on both sides together."""
_MOST_LIKELIHOODS = 2**27
"""Above so many numbers the law of every released word is too large for the informed attacker."""


@dataclass(frozen=True)
class Target:
    """Text that was released, beside what it was: one released word for every original word.

    Attributes:
        original: The protected text as word ids of the space.
        released: The same positions after the mechanism.
        offsets: Where each document begins.
    """

    original: Ids = field(repr=False)
    released: Ids = field(repr=False)
    offsets: Ids = field(repr=False)

    def __post_init__(self) -> None:
        if not len(self.original) == len(self.released) == self.offsets[-1]:
            raise InvalidValue(
                f"{len(self.original)} original words and {len(self.released)} released words are "
                "not aligned; there must be exactly one for each"
            )

    @classmethod
    def of(cls, batch: TokenBatch, released: ArrayLike) -> "Target":
        """From the tokens of the documents and what a mechanism made of them."""
        return cls(
            batch.ids.astype(np.int64),
            np.asarray(released, dtype=np.int64),
            np.asarray(batch.offsets, dtype=np.int64),
        )


def attacked_positions(
    target: Target, unknown: int | None, most: int | None, rng: np.random.Generator
) -> Ids:
    """Positions to attack: all words that the space knows, or a random sample of them."""
    known = np.flatnonzero(target.original != (-1 if unknown is None else unknown))
    if not len(known):
        raise InvalidValue("the text holds no word that the space knows; there is nothing to guess")
    if most is None or most >= len(known):
        return known
    return np.sort(rng.choice(known, check.whole(most, "words to attack", at_least=1), False))


def infer_masked(
    model: MaskedModel,
    target: Target,
    positions: Ids,
    table: PieceTable,
    *,
    likelihoods: tuple[Ids, NDArray[np.float32]] | None = None,
    progress: Progress | None = None,
) -> tuple[Ids, Ids | None]:
    """Mask each position in turn and predict it from the sanitised words around it.

    A word is masked as ONE piece, because how many pieces the original had is what the attacker
    does not know; a word that the model writes in several pieces is then never guessed.

    Args:
        model: A masked language model with a trained head.
        target: The text.
        positions: What to attack.
        table: The words of the space as pieces of the model.
        likelihoods: From :func:`discreet.attacks.bayes.log_likelihoods` for the released words at
            the positions, for the informed attacker.
        progress: Called with (done, total).

    Returns:
        the guesses from the context alone, as pieces of the model; and those of the informed
        attacker, as words of the space, which is made of the same pieces.
    """
    import torch

    if not model.has_head:
        raise InvalidValue(
            "this model has no head that predicts words; train one with: discreet train pretrain"
        )
    guess = np.empty(len(positions), dtype=np.int64)
    informed = None if likelihoods is None else np.empty(len(positions), dtype=np.int64)
    done = 0
    for chosen, rows in _masked_rows(model, target, positions, table):
        row_of = np.arange(len(chosen))
        with torch.inference_mode():
            scores = torch.cat(in_halves(partial(_scores, model, rows), row_of, "a text"))
            scores.index_fill_(1, moved(np.array(model.marks), scores.device), -torch.inf)
            guess[chosen] = array_of(scores.argmax(dim=1))
            if informed is not None and likelihoods is not None:
                place, logs = likelihoods
                beliefs = array_of(torch.log_softmax(scores, dim=1))
                informed[chosen] = (beliefs + logs[place[chosen]]).argmax(axis=1)
        done += len(chosen)
        if progress is not None:
            progress(done, len(positions))
    return guess, informed


def _scores(model: MaskedModel, rows: Any, some: Ids) -> Any:
    """Scores of all pieces at the masked place of some rows."""
    device = device_of(model.network)
    return model.scores(
        moved(rows.inputs[some], device),
        moved(rows.attention[some], device),
        moved(rows.targets[some] != IGNORED, device),
    )


def _masked_rows(
    model: MaskedModel, target: Target, positions: Ids, table: PieceTable
) -> Iterator[tuple[Ids, Any]]:
    """Batches of positions (by their number), each as a text of its own with one mask in it."""
    # However many pieces the words have, the row is never so long that the mask is cut off.
    window = max(1, min(_WINDOW, (model.longest - 2) // int(table.counts.max())))
    document = np.searchsorted(target.offsets, positions, side="right") - 1
    begin, end = target.offsets[document], target.offsets[document + 1]
    # The window is moved, not cut, where the document begins or ends.
    first = np.clip(positions - window // 2, begin, np.maximum(begin, end - window))
    length = np.minimum(end - first, window)
    order = np.argsort(length, kind="stable")
    for part in row_blocks(len(order), numbers=_AT_ONCE):
        chosen = order[part]
        place, row = ragged_places(first[chosen], length[chosen])
        pieces, owner = table.spread(target.released[place])
        hidden = place[owner] == positions[chosen][row[owner]]
        # One mask for the word: its other pieces go.
        kept = ~hidden | np.r_[True, owner[1:] != owner[:-1]]
        shown = np.where(hidden, model.marks.mask, pieces)[kept]
        wanted = np.where(hidden, model.marks.mask, IGNORED)[kept]
        whose = row[owner][kept]
        yield chosen, padded(shown, wanted, whose, len(chosen), model.marks, model.longest)


@dataclass(frozen=True)
class AttackReport:
    """How often each attacker named the original word.

    Attributes:
        words: Words attacked.
        sensitive_words: How many of them are sensitive.
        success: By attacker, the success rate over all words.
        sensitive: The same over sensitive words; empty if there are none.
        unguessable: Words that the masked language model cannot name, being several pieces.
        behind: Attackers that did worse than always naming the commonest word, whose rate
            stands in for theirs.
        simulated: Whether the mechanism's law has no formula and was inverted by simulation.
    """

    words: int
    sensitive_words: int
    success: dict[str, Rate]
    sensitive: dict[str, Rate]
    unguessable: int
    behind: tuple[str, ...] = ()
    simulated: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON: defence rates and their intervals."""
        return {
            "words": self.words,
            "sensitive_words": self.sensitive_words,
            "unguessable": self.unguessable,
            "behind_chance": list(self.behind),
            "simulated": self.simulated,
            "defence": {name: rate.other.to_dict() for name, rate in self.success.items()},
            "sensitive_defence": {n: rate.other.to_dict() for n, rate in self.sensitive.items()},
        }

    def lines(self) -> list[str]:
        """A table of defence rates."""
        width = max(len(ATTACKERS[name]) for name in self.success)
        head = f"{'defence rate (95 % interval)':<{width}}  all {self.words:,} words"
        out = [f"{head:<{width + 28}}  {self.sensitive_words:,} sensitive words"]
        for name, rate in self.success.items():
            rare = str(self.sensitive[name].other) if self.sensitive else ""
            out.append(f"{ATTACKERS[name]:<{width}}  {rate.other!s:<26}  {rare}".rstrip())
        several = "words are several pieces of the model, which it cannot name."
        if self.unguessable:
            out.append(f"{self.unguessable:,} {several}")
        if self.simulated:
            out.append(
                "The law of this mechanism has no formula: it was inverted by simulation, and a "
                "longer one may find a little more."
            )
        out += [
            f"Worse than the commonest word, whose rate stands in for it: {ATTACKERS[name]}."
            for name in self.behind
        ]
        return out


ATTACKERS = {
    "mask": "masked language model, from the words around",
    "bayes": "the mechanism inverted, with a public prior",
    "informed": "both: inverted, with the model's belief as prior",
    "unprotected": "masked language model, text not sanitised",
    "chance": "always the commonest word",
}


def attack_words(
    mechanism: WordMechanism,
    target: Target,
    *,
    model: MaskedModel | None,
    prior: ArrayLike,
    sensitive: ArrayLike | None = None,
    most: int | None = 2000,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> AttackReport:
    """Run every attacker on the same words.

    Args:
        mechanism: What released the text.
        target: The text, with its originals.
        model: A masked language model with a head; None runs the others only.
        prior: Public prior over the words of the space.
        sensitive: Ids of sensitive words, for the second column.
        most: Attack a random sample of so many words; None attacks all.
        rng: Draws the sample.
        progress: Called with (done, total).
    """
    unknown = mechanism.space.unknown
    positions = attacked_positions(target, unknown, most, rng)
    truth, seen = target.original[positions], target.released[positions]
    weights = np.array(prior, dtype=np.float64)
    if unknown is not None:
        weights[unknown] = 0.0  # it is never attacked, so an attacker does not guess it
    hits: dict[str, NDArray[np.bool_]] = {}
    unguessable, likelihoods = 0, None
    if model is not None:
        table = piece_table(mechanism.space, model)
        word = table.single[truth]
        unguessable = int((word < 0).sum())
        rows = len(positions) if reads_on(mechanism) else len(np.unique(seen))
        small = rows * len(mechanism.space) <= _MOST_LIKELIHOODS
        if model.shares_pieces(mechanism.space) and small:
            likelihoods = likelihoods_at(
                mechanism, target.released, target.offsets, positions, weights, rng=rng
            )
        guesses, informed = infer_masked(
            model, target, positions, table, likelihoods=likelihoods, progress=progress
        )
        bare = Target(target.original, target.original, target.offsets)
        plain, _ = infer_masked(model, bare, positions, table, progress=progress)
        hits["mask"], hits["unprotected"] = guesses == word, plain == word
        if informed is not None:
            hits["informed"] = informed == truth
    if likelihoods is None and reads_on(mechanism):
        # Only what is attacked is inverted; the law at a place reads all that came before it.
        elsewhere = np.ones(len(target.released), np.bool_)
        elsewhere[positions] = False
        inverted = originals(
            mechanism, target.released, target.offsets, weights, passed=elsewhere, keep=1
        )
        hits["bayes"] = inverted.best()[positions] == truth
    elif likelihoods is None:
        guessed = best_guesses(mechanism, seen, weights, rng=rng, progress=progress)
        hits["bayes"] = guessed == truth
    else:
        hits["bayes"] = guesses_from(*likelihoods, weights) == truth
    hits["chance"] = truth == int(np.argmax(weights))
    rare = np.isin(truth, [] if sensitive is None else np.asarray(sensitive))
    every, behind = _at_least_constant(hits)
    sensitive_rates: dict[str, Rate] = {}
    if rare.any():
        sensitive_rates, _ = _at_least_constant({name: hit[rare] for name, hit in hits.items()})
    return AttackReport(
        words=len(positions),
        sensitive_words=int(rare.sum()),
        success=every,
        sensitive=sensitive_rates,
        unguessable=unguessable,
        behind=behind,
        simulated=not says_its_law(mechanism),
    )


def _at_least_constant(
    hits: Mapping[str, NDArray[np.bool_]],
) -> tuple[dict[str, Rate], tuple[str, ...]]:
    """The success of each attacker, and who did worse than a constant guess.

    An attacker who knows that may as well make it. A figure below it would make a mechanism look
    better than it is, so the constant guess takes its place.
    """
    rates = {name: Rate.of(hits[name]) for name in ATTACKERS if name in hits}
    constant = rates["chance"]
    behind = tuple(name for name, rate in rates.items() if rate.value < constant.value)
    return {n: constant if n in behind else rate for n, rate in rates.items()}, behind
