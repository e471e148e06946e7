"""Tables and claims of the UeDP recipe about pretrained models."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from discreet.models.adapter_kinds import ALL
from discreet.report.tables import Cell
from discreet_recipes.record import Record, verdict
from discreet_recipes.repeats import plus_minus
from discreet_recipes.uedp.accounting import DELTA
from discreet_recipes.uedp.pages import ResultRow

_HOLDS = (
    f"Delta {DELTA:g}. Claimed: what the paper's accounting gives; of the published algorithm what "
    "holds is at least the figure shown, and no upper bound is known. user-level protects users "
    "alone. One seed. Noise is in units of the clipping norm; the published algorithm multiplies "
    "its own by the expected number of users in a step. "
)
# At least most of what training without noise gains is near it.
_MOST = 0.8
# With one seed and some hundred sentences to test on, figures this near to each other say nothing.
_ALIKE = 0.02


@dataclass(frozen=True)
class PretrainedRow:
    """One setting of one kind of training.

    Attributes:
        kind: What is trained.
        numbers: How many numbers that is.
        row: How it predicts, what it claims and what holds.
    """

    kind: str
    numbers: int
    row: ResultRow

    @property
    def trained(self) -> str:
        """What is trained, in words."""
        return "all weights" if self.kind == ALL else f"{self.kind} adapters"

    def cells(self) -> dict[str, Cell]:
        """What every table has of it."""
        row = self.row
        return {
            "trained": self.trained,
            "numbers": self.numbers,
            "algorithm": row.algorithm + ("" if row.sentence_rate else ", q_s = 0"),
            "noise": row.noise,
            "claimed epsilon": row.claimed,
            "holds: user": row.user,
            "holds: entity": row.entity,
            "holds: user and entity": row.joint
            if row.at_least is None
            else f"at least {row.at_least:.3g}",
        }


def add_next_words(
    record: Record, rows: Sequence[PretrainedRow], name: str, blocks: int | None
) -> None:
    """Next words of CoNLL-2003: the paper's Figures 3 and 7."""
    record.add_table(
        "next-words",
        f"CoNLL-2003: next words by {name} in GPT-2's place",
        [
            each.cells()
            | {
                "perplexity": plus_minus(each.row.perplexity, 2),
                "error rate": plus_minus(each.row.error_rate, 4),
            }
            for each in rows
        ],
        _HOLDS
        + f"Perplexity is that of a token, of which a word may have several. {_where(blocks)} "
        "q_s = 0: without the sentences that hold no entity.",
    )
    by_kind = _by_kind(rows)
    best = {kind: _figures(own, "mean") for kind, own in by_kind.items()}
    about = f"CoNLL-2003, next words, {name} in GPT-2's place"
    _comes_near(
        record,
        about,
        "29.2 to 29.8 for four categories at epsilon 0.20, noiseless 27.1 (Figure 3a)",
        _said(best, ("public start", "published-optimized", "noiseless"), ".2f"),
        best,
    )
    record.add_claim(
        f"{about}: UeDP-Alg is better than de-identification",
        "35.1 to 36.8 at epsilon 0.185, de-identified 38.3 (Figure 3a)",
        _said(best, ("published-optimized", "de-identified"), ".2f"),
        _better(best, "published-optimized", "de-identified"),
    )
    record.add_claim(
        f"{about}: certified training at the first epsilon is better than de-identification",
        "claimed for the published algorithm",
        _said(best, ("certified", "de-identified", "user-level"), ".2f"),
        _better(best, "certified", "de-identified"),
    )
    for kind, own in by_kind.items():
        without = [r for r in own if r.algorithm == "certified" and r.sentence_rate == 0]
        if without:
            record.add_claim(
                f"{about}: sentences without an entity help",
                "much lower perplexity than without them (Figure 7)",
                f"certified, {kind}: {without[0].mean:.2f} without, "
                f"{best[kind]['certified']:.2f} with all of them",
                _better(
                    {kind: {"with": best[kind]["certified"], "without": without[0].mean}},
                    "with",
                    "without",
                ),
            )
    _fewer(record, about, best, "perplexity", ".2f")


def add_pretrained_topics(
    record: Record, rows: Sequence[PretrainedRow], name: str, blocks: int | None
) -> None:
    """Topics of AG News: the paper's Figure 4."""
    record.add_table(
        "pretrained-topics",
        f"AG News: error rate of topics by {name} in BERT's place",
        [each.cells() | {"error rate": plus_minus(each.row.error_rate, 4)} for each in rows],
        _HOLDS + "Four topics: guessing is wrong in 0.75. The layer for topics is new and always "
        f"trained. {_where(blocks)} q_s = 0: without the texts that hold no entity.",
    )
    by_kind = _by_kind(rows)
    best = {kind: _figures(own, "wrong") for kind, own in by_kind.items()}
    about = f"AG News, topics, {name} in BERT's place"
    named = ("public start", "published-optimized", "noiseless", "de-identified", "certified")
    _comes_near(
        record,
        about,
        "error rates near the noiseless model's (Figure 4)",
        _said(best, named, ".3f"),
        best,
    )
    for kind, own in by_kind.items():
        without = [r for r in own if r.algorithm == "certified" and r.sentence_rate == 0]
        if without:
            record.add_claim(
                f"{about}: nothing is learned without the texts that hold no entity",
                "an error rate of 0.75 in all cases (Figure 4)",
                f"certified, {kind}: {without[0].wrong:.3f} without, "
                f"{best[kind]['certified']:.3f} with all of them",
                verdict(without[0].wrong > (1 - _ALIKE) * best[kind]["public start"]),
            )
    _fewer(record, about, best, "error rate", ".3f")


def _where(blocks: int | None) -> str:
    if blocks is None:
        return "All weights: every one of the model."
    return f"All weights, and adapters: in the last blocks only, {blocks} of them."


def _comes_near(
    record: Record,
    about: str,
    published: str,
    measured: str,
    best: Mapping[str, Mapping[str, float]],
) -> None:
    """Whether the published algorithm has most of what training without noise gains."""
    near = [
        own["public start"] - own["published-optimized"]
        > _MOST * (own["public start"] - own["noiseless"])
        > 0
        for own in best.values()
    ]
    record.add_claim(
        f"{about}: UeDP-Alg comes near training without noise",
        published,
        measured,
        verdict(all(near), any(near)),
        "with the noise that its own lemmas ask for, the paper's norm, rates and noise 2.5",
    )


def _by_kind(rows: Iterable[PretrainedRow]) -> dict[str, list[ResultRow]]:
    by_kind: dict[str, list[ResultRow]] = {}
    for each in rows:
        by_kind.setdefault(each.trained, []).append(each.row)
    return by_kind


def _figures(rows: Iterable[ResultRow], figure: str) -> dict[str, float]:
    """Of each algorithm, where it was first run: at the first epsilon, with all sentences."""
    figures: dict[str, float] = {}
    for row in rows:
        figures.setdefault(row.algorithm, getattr(row, figure))
    return figures


def _better(best: Mapping[str, Mapping[str, float]], one: str, other: str) -> str:
    """The verdict on one being lower than another, in every kind of training."""
    apart = [(own[other] - own[one]) / own[other] for own in best.values()]
    if any(share > _ALIKE for share in apart):
        return verdict(all(share > _ALIKE for share in apart), in_part=True)
    return verdict(False) if any(share < -_ALIKE for share in apart) else "not settled"


def _said(best: Mapping[str, Mapping[str, float]], algorithms: Sequence[str], digits: str) -> str:
    return "; ".join(
        f"{kind}: " + ", ".join(f"{own[name]:{digits}} {name}" for name in algorithms)
        for kind, own in best.items()
    )


def _fewer(
    record: Record, about: str, best: Mapping[str, Mapping[str, float]], what: str, digits: str
) -> None:
    """A figure for the summary: what is left of the gain, by how much is trained."""
    record.add_key_figure(
        "utility",
        f"{about}: {what} by what is trained, certified at the first epsilon",
        _said(best, ("certified", "noiseless", "public start"), digits),
    )
