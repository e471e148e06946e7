"""Run the blocks of a page in order, as its reader would, and compare what they print with it.

- ``console``: commands behind ``$`` (longer ones end their lines in a backslash), each with what it
  prints. A command that ends with another code than 0 must be followed by ``$ echo $?``.
- ``python``: run in one namespace for the page; a ``text`` block right behind it is what it prints.
- ``python`` whose first line is a comment with the name of a file: saved under it, not run.

White space aside, what is printed must be what is shown, but for two allowances. ``...`` within a
line stands for what differs between machines. ``<!-- figures within 0.05 -->`` before a block
lets figures differ by that much (of themselves where they are above 1), as those of trained models
do between processors.

``python tests/pages.py [--write] PAGE...`` runs pages outside the tests. ``--write`` brings
what they show up to date where it no longer agrees, in lines of at most 100 characters; ``--here``
calls commands in this process, as the tests do for pages that need an encoder.
"""

import argparse
import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from command import COMMAND, called, each_text_encoded_once, environment, share_public_tables

WIDTH = 100
BLOCK = re.compile(r"(?:^<!-- figures within (\S+) -->\n)?^```(\w+)\n(.*?)^```$", re.M | re.S)
COMMANDS = re.compile(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", re.M)
FILE_NAME = re.compile(r"# ([\w.-]+\.py)\n")
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e-?\d+)?")
# A command without anything else for a shell to do than to put one of its streams into a file.
PLAIN = re.compile(r"discreet ([^|<>;&$*]+?)(?: (2?)> (\S+))?")
# A loop over some words, and a command whose words go on to another.
LOOP = re.compile(r"for (\w+) in ([\w. ]+); do (.+); *done")
PIPED = re.compile(r"discreet ([^|<>;&$*]+?)( 2>&1)? \| ([^|]+)")
LAST_CODE = "echo $?"


@dataclass(frozen=True)
class Step:
    """Something to run, what the page says it prints, and where in the page that stands."""

    kind: str
    code: str
    shown: str
    start: int
    within: float
    may_fail: bool = False


def steps(text: str) -> Iterator[Step]:
    """What a reader of the page does, in order."""
    if hidden := re.findall(r"^ +```(?:console|python)", text, re.M):
        raise AssertionError(f"{len(hidden)} blocks are indented and would not be run")
    blocks = list(BLOCK.finditer(text))
    for number, block in enumerate(blocks):
        within, kind, body = block.groups()
        if kind == "console":
            commands = list(COMMANDS.finditer(body))
            for command, following in zip(commands, [*commands[1:], None], strict=True):
                yield Step(
                    kind,
                    command[1],
                    command[2],
                    block.start(3) + command.start(2),
                    float(within or 0),
                    following is not None and following[1] == LAST_CODE,
                )
        elif kind == "python":
            after = blocks[number + 1] if number + 1 < len(blocks) else None
            if after and after[2] == "text" and not text[block.end() : after.start()].strip():
                yield Step(kind, body, after[3], after.start(3), float(after[1] or 0))
            else:
                yield Step(kind, body, "", -1, 0)


def agrees(shown: str, printed: str, within: float = 0) -> bool:
    """Whether what was printed is what the page shows, white space and the allowances aside.

    >>> agrees("took ... s, 12 words\\nof 3 texts", "took 0.7 s, 12 words of 3 texts")
    True
    >>> agrees("accuracy 0.83", "accuracy 0.85"), agrees("accuracy 0.83", "accuracy 0.85", 0.05)
    (False, True)
    """
    pattern, figures = "", []
    for word in shown.split():
        for part in re.split(rf"(\.\.\.|{NUMBER.pattern})", word):
            if part == "...":
                pattern += ".*?"
            elif within and NUMBER.fullmatch(part):
                pattern += f"({NUMBER.pattern})"
                figures.append(_number(part))
            else:
                pattern += re.escape(part)
        pattern += " "
    found = re.fullmatch(pattern.strip(), " ".join(printed.split()))
    return found is not None and all(
        abs(_number(there) - here) <= within * max(1, here)
        for here, there in zip(figures, found.groups(), strict=True)
    )


def _number(figure: str) -> float:
    return float(figure.replace(",", ""))


def run(text: str, folder: Path, *, here: bool = False) -> Iterator[tuple[Step, str]]:
    """Run the page in a folder; gives every step with what it printed.

    Commands go through a shell. With ``here``, those that need none are called in this process: an
    encoder's libraries take far longer to load than most commands take to run.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    code = 0
    places = os.pathsep.join([str(COMMAND.parent), os.environ.get("PATH", "")])
    cache = folder / ".cache"
    share_public_tables(cache)
    sharing: Any = each_text_encoded_once() if here else contextlib.nullcontext()
    setting = environment(cache) | {"PATH": places, "PYTHONUNBUFFERED": "1"}
    with _session(folder), sharing, mock.patch.dict(os.environ, setting):
        for step in steps(text):
            name = FILE_NAME.match(step.code)
            if step.kind == "console":
                code, printed = _command(step.code, code, cache, here=here)
                if code and not step.may_fail:
                    raise AssertionError(f"$ {step.code}\nends with {code}:\n{printed}")
            elif name:
                Path(name[1]).write_text(step.code)
                printed = ""
            else:
                with contextlib.redirect_stdout(io.StringIO()) as out:
                    exec(compile(step.code, "<page>", "exec"), names)
                printed = out.getvalue()
            yield step, printed


def _command(line: str, last: int, cache: Path, *, here: bool) -> tuple[int, str]:
    """The code that a command line ends with, after one that ended with ``last``, and its words."""
    joined = line.replace("\\\n", " ")
    if here and (loop := LOOP.fullmatch(joined)):
        said = ""
        for word in loop[2].split():
            for command in loop[3].replace(f"${loop[1]}", word).strip(" ;").split(";"):
                last, words = _command(command.strip(), last, cache, here=True)
                said += words
        return last, said
    if here and (piped := PIPED.fullmatch(joined)):
        outcome = called(*shlex.split(piped[1]), cache=cache, together=piped[2] is not None)
        code, words = _shell(piped[3], last, outcome.out.decode())
        return code, outcome.err + words
    plain = PLAIN.fullmatch(joined) if here else None
    if plain:
        outcome = called(*shlex.split(plain[1]), cache=cache, together=plain[3] is None)
        streams = {"": outcome.out.decode(), "2": outcome.err}
        if plain[3] is not None:
            Path(plain[3]).write_text(streams.pop(plain[2]))
        return outcome.code, "".join(streams.values())
    return _shell(line, last)


def _shell(line: str, last: int, words: str = "") -> tuple[int, str]:
    """The code and the words of a command line in a shell, which reads these words."""
    done = subprocess.run(
        ["bash", "-c", f"(exit {last}); {line}"],
        input=words,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    return done.returncode, done.stdout


@contextlib.contextmanager
def _session(folder: Path) -> Iterator[None]:
    """A session of Python in a folder: modules are found there, and forgotten afterwards."""
    with contextlib.chdir(folder), mock.patch.object(sys, "path", [str(folder), *sys.path]):
        try:
            yield
        finally:
            for name, module in list(sys.modules.items()):
                if Path(getattr(module, "__file__", None) or "/").is_relative_to(folder):
                    del sys.modules[name]


def brought_up_to_date(text: str, ran: list[tuple[Step, str]]) -> str:
    """The page with what was printed in the place of what no longer agrees."""
    for step, printed in reversed(ran):
        if not agrees(step.shown, printed, step.within):
            if step.start < 0:
                raise SystemExit(f"needs a text block behind it:\n{step.code}")
            text = text[: step.start] + _folded(printed) + text[step.start + len(step.shown) :]
    return text


def _folded(printed: str) -> str:
    lines: list[str] = []
    folder = textwrap.TextWrapper(WIDTH, break_on_hyphens=False, break_long_words=False)
    for line in printed.rstrip("\n").splitlines():
        folder.subsequent_indent = " " * (len(line) - len(line.lstrip()))
        lines += folder.wrap(line) or [""]
    return "\n".join(lines) + "\n" if lines else ""


def _main() -> int:
    parser = argparse.ArgumentParser(description="Run pages and compare what they show.")
    parser.add_argument("--write", action="store_true", help="bring the pages up to date")
    parser.add_argument("--here", action="store_true", help="call commands in this process")
    parser.add_argument("pages", nargs="+", type=Path)
    chosen = parser.parse_args()
    differ = 0
    for page in chosen.pages:
        text, began = page.read_text(), time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            ran = list(run(text, Path(folder), here=chosen.here))
        wrong = [step for step, printed in ran if not agrees(step.shown, printed, step.within)]
        print(
            f"{page.name}: {len(ran)} steps, {time.monotonic() - began:.0f} s, {len(wrong)} differ"
        )
        for step in wrong:
            print(f"  {step.code.splitlines()[0]}")
        if chosen.write:
            page.write_text(brought_up_to_date(text, ran))
        differ += len(wrong)
    return int(bool(differ) and not chosen.write)


if __name__ == "__main__":
    sys.exit(_main())
