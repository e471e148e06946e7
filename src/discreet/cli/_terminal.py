"""Words for people go to standard error; data goes to standard output or a file.

Names may come from files that anybody wrote. Whatever is printed passes :func:`visible`, so that no
name can move the cursor, colour what follows or begin a line of its own.
"""

import json
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from discreet.receipt import receipt_path

_ACTING = ("Cc", "Cf", "Cs", "Zl", "Zp")


def visible(line: str) -> str:
    """The line with whatever would act on a terminal spelt out, as JSON spells it.

    That is every character of control, of format (which may turn the direction of the text) and of
    a line's or paragraph's end, and half a surrogate pair.

    >>> visible("a\\x1b[2Jb\\n")
    'a\\\\u001b[2Jb\\\\u000a'
    """
    if line.isascii() and line.isprintable():
        return line
    return "".join(map(_spelt, line))


def _spelt(character: str) -> str:
    if character != "\t" and unicodedata.category(character) in _ACTING:
        codes = character.encode("utf-16-be", "surrogatepass").hex()
        return "".join(f"\\u{codes[at : at + 4]}" for at in range(0, len(codes), 4))
    return character


def say(*lines: str) -> None:
    """Print lines for people."""
    if sys.stderr is None:
        return  # closed by the caller, and print would take standard output in its place
    for line in lines:
        print(visible(line), file=sys.stderr)


def echo(*lines: str) -> None:
    """Print lines of a result."""
    for line in lines:
        typer.echo(visible(line))


def echo_json(values: Any, indent: int | None = 2) -> None:
    """Print a result for programs."""
    echo(*in_lines(json.dumps(values, indent=indent, ensure_ascii=False)))


def in_lines(text: str) -> list[str]:
    """The lines of a text of ours; of what is foreign, no part may begin a line."""
    return text.removesuffix("\n").split("\n")


def show(values: Any, lines: Iterable[str], *, as_json: bool) -> None:
    """Print a result: plain values as JSON for programs, or lines for people."""
    if as_json:
        echo_json(values)
    else:
        echo(*lines)


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
