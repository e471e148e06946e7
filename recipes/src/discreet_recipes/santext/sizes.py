"""What the recipe santext can be told, and its three named settings."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Annotated, Any, ClassVar

from discreet.settings import Setting
from discreet.training.settings import WARMUP
from discreet_recipes.data_files import PAIRS_OF_QNLI_DEV as PAIRS_OF_QNLI_DEV
from discreet_recipes.data_files import Rows, files_of, rows_of
from discreet_recipes.options import (
    NONE,
    PACKAGED,
    Counts,
    Model,
    Numbers,
    Options,
    Vocabulary,
    count,
    file_of,
    positive,
    words_of,
)

PAIR_TASKS = ("stsb", "medsts")


@dataclass(frozen=True, kw_only=True)
class SanTextOptions(Options):
    """Options of the recipe santext."""

    later: ClassVar[Mapping[str, Any]] = MappingProxyType(
        {
            "tuned_batch": 32,
            "tuned_rate": 5e-5,
            "pair_batch": 32,
            "pair_rate": 5e-5,
            "corpus": NONE,
            "windows": 16,
            "window": 64,
            "pretraining_rate": 1e-4,
            "warmup": WARMUP,
            "share": 0.9,
            "probability": 0.3,
        }
    )
    space: Annotated[str, words_of("Public words with vectors, as for sanitize.")]
    vocabulary: Vocabulary
    pieces: Annotated[
        str, Setting("The space of the encoder's own tokens: for pretraining and for Figure 5.")
    ]
    encoder: Annotated[str, Model("Model that is fine-tuned and pretrained further.")]
    train: Annotated[int, count("Training phrases of SST-2.", 10)]
    seeds: Annotated[int, count("Repetitions over rows and noise.")]
    epsilons: Annotated[Numbers, positive("Epsilons of Table 1, per unit of distance.")]
    noise_epsilons: Annotated[Numbers, positive("More of them for CMP, where anything is left.")]
    order_epsilons: Annotated[
        Numbers,
        positive("Epsilons for the order of the mechanisms in few dimensions."),
    ]
    share: Annotated[float, positive("Share w of sensitive words, but in Figure 3.", at_most=1)]
    probability: Annotated[
        float, positive("Probability p of SanText+, but in Figure 3.", at_most=1)
    ]
    shares: Annotated[Numbers, positive("Shares w of sensitive words, Figure 3.", at_most=1)]
    probabilities: Annotated[Numbers, positive("Probabilities p of Figure 3.", at_most=1)]
    influence_epsilon: Annotated[float, positive("Epsilon of Figure 3.")]
    words: Annotated[int, count("Words of the privacy measures; 0: every word of SST-2, once.", 0)]
    pair_task: Annotated[str, Setting("Pairs with a score.", choices=PAIR_TASKS)]
    pairs: Annotated[int, count("Training pairs.", 10)]
    pair_tests: Annotated[int, count("Pairs to test on.", 10)]
    pair_epsilons: Annotated[Numbers, positive("Epsilons of the pairs, QNLI's too.")]
    joint_pairs: Annotated[
        bool, Setting("Fine-tune the encoder on joint [SEP] pairs; off: a frozen one.")
    ]
    pair_epochs: Annotated[int, count("Epochs of fine-tuning on joint pairs with a score.")]
    qnli: Annotated[
        int,
        count(
            "Joint pairs of qnli-dev, of which two thirds train; more than it has: pairs of "
            "qnli-train, tested on qnli-dev. 0 leaves QNLI out.",
            0,
        ),
    ]
    qnli_epochs: Annotated[int, count("Epochs of fine-tuning on them.")]
    tuned_epsilons: Annotated[Numbers, positive("Epsilons of Table 1 with the fine-tuned encoder.")]
    piece_epsilons: Annotated[Numbers, positive("Epsilons of pretraining, in the space of pieces.")]
    mask_epsilons: Annotated[
        Numbers,
        positive("Epsilons of Figure 4, accuracy against masked models, in the space of pieces."),
    ]
    both_epsilons: Annotated[Numbers, positive("Epsilons of Figure 5, in both spaces.")]
    reviews: Annotated[
        int,
        count("Public IMDb reviews to pretrain on, beside public text of SST-2.", 0),
    ]
    head_steps: Annotated[int, count("Steps for the encoder's head.")]
    steps: Annotated[int, count("Steps of pretraining.")]
    curve_steps: Annotated[Counts, count("Numbers of steps of a curve of what it gains.")]
    tuned: Annotated[int, count("Phrases to fine-tune on.", 10)]
    tuned_seeds: Annotated[int, count("Repetitions of fine-tuning on phrases.")]
    pair_seeds: Annotated[int, count("Repetitions of fine-tuning on joint pairs.")]
    tuned_tests: Annotated[int, count("Phrases to test the tuned model on.", 10)]
    epochs: Annotated[int, count("Epochs of fine-tuning on phrases.")]
    tuned_batch: Annotated[int, count("Phrases, or pairs of QNLI, in a step of fine-tuning.")]
    tuned_rate: Annotated[float, positive("Highest rate of that.")]
    pair_batch: Annotated[int, count("Pairs with a score in a step of fine-tuning.")]
    pair_rate: Annotated[float, positive("Highest rate of that.")]
    corpus: Annotated[
        str,
        file_of("Public text to pretrain on, a line or row each; none: that of SST-2 and IMDb."),
    ]
    windows: Annotated[int, count("Windows of text in a step of pretraining.")]
    window: Annotated[int, count("Words in a window.", 2)]
    pretraining_rate: Annotated[float, positive("Highest rate of pretraining.")]
    warmup: Annotated[
        float, Setting("Share of the steps in which that rate rises.", above=0, below=1)
    ]
    attacked: Annotated[int, count("Words that are attacked.")]

    @property
    def reads_reviews(self) -> bool:
        """Whether reviews are a part of the public text: a corpus takes their place."""
        return self.corpus == NONE and self.reviews > 0


QUICK = SanTextOptions(
    space="starter",
    vocabulary=0,
    pieces="encoder",
    encoder=PACKAGED,
    train=6000,
    seeds=2,
    epsilons=(5.0, 6.0, 7.0, 8.0, 10.0),
    noise_epsilons=(30.0,),
    order_epsilons=(14.0, 16.0),
    shares=(0.5, 0.9),
    probabilities=(0.3, 0.9),
    influence_epsilon=6.0,
    words=100,
    pair_task="stsb",
    pairs=400,
    pair_tests=300,
    pair_epsilons=(8.0,),
    joint_pairs=False,
    pair_epochs=4,
    qnli=0,
    qnli_epochs=2,
    tuned_epsilons=(),
    piece_epsilons=(12.0,),
    mask_epsilons=(),
    both_epsilons=(8.0, 12.0),
    reviews=1000,
    head_steps=80,
    steps=80,
    curve_steps=(),
    tuned=1500,
    tuned_seeds=1,
    pair_seeds=1,
    tuned_tests=872,
    epochs=1,
    attacked=300,
    **SanTextOptions.later,
)
STANDARD = replace(
    QUICK,
    train=20_000,
    seeds=3,
    epsilons=(4.0, 5.0, 6.0, 7.0, 8.0, 10.0, 12.0),
    noise_epsilons=(20.0, 30.0, 40.0),
    order_epsilons=(12.0, 14.0, 16.0, 18.0),
    shares=(0.5, 0.7, 0.9, 0.95),
    probabilities=(0.1, 0.3, 0.5, 0.7, 0.9),
    words=1000,
    pairs=2000,
    pair_tests=1379,
    joint_pairs=True,
    qnli=3000,
    tuned_epsilons=(8.0,),
    mask_epsilons=(10.0, 12.0, 14.0, 16.0),
    both_epsilons=(4.0, 8.0, 12.0, 16.0),
    reviews=5000,
    head_steps=300,
    steps=300,
    curve_steps=(100, 300, 1000),
    tuned=4000,
    epochs=1,
    attacked=2000,
)
# WikiCorpus, 600 million words, is read once, in steps of 6 windows of 512 words.
_PAPER_STEPS = 195_000
PAPER = replace(
    STANDARD,
    space="",
    pieces="",
    encoder="",
    train=67_349,
    seeds=5,
    # GloVe 300-d: the epsilons of Table 1 are per unit of distance in that space.
    epsilons=(1.0, 2.0, 3.0),
    noise_epsilons=(5.0, 10.0),
    influence_epsilon=2.0,
    words=0,
    pair_task="medsts",
    pairs=1642,
    pair_tests=412,
    pair_epsilons=(1.0, 2.0, 3.0),
    pair_epochs=3,
    pair_batch=8,
    qnli=104_743,
    qnli_epochs=3,
    tuned_epsilons=(1.0, 2.0, 3.0),
    piece_epsilons=(12.0, 14.0, 16.0),
    mask_epsilons=(8.0, 10.0, 12.0, 14.0, 16.0, 18.0),
    head_steps=1000,
    steps=_PAPER_STEPS,
    warmup=2000 / _PAPER_STEPS,
    curve_steps=(1000, 10_000, 30_000),
    tuned=67_349,
    tuned_seeds=5,
    pair_seeds=5,
    epochs=3,
    tuned_batch=64,
    tuned_rate=2e-5,
    corpus="",
    windows=6,
    window=512,
    pretraining_rate=5e-5,
    attacked=20_000,
    both_epsilons=(1.0, 2.0, 3.0, 5.0, 8.0, 10.0, 12.0, 14.0, 16.0, 18.0),
)


def _questions(options: SanTextOptions) -> str:
    """The part of QNLI that is asked for."""
    return "qnli-dev" if options.qnli <= PAIRS_OF_QNLI_DEV else "qnli-train"


def rows(options: SanTextOptions) -> list[Rows]:
    """How many rows of these it must find."""
    pairs = options.pair_task
    return [
        *rows_of("sst2-train", train=options.train, tuned=options.tuned),
        *rows_of("sst2-test", tuned_tests=options.tuned_tests),
        *rows_of(f"{pairs}-train", pairs=options.pairs),
        *rows_of(f"{pairs}-test", pair_tests=options.pair_tests),
        *rows_of(_questions(options), qnli=options.qnli),
        *rows_of("imdb-val", reviews=options.reviews if options.reads_reviews else 0),
    ]


def apart(_options: SanTextOptions) -> list[tuple[str, str]]:
    """What plays public text, and what is protected."""
    return [("sst2-dev", "sst2-train")]


def files(options: SanTextOptions) -> list[str]:
    """What it reads."""
    pairs = [f"{options.pair_task}-{part}" for part in ("train", "test")]
    questions = ["qnli-dev", _questions(options)] if options.qnli else []
    reviews = ["imdb-val"] if options.reads_reviews else []
    return [*files_of("sst2"), *pairs, *questions, *reviews]
