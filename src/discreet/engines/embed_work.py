"""Vectors of many files: what ``discreet embed`` does to one, as the work of an engine."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet import __version__
from discreet.accounting.lifting import group_as
from discreet.arrays import Progress
from discreet.encoders.settings import EncoderSettings, MapSettings
from discreet.engines.parts import PartReceipt
from discreet.engines.plan import Part
from discreet.engines.row_prints import RowPrints
from discreet.engines.work import Work
from discreet.errors import InputError, InvalidValue
from discreet.mechanisms.registry import described, find
from discreet.protocols import Release
from discreet.receipt import Receipt
from discreet.release.documents import CandidateSettings, DocumentEmbedder
from discreet.release.recipe import require_version, with_paths
from discreet.release.rows import Noise
from discreet.release.sentences import SentenceEmbedder
from discreet.release.strength import refuse_weak_vectors
from discreet.release.tables import release_vectors
from discreet.release.vector_files import sentences_in
from discreet.settings import Settings, declared_in
from discreet.staging import Staged
from discreet.statement import PrivacyStatement, Unit
from discreet.text.as_parquet import parquet_output
from discreet.text.fates import DROP, Fates
from discreet.text.kept import bare_table
from discreet.text.readers import ReadingSettings, open_documents

if TYPE_CHECKING:
    import pyarrow as pa

Embedder = SentenceEmbedder | DocumentEmbedder
_ROWS, _PEEK = 8192, 100
_TRAINED, _LONGEST = "trained:", "longest"


@dataclass(frozen=True, kw_only=True)
class EmbedWork(Work):
    """Release a vector for each text.

    Args:
        unit: ``"sentence"`` or ``"document"``.
        mechanism: its name.
        settings: of the mechanism.
        map: of sentences.
        encoder: which one.
        candidates: of documents.
        labels: the possible ones, if labels are released.
        label_mechanism: by name; None releases them as they are.
        label_settings: of that mechanism.
        text_field: the column of texts.
        pair_field: of second sentences.
        label_field: of labels.
        keep: columns that are written as they are.
        made_by: makes the embedder, where somebody watches; from the rest unless given.
        fingerprints: of what was made where the release began; empty as long as nothing was.
        version: of discreet.
    """

    unit: str = "sentence"
    mechanism: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    map: MapSettings = field(default_factory=MapSettings)
    encoder: EncoderSettings = field(default_factory=EncoderSettings)
    candidates: CandidateSettings = field(default_factory=CandidateSettings)
    labels: tuple[str, ...] | None = None
    label_mechanism: str | None = None
    label_settings: Mapping[str, Any] = field(default_factory=dict)
    text_field: str = "text"
    pair_field: str | None = None
    label_field: str | None = None
    keep: tuple[str, ...] = ()
    made_by: Callable[[], Embedder] | None = field(default=None, repr=False, compare=False)
    fingerprints: str = ""
    version: str = __version__

    @cached_property
    def made(self) -> Embedder:
        """The embedder, made once in each process, and the same as where the release began."""
        require_version(self.version)
        made = self._make() if self.made_by is None else self.made_by()
        if self.fingerprints not in ("", _fingerprint(made)):
            raise InvalidValue(
                "the encoder, the map, the candidates or the mechanism is not the same here as "
                "where the release began (their fingerprints differ); give all workers the same "
                "files"
            )
        return made

    def _make(self) -> Embedder:
        if self.unit == "document":
            return DocumentEmbedder.from_names(
                self.mechanism, self.settings, self.candidates, self.encoder
            )
        law = None
        if self.labels is not None and self.label_mechanism is not None:
            given = {"labels": self.labels, **self.label_settings}
            law = find(self.label_mechanism, "label").build(given)
        return SentenceEmbedder.from_names(
            self.mechanism,
            self.settings,
            self.map,
            self.encoder,
            labels=self.labels,
            label_mechanism=law,
        )

    def to_json(self) -> str:
        """With the fingerprints of what was made, which every worker compares with its own."""
        encoder, map = self.encoder.encoder, self.map.map
        if Path(encoder).exists():  # a worker may have another working directory
            encoder = str(Path(encoder).absolute())
        if map.startswith(_TRAINED):
            map = _TRAINED + str(Path(map.removeprefix(_TRAINED)).absolute())
        sent = replace(
            self,
            encoder=replace(self.encoder, encoder=encoder),
            map=replace(self.map, map=map),
            fingerprints=_fingerprint(self.made),
            made_by=None,
        )
        values = {"kind": "embed", **asdict(sent)}
        del values["made_by"]
        return json.dumps(values, default=lambda path: str(path.absolute()), sort_keys=True)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "EmbedWork":
        """The inverse of :meth:`to_json`."""
        own: dict[str, Any] = {key: value for key, value in values.items() if key != "kind"}
        for name, kind in _GROUPS.items():
            own[name] = kind(**with_paths(own[name], declared_in(kind)))
        own |= {"keep": tuple(own["keep"]), "labels": own["labels"] and tuple(own["labels"])}
        return cls(**own)

    @property
    def _fates(self) -> Fates:
        beside = [name for name in (self.pair_field, self.label_field) if name is not None]
        return Fates((self.text_field,), keep=(*beside, *self.keep), others=DROP)

    def _tables(
        self, source: str | Path, groups: tuple[int, ...] | None, rows: int
    ) -> Iterator[tuple[int, str, "pa.Table"]]:
        """The columns that are needed, some rows at a time, with the number of the first."""
        import pyarrow as pa

        fates = self._fates
        with open_documents(
            source,
            reading=self.reading,
            text_field=self.text_field,
            batch_documents=rows,
            row_groups=groups,
        ) as reader:
            if reader.format == "txt" and fates.keep:
                raise InputError(f"{source} is plain text and has no column {fates.keep[0]}")
            own = replace(fates, others=None) if reader.format == "txt" else fates
            columns, _, as_parquet = parquet_output(reader, own)
            for batch in reader:
                parted = columns.part(batch)
                plain = as_parquet(parted.joined(parted.texts))
                rest: Any = plain.rows
                named = [each for each in rest.schema.names if each in fates.keep]
                columns_used: dict[str, Any] = {name: rest.column(name) for name in named}
                columns_used[self.text_field] = pa.array(batch.texts, pa.string())
                yield batch.first_row, reader.format, pa.table(columns_used)

    def schema_of(self, path: Path) -> "pa.Schema":
        """The columns that are kept of a file, and that those which are needed are there."""
        _, format, table = next(self._tables(path, None, _PEEK))
        self._seen.append(format)
        return table.schema

    @cached_property
    def _seen(self) -> list[str]:
        """The formats of the files that were looked at: all are the same."""
        return []

    def prepare(self, size: int, progress: Progress | None = None) -> None:  # noqa: ARG002
        """Load encoder, map and mechanism, and refuse a weak statement unless it is accepted."""
        if not self.accept_weak:
            refuse_weak_vectors(self.made.statement)

    def _released(
        self, table: "pa.Table", first_row: int, noise: Noise | None
    ) -> "Release[pa.Table]":
        rng = None
        if noise is not None:
            used = [name for name in (self.text_field, self.pair_field, self.label_field) if name]
            rng = noise(first_row, [list(map(str, table.column(n).to_pylist())) for n in used])
        return release_vectors(
            self.made,
            table,
            self.text_field,
            label=self.label_field,
            second=self.pair_field,
            rng=rng,
            first_row=first_row,
        )

    def _write(
        self, part: Part, noise: Noise | None, prints: RowPrints | None, output: Staged
    ) -> Mapping[str, Any]:
        import pyarrow.parquet as pq

        counts: Counter[str] = Counter(rows=0, sentences=0, left_out=0)
        writer, longest = None, 0
        with output.open() as file:
            for first_row, _, table in self._tables(part.source, part.row_groups, _ROWS):
                release = self._released(table, first_row, noise)
                has_vector = release.values.column("vector").is_valid()
                out = bare_table(release.values.filter(has_vector))
                writer = writer or pq.ParquetWriter(file, out.schema)
                writer.write_table(out)
                counts["rows"] += len(out)
                counts["sentences"] += release.units
                counts["left_out"] += len(table) - len(out)
                texts: Any = table.column(self.text_field).to_pylist()
                sizes = sentences_in(self.made, texts)
                if prints is not None:
                    others: Any = self.pair_field and table.column(self.pair_field).to_pylist()
                    prints.add((texts, sizes), *([(others, sizes)] if others else []))
                sizes = sizes * (1 if self.pair_field is None else 2)
                longest = max(longest, int(sizes.max(initial=0)))
            if writer is not None:
                writer.close()
        return {**counts, _LONGEST: longest}

    def receipt(self, parts: Iterable[PartReceipt]) -> Receipt:
        counts: Counter[str] = Counter()
        for each in parts:
            counts.update({key: each.counts[key] for key in each.counts if key != _LONGEST})
        if isinstance(self.made, DocumentEmbedder):
            receipt = self.made.receipt(self.made.release([]))
            told = {"documents": counts["rows"], "left_out": counts["left_out"]}
        else:
            nothing: list[str] = []
            labels = None if self.labels is None else nothing
            second = None if self.pair_field is None else nothing
            receipt = self.made.receipt(self.made.release([], labels, second=second))
            told = {"rows": counts["rows"]}
        if self.keep:
            kept = f"what is kept as it is: {', '.join(self.keep)}"
            receipt = replace(receipt, statement=receipt.statement.with_public(kept))
        fields = {
            "format": self._seen[0],
            "text_field": self.text_field,
            "pair_field": self.pair_field,
            "label_field": self.label_field,
            "kept": list(self.keep),
        }
        told["sentences"] = counts["sentences"]
        return receipt.with_section("counts", told).with_section("input", fields)

    def longest(
        self, parts: Iterable[PartReceipt], receipt: Receipt, copies: int
    ) -> PrivacyStatement:
        """As a single file is charged: for both sentences of a pair, all those of a document."""
        most = max(1, copies, *(int(each.counts[_LONGEST]) for each in parts))
        if self.unit == "document":
            # One release speaks of all sentences of a document: they are a group, not draws apart.
            return group_as(receipt.statement, most, Unit.DOCUMENT)
        return receipt.statement.for_units(most, unit=Unit.DOCUMENT)

    def units(self, receipt: Receipt) -> int:
        return int(receipt.counts["sentences"])


_GROUPS: dict[str, type[Settings]] = {
    "map": MapSettings,
    "encoder": EncoderSettings,
    "candidates": CandidateSettings,
    "reading": ReadingSettings,
}


def _fingerprint(made: Embedder) -> str:
    public = made.store if isinstance(made, DocumentEmbedder) else made.map
    decides = {
        "version": __version__,
        "mechanism": described(made.mechanism),
        "encoder": made.encoder.fingerprint,
        "public": public.fingerprint,
        "statement": made.statement.to_dict(),
    }
    return hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()
