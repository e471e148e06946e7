"""Settings of a release of text beside its mechanism: what passes, what is replaced whole."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from discreet.errors import InvalidValue
from discreet.protocols import WordMechanism
from discreet.release.text import LAYOUTS, READABLE, REPEATS, Sanitizer
from discreet.release.whole import DELTA
from discreet.settings import Setting, Settings
from discreet.text import function_words
from discreet.text.identifiers import Identifiers, SurrogateMapping
from discreet.text.identifiers.surrogates import load_surrogates


@dataclass(frozen=True, kw_only=True)
class IdentifierSettings(Settings):
    """What is found as an identifier, and what takes its place."""

    heading: ClassVar[str] = "Identifiers"

    identifiers: str | None = Setting(
        "Replace e-mail addresses, numbers, names and the like by surrogates of their type, "
        "found by rules (for English), spacy or presidio (spacy:PATH and presidio:PATH take "
        "another pipeline than en_core_web_md)."
    ).default(None)
    consistent: str = Setting(
        "Equal identifiers get equal surrogates: none, document (within each), or key:FILE "
        "(wherever that secret key is used)."
    ).default("none")
    surrogates: Path | None = Setting(
        "A public list to draw surrogates from: on each line one, a tab and its type."
    ).default(None)
    keep_mapping: Path | None = Setting(
        "Write which surrogate stands for which value, for 'discreet restore'; only you can "
        "read the file. "
        "It is as sensitive as INPUT."
    ).default(None)

    def check_together(self, text_fields: int) -> None:
        """Refuse what belongs to --identifiers without it, and a mapping of several columns."""
        if self.keep_mapping is not None and text_fields > 1:
            raise InvalidValue("--keep-mapping is for one --text-field; release the others apart")
        given = {
            "--consistent": self.consistent != "none",
            "--surrogates": self.surrogates is not None,
            "--keep-mapping": self.keep_mapping is not None,
        }
        for flag, used in given.items():
            if used and self.identifiers is None:
                raise InvalidValue(f"{flag} belongs to --identifiers; add that, or leave it out")

    def made(self, mapping: SurrogateMapping | None) -> Identifiers | None:
        """What replaces identifiers, if anything does."""
        if self.identifiers is None:
            return None
        listed = None if self.surrogates is None else load_surrogates(self.surrogates)
        return Identifiers(
            self.identifiers, consistent=self.consistent, surrogates=listed, mapping=mapping
        )


@dataclass(frozen=True, kw_only=True)
class ReadableSettings(Settings):
    """The settings for text that people read, in one word."""

    heading: ClassVar[str] = "Text"

    readable: bool = Setting(
        "For text that people read: --layout public, --public function-words, --polish and, "
        "with near-words, --guide ngram (or the guide you give), all at once."
    ).default(False)


@dataclass(frozen=True, kw_only=True)
class TextSettings(ReadableSettings):
    """What of a text passes, how often a word is drawn, and what is said of whole texts."""

    layout: str = Setting(
        "tokens: released words joined by spaces; public: keep white space, punctuation and "
        "capitals of the input, which are then public.",
        choices=tuple(LAYOUTS),
    ).default("tokens")
    public: str | None = Setting(
        "function-words: words such as 'the' and 'of', and punctuation, pass unchanged; the "
        "statement says so.",
        choices=(function_words.NAME,),
    ).default(None)
    polish: bool = Setting(
        "Correct a and an, spaces around punctuation, capitals (of names and abbreviations by "
        "a public list), and words that follow themselves, from the released text alone."
    ).default(False)
    repeat: str = Setting(
        "each: every occurrence of a word is drawn by itself; once: a word is drawn once for "
        "all its places in a document and charged once, and which places are equal is public.",
        choices=REPEATS,
    ).default("each")
    person_field: str | None = Setting(
        "Column or field that says whose text it is: also state what holds for the person "
        "with the most text."
    ).default(None)
    whole_delta: float = Setting(
        "Delta to trade for a smaller epsilon of whole texts; 0 for none.", at_least=0, below=1
    ).default(DELTA)

    @property
    def spared(self) -> str | None:
        """The public list of words that pass, if there is one."""
        return function_words.NAME if self.readable else self.public

    def sanitizer(self, mechanism: WordMechanism, identifiers: Identifiers | None) -> Sanitizer:
        """What releases texts so.

        Args:
            mechanism: built for the words that are left where some pass.
            identifiers: what replaces identifiers, if anything does.
        """
        own = {"layout": self.layout, "public": self.public, "polish": self.polish}
        shown = READABLE if self.readable else own
        return Sanitizer(mechanism, identifiers=identifiers, repeat=self.repeat, **shown)
