"""Settings that several kinds of training share."""

from dataclasses import dataclass
from typing import ClassVar

from discreet.settings import Setting, Settings

WARMUP = 0.06
"""Share of the steps during which the learning rate rises."""
SAVE_EVERY = Setting("Steps between savings, for --resume.", at_least=1)
MIXED = Setting(
    "Layers of the network compute in bfloat16 while it is trained, for a GPU that is faster so; "
    "weights, losses and predictions keep 32 bits."
)
"""For training on released or public text alone; not where contributions are bounded or noised."""


@dataclass(frozen=True, kw_only=True)
class Resumption(Settings):
    """When the state of a run is saved, and whether to go on from it."""

    heading: ClassVar[str] = "Stopping and resuming"

    save_every: int = SAVE_EVERY.default(200)
    resume: bool = Setting("Continue a run of the same command that was stopped.").default(False)
