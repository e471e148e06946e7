"""What the recipe uedp can be told, and its three named settings."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Annotated, Any, ClassVar

from discreet.devices import AUTO, find_device
from discreet.errors import InvalidValue
from discreet.models.adapter_kinds import ALL, TRAINED
from discreet.settings import Setting
from discreet_recipes.data_files import Rows, files_of, rows_of
from discreet_recipes.needs import require_recogniser
from discreet_recipes.options import (
    NONE,
    Counts,
    Model,
    Names,
    Numbers,
    Options,
    Pair,
    Shares,
    Triple,
    count,
    positive,
    words_of,
)

_TEXTS_OF_NEWS_DEV = 10_001
CATEGORIES = ("all", "person", "org", "loc", "misc", "gpe", "pii")


@dataclass(frozen=True, kw_only=True)
class UeDPOptions(Options):
    """Options of the recipe uedp."""

    never_none: ClassVar[Names] = ("epsilons", "published_noises")
    later: ClassVar[Mapping[str, Any]] = MappingProxyType(
        {
            "layers": 1,
            "units": 128,
            "embedding": 0,
            "dropouts": (0.0, 0.0, 0.0),
            "topics_sentence_rate": 1.0,
            "pretrained_rate": 0.0,
        }
    )
    space: Annotated[str, words_of("Public words and first vectors of the network.")]
    embedding: Annotated[
        int, count("Numbers of a word's vector, drawn at random; 0: the vectors of the space.", 0)
    ]
    model: Annotated[
        str,
        Setting(
            "The network: an AWD-LSTM that begins with public text; none leaves out all that is "
            "not about pretrained models.",
            choices=("awd-lstm", NONE),
        ),
    ]
    layers: Annotated[int, count("Layers of the AWD-LSTM.")]
    units: Annotated[int, count("Units of a layer.")]
    dropouts: Annotated[
        Shares,
        Setting(
            "What is left out at random: of words, of recurrent weights, of the last layer.",
            at_least=0,
            below=1,
        ),
    ]
    words: Annotated[int, count("Words of the vocabulary.", 2)]
    vocabularies: Annotated[Counts, count("Other numbers of words, to compare.", 2)]
    steps: Annotated[
        int,
        count(
            "Steps of certified and of user-level training; the others, which draw fewer users in "
            "a step, make more of them, so that all go through the text as often."
        ),
    ]
    public_steps: Annotated[
        Pair,
        count("Steps on public text before: of AG News for CoNLL-2003, of CoNLL-2003 for AG News."),
    ]
    epsilons: Annotated[
        Numbers,
        positive(
            "Joint epsilons of certified training, epsilons of a user for user-level. At the "
            "first, categories, rates and vocabularies are compared."
        ),
    ]
    published_noises: Annotated[
        Numbers, positive("Noise of the published algorithms, in their unit.")
    ]
    sentence_rates: Annotated[
        Numbers, Setting("Rates of sentences without an entity.", at_least=0, at_most=1)
    ]
    categories: Annotated[
        Names,
        Setting("Kinds of entities, of those that a data set has.", choices=CATEGORIES),
    ]
    seeds: Annotated[
        int,
        count(
            "Runs of those that are compared, certified at the first epsilon and de-identified; "
            "all others have one."
        ),
    ]
    ag_news: Annotated[int, count("Texts of AG News to train on; 0 leaves it out.", 0)]
    ag_news_test: Annotated[int, count("And to test on.", 0)]
    topics: Annotated[
        Counts, count("Texts of AG News to learn topics from, and to test on; or none.")
    ]
    topics_sentence_rate: Annotated[
        float,
        Setting("Rate of texts without an entity where topics are learnt.", at_least=0, at_most=1),
    ]
    canaries: Annotated[int, count("Runs of the attack.")]
    language_model: Annotated[
        str,
        Model(
            "A pretrained causal model, for next words on CoNLL-2003 in GPT-2's place: smollm2, or "
            "the folder or GGUF file of one; or none.",
            language=True,
        ),
    ]
    topic_model: Annotated[
        str,
        Model(
            "A pretrained model, for topics of AG News in BERT's place: the folder or name of one; "
            "or none."
        ),
    ]
    adapters: Annotated[
        Names,
        Setting("What of pretrained models is trained: kinds of adapters, all.", choices=TRAINED),
    ]
    last_blocks: Annotated[
        Pair,
        count("In how many of their last blocks: next words, topics; 0 for all.", 0),
    ]
    pretrained_steps: Annotated[
        Pair, count("Steps of their certified training: next words, topics.")
    ]
    pretrained_rate: Annotated[
        float,
        Setting(
            "Learning rate of Adam in all training of theirs but the published one; 0: rates that "
            "were chosen for smollm2 and all-MiniLM-L6-v2.",
            at_least=0,
        ),
    ]
    next_words: Annotated[
        Triple,
        count("Documents they learn next words from, sentences of each, documents to test on."),
    ]
    pretrained_topics: Annotated[
        Triple, count("Texts they learn topics from, first words of each, texts to test on.")
    ]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.device != AUTO:
            find_device(self.device, doubles=True)
        if len(self.topics) not in (0, 2):
            raise InvalidValue("--topics must be 2 values with a comma between them, or none")

    @property
    def news(self) -> dict[str, int]:
        """The options that ask for texts of AG News to train on, and for how many."""
        own = {"ag_news": self.ag_news, "topics": max(self.topics[:1], default=0)}
        asked = own if self.model != NONE else {}
        if self.topic_model != NONE:
            asked = {**asked, "pretrained_topics": self.pretrained_topics[0]}
        return {name: most for name, most in asked.items() if most}


QUICK = UeDPOptions(
    space="starter",
    model="awd-lstm",
    **UeDPOptions.later,
    words=3000,
    vocabularies=(1000,),
    steps=5,
    public_steps=(60, 50),
    epsilons=(8.0, 2.0),
    published_noises=(2.0,),
    sentence_rates=(0.0,),
    categories=("all", "person"),
    seeds=3,
    ag_news=0,
    ag_news_test=0,
    topics=(),
    canaries=60,
    language_model=NONE,
    topic_model=NONE,
    adapters=("core", ALL),
    last_blocks=(2, 0),
    pretrained_steps=(4, 4),
    next_words=(500, 1, 80),
    pretrained_topics=(3000, 10, 600),
)
# A run of 40 steps with 3,000 words takes a core 100 to 130 s, and with 8,000 words 270 to 350 s;
# 10 steps are not enough for noise to be told from training.
STANDARD = replace(
    QUICK,
    steps=40,
    public_steps=(240, 50),
    categories=CATEGORIES,
    topics=(4000, 2000),
)
# The paper's vocabularies are those of the data, 8,882 words of CoNLL-2003 and 30,000 of AG News;
# ours are public.
PAPER = replace(
    STANDARD,
    embedding=100,
    layers=3,
    units=1150,
    dropouts=(0.1, 0.3, 0.5),
    words=20_000,
    vocabularies=(2000, 8000),
    steps=100,  # 500 of the published algorithms, as in the paper
    epsilons=(8.0, 4.0, 2.0, 1.0),
    published_noises=(2.0, 2.5),
    sentence_rates=(0.0, 0.2, 0.4, 0.6, 0.8),
    ag_news=112_000,
    ag_news_test=7600,
    topics=(112_000, 7600),
    topics_sentence_rate=0.6,
    language_model="",
    topic_model="",
    adapters=("lora", ALL),
    last_blocks=(0, 0),
    pretrained_steps=(100, 100),
    pretrained_rate=1e-5,
    next_words=(947, 1000, 231),
    pretrained_topics=(112_000, 128, 7600),
)


def files(options: UeDPOptions) -> list[str]:
    """What it reads."""
    # Public text for CoNLL-2003; pretrained models have read theirs.
    public = ["agnews-dev"] if options.model != NONE else []
    trained = [f"agnews-{news_part(most)}" for most in options.news.values()]
    tested = ["agnews-test"] if options.news else []
    return [*files_of("conll2003"), *public, *trained, *tested]


def rows(options: UeDPOptions) -> list[Rows]:
    """How many rows of these it must find."""
    trained = [
        asked
        for name, most in options.news.items()
        for asked in rows_of(f"agnews-{news_part(most)}", **{name: most})
    ]
    tested = {
        "ag_news": ("ag_news_test", options.ag_news_test),
        "topics": ("topics", max(options.topics[1:], default=0)),
        "pretrained_topics": ("pretrained_topics", options.pretrained_topics[2]),
    }
    return [*trained, *rows_of("agnews-test", **dict(tested[name] for name in options.news))]


def needs(options: UeDPOptions) -> None:
    """Where entities of AG News are looked for: what finds them."""
    if options.news:
        require_recogniser("--ag-news 0 --topics none --topic-model none")


def news_part(most: int) -> str:
    """The part of AG News that has so many texts to train on."""
    return "dev" if most <= _TEXTS_OF_NEWS_DEV else "train"
