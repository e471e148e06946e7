"""A setting is declared once, and refuses what is out of range wherever it is given."""

from dataclasses import dataclass
from typing import Annotated

import pytest
import typer

from discreet.cli._settings import takes_settings
from discreet.errors import InvalidValue
from discreet.settings import Setting, Settings, settings_of


@dataclass(frozen=True, kw_only=True)
class Schedule(Settings):
    epochs: Annotated[int, Setting("Passes over the rows.", at_least=1)] = 2
    rate: Annotated[float, Setting("Size of a step.", above=0, below=1, short="-r")] = 0.1
    rule: Annotated[str, Setting("How to step.", choices=("plain", "adam"))] = "adam"
    shuffle: Annotated[bool, Setting("Draw the order anew.")] = True
    dimension: Annotated[int | None, Setting("Width.", at_least=2, flag="--dim")] = None


BAD = [
    ("epochs", 0, "a whole number of at least 1"),
    ("epochs", 1.5, "a whole number of at least 1"),
    ("rate", 0.0, "a finite number above 0 and below 1"),
    ("rate", 1.0, "a finite number above 0 and below 1"),
    ("rate", float("nan"), "a finite number above 0 and below 1"),
    ("rule", "sgd", "one of plain, adam"),
    ("dimension", 1, "a whole number of at least 2"),
]


@pytest.mark.parametrize(("name", "value", "rule"), BAD)
def test_a_value_out_of_range_is_refused(name, value, rule):
    with pytest.raises(InvalidValue, match=f"{name} of Schedule must be {rule}; got"):
        Schedule(**{name: value})


def test_what_is_in_range_is_taken():
    made = Schedule(epochs=1, rate=0.999, rule="plain", dimension=2)
    assert (made.epochs, made.rate, made.rule, made.dimension) == (1, 0.999, "plain", 2)
    assert [each.name for each in settings_of(Schedule)] == [
        "epochs",
        "rate",
        "rule",
        "shuffle",
        "dimension",
    ]


def command():
    seen = []

    def run(text: str, schedule: Schedule, force: bool = False) -> None:
        """Run."""
        seen.append((text, schedule, force))

    app = typer.Typer()
    app.command()(takes_settings(run))
    return typer.main.get_command(app), seen


def test_a_command_has_an_option_for_each_field():
    parser, seen = command()
    parser.main(
        ["tea", "--epochs", "3", "-r", "0.5", "--no-shuffle", "--dim", "4"], standalone_mode=False
    )
    assert seen == [("tea", Schedule(epochs=3, rate=0.5, shuffle=False, dimension=4), False)]
    helps = {parameter.opts[0]: parameter.help for parameter in parser.params}
    assert helps["--epochs"] == "Passes over the rows."


def test_the_command_names_the_option():
    parser, seen = command()
    with pytest.raises(InvalidValue, match="--dim must be a whole number of at least 2; got 1"):
        parser.main(["tea", "--dim", "1"], standalone_mode=False)
    assert seen == []
