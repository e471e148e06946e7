"""Which way of releasing fits: a short tree of questions, and trials on PUBLIC text.

The tree asks what the recipient does with the texts and who the recipient is. Where the answer
depends on figures, they are measured on a public sample of the same kind: what each setting leaves
of the use, and what the best attacker still names. A setting is recommended only if it fulfils both
wishes. If none does, the advice is not to release.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from discreet.arrays import Floats, Ids, Progress
from discreet.attacks.word_attack import WordAttack
from discreet.encoders.maps import PublicMap
from discreet.errors import InvalidValue
from discreet.evaluation.bag_of_words import accuracy_of_words
from discreet.evaluation.question import Question
from discreet.mechanisms.registry import find
from discreet.mechanisms.sphere import unit_rows, units_or_zeros
from discreet.release.search_quality import neighbours_kept
from discreet.spaces.space import EmbeddingSpace
from discreet.text.tokens import TokenBatch, tokenizer_for

LEAST_USE = 0.5
"""How much of the use must be left: from 0, as good as noise, to 1, as good as the texts."""

WAYS = {
    "train": "Train on the raw texts with a guarantee for users and what they mention; no text "
    "goes out.",
    "redact": "Replace identifiers and numbers by surrogates and leave the words that the "
    "vocabulary has. This is not differential privacy: whoever knows the story still knows the "
    "person.",
    "sanitise": "Replace every word by a private draw.",
    "vectors": "Release a private vector for each text, and no text.",
    "nothing": "Do not release. No setting that was tried leaves enough of the use at the "
    "protection asked for.",
}
_COMMANDS = {
    "train": "discreet train user-entity --help",
    "redact": "discreet sanitize IN.csv -o OUT.csv -m santext --space {space} --identifiers rules "
    "--layout public --epsilon 60 --yes-weak{fields} --drop-others",
    "sanitise": "discreet sanitize IN.csv -o OUT.csv -m {trial.mechanism} --epsilon "
    "{trial.epsilon:g} --space {space} --identifiers rules{fields} --drop-others",
    "vectors": "discreet embed IN.csv -o OUT.parquet -m {trial.mechanism} --epsilon "
    "{trial.epsilon:g} --dim {trial.dimension}{fields}",
}

_WORD_SETTINGS = (
    *(("near-words", epsilon) for epsilon in (6.0, 8.0, 10.0, 12.0)),
    *(("santext", epsilon) for epsilon in (6.5, 7.5)),
)
_VECTOR_SETTINGS = ((16, 10.0), (16, 50.0), (64, 50.0), (64, 200.0))
_TEXTS = "texts out of a list that he has"
# Two standard deviations of a share, times the root of how many it is of: at most 1.
_CLEAR = 1.0
# One half of the sample is what the attackers know, and they need 20 texts.
_FEWEST_TEXTS, _FEWEST_WORDS = 40, 200
_MOST_TEXTS, _MOST_WORDS = 1000, 1500
_MOST_OF_SPACE = 30_000


@dataclass(frozen=True)
class Trial:
    """What one setting is worth on the public sample."""

    mechanism: str
    epsilon: float
    use: float
    """From 0, as good as noise, to 1, as good as the texts themselves."""
    measured: str
    """What the use was measured by, in words with its figures."""
    named: float
    """What the best attacker names, or recovers, as a share."""
    guessing: float
    """The same for whoever has not seen the release."""
    things: str = "words"
    """What is named."""
    dimension: int | None = None
    """Of vectors."""

    def line(self) -> str:
        """In plain words."""
        return (
            f"{self.setting}: {self.measured}; {self.success} "
            f"({100 * self.guessing:.2g} by guessing)"
        )

    @property
    def setting(self) -> str:
        """What was tried, in words."""
        where = "" if self.dimension is None else f" in {self.dimension} dimensions"
        return f"{self.mechanism} at epsilon {self.epsilon:g}{where}"

    @property
    def success(self) -> str:
        """What the best attacker reaches, in words."""
        return f"the best attacker names {100 * self.named:.0f} of 100 {self.things}"


@dataclass(frozen=True)
class Advice:
    """A way, why, what was tried, and the command to run."""

    way: str
    why: tuple[str, ...]
    command: str
    chosen: Trial | None = None
    trials: tuple[Trial, ...] = ()

    def lines(self) -> list[str]:
        """In plain words."""
        what = WAYS[self.way]
        if self.chosen is not None:
            what += f" Use {self.chosen.setting}."
        out = [f"Recommendation: {what}", *self.why]
        if self.trials:
            out += ["", "Tried on the public sample:"]
            out += [f"  {'>' if t == self.chosen else ' '} {t.line()}" for t in self.trials]
        return [*out, "", "Run:", f"  {self.command}"] if self.command else out

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self) | {"what": WAYS[self.way]}


def advise(
    question: Question,
    space: EmbeddingSpace,
    *,
    embedded: Callable[[Sequence[str]], Any] | None = None,
    progress: Progress | None = None,
) -> Advice:
    """Answer from the tree, with trials on the public sample where the answer depends on them.

    Args:
        question: What for, for whom, and public text of the same kind.
        space: The vocabulary that words would come from.
        embedded: Makes vectors of public texts, for the purpose ``search``.
        progress: Called with (trials done, of how many).
    """
    if question.purpose == "model":
        return Advice("train", _TRAIN, _COMMANDS["train"])
    if question.recipient == "colleagues":
        why = (_REDACT, _LEFT_IN_PIECES if space.subwords else _LEFT, *_unknown(question, space))
        command = _COMMANDS["redact"].format(space=space.name, fields=question.fields)
        return Advice("redact", why, command)
    if question.purpose == "search":
        if embedded is None:
            raise InvalidValue("advice on search needs an encoder of texts")
        trials = _vector_trials(question, embedded, progress)
    else:
        trials = _word_trials(question, space, progress)
    good = [t for t in trials if t.named <= question.limit and t.use >= LEAST_USE]
    if not good:
        return Advice("nothing", _why_nothing(question, trials), "", None, tuple(trials))
    # Of settings that are useful enough, the one that gives least away.
    chosen = min(good, key=lambda trial: (trial.named, trial.epsilon))
    way = "vectors" if question.purpose == "search" else "sanitise"
    why = (
        f"It leaves {100 * chosen.use:.0f} % of the use, and {chosen.success}; for the recipient "
        f"{question.recipient} at most {100 * question.limit:.0f} are allowed.",
        "That is for single words. The losses of the words of a text add up: a long text is not "
        "hidden as a whole, and a story that only one person can tell remains that story.",
        "If people are to read the text, add --readable: function words and the layout then pass "
        "as they are, and attackers name other shares of the words that are left: 'discreet "
        f"explain --readable --epsilon {chosen.epsilon:g} --public-sample PUBLIC' says how many.",
    )[: 1 if way == "vectors" else 3 if question.purpose == "read" else 2]
    command = _COMMANDS[way].format(trial=chosen, space=space.name, fields=question.fields)
    return Advice(way, why, command, chosen, tuple(trials))


_TRAIN = (
    "Nothing is released but the model, so the guarantee can be for whole users, which no release "
    "of texts can give at a useful setting.",
)
_REDACT = (
    "The recipients are trusted with the words; what must go is who is meant. A finder misses "
    "some identifiers, so read a sample of the output before it goes out."
)
_LEFT = (
    "discreet replaces identifiers along with a word mechanism: at the epsilon below, words of the "
    "vocabulary stay, also names among them that the finder missed, and others become the unknown "
    "token. With --space encoder, which cuts words into pieces, these stay, too."
)
_LEFT_IN_PIECES = (
    "discreet replaces identifiers along with a word mechanism: at the epsilon below, pieces of "
    "words stay, and with them nearly every word, also names that the finder missed."
)


def _unknown(question: Question, space: EmbeddingSpace) -> tuple[str, ...]:
    """How many words of the sample would become the unknown token."""
    ids = _words_of(question, space).ids
    if not len(ids) or space.unknown is None:
        return ()
    share = float((ids == space.unknown).mean())
    return (f"In the public sample {100 * share:.0f} of 100 words would become that token.",)


def _why_nothing(question: Question, trials: Sequence[Trial]) -> tuple[str, ...]:
    private = [trial for trial in trials if trial.named <= question.limit]
    useful = [trial for trial in trials if trial.use >= LEAST_USE]
    lines = []
    if private:
        best = max(private, key=lambda trial: trial.use)
        lines.append(
            f"The most useful setting that protects enough leaves {100 * best.use:.0f} % of the "
            f"use ({100 * LEAST_USE:.0f} % are asked for)."
        )
    if useful:
        least = min(useful, key=lambda trial: trial.named)
        lines.append(
            f"With the most private setting that is useful {least.success} "
            f"({100 * question.limit:.0f} are allowed)."
        )
    return (
        *lines,
        "What can be done instead: train the model yourself and hand out the model (--purpose "
        "model), or choose recipients who are bound by your rules (--recipient colleagues).",
    )


# -- trials --------------------------------------------------------------------------------------


def _word_trials(
    question: Question, space: EmbeddingSpace, progress: Progress | None
) -> list[Trial]:
    rng = np.random.default_rng(question.seed)
    batch = _sampled(question, space)
    attack = WordAttack.within(space, batch, _MOST_WORDS, seed=question.seed)
    guessing = attack.chance
    trials = []
    # Inverting SanText takes all pairs of words: minutes in a large space.
    settings = [s for s in _WORD_SETTINGS if s[0] != "santext" or len(space) <= _MOST_OF_SPACE]
    for number, (name, epsilon) in enumerate(settings):
        if progress is not None:
            progress(number, len(settings))
        mechanism = find(name, "word").build({"space": space, "epsilon": epsilon})
        released = mechanism.release(batch.ids, rng)
        # Single words, and whole texts by who knows which words follow each other.
        named = max(guessing, *attack.shares(mechanism, rng).values())
        use, measured = _use_of_words(question, space, batch, released)
        trials.append(Trial(name, epsilon, use, measured, named, guessing))
    if progress is not None:
        progress(len(settings), len(settings))
    return trials


def _words_of(question: Question, space: EmbeddingSpace) -> TokenBatch:
    """The words of the first texts of the sample."""
    tokenizer = tokenizer_for(space.words, space.unknown, space.subwords)
    return tokenizer.encode(list(question.texts[:_MOST_TEXTS]))


def _sampled(question: Question, space: EmbeddingSpace) -> TokenBatch:
    """The first texts of the sample as words, if there are enough of them to say anything."""
    batch = _words_of(question, space)
    known = int((batch.ids != (-1 if space.unknown is None else space.unknown)).sum())
    if len(question.texts) < _FEWEST_TEXTS or known < _FEWEST_WORDS:
        raise InvalidValue(
            f"the public sample must have at least {_FEWEST_TEXTS} texts and {_FEWEST_WORDS} known "
            f"words to measure on; it has {len(question.texts)} and {known}"
        )
    return batch


def _use_of_words(
    question: Question, space: EmbeddingSpace, batch: TokenBatch, released: Ids
) -> tuple[float, str]:
    if question.purpose == "classify":
        labels = list(question.labels or ())[: len(batch.offsets) - 1]
        protected = accuracy_of_words(released, batch.offsets, labels, len(space), question.seed)
        bare = accuracy_of_words(batch.ids, batch.offsets, labels, len(space), question.seed)
        if bare.accuracy - bare.commonest < _CLEAR / math.sqrt(len(labels) // 2):
            raise InvalidValue(
                f"from {len(labels) // 2} texts of the public sample a classifier learns next to "
                "nothing of the labels, so that no trial would say anything; give a larger sample"
            )
        use = _way_from(protected.accuracy, bare.commonest, bare.accuracy)
        return use, (
            f"a classifier of words is right in {protected.accuracy:.2f} of the cases "
            f"({bare.accuracy:.2f} on the texts themselves, {bare.commonest:.2f} by the commonest "
            "label)"
        )
    vectors = units_or_zeros(space.vectors)
    original = np.asarray(batch.ids, dtype=np.int64)
    near = _meanings(vectors, original, released)
    shuffled = np.random.default_rng(question.seed).permutation(released)
    far = _meanings(vectors, original, shuffled)
    use = _way_from(near, far, 1.0)
    return use, f"released words keep {100 * use:.0f} % of the meaning of the words they replace"


def _meanings(vectors: Floats, first: Ids, second: Ids) -> float:
    """The mean cosine of the vectors of words and of what replaced them."""
    return float(np.einsum("ij,ij->i", vectors[first], vectors[second]).mean())


def _way_from(figure: float, useless: float, perfect: float) -> float:
    """Where a figure lies between a useless and a perfect one, from 0 to 1."""
    if not math.isfinite(figure) or perfect <= useless:
        return 0.0
    return min(1.0, max(0.0, (figure - useless) / (perfect - useless)))


def _vector_trials(
    question: Question, embedded: Callable[[Sequence[str]], Any], progress: Progress | None
) -> list[Trial]:
    """Neighbours that stay, and how often the nearest public text is the very one."""
    texts = list(dict.fromkeys(text for text in question.texts if text.strip()))[:_MOST_TEXTS]
    if len(texts) < _FEWEST_TEXTS:
        raise InvalidValue(
            f"the public sample must have at least {_FEWEST_TEXTS} different texts; it has "
            f"{len(texts)}"
        )
    vectors, rng = np.asarray(embedded(texts)), np.random.default_rng(question.seed)
    truth = unit_rows(vectors)
    trials = []
    for number, (wanted, epsilon) in enumerate(_VECTOR_SETTINGS):
        if progress is not None:
            progress(number, len(_VECTOR_SETTINGS))
        dimension = min(wanted, vectors.shape[1])
        rows = unit_rows(PublicMap.random(vectors.shape[1], dimension).apply(vectors))
        built = find("purkayastha", "sentence").build({"dimension": dimension, "epsilon": epsilon})
        released = built.release(rows, rng)
        kept = neighbours_kept(truth, released)
        named = float(((released @ rows.T).argmax(axis=1) == np.arange(len(rows))).mean())
        measured = f"{10 * kept:.1f} of 10 nearest neighbours are still found"
        trials.append(
            Trial("purkayastha", epsilon, kept, measured, named, 1 / len(rows), _TEXTS, dimension)
        )
    if progress is not None:
        progress(len(_VECTOR_SETTINGS), len(_VECTOR_SETTINGS))
    return trials
