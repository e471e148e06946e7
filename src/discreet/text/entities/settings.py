"""Which sources look for entities, and for which kinds of them."""

from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path

from discreet.errors import InvalidValue
from discreet.settings import Setting, Settings
from discreet.text.entities import recognisers
from discreet.text.entities.found import Source, chosen_categories
from discreet.text.entities.gazetteer import load_gazetteer


@dataclass(frozen=True, kw_only=True)
class EntitySettings(Settings):
    """What finds entities; several sources can be combined."""

    labels: bool = Setting("Take the BIO tags of the data (--tags-field).").default(False)
    gazetteer: Path | None = Setting(
        "A list with one entity per line, optionally followed by a tab and its category."
    ).default(None)
    spacy: str | None = Setting("An installed spaCy pipeline, by name or by path.").default(None)
    presidio: str | None = Setting("Presidio, on top of this spaCy pipeline.").default(None)
    categories: str | None = Setting(
        "Which to look for, separated by commas: person, org, loc, gpe, misc, norp, fac, pii "
        "(these unless given), date, time, money, ...; all; or labels of your own."
    ).default(None)
    least_score: float | None = Setting(
        "Drop what Presidio is less sure of (0.4).", above=0, at_most=1
    ).default(None)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.labels or self.gazetteer or self.spacy or self.presidio):
            raise InvalidValue("name a source: --labels, --gazetteer, --spacy or --presidio")
        if self.least_score is not None and self.presidio is None:
            raise InvalidValue("--least-score belongs to --presidio; leave it out")

    @property
    def chosen(self) -> Container[str]:
        """The categories to look for."""
        return chosen_categories(self._named)

    @property
    def _named(self) -> list[str] | None:
        if self.categories is None:
            return None
        return [name.strip() for name in self.categories.split(",")]

    def sources(self) -> tuple[list[Source], int]:
        """What finds entities, and how many entries of the list are of other categories."""
        chosen, sources, left_out = self.chosen, list[Source](), 0
        if self.gazetteer is not None:
            listed, left_out = load_gazetteer(self.gazetteer, chosen)
            sources.append(listed)
        if self.spacy is not None:
            sources.append(recognisers.SpacyEntities(recognisers.load_pipeline(self.spacy), chosen))
        if self.presidio is not None:
            least = recognisers.LEAST_SCORE if self.least_score is None else self.least_score
            pipeline = recognisers.load_pipeline(self.presidio)
            sources.append(recognisers.PresidioEntities(pipeline, chosen, least_score=least))
        # A category that nothing can find would be left unprotected in silence.
        missing = frozenset[str]()
        if self._named is not None and isinstance(chosen, frozenset) and not self.labels:
            missing = chosen.difference(*(source.categories for source in sources))
        if missing:
            raise InvalidValue(
                f"no source given here finds {', '.join(sorted(missing))}; add a source that does, "
                "or leave it out of --categories"
            )
        return sources, left_out
