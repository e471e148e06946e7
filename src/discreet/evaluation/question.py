"""What somebody who asks for advice wants to do, with whom, and how much may be given away."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from shlex import quote

from discreet.errors import InvalidValue
from discreet.settings import Setting, Settings

PURPOSES = {
    "read": "somebody, or a language model, reads the texts",
    "classify": "somebody trains a classifier on the texts and their labels",
    "search": "somebody looks for texts that are alike",
    "model": "I train the model on the raw texts myself, and only the model goes out",
}
RECIPIENTS = {
    "colleagues": "people bound by my rules, who may know the words but not whose they are",
    "vendor": "a company or a team that I do not want to trust with the words",
    "anyone": "everybody, for ever: the release is published",
}
MOST_NAMED = {"vendor": 0.5, "anyone": 0.2}
"""How many words the best attacker may name: more than that, and the texts are not protected."""


def _listed(known: Mapping[str, str]) -> str:
    return "; ".join(f"{name}: {meant}" for name, meant in known.items())


@dataclass(frozen=True)
class Question(Settings):
    """What is to be done with which public sample."""

    purpose: str = Setting(
        f"What becomes of the release. {_listed(PURPOSES)}.", choices=tuple(PURPOSES)
    ).default("read")
    recipient: str = Setting(
        f"Who gets it. {_listed(RECIPIENTS)}.", choices=tuple(RECIPIENTS)
    ).default("vendor")
    texts: Sequence[str] = field(default=(), repr=False)
    """Of the sample; none as long as there is no sample."""
    labels: Sequence[str] | None = field(default=None, repr=False)
    most_named: float | None = Setting(
        "The largest share of words that the best attacker may name; 0.5 for a vendor, "
        "0.2 for anyone unless given.",
        above=0,
        below=1,
    ).default(None)
    text_field: str = Setting("Column or field that holds the text.").default("text")
    label_field: str | None = Setting("Column or field of the labels, for a classifier.").default(
        None
    )
    seed: int = Setting("Seed of the trials.", at_least=0).default(0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.purpose == "classify" and self.texts and self.labels is None:
            raise InvalidValue("for a classifier the sample must have labels; name their field")

    @property
    def needs_sample(self) -> bool:
        """Whether the answer depends on trials."""
        return self.purpose != "model" and self.recipient != "colleagues"

    @property
    def fields(self) -> str:
        """The options that name what a release takes from a file with the sample's columns."""
        named = f" --text-field {quote(self.text_field)}" * (self.text_field != "text")
        kept = self.purpose == "classify" and self.label_field is not None
        return named + f" --keep {quote(self.label_field or '')}" * kept

    @property
    def limit(self) -> float:
        """The share of words that may be named."""
        return self.most_named or MOST_NAMED.get(self.recipient, 1.0)
