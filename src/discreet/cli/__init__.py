"""The command ``discreet``: one module per command, nothing heavy imported before it is needed."""

import os
import re
import signal
import sys
from types import FrameType
from typing import Any, NoReturn, cast

import typer
import typer.core

from discreet.cli._groups import commands_in, group_of
from discreet.cli._terminal import echo, in_lines, say
from discreet.errors import DiscreetError, unforeseen

# Our help is plain text. Typer would escape its brackets for rich all the same: "\\[required]".
typer.core.HAS_RICH = False

_COMMANDS = {
    "advise": "Recommend a way of releasing, from trials on public text.",
    "sanitize": "Replace every word of a file's texts by a private draw.",
    "embed": "Release a private vector for each text, and its label beside it.",
    "restore": "Put back the values that surrogates stand for, from a kept mapping.",
    "rewrite": "Sanitise, then rewrite the release into likelier text.",
    "generate": "Print text that a privately trained model writes.",
    "predict": "Apply a trained model to each row.",
    "explain": "Say what a setting means, before anything is released.",
    "audit": "Check a mechanism's guarantee: its law, its sampler, a black box.",
    "evaluate": "Measure how often words stay and how many they may become.",
    "verify": "Check a released file against its receipt.",
    "report": "Put receipts and results on one page.",
    "entities": "Find the sensitive entities of every row, for training.",
    "spaces": "List and prepare the vocabularies that words come from.",
    "account": "Say what releases guarantee together.",
    "serve": "Sanitise text over HTTP, and in front of language models.",
    "ledger": "Show, limit and check what was released about whom.",
    "cache": "Show or clear what is kept from run to run.",
    "train": "Train models on releases or raw text, and their public parts.",
    "attack": "Measure what an attacker still learns, beside chance.",
    "compare": "Compare mechanisms: how useful the text stays, what attackers learn.",
    "reproduce": "Run the experiments of the papers on data in a folder.",
}

app = typer.Typer(
    name="discreet",
    cls=group_of(commands_in(__name__, _COMMANDS)),
    help=(
        "Differentially private text, from a single word to a whole user, with guarantees that "
        "are checked, not claimed.\n\n"
        "Begin with 'discreet advise --help', which says what fits your purpose, or with 'discreet "
        "explain --epsilon 8', which says what a setting means; neither reads text that is to be "
        "protected. 'discreet sanitize' then releases a file. 'discreet COMMAND --help' explains "
        "a command and gives an example."
    ),
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", help="Print the version and stop."),
) -> None:
    if version:
        from discreet import __version__

        echo(__version__)
        raise typer.Exit
    if context.invoked_subcommand is None:
        say(*in_lines(context.get_help()))
        raise typer.Exit(2)


# What typer raises for an unknown or a missing option, wherever its version keeps the class.
_UsageError = cast(type[Exception], typer.BadParameter.__bases__[0])


class _Stopped(BaseException):
    """A signal asked to stop. Not KeyboardInterrupt, which typer would keep to itself."""


def main() -> NoReturn:
    """Run the command; a user's mistake is one sentence and an exit code, never a traceback."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _stop)
    try:
        result = app(prog_name="discreet", standalone_mode=False)
        code = result if isinstance(result, int) else 0
        if sys.stdout is not None:
            sys.stdout.flush()
    except DiscreetError as error:
        code = _failed(str(error), error.exit_code)
    except _UsageError as error:
        code = _failed(_usage(error), 2)
    except OSError as error:
        code = _failed(_refused(error), 2)
    except _Stopped:
        code = _failed(
            "stopped; nothing was written (a run that can be resumed keeps what it saved, and what "
            "it spent is spent)",
            130,
        )
    except Exception as error:
        code = _failed(unforeseen(error), 1)
    sys.exit(code)


def _stop(_number: int, _frame: FrameType | None) -> NoReturn:
    # Raised like any error, so that half-written files are removed on the way out.
    raise _Stopped


def _failed(sentence: str, code: int) -> int:
    say(f"discreet: {sentence}")
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        # Nobody reads any more: what is still buffered must not fail once again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def _usage(error: Any) -> str:
    # Typer and what it is built on may each add guesses of what was meant, in words of their own.
    begin = r"\.? \(?(?:Did you mean|Possible options:)"
    message, *guesses = re.split(begin, error.format_message().rstrip("."))
    suggested = re.findall(r"'([^']+)'|(--?[\w-]+)", " ".join(guesses))
    # Options come best first here, and by the alphabet in the message.
    names = getattr(error, "possibilities", None) or [
        quoted or plain for quoted, plain in suggested
    ]
    meant = f" (did you mean {' or '.join(list(dict.fromkeys(names))[:2])}?)" if names else ""
    if (place := _by_place(error)) is not None:
        meant = f" ({place} is given without a name: {error.ctx.command_path} {place})"
    where = f"; see '{error.ctx.command_path} --help'" if error.ctx is not None else ""
    return message[:1].lower() + message[1:] + meant + where


def _by_place(error: Any) -> str | None:
    """The argument that was typed like an option, if one has this name."""
    typed = getattr(error, "option_name", "").removeprefix("--").upper()
    parameters = () if error.ctx is None else error.ctx.command.params
    arguments = [each.metavar for each in parameters if each.param_type_name == "argument"]
    return typed if typed in arguments else None


def _refused(error: OSError) -> str:
    """What the operating system said of a file that is not the input or the output."""
    reason = error.strerror or "input/output error"
    if error.filename is None:
        return f"reading or writing failed ({reason}); check where the output goes"
    return f"{error.filename} cannot be used ({reason}); check the path and its permissions"
