"""Where the parts of a folder are released, and by how many."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from discreet.engines.plan import PART_ROWS
from discreet.errors import InvalidValue
from discreet.settings import Setting, Settings

if TYPE_CHECKING:
    from discreet.engines.tasks import Engine

ENGINES = ("local", "ray", "spark")
LOCAL = ENGINES[0]


@dataclass(frozen=True, kw_only=True)
class EngineSettings(Settings):
    """What releases the parts of a folder."""

    heading: ClassVar[str] = "Folders and clusters"

    engine: str | None = Setting(
        "Where the parts of a folder are released: local (processes of this machine, the "
        "default for folders and patterns), ray or spark.",
        choices=ENGINES,
    ).default(None)
    workers: int | None = Setting(
        "Parts released at the same time; by default one per core.", at_least=1
    ).default(None)
    address: str | None = Setting(
        "Address of the cluster: ray://HOST:10001, HOST:6379 or auto for Ray, "
        "spark://HOST:7077, yarn "
        "or local[N] for Spark. Without it, the engine is started on this machine."
    ).default(None)
    part_rows: int = Setting(
        "Least number of Parquet rows in a part: row groups are joined until it is reached.",
        at_least=1,
    ).default(PART_ROWS)

    keyed_noise: bool = Setting(
        "Let the noise of a part follow from a secret key of this run, so that a part that is "
        "tried again repeats its draw. The key is deleted when the folder is whole."
    ).default(False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.address is not None and self.engine in (None, LOCAL):
            raise InvalidValue("--address is for --engine ray or spark; leave it out")

    @property
    def given(self) -> bool:
        """Whether anything was chosen."""
        return self != EngineSettings()

    def start(self) -> "Engine":
        """The engine; a part that is not installed, or a cluster that is not there, shows now."""
        if self.engine == "ray":
            from discreet.engines.ray import RayEngine

            return RayEngine(self.address, self.workers)
        if self.engine == "spark":
            from discreet.engines.spark import SparkEngine

            return SparkEngine(self.address, self.workers)
        from discreet.engines.local import LocalEngine

        return LocalEngine(self.workers)
