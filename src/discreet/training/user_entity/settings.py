"""What may be set in training for users and entities: rules, records, the network, the run."""

from collections.abc import Container
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from discreet import check
from discreet.devices import AUTO, DEVICE
from discreet.errors import InvalidValue
from discreet.models.adapter_kinds import TRAINED
from discreet.models.awd_lstm_shape import AwdLstmSizes
from discreet.settings import Setting, Settings
from discreet.text.entities.found import chosen_categories

if TYPE_CHECKING:
    from discreet.training.user_entity.rules import Rules

ALGORITHMS = (
    "certified",
    "published",
    "published-optimized",
    "user-level",
    "sample-level",
    "de-identified",
    "noiseless",
)
PRIVATE = ("certified", "user-level", "sample-level")
PUBLISHED = ("published", "published-optimized")
CELL_RATIO = 0.1
_WITHOUT_NOISE = ("de-identified", "noiseless")
_WITHOUT_ENTITIES = ("noiseless", "user-level", "sample-level")


@dataclass(frozen=True, kw_only=True)
class SharedRules(Settings):
    """The public numbers of a run that are given as they are used."""

    heading: ClassVar[str] = "Privacy"

    algorithm: str = Setting(
        "certified: users and entities, with figures that hold; user-level: DP-FedAvg; "
        "sample-level: DP-SGD, one sentence. No guarantee: published and published-optimized "
        "(the paper's), de-identified, noiseless.",
        choices=ALGORITHMS,
    ).default("certified")
    user_rate: float = Setting("Chance of a user a step.", above=0, at_most=1).default(0.05)
    entity_rate: float = Setting("Chance of an entity a step.", above=0, at_most=1).default(0.5)
    sentence_rate: float = Setting(
        "Chance of a sentence without an entity; in sample-level of any sentence.",
        at_least=0,
        at_most=1,
    ).default(1.0)
    delta: float = Setting("Failure probability.", above=0, below=1).default(1e-5)
    clip: float = Setting("Norm of a user's contribution, at most.", above=0).default(1.0)
    holders: int = Setting("An entity is used with at most so many users.", at_least=0).default(10)
    cells: int = Setting(
        "An entity is used in at most so many cells (see --cell-ratio) of a user.", at_least=1
    ).default(1)
    one_cell: bool = Setting(
        "Use one cell of each user, or its sentences without an entity, and no more: less "
        "noise, for users with a text or two each."
    ).default(False)
    population: int = Setting(
        "About how many users there are (sample-level: sentences), as a public guess; only "
        "scales the steps.",
        at_least=1,
    ).default(1000)
    learning_rate: float = Setting("Learning rate of the optimiser.", above=0).default(0.01)
    optimizer: str = Setting(
        "adam, whose steps do not depend on --clip and --population, or sgd, which the "
        "published algorithms always use.",
        choices=("sgd", "adam"),
    ).default("adam")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.algorithm == "sample-level":
            check.share(self.sentence_rate, "sentence rate of sample-level training")


@dataclass(frozen=True, kw_only=True)
class RuleOptions(SharedRules):
    """Rules as people give them: noise or epsilon, and a cell's norm as a share of a user's."""

    noise: float | None = Setting("Noise in units of --clip; or give --epsilon.", above=0).default(
        None
    )
    epsilon: float | None = Setting(
        "Find the least noise for this after all steps.", above=0, short="-e"
    ).default(None)
    cell_ratio: float = Setting(
        "Norm of a cell's contribution, at most, as a share of --clip. A cell: the sentences "
        "of one user that name the same entities.",
        above=0,
    ).default(CELL_RATIO)

    def rules(self) -> "Rules":
        """The rules; if epsilon was given, before the noise for it is found."""
        from discreet.training.user_entity.rules import Rules

        if (self.noise is None) == (self.epsilon is None) and self.algorithm not in _WITHOUT_NOISE:
            raise InvalidValue("give --noise or --epsilon, one of the two")
        shared = {field.name: getattr(self, field.name) for field in fields(SharedRules)}
        return Rules(
            **shared,
            noise=1.0 if self.noise is None else self.noise,  # found later, or used nowhere
            cell_clip=self.cell_ratio * self.clip,
        )


@dataclass(frozen=True, kw_only=True)
class Records(Settings):
    """How the input is read: where a line has what is needed, what is an entity or a class."""

    heading: ClassVar[str] = "Records"

    user: str = Setting("Whose sentence.", flag="--user-field").default("user")
    tokens: str | None = Setting(
        "A list of words (instead of a text).", flag="--tokens-field"
    ).default(None)
    text: str = Setting("A text.", flag="--text-field").default("text")
    tags: str | None = Setting(
        "BIO tags that mark entities, one per token.", flag="--tags-field"
    ).default(None)
    entities: str | None = Setting(
        "The list that 'discreet entities' adds.", flag="--entities-field"
    ).default(None)
    label: str | None = Setting("Classify sentences by this field.", flag="--label-field").default(
        None
    )

    gazetteer: Path | None = Setting("A file of sensitive entities, one per line.").default(None)
    categories: str | None = Setting(
        "Kinds of entities that are sensitive, with commas: person,org,disease,... or all. "
        "Without it entities of other kinds than person, org, loc, gpe, misc, norp, fac and "
        "pii are refused."
    ).default(None)
    labels: str | None = Setting(
        "The possible labels, with commas; one with a comma in double quotes. They are public."
    ).default(None)

    @property
    def words(self) -> str:
        """The field with the words."""
        return self.text if self.tokens is None else self.tokens

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes, if sentences are classified."""
        if (self.label is None) != (self.labels is None):
            raise InvalidValue("--label-field and --labels go together; the labels must be public")
        return () if self.labels is None else check.labels(self.labels)

    @property
    def chosen(self) -> Container[str]:
        """The categories of entities that are sensitive."""
        return chosen_categories(None if self.categories is None else self.categories.split(","))

    @property
    def sensitive(self) -> str:
        """What counts as a sensitive entity, in words: of which kinds, and who says so."""
        source = "the tags of the data" if self.tags is not None else "the marks in the data"
        if self.gazetteer is not None:
            source = "a list"
        chosen = self.chosen
        kinds = "all kinds"
        if isinstance(chosen, frozenset):
            kinds = f"the kinds {', '.join(sorted(chosen))}"
        return f"sensitive are entities of {kinds}, by {source}"

    def require_entities(self, algorithm: str) -> None:
        """Stop if an algorithm needs entities and nobody said, in one way, what they are."""
        ways = [self.tags is not None, self.entities is not None, self.gazetteer is not None]
        if algorithm not in _WITHOUT_ENTITIES and sum(ways) != 1:
            raise InvalidValue(
                "say what is a sensitive entity, in one way: --tags-field, --entities-field or "
                "--gazetteer"
            )


@dataclass(frozen=True, kw_only=True)
class NetworkSettings(AwdLstmSizes):
    """What is trained, and the public words it knows."""

    space: str = Setting(
        "Public vocabulary and first vectors: starter or a vector file.", short="-s"
    ).default("starter")
    max_words: int | None = Setting("Only the first N words of the space.").default(None)
    vocabulary: Path | None = Setting("A PUBLIC list of words instead of a space.").default(None)
    embedding: int | None = Setting("Length of word vectors, with --vocabulary.").default(None)
    start: Path | None = Setting(
        "Start from the model in this folder, which this command trained. What it has spent is "
        "added, unless --start-public."
    ).default(None)
    start_public: bool = Setting(
        "Say that the model of --start or --model has seen PUBLIC text only."
    ).default(False)
    trained: str | None = Setting(
        "Train only these parts of the AWD-LSTM, with commas: embedding, lstm, output. Fewer "
        "parameters, less noise."
    ).default(None)
    model: str | None = Setting(
        "A transformers model that is here already: its folder, a GGUF file, or smollm2, if "
        "that package is installed. If discreet trained it on raw text, what it has spent is "
        "added, unless --start-public."
    ).default(None)
    adapters: str = Setting(
        "What of --model is trained. Beside each of its matrices, which stay: lora, two thin "
        "matrices; half, one of the two; core, a square of --rank between the matrix's main "
        "directions. Or all: every weight of the model itself. Fewer numbers, less noise.",
        choices=TRAINED,
    ).default("core")
    rank: int = Setting("Rank of the adapters of --model.", at_least=1).default(4)
    last_blocks: int | None = Setting(
        "Train in the last N blocks of --model only: fewer numbers, and quicker, since what is "
        "below is computed once for each sentence.",
        at_least=1,
    ).default(None)
    device: str = DEVICE.default(AUTO)


@dataclass(frozen=True, kw_only=True)
class RunSettings(Settings):
    """How long a run is, what it keeps and what it is measured on."""

    heading: ClassVar[str] = "Run"

    steps: int = Setting("Number of steps.", at_least=1).default(100)
    strict: bool = Setting("Refuse data beyond --holders, --cells; else drop.").default(False)
    budget: float | None = Setting(
        "Stop before a step that would take epsilon above this."
    ).default(None)
    evaluate: str | None = Setting("A PUBLIC file like INPUT, to measure perplexity on.").default(
        None
    )
    evaluate_every: int = Setting("Steps between measurements.", at_least=1).default(50)
    checkpoint_every: int = Setting("Steps between checkpoints.", at_least=1).default(10)
    resume: bool = Setting("Continue the run in the output folder.").default(False)
    again: bool = Setting(
        "Train although a run beside the output folder has used some of the same users. What "
        "both spend adds up, and the statement says so."
    ).default(False)
    federated: int | None = Setting(
        "Simulate so many clients with Flower, each with a part of the users."
    ).default(None)
    drop_out: float = Setting(
        "Simulate, with --federated, that a client is silent in a step with this chance.",
        at_least=0,
        below=1,
    ).default(0.0)


@dataclass(frozen=True, kw_only=True)
class BoundsSettings(Settings):
    """The run that bounds are proposed for."""

    epsilon: Annotated[
        float,
        Setting("For a user and an entity together, after all steps.", above=0, short="-e"),
    ]
    steps: int = Setting("Number of steps.", at_least=1).default(40)
    user_rate: float = Setting("Chance of a user a step.", above=0, at_most=1).default(0.25)
    entity_rate: float = Setting("Chance of an entity a step.", above=0, at_most=1).default(1.0)
    delta: float = Setting("Failure probability.", above=0, below=1).default(1e-5)
