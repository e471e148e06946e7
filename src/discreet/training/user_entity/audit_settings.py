"""Where user and entity training is audited: the settings at which faults show."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.settings import Setting, Settings
from discreet.training.user_entity.settings import ALGORITHMS

if TYPE_CHECKING:
    from discreet.training.user_entity.rules import Rules

# The code is the same at every setting, so it is audited where it is loud. The published algorithms
# are audited at the paper's own constants.
_LOUD = {"user_rate": 0.2, "noise": 1.0, "steps": 20, "canaries": 300, "runs": 1}
_PAPER = {"user_rate": 0.05, "noise": 2.0, "steps": 50, "canaries": 1, "runs": 60}


@dataclass(frozen=True, kw_only=True)
class TrainingAuditSettings(Settings):
    """What is audited; None stands for what suits the algorithm."""

    algorithm: str = Setting(
        "certified, user-level, published or published-optimized.", choices=ALGORITHMS
    ).default("certified")
    user_rate: float | None = Setting(
        "Chance of a user a step (0.2; published: 0.05).", above=0, at_most=1
    ).default(None)
    entity_rate: float = Setting("Chance of an entity a step.", above=0, at_most=1).default(0.5)
    noise: float | None = Setting(
        "Noise, in units of the user's clipping norm (1; published: 2).", above=0
    ).default(None)
    steps: int | None = Setting("Steps of a run (20; published: 50).", at_least=1).default(None)
    holders: int = Setting("certified: an entity occurs with so many users.", at_least=0).default(4)
    cell_ratio: float = Setting(
        "certified: the norm of a cell as a share of a user's.", above=0
    ).default(0.5)
    one_cell: bool = Setting(
        "certified: each user has one cell, as in training with --one-cell."
    ).default(False)
    population: int = Setting("published: how many users there are.", at_least=1).default(60)
    delta: float = Setting("Failure probability that is claimed.", above=0, below=1).default(1e-5)
    canaries: int | None = Setting("Canaries in a run (300; published: 1).", at_least=1).default(
        None
    )
    runs: int | None = Setting(
        "Runs, each with its own canaries (1; published: 60).", at_least=1
    ).default(None)
    confidence: float = Setting("Confidence of each lower bound shown.", above=0, below=1).default(
        0.95
    )
    seed: int | None = Setting("Repeat an audit with the same draws.", at_least=0).default(None)

    def chosen(self, name: str) -> Any:
        """A number as it was given, or the one that suits the algorithm."""
        given = getattr(self, name)
        suits = _PAPER if self.algorithm.startswith("published") else _LOUD
        return suits[name] if given is None else given

    def rules(self) -> "Rules":
        """The rules of the training that is audited; the size of a step shows nothing."""
        from discreet.training.user_entity.rules import Rules

        return Rules(
            algorithm=self.algorithm,
            user_rate=self.chosen("user_rate"),
            entity_rate=self.entity_rate,
            noise=self.chosen("noise"),
            cell_clip=self.cell_ratio,
            holders=self.holders,
            one_cell=self.one_cell,
            delta=self.delta,
            population=self.population,
            learning_rate=1.0,
            user_cap=1,
            entity_cap=1,
            sentence_cap=1,
        )
