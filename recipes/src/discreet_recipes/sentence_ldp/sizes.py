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
    model: Annotated[str, Setting("BERT-style model that is trained end to end.")]
    tuned: Annotated[
        tuple[int, ...], Setting("SST-2 rows it is trained on; then test rows.", at_least=10)
    ]
    tuned_public: Annotated[
        tuple[int, ...],
        Setting("PUBLIC rows for release once: of SST-2 dev and of Yelp sentences.", at_least=0),
    ]
    least_words: Annotated[int, Setting("Shorter training rows are left out.", at_least=1)]
    tuned_epochs: Annotated[int, Setting("Epochs end to end; each costs epsilon.", at_least=1)]
    tuned_batch: Annotated[int, Setting("Rows in a step end to end.", at_least=1)]
    tuned_rate: Annotated[float, Setting("Learning rate of the encoder.", above=0)]
    map_rate: Annotated[float, Setting("Learning rate of M1, M2 and the task layers.", above=0)]
    frozen_layers: Annotated[int, Setting("Lowest layers that are not trained.", at_least=0)]
    tuned_dimensions: Annotated[tuple[int, ...], Setting("m' of the runs end to end.", at_least=2)]
    tuned_seeds: Annotated[tuple[int, ...], Setting("Seeds of the runs end to end.", at_least=0)]
    qnli: Annotated[int, Setting("Rows of QNLI; two thirds train, one third tests.", at_least=0)]
    news: Annotated[int, Setting("Rows of 20 Newsgroups, of each half.", at_least=0)]
    authors: Annotated[int, Setting("Authors of Reuters 50 to tell apart.", at_least=0)]
    searched: Annotated[int, Setting("Sentences that the white-box search is for.", at_least=0)]


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
    model="all-MiniLM-L6-v2",
    tuned=(1500, 872),
    tuned_public=(1500, 0),
    least_words=8,
    tuned_epochs=1,
    tuned_batch=32,
    tuned_rate=1e-4,
    map_rate=1e-3,
    frozen_layers=3,
    tuned_dimensions=(16,),
    tuned_seeds=(0,),
    qnli=300,
    news=600,
    authors=5,
    searched=20,
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
    tuned=(10_000, 872),
    tuned_public=(6735, 0),
    tuned_epochs=2,
    tuned_dimensions=(16, 64),
    qnli=4500,
    news=3000,
    authors=20,
    searched=60,
)
PAPER = replace(
    STANDARD,
    encoder="",
    sst2=(6735, 60_614, 872),
    imdb=(5000, 20_000, 25_000),
    map_epochs=15,
    attacked=3000,
    model="",
    tuned=(60_614, 872),
    tuned_public=(6735, 63_483),
    least_words=1,
    tuned_epochs=3,
    tuned_batch=64,
    tuned_rate=2e-5,
    map_rate=2e-5,
    frozen_layers=0,
    tuned_dimensions=(16, 32, 64, 128, 256, 512, 768),
    tuned_seeds=(0, 1, 2),
    qnli=5463,
    news=7532,
    authors=50,
    searched=500,
)


def files(options: SentenceLDPOptions) -> list[str]:
    """What it reads."""
    more = {
        ("yelp-dev",): len(options.tuned_public) > 1 and options.tuned_public[1],
        ("qnli-dev",): options.qnli,
        ("20news-train", "20news-test"): options.news,
        ("reuters50-train", "reuters50-test"): options.authors,
    }
    return [
        *(f"sst2-{p}" for p in ("train", "dev", "test")),
        *(f"imdb-{p}" for p in ("train", "val", "test")),
        *(name for names, wanted in more.items() if wanted for name in names),
    ]
