"""The privacy figures of a mechanism on a public sample of words: printed, plotted or as JSON."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, astuple, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from discreet.arrays import Ids, Progress
from discreet.errors import InvalidValue
from discreet.evaluation.privacy import (
    EXACT_INPUTS,
    OutputPrivacy,
    WordPrivacy,
    output_privacy,
    word_privacy,
)
from discreet.mechanisms.registry import parameters_of
from discreet.protocols import WordMechanism
from discreet.release.strength import best_guess, share
from discreet.settings import Setting, Settings
from discreet.spaces.space import EmbeddingSpace
from discreet.text.readers import open_documents
from discreet.text.tokens import tokenizer_for

_OUTPUTS = 1000
_SIMULATED_DRAWS = 1_000_000
_VOCABULARY_SAMPLE = 1000


@dataclass(frozen=True, kw_only=True)
class PrivacySettings(Settings):
    """On which public words a mechanism is measured, and how."""

    heading: ClassVar[str] = "Measures"

    public_sample: str | None = Setting(
        "Measure on the words of this PUBLIC text, each as often as it occurs, instead of on "
        "words of the vocabulary. Never give protected text: the figures depend on it."
    ).default(None)
    text_field: str = Setting("Column or field that holds the text.").default("text")
    words: int | None = Setting(
        "Measure only so many words, drawn at random: 1000 of the vocabulary unless given; of "
        "a text, all unless given.",
        at_least=1,
    ).default(None)
    mass: float = Setting(
        "The probability that S_x and S*_y must cover.", above=0, below=1
    ).default(0.95)
    prior: str = Setting(
        "What is thought likely before a word is seen, for S*_y. uniform: any word of the "
        "vocabulary; sample: words as often as in --public-sample.",
        choices=("uniform", "sample"),
    ).default("uniform")
    runs: int = Setting(
        "Draws of each word, for the paper's way of counting and for mechanisms whose law has "
        "no formula.",
        at_least=1,
    ).default(1000)
    seed: int = Setting(
        "Chooses the samples; the same seed gives the same figures.", at_least=0
    ).default(0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.prior == "sample" and self.public_sample is None:
            raise InvalidValue("--prior sample needs --public-sample")

    def sample(self, space: EmbeddingSpace, rng: np.random.Generator) -> "Sample":
        """The words to measure on: of a public text, or of the vocabulary, all alike."""
        if self.public_sample is None:
            count = min(self.words or _VOCABULARY_SAMPLE, len(space))
            ids = np.sort(rng.choice(len(space), count, replace=False))
            return Sample(ids, np.ones(count, dtype=np.int64))
        with open_documents(self.public_sample, text_field=self.text_field) as reader:
            return text_sample(space, (batch.texts for batch in reader), self.words, rng)


@dataclass(frozen=True)
class Sample:
    """Public words to measure on, and how often each of them counts."""

    ids: Ids
    weights: Ids
    counts: Ids | None = None
    """How often each word of the vocabulary occurs in the text that the words are from, if any."""
    unknown: int = 0
    """How many words of that text the vocabulary does not have."""

    def line(self) -> str:
        """The sample in plain words."""
        if self.counts is None:
            return f"Measured on {len(self.ids):,} words drawn from the vocabulary."
        drawn, every = int(self.weights.sum()), int(self.counts.sum())
        part = f"the {every:,} words" if drawn == every else f"{drawn:,} of the {every:,} words"
        return (
            f"Measured on {part} of a public text, {len(self.ids):,} different ones; "
            f"{self.unknown:,} of all its words are unknown to the space."
        )


def text_sample(
    space: EmbeddingSpace,
    batches: Iterable[Sequence[str]],
    count: int | None,
    rng: np.random.Generator,
) -> Sample:
    """The words of a public text as often as they occur, or ``count`` of its words at random."""
    tokenizer = tokenizer_for(space.words, space.unknown, space.subwords)
    counts = np.zeros(len(space), dtype=np.int64)
    for texts in batches:
        counts += np.bincount(tokenizer.encode(texts).ids, minlength=len(space))
    total = int(counts.sum())
    if not total:
        raise InvalidValue("the public text holds no words; give another file")
    weights = counts
    if count is not None and count < total:
        weights = rng.multivariate_hypergeometric(counts, count, method="marginals")
    ids = np.flatnonzero(weights)
    unknown = 0 if space.unknown is None else int(counts[space.unknown])
    return Sample(ids, weights[ids], counts, unknown)


@dataclass(frozen=True)
class Summary:
    """How some values are spread."""

    mean: float
    lowest: float
    lower_quarter: float
    """A quarter of the values is at most this."""
    median: float
    upper_quarter: float
    highest: float

    @classmethod
    def of(cls, values: ArrayLike, weights: ArrayLike | None = None) -> "Summary":
        """Summarise values, each of which counts ``weights`` times.

        Quantiles are values that occur, never points between two of them: half a word is no answer.

        >>> Summary.of([5, 1, 3], weights=[1, 8, 1]).median
        1.0
        """
        numbers = np.asarray(values, dtype=np.float64)
        counts = np.ones(len(numbers)) if weights is None else np.asarray(weights, dtype=np.float64)
        if counts.shape != numbers.shape or (counts < 0).any() or not counts.sum() > 0:
            raise InvalidValue(
                "a summary needs values, and a weight of at least 0 for each of them"
            )
        order = np.argsort(numbers)
        order = order[counts[order] > 0]
        numbers, counts = numbers[order], counts[order]
        reached = np.cumsum(counts) / counts.sum()
        # Rounding must not carry a quantile past the value that reaches it.
        places = np.searchsorted(reached, np.array([0.25, 0.5, 0.75]) - 1e-12)
        low, middle, high = (float(numbers[place]) for place in places)
        mean = float(np.average(numbers, weights=counts))
        return cls(mean, float(numbers[0]), low, middle, high, float(numbers[-1]))


@dataclass(frozen=True)
class PrivacyReport:
    """What was measured, and how."""

    sample: Sample
    words: WordPrivacy
    outputs: OutputPrivacy
    output_weights: Ids
    """How often each output came out."""
    settings: PrivacySettings
    output_runs: int
    space_words: int
    informed_guess: float | None = None
    """How often the best guess is right by public frequencies, where the mechanism knows."""

    @property
    def seen(self) -> Ids:
        """As often, but 0 times where the simulation never gave it again: that tells nothing."""
        return self.output_weights * (self.outputs.inputs > 0)

    def summaries(self) -> dict[str, Summary]:
        """Each figure's mean, quartiles and extremes."""
        return {
            "keep": Summary.of(self.words.keep, self.sample.weights),
            "options": Summary.of(self.words.options, self.sample.weights),
            "inputs": Summary.of(self.outputs.inputs, self.seen),
            "guess": Summary.of(self.outputs.guess, self.seen),
            "published_options": Summary.of(self.words.distinct, self.sample.weights),
            "published_inputs": Summary.of(self.outputs.distinct, self.seen),
        }

    def lines(self) -> list[str]:
        """A table and how it was computed."""
        labels = {
            "keep": "N_x   probability that x stays x",
            "options": f"S_x   outputs that cover {self.share} of x",
            "inputs": f"S*_y  inputs that cover {self.share} of y",
            "guess": "      best guess at the input of y",
            "published_options": f"S_x   the paper's, {self.settings.runs:,} runs",
            "published_inputs": f"S*_y  the paper's, {self.output_runs:,} runs",
        }
        columns = ("mean", "lowest", "25 %", "median", "75 %", "highest")
        width = max(map(len, labels.values()))
        out = [self.sample.line(), "", " " * width + "".join(f"{name:>10}" for name in columns)]
        for key, summary in self.summaries().items():
            cells = "".join(f"{_short(value):>10}" for value in astuple(summary))
            out.append(f"{labels[key]:<{width}}{cells}")
        return [*out, "", *self._notes()]

    @property
    def share(self) -> str:
        return f"{100 * self.settings.mass:g} %"

    def _notes(self) -> list[str]:
        before = (
            "words beforehand as likely as they are frequent in the text"
            if self.settings.prior == "sample"
            else f"beforehand any of the {self.space_words:,} words equally likely"
        )
        first = "N_x and S_x: exact, from the law."
        if not self.words.exact:
            first = (
                f"N_x and S_x: estimated from {self.settings.runs:,} draws of each word; S_x is a "
                "lower estimate."
            )
        how = "exact, from the law of every possible input"
        if not self.outputs.exact:
            how = (
                f"estimated from {self.output_runs:,} draws of every possible input, which makes "
                "S*_y a lower and the best guess an upper estimate"
            )
        outputs = int(self.output_weights.sum())
        lines = [
            first,
            f"S*_y and the best guess: {how}, for {outputs:,} released words; {before}.",
        ]
        lost = outputs - int(self.seen.sum())
        if lost:
            lines.append(f"{lost:,} released words never came out again; they are left out.")
        if self.informed_guess is not None and self.settings.prior == "uniform":
            lines.append(
                "For somebody who knows how often words occur in public, the best guess is right "
                f"with probability {share(self.informed_guess)}."
            )
        return [*lines, "These figures describe typical words. What is guaranteed for all:"]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "mass": self.settings.mass,
            "sample": {
                "source": "vocabulary" if self.sample.counts is None else "text",
                "words": len(self.sample.ids),
                "occurrences": int(self.sample.weights.sum()),
                "unknown": self.sample.unknown,
                "outputs": int(self.seen.sum()),
            },
            "prior": self.settings.prior,
            "informed_guess": self.informed_guess,
            **{key: asdict(summary) for key, summary in self.summaries().items()},
            "exact": {"words": self.words.exact, "outputs": self.outputs.exact},
            "runs": {"words": self.settings.runs, "outputs": self.output_runs},
        }


def measure_privacy(
    mechanism: WordMechanism,
    sample: Sample,
    settings: PrivacySettings,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> PrivacyReport:
    """Measure N_x and S_x of the sample's words, and S*_y of what the mechanism makes of them.

    ``rng`` chooses the outputs, and draws what must be simulated.
    """
    mass, runs = settings.mass, settings.runs
    words = word_privacy(mechanism, sample.ids, mass=mass, runs=runs, rng=rng, progress=progress)
    # Outputs are measured as often as they come out, because that is what somebody sees.
    chosen = rng.choice(sample.ids, _OUTPUTS, p=sample.weights / sample.weights.sum())
    outputs, counts = np.unique(mechanism.release(chosen, rng), return_counts=True)
    prior = sample.counts if settings.prior == "sample" else None
    possible = len(mechanism.space) if prior is None else int(np.count_nonzero(prior))
    if not words.exact or possible > EXACT_INPUTS:
        runs = max(1, min(runs, _SIMULATED_DRAWS // possible))
    posterior = output_privacy(
        mechanism, outputs, prior, mass=mass, runs=runs, rng=rng, progress=progress
    )
    size, informed = len(mechanism.space), best_guess(mechanism)
    return PrivacyReport(sample, words, posterior, counts, settings, runs, size, informed)


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def title_of(mechanism: WordMechanism) -> str:
    """A mechanism with its parameters and its space, as the heading of what was measured."""
    space, named = mechanism.space, []
    for key, value in parameters_of(mechanism).items():
        shown = value if isinstance(value, str) else f"{value:.6g}"
        named.append(shown if key == "calibration" else f"{key} {shown}")
    listed = ", ".join(named)
    return f"{mechanism.name} ({listed}) in the space {space.name} ({len(space):,} words)"
