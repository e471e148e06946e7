"""Words for people go to standard error; data goes to standard output or a file."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from discreet.receipt import receipt_path


def say(*lines: str) -> None:
    """Print lines for people."""
    if sys.stderr is None:
        return  # closed by the caller, and print would take standard output in its place
    for line in lines:
        print(line, file=sys.stderr)


def show(values: Any, lines: Iterable[str], *, as_json: bool) -> None:
    """Print a result: plain values as JSON for programs, or lines for people."""
    if as_json:
        lines = [json.dumps(values, indent=2, ensure_ascii=False)]
    for line in lines:
        typer.echo(line)


def say_written(output: str | Path) -> None:
    """Name an output and its receipt, unless it went to standard output."""
    if str(output) != "-":
        say(f"Written: {output} and its receipt {receipt_path(output)}")


def counted(number: int, thing: str) -> str:
    """A number of things, in words that fit it.

    >>> counted(1, "document"), counted(2000, "word")
    ('1 document', '2,000 words')
    """
    return f"{number:,} {thing}" + ("" if number == 1 else "s")


@contextmanager
def progress_bar(label: str) -> Iterator[Callable[[int, int], None]]:
    """A function to call with (done, total); a bar appears if standard error is a terminal.

    A total of 0 stands for an unknown one, as of a pipe.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn(label), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    # Standard output is left alone: data goes there.
    terminal = Console(stderr=True)
    bar = Progress(*columns, console=terminal, transient=True, redirect_stdout=False)
    task = None

    def update(done: int, total: int) -> None:
        nonlocal task
        if task is None:  # what turns out to be instant, or waits for another bar, shows none
            bar.start()
            task = bar.add_task(label, total=total or None)
        bar.update(task, completed=done, total=total or None)

    try:
        yield update
    finally:
        if task is not None:
            bar.stop()
