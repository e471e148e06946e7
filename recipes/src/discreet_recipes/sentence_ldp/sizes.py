"""What the recipe sentence-ldp can be told, and its three named settings."""

from dataclasses import dataclass, replace
from typing import Annotated

from discreet.settings import Setting
from discreet_recipes.recipe import Options


@dataclass(frozen=True, kw_only=True)
class SentenceLDPOptions(Options):
    """Options of the recipe sentence-ldp."""

    encoder: Annotated[str, Setting("Model that makes vectors of sentences.")]
    sst2: Annotated[tuple[int, ...], Setting("Public, private and test rows of SST-2.", at_least=1)]
    imdb: Annotated[tuple[int, ...], Setting("The same of IMDb.", at_least=1)]
    dimensions: Annotated[tuple[int, ...], Setting("Dimensions m' of the sweep.", at_least=2)]
    epsilons: Annotated[tuple[float, ...], Setting("Epsilons of a vector.", above=0)]
    label_epsilons: Annotated[tuple[float, ...], Setting("Epsilons of a label.", above=0)]
    attacked_epsilons: Annotated[tuple[float, ...], Setting("Epsilons of the attacks.", above=0)]
    map_epochs: Annotated[int, Setting("Epochs of a map.", at_least=1)]
    model_epochs: Annotated[int, Setting("Epochs of the task's layers.", at_least=1)]
    trials: Annotated[int, Setting("Repetitions over the noise.", at_least=1)]
    attacked: Annotated[int, Setting("Rows that are attacked.", at_least=1)]


QUICK = SentenceLDPOptions(
    encoder="all-MiniLM-L6-v2",
    sst2=(6735, 6000, 872),
    imdb=(1200, 1200, 800),
    dimensions=(2, 4, 16, 64, 384),
    epsilons=(1.0, 2.0, 4.0, 8.0, 10.0, 12.0),
    label_epsilons=(0.5, 1.0, 2.0, 3.0),
    attacked_epsilons=(1.0, 4.0, 8.0, 12.0),
    map_epochs=6,
    model_epochs=5,
    trials=3,
    attacked=800,
)
STANDARD = replace(
    QUICK,
    sst2=(6735, 20_000, 872),
    imdb=(3000, 5000, 3000),
    dimensions=(2, 4, 8, 16, 32, 64, 128, 384),
    map_epochs=10,
    model_epochs=8,
    trials=5,
    attacked=2000,
)
PAPER = replace(
    STANDARD,
    encoder="",
    sst2=(6735, 60_614, 872),
    imdb=(5000, 20_000, 25_000),
    map_epochs=15,
    attacked=3000,
)


def files(options: SentenceLDPOptions) -> list[str]:
    """What it reads."""
    del options  # the same for all
    return [
        *(f"sst2-{p}" for p in ("train", "dev", "test")),
        *(f"imdb-{p}" for p in ("train", "val", "test")),
    ]
