"""A setting is declared once, and refuses what is out of range wherever it is given."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import pytest
import typer

from discreet import check
from discreet.cli._groups import command_group
from discreet.cli._settings import Choice, argument, takes_settings
from discreet.errors import InvalidValue
from discreet.settings import Declared, Setting, Settings, fields_as_keywords, said, settings_of


@dataclass(frozen=True, kw_only=True)
class Schedule(Settings):
    epochs: int = Setting("Passes over the rows.", at_least=1).default(2)
    rate: float = Setting("Size of a step.", above=0, below=1, short="-r").default(0.1)
    rule: str = Setting("How to step.", choices=("plain", "adam")).default("adam")
    shuffle: bool = Setting("Draw the order anew.").default(True)
    dimension: int | None = Setting("Width.", at_least=2, flag="--dim").default(None)


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


class Rates(Choice):
    """Two mechanisms with a rate each."""

    def __init__(self, rates):
        self.rates = rates

    @classmethod
    def declared(cls):
        return [Declared(f"{cls.prefix}rate", float | None, None, Setting("A rate."))]

    @classmethod
    def of(cls, given):
        return cls(next(iter(given.values())))


class LabelRates(Rates):
    prefix = "label_"


def refusing(owner, which):
    """A command that hands one of its rates to a class, which refuses it in words of its own."""

    def run(rates: Rates, labels: LabelRates) -> None:
        """Run."""
        check.positive({"rates": rates, "labels": labels}[which].rates, f"rate of {owner}")

    app = typer.Typer()
    app.command()(takes_settings(run))
    return typer.main.get_command(app)


@pytest.mark.parametrize(
    ("owner", "which", "typed", "message"),
    [
        ("SanText+", "rates", ["--rate", "-1"], "--rate must be a finite number above 0; got -1.0"),
        ("Votes", "labels", ["--label-rate", "0"], "--label-rate must be"),
        ("Votes", "labels", ["--rate", "2", "--label-rate", "-1"], "--label-rate must be"),
        ("Votes", "rates", ["--rate", "-1", "--label-rate", "2"], "--rate must be"),
        ("Votes", "rates", ["--rate", "-1", "--label-rate", "-1"], "rate of Votes must be"),
        ("Votes", "rates", [], "rate of Votes must be"),  # nobody typed it
        ("a file", "rates", ["--rate", "-1"], "rate of a file must be"),
    ],
)
def test_what_a_class_refuses_is_named_as_it_was_typed(owner, which, typed, message):
    with pytest.raises(InvalidValue, match=rf"^{re.escape(message)}"):
        refusing(owner, which).main(typed, standalone_mode=False)


@dataclass(frozen=True, kw_only=True)
class Names(Settings):
    name: Annotated[str | Sequence[str], Setting("A name; repeatable.")] = "nobody"
    drop: Annotated[Sequence[str], Setting("Not this; repeatable.", metavar="NAME")] = ()


def test_a_field_of_several_values_is_an_option_that_may_be_repeated():
    seen = []

    def run(names: Names) -> None:
        """Run."""
        seen.append(names)

    app = typer.Typer()
    app.command()(takes_settings(run))
    parser = typer.main.get_command(app)
    parser.main(["--name", "a", "--name", "b"], standalone_mode=False)
    parser.main([], standalone_mode=False)
    assert seen == [Names(name=("a", "b")), Names()]
    name, drop = parser.params[:2]
    assert (name.help, drop.help) == (
        "A name; repeatable. Default: nobody.",
        "Not this; repeatable.",
    )
    assert drop.metavar == "NAME"


def with_own_options():
    seen = []

    def run(
        path: Annotated[str, argument("PATH", "What to read.")],
        steps: Annotated[int, Setting("How many.", at_least=1)],
        rule: Annotated[str, Setting("How to step.", choices=("plain", "adam"))] = "adam",
        names: Annotated[Sequence[str], Setting("A name; repeatable.", flag="--name")] = (),
        plain: Annotated[bool, Setting("No frills.", heading="Style")] = False,
    ) -> None:
        """Run."""
        seen.append((path, steps, rule, names, plain))

    group = command_group("Runs.")
    group.command("run")(run)
    return typer.main.get_command(group), seen, run


def test_a_setting_may_be_a_parameter_of_the_command():
    parser, seen, run = with_own_options()
    call = ["run", "tea", "--steps", "3", "--name", "a", "--name", "b", "--plain"]
    parser.main(call, standalone_mode=False)
    assert seen == [("tea", 3, "adam", ("a", "b"), True)]
    run("tea", 1, "plain", (), False)  # the function itself is left as it is
    assert seen[1:] == [("tea", 1, "plain", (), False)]
    helps = {each.opts[0]: each for each in parser.commands["run"].params}
    assert (helps["path"].metavar, helps["path"].help) == ("PATH", "What to read.")
    assert helps["--plain"].rich_help_panel == "Style"
    assert helps["--steps"].required


@pytest.mark.parametrize(
    ("options", "seen"), [([], None), (["--joint"], True), (["--no-joint"], False)]
)
def test_what_may_be_left_open_can_be_switched_on_and_off(options, seen):
    taken = []

    def run(joint: Annotated[bool | None, Setting("Together.")] = None):
        """Run."""
        taken.append(joint)

    group = command_group("Runs.")
    group.command("run")(run)
    typer.main.get_command(group).main(["run", *options], standalone_mode=False)
    assert taken == [seen]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--steps", "0"], "--steps must be a whole number of at least 1; got 0"),
        (["--steps", "1", "--rule", "sgd"], "--rule must be one of plain, adam; got 'sgd'"),
    ],
)
def test_a_parameter_out_of_range_is_refused_by_its_option(options, says):
    parser, seen, _ = with_own_options()
    with pytest.raises(InvalidValue, match=says):
        parser.main(["run", "tea", *options], standalone_mode=False)
    assert seen == []


def test_what_was_said_is_what_differs_from_the_default():
    assert said(Schedule()) == {}
    found = said(Schedule(epochs=3, dimension=4))
    assert {name: each.flag for name, each in found.items()} == {
        "epochs": "--epochs",
        "dimension": "--dim",
    }


@fields_as_keywords
def train(rows: int, *, schedule: Schedule, names: Names, force: bool = False):
    return rows, schedule, names, force


def test_a_function_takes_fields_as_keywords_or_the_settings_themselves():
    assert train(1) == (1, Schedule(), Names(), False)
    assert train(1, epochs=3, name="x", force=True) == (
        1,
        Schedule(epochs=3),
        Names(name="x"),
        True,
    )
    assert train(1, schedule=Schedule(epochs=3), name="x") == train(1, epochs=3, name="x")


def test_what_is_no_field_and_what_is_said_twice_are_errors():
    with pytest.raises(TypeError, match="unexpected keyword argument 'epoch'"):
        train(1, epoch=3)
    with pytest.raises(TypeError, match="epochs is said in schedule already"):
        train(1, schedule=Schedule(), epochs=3)
    with pytest.raises(InvalidValue, match="epochs of Schedule must be"):
        train(1, epochs=0)
