"""One pass over a file: rows out with their entities, counts kept for people."""

from collections import Counter
from collections.abc import Container, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from discreet.arrays import Progress
from discreet.errors import InputError, InvalidValue
from discreet.text.entities.agreement import Agreement
from discreet.text.entities.found import Entity, Source, merged
from discreet.text.entities.labels import BadTags, labelled
from discreet.text.entities.output import lines_to
from discreet.text.entities.rows import Fields, TextRow, read_rows
from discreet.text.entities.settings import EntitySettings
from discreet.text.lines import display_name


def find_entities(
    source: str,
    output: str | None,
    settings: EntitySettings,
    fields: Fields,
    *,
    format: str | None = None,
    evaluate: bool = False,
    force: bool = False,
    progress: Progress | None = None,
) -> "Survey":
    """Write the rows of a file with their entities, whole or not at all, and count them.

    The output is as sensitive as the input.

    Args:
        source: jsonl (text, or tokens with tags), or txt, csv, tsv (each also .gz) or parquet;
            ``-`` is standard input.
        output: where JSON lines go; ``-`` is standard output, None only counts.
        settings: what to look for, and with which sources.
        fields: where the text, the tokens and the tags are.
        format: of the source, if its name does not tell.
        evaluate: compare what is found with the tags of the data.
        force: replace an output that exists.
        progress: called with bytes read and bytes in all (0: unknown).
    """
    if evaluate and settings.labels:
        raise InvalidValue("--evaluate compares other sources with the labels; leave out --labels")
    # The output's place comes first: a mistake in a name must not show only after long work.
    with lines_to(output, source, force=force) as write:
        sources, left_out = settings.sources()
        survey = Survey(
            sources,
            settings.chosen,
            labels=settings.labels,
            left_out=left_out,
            agreement=Agreement() if evaluate else None,
        )
        for line in survey.lines(source, fields, format=format, progress=progress):
            write(line)
    return survey


@dataclass(repr=False)
class Survey:
    """Finds the entities of rows and counts them.

    Attributes:
        sources: What finds entities, the most trusted first.
        categories: Those chosen.
        labels: Take the tags of the data as a source too, before all others.
        left_out: How many labels, and entries of lists, are of other categories.
        agreement: Compares what the sources find with the tags of the data, if asked for.
        rows: How many rows were read.
        sensitive: How many hold an entity.
        mentions: How many mentions there are of each category.
    """

    sources: Sequence[Source]
    categories: Container[str]
    _: KW_ONLY
    labels: bool = False
    left_out: int = 0
    agreement: Agreement | None = None
    rows: int = field(default=0, init=False)
    sensitive: int = field(default=0, init=False)
    mentions: Counter[str] = field(default_factory=Counter, init=False)
    _ids: set[str] = field(default_factory=set, init=False)

    @property
    def entities(self) -> int:
        """How many different entities there are."""
        return len(self._ids)

    def lines(
        self,
        source: str,
        fields: Fields,
        *,
        format: str | None = None,
        progress: Progress | None = None,
    ) -> Iterator[str]:
        """The rows of a file as JSON lines with their entities.

        Args:
            source: A path, or ``-``.
            fields: Where the text, the tokens and the tags are.
            format: Of the source, if its name does not tell.
            progress: Called with bytes read and bytes in all (0: unknown).
        """
        for rows, done, total in read_rows(source, fields, format=format):
            texts = [row.text for row in rows]
            by_source = [finder.find(texts) for finder in self.sources]
            for position, row in enumerate(rows):
                by_tokens = [row.by_tokens(lists[position]) for lists in by_source]
                yield row.written(self._kept(row, by_tokens, display_name(source)))
            if progress is not None:
                progress(done, total)

    def _kept(self, row: TextRow, by_source: list[list[Entity]], name: str) -> list[Entity]:
        gold: list[Entity] = []
        if row.tokens is not None and row.tags is not None:
            try:
                gold, other = labelled(row.tokens, row.tags, self.categories)
            except BadTags as error:
                raise InputError(f"line {row.number} of {name} {error}") from None
            self.left_out += other
        kept = merged([gold, *by_source] if self.labels else by_source)
        if self.agreement is not None:
            self.agreement.add(gold, kept)
        self.rows += 1
        self.sensitive += bool(kept)
        self.mentions.update(entity.category for entity in kept)
        self._ids.update(entity.id for entity in kept)
        return kept

    def in_words(self) -> list[str]:
        """The counts for people; nothing of the text."""
        lines = [
            f"{self.sensitive:,} row{'' if self.sensitive == 1 else 's'} of {self.rows:,} hold "
            f"{self.mentions.total():,} mention{'' if self.mentions.total() == 1 else 's'} of "
            f"{self.entities:,} different entities.",
            *(f"  {category:<12} {count:>9,}" for category, count in sorted(self.mentions.items())),
        ]
        if self.left_out:
            lines.append(f"Left out, being of other categories: {self.left_out:,}.")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """The counts, ready for JSON; nothing of the text."""
        values: dict[str, Any] = {
            "rows": self.rows,
            "sensitive_rows": self.sensitive,
            "entities": self.entities,
            "mentions": dict(sorted(self.mentions.items())),
            "left_out": self.left_out,
        }
        if self.agreement is not None:
            values["agreement"] = {
                name: score.to_dict() for name, score in self.agreement.scores().items()
            }
            values["covered"] = self.agreement.covered
        return values
