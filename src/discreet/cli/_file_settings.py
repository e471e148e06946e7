"""Settings of commands that read files of texts: how they are read, what becomes of columns."""

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.errors import InvalidValue
from discreet.settings import Setting
from discreet.text.fates import DROP, KEEP, ColumnSettings
from discreet.text.identifiers.patterns import TYPES
from discreet.text.readers import MAX_DOCUMENT_BYTES, ReadingSettings

_MEGABYTE = 2**20


@dataclass(frozen=True, kw_only=True)
class ColumnOptions(ColumnSettings):
    """What becomes of each column, as one types it."""

    surrogate: Sequence[str] = Setting(
        "Replace the values of this column by surrogates of a type such as email, person or "
        "code, drawn without looking at them; repeatable.",
        metavar="COLUMN=TYPE",
    ).default(())
    keep_others: bool = Setting("Write every column that is not named as it is.").default(False)
    drop_others: bool = Setting("Leave out every column that is not named.").default(False)

    @property
    def said(self) -> ColumnSettings:
        """The same as one writes it in Python."""
        if self.keep_others and self.drop_others:
            raise InvalidValue("--keep-others and --drop-others exclude each other; choose one")
        return ColumnSettings(
            text_field=self.text_field,
            keep=self.keep,
            drop=self.drop,
            surrogates=self._typed(),
            others=KEEP if self.keep_others else DROP if self.drop_others else None,
        )

    def _typed(self) -> dict[str, str]:
        kinds: dict[str, str] = {}
        for each in self.surrogate:
            name, sign, kind = each.rpartition("=")
            if not sign or not name or name in kinds:
                raise InvalidValue(
                    "--surrogate must be COLUMN=TYPE, once for a column, such as customer=person; "
                    f"the types are {', '.join(TYPES)}"
                )
            kinds[name] = kind
        return kinds


@dataclass(frozen=True, kw_only=True)
class ReadingOptions(ReadingSettings):
    """How an input is read, as one types it."""

    max_document_mb: float = Setting("Refuse longer documents.", above=0).default(
        MAX_DOCUMENT_BYTES / _MEGABYTE
    )

    @property
    def said(self) -> ReadingSettings:
        """The same as one writes it in Python."""
        return ReadingSettings(
            format=self.format,
            delimiter=self.delimiter,
            encoding=self.encoding,
            max_document_bytes=max(1, round(self.max_document_mb * _MEGABYTE)),
        )


def refuse_for_folders(**given: object) -> None:
    """Refuse what is for a single file, if it is given, by the name of its option."""
    for name, value in given.items():
        if value is not None and value is not False:
            flag = "--" + name.replace("_", "-")
            raise InvalidValue(f"{flag} is for a single file; leave it out for a folder")
