"""The public material that a mechanism is made from by its name alone, small unless it is given."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from discreet import check
from discreet.arrays import Floats32
from discreet.encoders.candidate_store import CandidateStore, Voters
from discreet.errors import InvalidValue
from discreet.mechanisms.registry import MechanismEntry
from discreet.settings import Setting, Settings, settings_of
from discreet.spaces.space import EmbeddingSpace

DIMENSION = 16
_SEED = 20260701
_LABELS = 4
_PRIOR = (0.4, 0.3, 0.2, 0.1)
_BELONGS = {"candidates": "document", "labels": "label", "label_prior": "label"}


@dataclass(frozen=True, kw_only=True)
class Material(Settings):
    """What mechanisms of documents and labels are made from."""

    heading: ClassVar[str] = "Mechanism"

    candidates: Path | None = Setting(
        "Documents: a store that 'discreet train candidates' made; a small made-up one unless "
        "given."
    ).default(None)
    labels: str | None = Setting(
        f"Labels: all there are, with commas between them, or their number; {_LABELS} unless given."
    ).default(None)
    label_prior: str | None = Setting(
        "prior-response: PUBLIC guess at the share of each label, with commas between them; "
        "falling from 0.4 to 0.1 unless given."
    ).default(None)

    def of(
        self,
        entry: MechanismEntry,
        settings: Mapping[str, Any],
        space: Callable[[], EmbeddingSpace],
    ) -> tuple[dict[str, Any], str]:
        """The material of a mechanism by the name of its parameter, and what a report calls it.

        Args:
            entry: the mechanism.
            settings: what is given of it.
            space: loads the vocabulary, if it is for words.
        """
        for option in settings_of(Material):
            family = _BELONGS[option.name]
            if family != entry.family and getattr(self, option.name) is not None:
                raise misplaced(option.flag, family, entry)
        if entry.family == "label":
            return self._of_labels(entry)
        if entry.family == "document":
            if self.candidates is None:
                return {"store": made_up_store()}, "with a small made-up store"
            store = CandidateStore.load(self.candidates)
            return {"store": store}, f"with the store {self.candidates.name}"
        if entry.family == "sentence":
            dimension = settings.get("dimension", DIMENSION)
            return {"dimension": dimension}, f"in {dimension} dimensions"
        words = space()
        return {"space": words}, f"in the space {words.name} ({len(words):,} words)"

    def _of_labels(self, entry: MechanismEntry) -> tuple[dict[str, Any], str]:
        prior: tuple[float, ...] | None = None
        if self.label_prior is not None:
            prior = check.numbers(self.label_prior, "--label-prior")
        elif self.labels is None and any(each.name == "prior" for each in entry.settings):
            prior = _PRIOR
        said = str(len(prior or range(_LABELS))) if self.labels is None else self.labels
        labels = int(said) if said.isdecimal() else check.labels(said)
        count = labels if isinstance(labels, int) else len(labels)
        return {"labels": labels, "prior": prior}, f"of {count} labels"


def misplaced(flag: str, family: str, entry: MechanismEntry) -> InvalidValue:
    """The error for an option that is about another family."""
    return InvalidValue(
        f"{flag} is for a {family}; {entry.name} is for a {entry.family}: leave it out"
    )


def made_up_store() -> CandidateStore:
    """A small public side for document mechanisms, for audits alone: numbers at random."""
    width, candidates, choices, projections = 6, 12, 5, 4
    rng = np.random.default_rng(_SEED)

    def rows(count: int) -> Floats32:
        return rng.standard_normal((count, width)).astype(np.float32)

    voters = Voters(rows(choices), rows(choices), np.zeros(choices, np.float32))
    return CandidateStore(
        candidates=rows(candidates),
        texts=tuple(f"made-up document {number}" for number in range(candidates)),
        clusters=np.arange(candidates) % choices,
        projections=rows(projections),
        centroids={choices: rows(choices)},
        voters={choices: voters},
        box=np.stack([-np.ones(width), np.ones(width)]).astype(np.float32),
        recoder=None,
        encoder="made up",
        best_projections={1.0: projections},
        best_centroids={1.0: choices},
        best_voters={1.0: choices},
        about={"made": "for an audit"},
        soft_voters={1.0: voters},
    )
