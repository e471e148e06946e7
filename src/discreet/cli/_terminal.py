"""Words for people go to standard error; data goes to standard output or a file."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


def say(*lines: str) -> None:
    """Print lines for people."""
    for line in lines:
        print(line, file=sys.stderr)


@contextmanager
def progress_bar(label: str) -> Iterator[Callable[[int, int], None]]:
    """A function to call with (done, total); a bar appears if standard error is a terminal."""
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn(label), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    # The task is added at the first call: what turns out to be instant shows no bar at all.
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = None

        def update(done: int, total: int) -> None:
            nonlocal task
            if task is None:
                task = bar.add_task(label, total=total)
            bar.update(task, completed=done, total=total)

        yield update
