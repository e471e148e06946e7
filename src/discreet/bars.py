"""Bars that show how far long work is: on a terminal, in a notebook, or nowhere.

Labels are ours and never come from a file or a text.
"""

import html
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any


@contextmanager
def progress_bar(label: str) -> Iterator[Callable[[int, int], None]]:
    """A function to call with (done, total); a bar appears on a terminal or in a notebook.

    A total of 0 stands for an unknown one, as of a pipe.
    """
    with progress_bars(label) as (update,):
        yield update


@contextmanager
def progress_bars(*labels: str) -> Iterator[list[Callable[[int, int], None]]]:
    """As :func:`progress_bar`, for things that are under way at the same time."""
    if (notebook := _notebook()) is not None:
        shown = _NotebookBars(notebook)
        yield [partial(shown.update, label) for label in labels]
        shown.finish()
        return
    if sys.stderr is None or not sys.stderr.isatty():
        yield [lambda _done, _total: None for _ in labels]
        return
    from rich.console import Console
    from rich.errors import LiveError
    from rich.progress import Progress

    # Standard output is left alone: data goes there.
    display = Progress(console=Console(stderr=True), transient=True, redirect_stdout=False)
    tasks: dict[str, Any] = {}

    def update(label: str, done: int, total: int) -> None:
        if label not in tasks:  # what turns out to be instant, or waits for another bar, shows none
            try:
                display.start()
            except LiveError:
                return  # another bar is on the screen, and says enough
            tasks[label] = display.add_task(label, total=total or None)
        display.update(tasks[label], completed=done, total=total or None)

    try:
        yield [partial(update, label) for label in labels]
    finally:
        if tasks:
            display.stop()


def _notebook() -> Callable[..., Any] | None:
    """How to show something in the notebook that this runs in, if it runs in one."""
    module = sys.modules.get("IPython")
    shell = None if module is None else module.get_ipython()
    if shell is None or not hasattr(shell, "kernel"):
        return None
    display: Callable[..., Any] = sys.modules["IPython.display"].display
    return display


class _NotebookBars:
    """One piece of output below the cell, changed a hundred times at most for each bar."""

    def __init__(self, display: Callable[..., Any]) -> None:
        self._display = display
        self._handle: Any = None
        self._bars: dict[str, tuple[int, int]] = {}
        self._percent: dict[str, int] = {}

    def update(self, label: str, done: int, total: int) -> None:
        percent = 100 * done // total if total else 0
        if self._percent.get(label) == percent:
            return
        self._bars[label], self._percent[label] = (done, total), percent
        if self._handle is None:
            self._handle = self._display(self, display_id=True)
        else:
            self._handle.update(self)

    def finish(self) -> None:
        """Leave nothing behind."""
        self._bars.clear()
        if self._handle is not None:
            self._handle.update(self)

    def _repr_html_(self) -> str:
        return "".join(
            f"<div>{html.escape(label)} "
            + (f'<progress value="{done}" max="{total}"></progress>' if total else "")
            + "</div>"
            for label, (done, total) in self._bars.items()
        )

    def __repr__(self) -> str:
        parts = (f"{label} {self._percent[label]}%" for label in self._bars)
        return ", ".join(parts)
