"""What a person is told when a run that can go on was stopped."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from discreet.cli._terminal import say


@contextmanager
def tells_of_kept_run(output: Path) -> Iterator[None]:
    """Say, whatever stopped a run, that its state is there to go on from."""
    from discreet.training.kept_state import RunState

    try:
        yield
    except BaseException:
        state = RunState.beside(output)
        if state.exists():
            say(f"The run so far is kept in {state}: the same command with --resume continues it.")
        raise
