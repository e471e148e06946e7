"""Words for people go to standard error; data goes to standard output or a file.

Names may come from files that anybody wrote. Whatever is printed passes :func:`visible`, so that no
name can move the cursor, colour what follows or begin a line of its own.
"""

import json
import os
import sys
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import typer

from discreet.bars import progress_bar as progress_bar
from discreet.bars import progress_bars as progress_bars
from discreet.receipt import Receipt, receipt_path

_ACTING = ("Cc", "Cf", "Cs", "Zl", "Zp")
# Of lines that must not be overlooked, by how they begin. Colour says nothing that words do not.
_RED, _YELLOW, _BOLD, _PLAIN = "\x1b[31m", "\x1b[33m", "\x1b[1m", "\x1b[0m"
_COLOURS = {
    "discreet: ": _RED,
    "FAIL": _RED,
    "Caveat: ": _YELLOW,
    "A search finds": _YELLOW,
    "Nothing was learnt": _YELLOW,
    "Recommendation: ": _BOLD,
}


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
        print(_coloured(visible(line), sys.stderr), file=sys.stderr)


def on_a_terminal() -> bool:
    """Whether what is said is read by whoever typed the command, rather than kept in a log."""
    return sys.stderr is not None and sys.stderr.isatty()


def echo(*lines: str) -> None:
    """Print lines of a result."""
    for line in lines:
        typer.echo(_coloured(visible(line), sys.stdout))


def _coloured(line: str, stream: Any) -> str:
    """The line in its colour, on a terminal that shows any; see no-color.org for the refusal."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    old = os.name == "nt" and "WT_SESSION" not in os.environ
    if plain or old or stream is None or not stream.isatty():
        return line
    colour = next((c for start, c in _COLOURS.items() if line.lstrip().startswith(start)), None)
    return line if colour is None else f"{colour}{line}{_PLAIN}"


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


def say_released(receipt: Receipt, output: str | Path) -> None:
    """What was released; then name the output and its receipt, unless it is standard output."""
    from discreet.report.released import released_lines

    say(*released_lines(receipt))
    if str(output) != "-":
        say(f"Written: {output} and its receipt {receipt_path(output)}")
