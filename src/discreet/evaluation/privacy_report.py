"""The privacy figures of a mechanism on a public sample of words: printed, plotted or as JSON."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet import check
from discreet.arrays import Ids, Progress
from discreet.errors import InvalidValue
from discreet.evaluation.privacy import (
    EXACT_INPUTS,
    OutputPrivacy,
    WordPrivacy,
    output_privacy,
    word_privacy,
)
from discreet.evaluation.summary import Summary
from discreet.protocols import WordMechanism
from discreet.spaces.space import EmbeddingSpace
from discreet.text.tokens import tokenizer_for

_OUTPUTS = 1000
_SIMULATED_DRAWS = 1_000_000


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


def vocabulary_sample(space: EmbeddingSpace, count: int, rng: np.random.Generator) -> Sample:
    """Words of the vocabulary, all alike; all of them if there are no more than ``count``."""
    count = min(check.whole(count, "count of vocabulary_sample", at_least=1), len(space))
    ids = np.sort(rng.choice(len(space), count, replace=False))
    return Sample(ids, np.ones(count, dtype=np.int64))


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
    if count is not None and check.whole(count, "count of text_sample", at_least=1) < total:
        weights = rng.multivariate_hypergeometric(counts, count, method="marginals")
    ids = np.flatnonzero(weights)
    unknown = 0 if space.unknown is None else int(counts[space.unknown])
    return Sample(ids, weights[ids], counts, unknown)


@dataclass(frozen=True)
class PrivacyReport:
    """What was measured, and how."""

    sample: Sample
    words: WordPrivacy
    outputs: OutputPrivacy
    output_weights: Ids
    """How often each output came out."""
    mass: float
    uses_prior: bool
    runs: int
    output_runs: int
    space_words: int

    @property
    def seen(self) -> Ids:
        # An output that the simulation never gave again tells nothing: it counts 0 times.
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
            "published_options": f"S_x   the paper's, {self.runs:,} runs",
            "published_inputs": f"S*_y  the paper's, {self.output_runs:,} runs",
        }
        columns = ("mean", "lowest", "25 %", "median", "75 %", "highest")
        width = max(map(len, labels.values()))
        out = [self.sample.line(), "", " " * width + "".join(f"{name:>10}" for name in columns)]
        for key, summary in self.summaries().items():
            cells = "".join(f"{_short(value):>10}" for value in summary.to_dict().values())
            out.append(f"{labels[key]:<{width}}{cells}")
        return [*out, "", *self._notes()]

    @property
    def share(self) -> str:
        return f"{100 * self.mass:g} %"

    def _notes(self) -> list[str]:
        before = (
            "words beforehand as likely as they are frequent in the text"
            if self.uses_prior
            else f"beforehand any of the {self.space_words:,} words equally likely"
        )
        first = "N_x and S_x: exact, from the law."
        if not self.words.exact:
            first = (
                f"N_x and S_x: estimated from {self.runs:,} draws of each word; S_x is a lower "
                "estimate."
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
        return [*lines, "These figures describe typical words. What is guaranteed for all:"]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "mass": self.mass,
            "sample": {
                "source": "vocabulary" if self.sample.counts is None else "text",
                "words": len(self.sample.ids),
                "occurrences": int(self.sample.weights.sum()),
                "unknown": self.sample.unknown,
                "outputs": int(self.seen.sum()),
            },
            "prior": "sample" if self.uses_prior else "uniform",
            **{key: summary.to_dict() for key, summary in self.summaries().items()},
            "exact": {"words": self.words.exact, "outputs": self.outputs.exact},
            "runs": {"words": self.runs, "outputs": self.output_runs},
        }


def measure_privacy(
    mechanism: WordMechanism,
    sample: Sample,
    *,
    mass: float = 0.95,
    use_prior: bool = False,
    runs: int = 1000,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> PrivacyReport:
    """Measure N_x and S_x of the sample's words, and S*_y of what the mechanism makes of them.

    Args:
        mechanism: a word mechanism.
        sample: public words.
        mass: the probability that S_x and S*_y must cover.
        use_prior: whoever sees an output knows how frequent words are in the sample's text;
            otherwise every word of the vocabulary is thought equally likely.
        runs: draws of each word for simulated figures and for the paper's way of counting.
        rng: chooses the outputs, and draws what must be simulated.
        progress: called with (done, total).
    """
    if use_prior and sample.counts is None:
        raise InvalidValue("a prior needs a sample from a text")
    words = word_privacy(mechanism, sample.ids, mass=mass, runs=runs, rng=rng, progress=progress)
    # Outputs are measured as often as they come out, because that is what somebody sees.
    chosen = rng.choice(sample.ids, _OUTPUTS, p=sample.weights / sample.weights.sum())
    outputs, counts = np.unique(mechanism.release(chosen, rng), return_counts=True)
    prior = sample.counts if use_prior else None
    possible = len(mechanism.space) if prior is None else int(np.count_nonzero(prior))
    output_runs = runs
    if not words.exact or possible > EXACT_INPUTS:
        output_runs = max(1, min(runs, _SIMULATED_DRAWS // possible))
    found = output_privacy(
        mechanism, outputs, prior, mass=mass, runs=output_runs, rng=rng, progress=progress
    )
    return PrivacyReport(
        sample, words, found, counts, mass, use_prior, runs, output_runs, len(mechanism.space)
    )


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
