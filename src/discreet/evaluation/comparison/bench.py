"""The bench on which every mechanism is measured: the same texts, folds, attackers and models.

What does not depend on the mechanism is made once: the words of the texts, what the attackers know,
the vectors of the originals, the language models. What is measured of a release are sums over
texts, so that all intervals come from drawing texts anew.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats, Ids
from discreet.attacks.authorship import StyleAttack, macro_f1
from discreet.attacks.outcome import Estimate, bootstrapped, mean_estimate
from discreet.attacks.survivors import survivors
from discreet.attacks.word_attack import Columns, WordAttack
from discreet.errors import DiscreetError, InvalidValue
from discreet.evaluation.bag_of_words import guessed_by_words
from discreet.evaluation.comparison.contenders import Contender
from discreet.evaluation.comparison.members import membership
from discreet.evaluation.comparison.reading import TaskReading
from discreet.evaluation.comparison.settings import ComparisonSettings
from discreet.evaluation.comparison.task import Effort, Task
from discreet.guides import load_guide
from discreet.mechanisms.sphere import units_or_zeros
from discreet.protocols import WordMechanism, release_texts
from discreet.spaces.loaders import load_space
from discreet.spaces.space import EmbeddingSpace
from discreet.text.function_words import on_the_list
from discreet.text.tokens import TokenBatch, tokenizer_for

SAMPLES = 20
"""Texts that a report shows: the first, not the best."""
_LONGEST_SAMPLE = 400
_TIMED = 20_000  # words
_JUDGES = ("ngram", "smollm2")


@dataclass(frozen=True)
class Bench:
    """Where mechanisms are measured.

    Attributes:
        task: The texts.
        space: The vocabulary.
        effort: How much is measured.
        encoder: Whether texts are also read by the sentence encoder.
        judges: Language models that judge fluency, where they are installed.
        function_words: Whether words of the public list pass unchanged, for every mechanism.
        base: One with the same texts and another vocabulary: what both need is made there.
    """

    task: Task = field(repr=False)
    space: EmbeddingSpace
    effort: Effort
    encoder: bool = True
    judges: Sequence[str] = _JUDGES
    function_words: bool = False
    base: "Bench | None" = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.function_words and self.space.subwords:
            raise InvalidValue(
                f"function words cannot pass in {self.space.name}, a space of pieces of words; use "
                "a space of whole words, such as english"
            )

    # -- what does not depend on the mechanism ---------------------------------------------------

    @cached_property
    def _tokenizer(self) -> Any:
        return tokenizer_for(self.space.words, self.space.unknown, self.space.subwords)

    def tokens(self, texts: Sequence[str]) -> TokenBatch:
        """The first words of each text."""
        batch = self._tokenizer.encode(list(texts))
        lengths = np.minimum(np.diff(batch.offsets), self.effort.longest)
        offsets = np.r_[0, np.cumsum(lengths)]
        keep = np.arange(len(batch.ids)) - np.repeat(batch.offsets[:-1], np.diff(batch.offsets))
        return TokenBatch(batch.ids[keep < self.effort.longest], offsets)

    @cached_property
    def batch(self) -> TokenBatch:
        """The words of the texts."""
        return self.tokens(self.task.texts)

    @cached_property
    def public(self) -> TokenBatch:
        """The words of the public texts."""
        return self.tokens(self.task.public)

    @cached_property
    def written(self) -> list[str]:
        """The texts as they would be released without protection."""
        return self.decoded(self.batch.ids.astype(np.int64))

    def decoded(self, ids: Ids) -> list[str]:
        """Released words as texts."""
        texts: list[str] = self._tokenizer.decode(ids, self.batch.offsets)
        return texts

    @cached_property
    def _attacked(self) -> Ids:
        """Texts whose words are attacked: enough of them for the words asked for."""
        rng = np.random.default_rng(self.effort.seed + 1)
        order = rng.permutation(len(self.batch))
        words = np.cumsum(np.diff(self.batch.offsets)[order])
        return np.sort(order[: int(np.searchsorted(words, self.effort.attacked)) + 1])

    @cached_property
    def attack(self) -> WordAttack:
        """The attackers on words."""
        texts = self.batch.only(self._attacked)
        return WordAttack(self.space, texts, self.public, self.listed, self.effort.seed)

    @cached_property
    def listed(self) -> NDArray[np.bool_] | None:
        """Which words of the space are public and pass; None if none are."""
        return on_the_list(self.space.words) if self.function_words else None

    @cached_property
    def passed(self) -> NDArray[np.bool_] | None:
        """Which words of the texts pass."""
        return None if self.listed is None else self.listed[self.batch.ids]

    @property
    def typical(self) -> int:
        """Words of a text that are replaced: the median."""
        replaced = np.ones(self.batch.tokens) if self.passed is None else ~self.passed
        return int(np.median(np.diff(np.append(0, np.cumsum(replaced))[self.batch.offsets])))

    @cached_property
    def _static(self) -> StyleAttack | None:
        if self.task.authors is None:
            return None
        return StyleAttack.learnt(self.written, self.task.authors, self._halves)

    @cached_property
    def _halves(self) -> Ids:
        """Two folds for the attack on authorship, which takes long to learn."""
        return np.asarray(self.task.folds >= (self.effort.folds + 1) // 2).astype(np.int64)

    @cached_property
    def reading(self) -> TaskReading:
        """The texts as they are, and the encoder."""
        if self.base is not None:
            return self.base.reading
        return TaskReading(self.task, self.effort, self.encoder)

    @cached_property
    def judge_models(self) -> dict[str, Any]:
        """The language models that are there."""
        known = {} if self.base is None else self.base.judge_models
        models = {}
        for name in self.judges:
            try:
                judge = known.get(name)
                models[name] = judge.on(self.space) if judge else load_guide(name, self.space)
            except DiscreetError:
                continue
        return models

    def prepare(self) -> None:
        """Make all of it now, for processes that are to share it."""
        _ = self.attack.prior, self.attack.reader, self._static, self.judge_models
        _ = self.reading.identifiers
        if self.reading.model is not None:
            _ = self.reading.vectors

    # -- what is measured of a mechanism -----------------------------------------------------------

    def released(self, mechanism: WordMechanism, seed: int) -> Ids:
        """The texts, released with repeatable noise: an experiment, never a release."""
        rng = np.random.default_rng([self.effort.seed, seed])
        return release_texts(mechanism, self.batch.ids, rng, self.batch.offsets, self.passed)

    def built(self, entry: Contender, epsilon: float | None) -> WordMechanism:
        """A mechanism at an epsilon; where words pass, made for the others."""
        made = entry.build(self.space, epsilon)
        if self.listed is not None and hasattr(made, "sparing"):
            fitted: WordMechanism = made.sparing(self.listed)
            return fitted
        return made

    def measured(self, mechanism: WordMechanism | None) -> dict[str, Any]:
        """All figures of a mechanism; without one, of the texts as they are."""
        utility: dict[str, list[Columns]] = {}
        attacks: dict[str, list[Columns]] = {}
        style: dict[str, Estimate] = {}
        member: dict[str, Estimate] = {}
        guesses: list[Ids] = []
        samples: list[str] = []
        for seed in range(self.effort.seeds if mechanism is not None else 1):
            ids = (
                self.batch.ids.astype(np.int64)
                if mechanism is None
                else self.released(mechanism, seed)
            )
            texts = self.decoded(ids)
            samples = samples or [_cut(text) for text in texts[:SAMPLES]]
            if seed == 0:  # what reads whole texts takes longest, and texts say more than releases
                utility = {
                    name: [columns]
                    for name, columns in self._utility(ids, texts, _guide_of(mechanism))
                }
                style |= self._style(texts)
                member |= self._membership(mechanism, ids)
            if self.task.labels is not None:
                guesses.append(self._guessed(ids, self.task.labels))
            for name, columns in self._attacks(mechanism, ids, texts, seed):
                attacks.setdefault(name, []).append(columns)
        rng = np.random.default_rng(self.effort.seed)
        worth = {
            name: _pooled(parts, _perplexity if name.startswith("perplexity") else share_of, rng)
            for name, parts in utility.items()
        }
        if self.task.labels is not None:
            worth |= self._scores(guesses, self.task.labels, rng)
        return {
            "utility": plain(worth),
            "attackers": plain(
                {name: _pooled(parts, share_of, rng) for name, parts in attacks.items()} | member
            ),
            "authorship": plain(style),
            "words": int(sum(count.sum() for _, count in attacks.get("exact", []))),
            "bound": None if mechanism is None else self.attack.bound(mechanism),
            "speed": None if mechanism is None else self._speed(mechanism),
            "samples": samples,
        }

    def _speed(self, mechanism: WordMechanism) -> float:
        """Words per second of computing, once all that is made ready for these texts is there."""
        some = self.batch.first(max(1, int(np.searchsorted(self.batch.offsets, _TIMED)) - 1))
        passed = None if self.passed is None else self.passed[: len(some.ids)]
        rng = np.random.default_rng([self.effort.seed, 0])
        start = process_time()
        release_texts(mechanism, some.ids, rng, some.offsets, passed)
        return len(some.ids) / max(process_time() - start, 1e-9)

    def _guessed(self, ids: Ids, labels: Ids) -> Ids:
        return guessed_by_words(ids, self.batch.offsets, labels, len(self.space), self.task.folds)

    def _scores(
        self, guesses: Sequence[Ids], truth: Ids, rng: np.random.Generator
    ) -> dict[str, Estimate]:
        right = np.mean([each == truth for each in guesses], axis=0)
        f1 = [macro_f1(each, truth, self.task.classes, rng) for each in guesses]
        return {
            "accuracy": bootstrapped((right, np.ones(len(truth))), share_of, rng),
            "macro-F1": mean_estimate(f1),
        }

    def _utility(
        self, ids: Ids, texts: Sequence[str], guide: str | None
    ) -> Iterator[tuple[str, Columns]]:
        if self.reading.model is not None:
            yield from self.reading.found_in(texts[: self.reading.count])
        else:
            alike = self._likeness(ids)
            yield "similarity", (alike, np.ones(len(alike)))
        words = np.cumsum(np.diff(self.batch.offsets)[: self.reading.count])
        judged = np.arange(max(1, int(np.searchsorted(words, self.effort.judged, "right"))))
        places, row = self.batch.places(judged)
        offsets = np.r_[0, np.cumsum(np.diff(self.batch.offsets)[judged])]
        for name, judge in self.judge_models.items():
            if name != guide:
                logs = judge.text_scores(np.asarray(ids)[places].astype(np.int64), offsets)
                counts = np.bincount(row, minlength=len(judged))
                yield f"perplexity, {name}", (np.bincount(row, logs, len(judged)), counts)

    def _likeness(self, ids: Ids) -> Floats:
        """The cosine of the mean word vectors of each text and its release."""
        vectors = self.space.vectors.astype(np.float64)
        places, row = self.batch.places(np.arange(self.reading.count))
        sums = [np.zeros((self.reading.count, vectors.shape[1])) for _ in range(2)]
        for total, words in zip(sums, (self.batch.ids, ids), strict=True):
            np.add.at(total, row, vectors[np.asarray(words)[places]])
        first, second = map(units_or_zeros, sums)
        return np.asarray(np.einsum("ij,ij->i", first, second))

    # -- attackers ---------------------------------------------------------------------------------

    def _membership(self, mechanism: WordMechanism | None, ids: Ids) -> dict[str, Estimate]:
        """How often the texts that a model learnt from are told from others."""
        if self.task.labels is None:
            return {}
        rng = np.random.default_rng([self.effort.seed, 4])

        def again(mechanism: WordMechanism, texts: TokenBatch) -> Ids:
            passed = None if self.listed is None else self.listed[texts.ids]
            return release_texts(mechanism, texts.ids, rng, texts.offsets, passed)

        success = membership(
            self.batch,
            np.asarray(ids),
            None if mechanism is None else partial(again, mechanism),
            self.task.labels,
            len(self.space),
            self.effort.seed,
        )
        return {} if success is None else {"membership": success}

    def _named(
        self, mechanism: WordMechanism | None, ids: Ids, seed: int
    ) -> Iterator[tuple[str, Columns]]:
        """What each attacker on words names of a release."""
        places, _ = self.batch.places(self._attacked)
        seen = np.asarray(ids)[places].astype(np.int64)
        yield from self.attack.named(mechanism, seen, seed)
        if mechanism is not None:
            yield "watching", self.attack.watched(mechanism, seen, seed)

    def _attacks(
        self, mechanism: WordMechanism | None, ids: Ids, texts: Sequence[str], seed: int
    ) -> Iterator[tuple[str, Columns]]:
        yield from self._named(mechanism, ids, seed)
        shown, had = survivors(self.reading.originals, texts, self.reading.identifiers)
        if had.any():
            yield "identifiers", (shown, had)

    def _style(self, texts: Sequence[str]) -> dict[str, Estimate]:
        """Macro-F1 and top 5 of both attackers on authorship."""
        if self._static is None or self.task.authors is None:
            return {}
        rng = np.random.default_rng(self.effort.seed)
        adaptive = StyleAttack.learnt(texts, self.task.authors, self._halves)
        success = {}
        for name, attack in (("static", self._static), ("adaptive", adaptive)):
            guessed = attack.on(texts)
            success[f"{name}, macro-F1"] = guessed.macro_f1(rng)
            success[f"{name}, top 5"] = guessed.top(rng)
        return success

    def success(self, mechanism: WordMechanism) -> float:
        """What the best attacker on words names of the releases that :meth:`measured` reports."""
        named: dict[str, list[Columns]] = {}
        for seed in range(self.effort.seeds):
            for name, columns in self._named(mechanism, self.released(mechanism, seed), seed):
                named.setdefault(name, []).append(columns)
        return max(float(share_of(*np.sum(each, axis=(0, 2)))) for each in named.values())


def benches_of(task: Task, spaces: Iterable[str], settings: ComparisonSettings) -> dict[str, Bench]:
    """A bench in each vocabulary; the first shares its models with the others."""
    benches: dict[str, Bench] = {}
    for space in dict.fromkeys(spaces):
        benches[space] = Bench(
            task,
            load_space(space),
            settings.effort,
            settings.encoder,
            settings.judges,
            settings.function_words,
            next(iter(benches.values()), None),
        )
    return benches


def share_of(hits: Any, count: Any) -> Any:
    """Of what there is; 0 of nothing."""
    return hits / np.maximum(count, 1e-9)


def _perplexity(logs: Any, count: Any) -> Any:
    return np.exp(-logs / np.maximum(count, 1e-9))


def _pooled(
    parts: Sequence[Columns], figure: Callable[..., Any], rng: np.random.Generator
) -> Estimate:
    """Of several releases of the same texts: a text is drawn with all its releases."""
    columns = [np.sum([part[side] for part in parts], axis=0) for side in range(2)]
    return bootstrapped(columns, figure, rng)


def plain(estimates: Mapping[str, Estimate]) -> dict[str, list[float]]:
    """Figures and the ends of their intervals by name, ready for JSON."""
    return {name: [each.value, each.low, each.high] for name, each in estimates.items()}


def _guide_of(mechanism: WordMechanism | None) -> str | None:
    guide = getattr(mechanism, "guide", None)
    if guide is None:
        return None
    return "ngram" if guide.name == "ngram" else "smollm2"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_SAMPLE else text[:_LONGEST_SAMPLE] + " ..."
