"""How the public side of document mechanisms is made."""

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

from discreet.devices import AUTO, DEVICE
from discreet.settings import Setting, Settings


@dataclass(frozen=True, kw_only=True)
class StoreSettings(Settings):
    """How a store of candidates is made from PUBLIC documents."""

    heading: ClassVar[str] = "Candidates"

    candidates: Annotated[int, Setting("How many documents may be released.", at_least=1)] = 5000
    min_sentences: Annotated[int, Setting("Sentences of a candidate, at least.", at_least=1)] = 8
    clusters: Annotated[
        int, Setting("Clusters of documents that the recoder keeps.", at_least=2)
    ] = 50
    projections: Annotated[int, Setting("Random projections to choose from.", at_least=1)] = 100
    recoder: Annotated[bool, Setting("Whether to train a recoder.")] = True
    seed: Annotated[int, Setting("Seed of samples and weights, all public.", at_least=0)] = 0
    epochs: Annotated[int, Setting("Passes of the recoder, at most.", at_least=1, option=False)] = (
        20
    )
    device: Annotated[str, replace(DEVICE, option=False)] = AUTO


@dataclass(frozen=True, kw_only=True)
class PublicDocuments(Settings):
    """How a file of public documents is read."""

    heading: ClassVar[str] = "Public documents"

    text_field: Annotated[str, Setting("Column or field that holds the text.")] = "text"
    label_field: Annotated[
        str | None,
        Setting(
            "Column of a public label, if the task is known: the recoder then keeps labels instead "
            "of clusters."
        ),
    ] = None
    format: Annotated[
        str | None,
        Setting(
            "Format of the input if its name does not show it: txt, csv, tsv, jsonl, parquet, or "
            "with .gz."
        ),
    ] = None
    language: Annotated[str, Setting("Code of the language, for cutting into sentences.")] = "en"
    validation_share: Annotated[
        float, Setting("Share of the documents that choices are made on.", above=0, below=1)
    ] = 0.1
