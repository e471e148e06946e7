"""How well found entities agree with labelled ones: precision, recall and F1 by category."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from discreet.text.entities.found import Entity

# Where the labels of the data are coarser (CoNLL-2003 has person, org, loc and misc), a found
# entity is counted under the label that covers its kind there.
_COVERED_BY = {
    "gpe": "loc",
    "fac": "loc",
    "norp": "misc",
    "event": "misc",
    "product": "misc",
    "work_of_art": "misc",
    "law": "misc",
    "language": "misc",
}


@dataclass(frozen=True)
class Score:
    """Counts of one category; a match has the same tokens and the same category."""

    labelled: int
    found: int
    matched: int

    @property
    def precision(self) -> float:
        """Share of found entities that are labelled so."""
        return self.matched / self.found if self.found else 0.0

    @property
    def recall(self) -> float:
        """Share of labelled entities that are found so."""
        return self.matched / self.labelled if self.labelled else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of the two."""
        total = self.found + self.labelled
        return 2 * self.matched / total if total else 0.0

    def to_dict(self) -> dict[str, float]:
        """Ready for JSON."""
        names = ("labelled", "found", "precision", "recall", "f1")
        return {name: getattr(self, name) for name in names}


@dataclass
class Agreement:
    """Collects rows, then scores them.

    >>> gold = [Entity(0, 2, "person", "a"), Entity(3, 4, "loc", "b")]
    >>> agreement = Agreement()
    >>> agreement.add(gold, [Entity(0, 2, "person", "a"), Entity(3, 4, "gpe", "b")])
    >>> agreement.scores()["all"].f1, agreement.covered
    (1.0, 1.0)
    """

    _rows: list[tuple[Sequence[Entity], Sequence[Entity]]] = field(default_factory=list, repr=False)

    def add(self, gold: Sequence[Entity], recognised: Sequence[Entity]) -> None:
        """Add a row: what is labelled in it and what was found, both by tokens."""
        self._rows.append((gold, recognised))

    def scores(self) -> dict[str, Score]:
        """A score for each category of the labels, and ``all``; other categories do not count."""
        labels = {entity.category for gold, _ in self._rows for entity in gold}
        counts: dict[str, Counter[str]] = {"labelled": Counter(), "found": Counter()}
        matched: Counter[str] = Counter()
        for gold, recognised in self._rows:
            expected = {(e.start, e.end, e.category) for e in gold}
            given = {
                (e.start, e.end, category)
                for e in recognised
                if (category := _under(e.category, labels)) is not None
            }
            for name, spans in (("labelled", expected), ("found", given)):
                counts[name].update(category for _, _, category in spans)
            matched.update(category for _, _, category in expected & given)
        scores = {
            name: Score(counts["labelled"][name], counts["found"][name], matched[name])
            for name in sorted(labels)
        }
        scores["all"] = Score(counts["labelled"].total(), counts["found"].total(), matched.total())
        return scores

    @property
    def covered(self) -> float:
        """Share of labelled entities of which every token was found as part of some entity.

        This is what decides whether an entity is protected as one at all.
        """
        labelled = covered = 0
        for gold, recognised in self._rows:
            tokens = {token for e in recognised for token in range(e.start, e.end)}
            labelled += len(gold)
            covered += sum(tokens.issuperset(range(e.start, e.end)) for e in gold)
        return covered / labelled if labelled else 0.0

    def in_words(self) -> list[str]:
        """The scores as lines for people."""
        return [
            "Agreement with the tags of the data (same tokens, same category):",
            f"  {'':<12} {'labelled':>9} {'found':>9} {'precision':>9} {'recall':>9} {'F1':>9}",
            *(
                f"  {name:<12} {score.labelled:>9,} {score.found:>9,} {score.precision:>9.3f} "
                f"{score.recall:>9.3f} {score.f1:>9.3f}"
                for name, score in self.scores().items()
            ),
            f"  {self.covered:.1%} of the labelled entities lie wholly inside something found; the "
            "others would not be protected as entities.",
        ]


def _under(category: str, labels: set[str]) -> str | None:
    if category not in labels:
        category = _COVERED_BY.get(category, "")
    return category if category in labels else None
