"""What the recipe uedp can be told, and its three named settings."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Annotated, Any, ClassVar

from discreet.errors import InvalidValue
from discreet.models.adapter_kinds import ALL, TRAINED
from discreet.settings import Setting
from discreet_recipes.data_files import files_of
from discreet_recipes.options import (
    NONE,
    Counts,
    Model,
    Names,
    Numbers,
    Options,
    Pair,
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
    later: ClassVar[Mapping[str, Any]] = MappingProxyType({"layers": 1, "units": 128})
    space: Annotated[str, words_of("Public words and first vectors of the network.")]
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
    next_words: Annotated[
        Triple,
        count("Documents they learn next words from, sentences of each, documents to test on."),
    ]
    pretrained_topics: Annotated[
        Triple, count("Texts they learn topics from, first words of each, texts to test on.")
    ]

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.topics) not in (0, 2):
            raise InvalidValue("--topics must be 2 values with a comma between them, or none")


QUICK = UeDPOptions(
    space="starter",
    model="awd-lstm",
    layers=1,
    units=128,
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
# A word's vector has as many numbers as the space's; the paper's have 100, drawn at random. Its
# vocabularies are those of the data, 8,882 words (CoNLL-2003) and 30,000 (AG News), ours public.
PAPER = replace(
    STANDARD,
    layers=3,
    units=1150,
    words=20_000,
    vocabularies=(2000, 8000),
    steps=100,  # 500 of the published algorithms, as in the paper
    epsilons=(8.0, 4.0, 2.0, 1.0),
    published_noises=(2.0, 2.5),
    sentence_rates=(0.0, 0.2, 0.4, 0.6, 0.8),
    ag_news=112_000,
    ag_news_test=7600,
    topics=(112_000, 7600),
    language_model="",
    topic_model="",
    adapters=("lora", ALL),
    last_blocks=(0, 0),
    pretrained_steps=(100, 100),
    next_words=(947, 1000, 231),
    pretrained_topics=(112_000, 128, 7600),
)


def files(options: UeDPOptions) -> list[str]:
    """What it reads."""
    asked = [options.ag_news, *options.topics[:1]]
    if options.topic_model != NONE:
        asked.append(options.pretrained_topics[0])
    trained = [f"agnews-{news_part(most)}" for most in asked]
    tested = ["agnews-test"] if any(asked) else []
    return [*files_of("conll2003"), "agnews-dev", *trained, *tested]


def rows(options: UeDPOptions) -> dict[str, tuple[str, int]]:
    """How many rows of these it must find."""
    asked = {"ag_news": options.ag_news, "topics": max(options.topics[:1], default=0)}
    if options.topic_model != NONE:
        asked["pretrained_topics"] = options.pretrained_topics[0]
    option, most = max(asked.items(), key=lambda one: one[1])
    return {f"agnews-{news_part(most)}": (option, most)}


def news_part(most: int) -> str:
    """The part of AG News that has so many texts to train on."""
    return "dev" if most <= _TEXTS_OF_NEWS_DEV else "train"
