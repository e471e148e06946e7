"""``discreet account shuffle``."""

import json
import math

import pytest
from typer.testing import CliRunner

from discreet.accounting import shuffle_epsilon
from discreet.cli.account import account
from discreet.errors import DiscreetError


def run(*arguments):
    return CliRunner().invoke(account, ["shuffle", *arguments])


def test_json_is_what_the_function_says():
    done = run("--epsilon0", "2", "--n", "10000", "--delta", "1e-6", "--json")
    assert done.exit_code == 0
    values = json.loads(done.stdout)
    assert values["epsilon"] == shuffle_epsilon(2.0, 10_000, 1e-6)
    assert values["closed_form"] > values["epsilon"]
    assert math.isclose(values["delta"], 1e-6)


def test_words():
    done = run("--epsilon0", "2", "--n", "10000", "--delta", "1e-6")
    assert "Shuffled among 10,000" in done.stdout
    assert "0.155045" in done.stdout
    assert "does not reach here" in run("--epsilon0", "9", "--n", "100", "--delta", "1e-6").stdout


def test_the_other_way_round():
    values = json.loads(run("--target", "0.2", "--n", "10000", "--delta", "1e-6", "--json").stdout)
    assert values["epsilon"] <= 0.2 < values["epsilon0"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--n", "10", "--delta", "1e-6"],
        ["--epsilon0", "1", "--target", "1", "--n", "10", "--delta", "1e-6"],
        ["--epsilon0", "-1", "--n", "10", "--delta", "1e-6"],
        ["--epsilon0", "1", "--n", "0", "--delta", "1e-6"],
        ["--epsilon0", "1", "--n", "10", "--delta", "0"],
    ],
)
def test_bad_values_are_refused(arguments):
    assert isinstance(run(*arguments).exception, DiscreetError)


def test_missing_options_are_refused():
    assert run("--epsilon0", "1").exit_code == 2
