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

    algorithm: Annotated[
        str,
        Setting(
            "certified: users and entities, with figures that hold; user-level: DP-FedAvg; "
            "sample-level: DP-SGD, one sentence. No guarantee: published and published-optimized "
            "(the paper's), de-identified, noiseless.",
            choices=ALGORITHMS,
        ),
    ] = "certified"
    user_rate: Annotated[float, Setting("Chance of a user a step.", above=0, at_most=1)] = 0.05
    entity_rate: Annotated[float, Setting("Chance of an entity a step.", above=0, at_most=1)] = 0.5
    sentence_rate: Annotated[
        float,
        Setting(
            "Chance of a sentence without an entity; in sample-level of any sentence.",
            at_least=0,
            at_most=1,
        ),
    ] = 1.0
    delta: Annotated[float, Setting("Failure probability.", above=0, below=1)] = 1e-5
    clip: Annotated[float, Setting("Norm of a user's contribution, at most.", above=0)] = 1.0
    holders: Annotated[
        int, Setting("An entity is used with at most so many users.", at_least=0)
    ] = 10
    cells: Annotated[
        int,
        Setting(
            "An entity is used in at most so many cells (see --cell-ratio) of a user.", at_least=1
        ),
    ] = 1
    one_cell: Annotated[
        bool,
        Setting(
            "Use one cell of each user, or its sentences without an entity, and no more: less "
            "noise, for users with a text or two each."
        ),
    ] = False
    population: Annotated[
        int,
        Setting(
            "About how many users there are (sample-level: sentences), as a public guess; only "
            "scales the steps.",
            at_least=1,
        ),
    ] = 1000
    learning_rate: Annotated[float, Setting("Learning rate of the optimiser.", above=0)] = 0.01
    optimizer: Annotated[
        str,
        Setting(
            "adam, whose steps do not depend on --clip and --population, or sgd, which the "
            "published algorithms always use.",
            choices=("sgd", "adam"),
        ),
    ] = "adam"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.algorithm == "sample-level":
            check.share(self.sentence_rate, "sentence rate of sample-level training")


@dataclass(frozen=True, kw_only=True)
class RuleOptions(SharedRules):
    """Rules as people give them: noise or epsilon, and a cell's norm as a share of a user's."""

    noise: Annotated[
        float | None, Setting("Noise in units of --clip; or give --epsilon.", above=0)
    ] = None
    epsilon: Annotated[
        float | None,
        Setting("Find the least noise for this after all steps.", above=0, short="-e"),
    ] = None
    cell_ratio: Annotated[
        float,
        Setting(
            "Norm of a cell's contribution, at most, as a share of --clip. A cell: the sentences "
            "of one user that name the same entities.",
            above=0,
        ),
    ] = CELL_RATIO

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

    user: Annotated[str, Setting("Whose sentence.", flag="--user-field")] = "user"
    tokens: Annotated[
        str | None, Setting("A list of words (instead of a text).", flag="--tokens-field")
    ] = None
    text: Annotated[str, Setting("A text.", flag="--text-field")] = "text"
    tags: Annotated[
        str | None, Setting("BIO tags that mark entities, one per token.", flag="--tags-field")
    ] = None
    entities: Annotated[
        str | None, Setting("The list that 'discreet entities' adds.", flag="--entities-field")
    ] = None
    label: Annotated[
        str | None, Setting("Classify sentences by this field.", flag="--label-field")
    ] = None

    gazetteer: Annotated[Path | None, Setting("A file of sensitive entities, one per line.")] = None
    categories: Annotated[
        str | None,
        Setting(
            "Kinds of entities that are sensitive, with commas: person,org,disease,... or all. "
            "Without it entities of other kinds than person, org, loc, gpe, misc, norp, fac and "
            "pii are refused."
        ),
    ] = None
    labels: Annotated[
        str | None,
        Setting(
            "The possible labels, with commas; one with a comma in double quotes. They are public."
        ),
    ] = None

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

    space: Annotated[
        str,
        Setting("Public vocabulary and first vectors: starter or a vector file.", short="-s"),
    ] = "starter"
    max_words: Annotated[int | None, Setting("Only the first N words of the space.")] = None
    vocabulary: Annotated[Path | None, Setting("A PUBLIC list of words instead of a space.")] = None
    embedding: Annotated[int | None, Setting("Length of word vectors, with --vocabulary.")] = None
    start: Annotated[
        Path | None,
        Setting(
            "Start from the model in this folder, which this command trained. What it has spent is "
            "added, unless --start-public."
        ),
    ] = None
    start_public: Annotated[
        bool, Setting("Say that the model of --start or --model has seen PUBLIC text only.")
    ] = False
    trained: Annotated[
        str | None,
        Setting(
            "Train only these parts of the AWD-LSTM, with commas: embedding, lstm, output. Fewer "
            "parameters, less noise."
        ),
    ] = None
    model: Annotated[
        str | None,
        Setting(
            "A transformers model that is here already: its folder, a GGUF file, or smollm2, if "
            "that package is installed. If discreet trained it on raw text, what it has spent is "
            "added, unless --start-public."
        ),
    ] = None
    adapters: Annotated[
        str,
        Setting(
            "What of --model is trained. Beside each of its matrices, which stay: lora, two thin "
            "matrices; half, one of the two; core, a square of --rank between the matrix's main "
            "directions. Or all: every weight of the model itself. Fewer numbers, less noise.",
            choices=TRAINED,
        ),
    ] = "core"
    rank: Annotated[int, Setting("Rank of the adapters of --model.", at_least=1)] = 4
    last_blocks: Annotated[
        int | None,
        Setting(
            "Train in the last N blocks of --model only: fewer numbers, and quicker, since what is "
            "below is computed once for each sentence.",
            at_least=1,
        ),
    ] = None
    device: Annotated[str, DEVICE] = AUTO


@dataclass(frozen=True, kw_only=True)
class RunSettings(Settings):
    """How long a run is, what it keeps and what it is measured on."""

    heading: ClassVar[str] = "Run"

    steps: Annotated[int, Setting("Number of steps.", at_least=1)] = 100
    strict: Annotated[bool, Setting("Refuse data beyond --holders, --cells; else drop.")] = False
    budget: Annotated[
        float | None, Setting("Stop before a step that would take epsilon above this.")
    ] = None
    evaluate: Annotated[
        str | None, Setting("A PUBLIC file like INPUT, to measure perplexity on.")
    ] = None
    evaluate_every: Annotated[int, Setting("Steps between measurements.", at_least=1)] = 50
    checkpoint_every: Annotated[int, Setting("Steps between checkpoints.", at_least=1)] = 10
    resume: Annotated[bool, Setting("Continue the run in the output folder.")] = False
    again: Annotated[
        bool,
        Setting(
            "Train although a run beside the output folder has used some of the same users. What "
            "both spend adds up, and the statement says so."
        ),
    ] = False
    federated: Annotated[
        int | None,
        Setting("Simulate so many clients with Flower, each with a part of the users."),
    ] = None
    drop_out: Annotated[
        float,
        Setting(
            "Simulate, with --federated, that a client is silent in a step with this chance.",
            at_least=0,
            below=1,
        ),
    ] = 0.0


@dataclass(frozen=True, kw_only=True)
class BoundsSettings(Settings):
    """The run that bounds are proposed for."""

    epsilon: Annotated[
        float,
        Setting("For a user and an entity together, after all steps.", above=0, short="-e"),
    ]
    steps: Annotated[int, Setting("Number of steps.", at_least=1)] = 40
    user_rate: Annotated[float, Setting("Chance of a user a step.", above=0, at_most=1)] = 0.25
    entity_rate: Annotated[float, Setting("Chance of an entity a step.", above=0, at_most=1)] = 1.0
    delta: Annotated[float, Setting("Failure probability.", above=0, below=1)] = 1e-5
