"""How the public side of document mechanisms is made."""

from dataclasses import dataclass, replace
from typing import ClassVar

from discreet.devices import AUTO, DEVICE
from discreet.settings import Setting, Settings


@dataclass(frozen=True, kw_only=True)
class StoreSettings(Settings):
    """How a store of candidates is made from PUBLIC documents."""

    heading: ClassVar[str] = "Candidates"

    candidates: int = Setting("How many documents may be released.", at_least=1).default(5000)
    min_sentences: int = Setting("Sentences of a candidate, at least.", at_least=1).default(8)
    clusters: int = Setting("Clusters of documents that the recoder keeps.", at_least=2).default(50)
    projections: int = Setting("Random projections to choose from.", at_least=1).default(100)
    recoder: bool = Setting("Whether to train a recoder.").default(True)
    seed: int = Setting("Seed of samples and weights, all public.", at_least=0).default(0)
    epochs: int = Setting("Passes of the recoder, at most.", at_least=1, option=False).default(20)
    device: str = replace(DEVICE, option=False).default(AUTO)


@dataclass(frozen=True, kw_only=True)
class PublicDocuments(Settings):
    """How a file of public documents is read."""

    heading: ClassVar[str] = "Public documents"

    text_field: str = Setting("Column or field that holds the text.").default("text")
    label_field: str | None = Setting(
        "Column of a public label, if the task is known: the recoder then keeps labels instead "
        "of clusters."
    ).default(None)
    format: str | None = Setting(
        "Format of the input if its name does not show it: txt, csv, tsv, jsonl, parquet, or "
        "with .gz."
    ).default(None)
    language: str = Setting("Code of the language, for cutting into sentences.").default("en")
    validation_share: float = Setting(
        "Share of the documents that choices are made on.", above=0, below=1
    ).default(0.1)
