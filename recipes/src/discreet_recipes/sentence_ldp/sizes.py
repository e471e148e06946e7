"""What the recipe sentence-ldp can be told, and its three named settings."""

from dataclasses import dataclass, replace
from typing import Annotated

from discreet.settings import Setting
from discreet_recipes.data_files import files_of
from discreet_recipes.options import (
    PACKAGED,
    Counts,
    Model,
    Names,
    Numbers,
    Options,
    Pair,
    SentenceEncoder,
    Trials,
    Triple,
    count,
    positive,
)

DATA_SETS = ("sst2", "imdb")
MECHANISMS = ("purkayastha", "planar-laplace")


@dataclass(frozen=True, kw_only=True)
class SentenceLDPOptions(Options):
    """Options of the recipe sentence-ldp."""

    encoder: SentenceEncoder
    data_sets: Annotated[Names, Setting("Data sets of the curves and attacks.", choices=DATA_SETS)]
    sst2: Annotated[Triple, count("Public, private and test rows of SST-2.")]
    imdb: Annotated[Triple, count("The same of IMDb.")]
    dimensions: Annotated[Counts, count("Dimensions m' of the sweep.", 2)]
    epsilons: Annotated[Numbers, positive("Epsilons of a vector.")]
    label_epsilons: Annotated[Numbers, positive("Epsilons of a label.")]
    attacked_epsilons: Annotated[Numbers, positive("Epsilons of the attacks.")]
    map_epochs: Annotated[int, count("Epochs of a map.")]
    model_epochs: Annotated[int, count("Epochs of the task's layers.")]
    trials: Trials
    attacked: Annotated[int, count("Rows that are attacked.")]
    model: Annotated[str, Model("BERT-style model that is trained end to end.")]
    tuned: Annotated[Pair, count("SST-2 rows it is trained on; then test rows.", 10)]
    tuned_public: Annotated[
        Pair,
        count("PUBLIC rows for release once: of SST-2 dev and of Yelp sentences.", 0),
    ]
    least_words: Annotated[int, count("Shorter training rows are left out.")]
    tuned_epochs: Annotated[int, count("Epochs end to end.")]
    tuned_batch: Annotated[int, count("Rows in a step end to end.")]
    tuned_rate: Annotated[float, positive("Learning rate of the encoder.")]
    map_rate: Annotated[float, positive("Learning rate of M1, M2 and the task layers.")]
    frozen_layers: Annotated[int, count("Lowest layers that are not trained.", 0)]
    public_epochs: Annotated[
        Pair,
        count("Epochs on PUBLIC rows for release once, free: of SST-2 dev, and before of Yelp."),
    ]
    tuned_mechanisms: Annotated[Names, Setting("Noise of the runs end to end.", choices=MECHANISMS)]
    tuned_dimensions: Annotated[Counts, count("m' of the runs end to end.", 2)]
    once_dimensions: Annotated[
        Counts, count("m' of releases once, which need few: noise grows with m'.", 2)
    ]
    tuned_seeds: Annotated[Counts, count("Seeds of the runs end to end.", 0)]
    qnli: Annotated[int, count("Rows of QNLI; two thirds train, one third tests.", 0)]
    news: Annotated[int, count("Rows of 20 Newsgroups, of each half.", 0)]
    authors: Annotated[int, count("Authors of Reuters 50 to tell apart.", 0)]
    searched: Annotated[int, count("Sentences that the white-box search is for.", 0)]


QUICK = SentenceLDPOptions(
    encoder=PACKAGED,
    data_sets=DATA_SETS,
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
    model=PACKAGED,
    tuned=(1500, 872),
    tuned_public=(1500, 0),
    least_words=8,
    tuned_epochs=1,
    public_epochs=(1, 1),
    tuned_mechanisms=MECHANISMS,
    tuned_batch=32,
    tuned_rate=1e-4,
    map_rate=1e-3,
    frozen_layers=3,
    tuned_dimensions=(16,),
    once_dimensions=(16,),
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
    # A core trains on 83 to 90 of these rows a second: some 12 minutes a run, where 10,000 rows,
    # two epochs and half of the layers were not enough for the paper's level.
    tuned=(60_614, 872),
    tuned_public=(6735, 20_000),
    least_words=1,
    tuned_epochs=1,
    public_epochs=(3, 1),
    tuned_batch=64,
    frozen_layers=0,
    once_dimensions=(4,),
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
    tuned_epochs=3,
    tuned_rate=2e-5,
    map_rate=2e-5,
    tuned_dimensions=(16, 32, 64, 128, 256, 512, 768),
    once_dimensions=(4, 16),
    tuned_seeds=(0, 1, 2),
    qnli=5463,
    news=7532,
    authors=50,
    searched=500,
)


def files(options: SentenceLDPOptions) -> list[str]:
    """What it reads."""
    more = {
        "yelp-dev": any(options.tuned_public[1:]),
        "qnli-dev": options.qnli,
    }
    sets = {"imdb": "imdb" in options.data_sets, "20news": options.news}
    sets["reuters50"] = options.authors > 0
    return [
        *files_of("sst2"),
        "imdb-val",
        *(name for name, wanted in more.items() if wanted),
        *files_of(*(name for name, wanted in sets.items() if wanted)),
    ]
