"""User and entity accounting: reference values, dp-accounting at no holders, Monte Carlo."""

import json
import math

import dp_accounting
import numpy as np
import pytest
from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent, pld, rdp
from typer.testing import CliRunner

from command import but
from discreet.accounting import UserEntityTraining, moments_epsilon, noise_for, published_figures
from discreet.cli.account import account
from discreet.errors import InvalidValue

DELTA = 1e-5


def run(**changes):
    constants = {"user_rate": 0.05, "entity_rate": 0.5, "noise": 2.0, "steps": 50, "holders": 3}
    return UserEntityTraining(**(constants | changes))


def test_without_entities_it_is_the_subsampled_gaussian_of_dp_accounting():
    accountant = pld.PLDAccountant(value_discretization_interval=1e-3)
    event = dp_accounting.PoissonSampledDpEvent(0.05, dp_accounting.GaussianDpEvent(2.0))
    accountant.compose(event, 500)
    found = run(steps=500, holders=0)
    assert found.user_epsilon(DELTA) == pytest.approx(accountant.get_epsilon(DELTA), rel=1e-4)
    assert found.joint_epsilon(DELTA) == found.user_epsilon(DELTA)
    assert found.entity_epsilon(DELTA) == 0


@pytest.mark.parametrize(
    ("changes", "reference"),
    [
        # Computed with coarser rounding (no connected dots), so a little above ours.
        ({"entity_rate": 0.5, "cell_ratio": 0.25}, 8.29),
        ({"entity_rate": 1.0, "cell_ratio": 0.1}, 6.68),
        ({"entity_rate": 0.5, "noise": 2.5, "cell_ratio": 0.1}, 3.37),
    ],
)
def test_reference_values(changes, reference):
    found = run(steps=500, holders=10, **changes).joint_epsilon(DELTA)
    assert 0.95 * reference < found <= reference


def _divergence(one: UserEntityTraining, epsilon: float, seed: int) -> tuple[float, float]:
    """Delta of one step at epsilon by Monte Carlo in one dimension (the worst case); its error."""
    draws = 1_000_000
    rng = np.random.default_rng(seed)
    n = rng.binomial(one.holders, one.user_rate, draws)
    b = rng.random(draws) < one.user_rate
    a = rng.random(draws) < one.entity_rate
    shift = n * one.cells * one.cell_ratio
    x = rng.normal(b + a * shift, one.noise)

    def density(at):
        return np.exp(-((x - at) ** 2) / (2 * one.noise**2))

    p, q = one.user_rate, one.entity_rate
    with_both = (
        (1 - p) * (1 - q) * density(0.0)
        + p * (1 - q) * density(1.0)
        + (1 - p) * q * density(shift)
        + p * q * density(1.0 + shift)
    )
    gain = np.maximum(0.0, 1 - math.exp(epsilon) * density(0.0) / with_both)
    return float(gain.mean()), float(gain.std() / math.sqrt(draws))


def test_one_step_against_monte_carlo_of_the_worst_case():
    one = run(steps=1, holders=4, cell_ratio=0.9, noise=1.5)
    for epsilon in (0.05, 0.3, 1.0):
        estimate, error = _divergence(one, epsilon, seed=3)
        found = one.joint_delta(epsilon)
        assert found >= estimate - 6.5 * error, "the accountant is too optimistic"
        assert found <= (estimate + 6.5 * error) * 1.02 + 1e-4, "it is needlessly pessimistic"
    # The mutant: forgetting that the holders' cells add up stays far below what is seen.
    estimate, error = _divergence(one, 0.3, seed=3)
    assert run(steps=1, holders=0, noise=1.5).joint_delta(0.3) < 0.9 * (estimate - 6.5 * error)


def test_more_of_anything_costs_more():
    base = run()
    middle = base.joint_epsilon(DELTA)
    assert max(base.user_epsilon(DELTA), base.entity_epsilon(DELTA)) <= middle
    for worse in (
        {"user_rate": 0.1},
        {"entity_rate": 0.9},
        {"noise": 1.5},
        {"steps": 100},
        {"holders": 6},
        {"cells": 3},
        {"cell_ratio": 0.4},
    ):
        assert run(**worse).joint_epsilon(DELTA) > middle


def test_the_rare_many_holders_are_counted_as_more_not_less():
    law = run(holders=40)._drawn_holders(True)
    assert sum(law.values()) == pytest.approx(1, abs=1e-12)
    assert max(law) == 40
    assert len(law) < 20


@pytest.mark.parametrize(
    ("rate", "noise", "step_counts"),
    [(0.05, 2.0, (10, 500, 50_000)), (0.5, 0.9, (1, 10)), (1e-3, 4.0, (1,))],
)
def test_moments_near_the_best_order_are_those_of_all_orders(rate, noise, step_counts):
    orders = np.array([1 + x / 10 for x in range(1, 1000)] + list(range(101, 513)))
    every = rdp.RdpAccountant(list(orders))
    every.compose(PoissonSampledDpEvent(rate, GaussianDpEvent(noise)))
    best = []
    for steps in step_counts:
        figures = steps * np.array(every._rdp) + math.log(1 / DELTA) / (orders - 1)
        best.append(orders[figures.argmin()])
        found = moments_epsilon(rate, noise, steps, DELTA)
        assert found == pytest.approx(figures.min(), rel=1e-12)
        few = moments_epsilon(rate, noise, steps, DELTA, largest_order=63)
        assert few == pytest.approx(figures[orders <= 63].min(), rel=1e-12)
    assert best == sorted(set(best), reverse=True)


def test_published_figures():
    simple = published_figures(run(), DELTA)
    assert simple.claimed == pytest.approx(0.587, abs=0.001)
    assert simple.at_true_rate == pytest.approx(10.0, abs=0.02)
    assert len(simple.faults) == 5
    assert moments_epsilon(0.05, 2.0, 50, DELTA) == pytest.approx(1.113, abs=0.002)
    longer = published_figures(run(steps=500), DELTA)
    assert longer.at_true_rate == pytest.approx(43.6, abs=0.05)
    assert longer.claimed > simple.claimed
    org = published_figures(run(steps=500), DELTA, sensitive_share=0.4)
    assert org.claimed == pytest.approx(0.617, abs=0.001)


def test_noise_for_an_epsilon_is_enough_and_hardly_more():
    def at(noise):
        return run(noise=noise, holders=0, steps=5)

    found = noise_for(at, 1.0, DELTA)
    assert at(found).joint_epsilon(DELTA) <= 1.0
    assert at(0.97 * found).joint_epsilon(DELTA) > 1.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"user_rate": 0}, "user_rate of UserEntityTraining"),
        ({"user_rate": 1.1}, "user_rate of UserEntityTraining"),
        ({"entity_rate": float("nan")}, "entity_rate of UserEntityTraining"),
        ({"noise": 0}, "noise"),
        ({"steps": 0}, "steps"),
        ({"holders": -1}, "holders"),
        ({"cells": 0}, "cells"),
        ({"cell_ratio": 1.5}, "cell_ratio of UserEntityTraining"),
    ],
)
def test_bad_constants(changes, message):
    with pytest.raises(InvalidValue, match=message):
        run(**changes)


ARGUMENTS = [
    "user-entity",
    "--user-rate",
    ".05",
    "--entity-rate",
    ".5",
    "--noise",
    "2.5",
    "--steps",
    "50",
    "--delta",
    "1e-5",
    "--holders",
    "3",
    "--cells",
    "1",
    "--cell-ratio",
    ".1",
]


def test_the_command():
    plain = CliRunner().invoke(account, ARGUMENTS)
    assert plain.exit_code == 0
    assert "one user and one entity together" in plain.stdout
    found = json.loads(CliRunner().invoke(account, [*ARGUMENTS, "--json"]).stdout)
    assert set(found) == {"user", "entity", "joint"}
    assert found["joint"] == run(noise=2.5).joint_epsilon(DELTA)
    more = [*ARGUMENTS, "--json", "--published", "optimized", "--sensitive-share", "0.3"]
    paper = json.loads(CliRunner().invoke(account, more).stdout)["published"]
    assert paper["claimed"] < found["joint"] < paper["at_true_rate"]


@pytest.mark.parametrize(
    "wrong",
    [
        ["--published", "best"],
        ["--published", "optimized"],
        ["--published", "simple", "--sensitive-share", "0.3"],
        ["--sensitive-share", "0.3"],
        ["--cell-ratio", "2"],
    ],
)
def test_bad_options(wrong):
    outcome = CliRunner().invoke(account, [ARGUMENTS[0], *but(ARGUMENTS[1:], *wrong)])
    assert isinstance(outcome.exception, InvalidValue)


@pytest.mark.parametrize("noise", [0.05, 0.01])
def test_little_noise_has_a_figure_too(noise):
    """dp-accounting's own inversion of the mixture takes minutes here."""
    one = run(noise=noise, steps=3, holders=10, cell_ratio=0.1)
    found = one.joint_epsilon(1e-5)
    # Everything drawn in every step: the loss of a Gaussian whose shift is the largest there is.
    shift = 3**0.5 * 2.0 / noise
    assert shift**2 / 2 * 0.1 < found < shift**2 / 2 + 6 * shift


@pytest.mark.parametrize("noise", [0.5, 1.0, 4.0])
def test_the_mixture_is_dp_accountings(noise):
    from dp_accounting.pld.privacy_loss_distribution import from_mixture_gaussian_mechanism

    from discreet.accounting._mixtures import mixture_of_gaussians

    shifts, chances = [0.0, 0.3, 1.0, 1.3], [0.45, 0.45, 0.05, 0.05]
    ours = mixture_of_gaussians(noise, shifts, chances, grid=1e-2, log_truncation=-32.0)
    theirs = from_mixture_gaussian_mechanism(
        noise,
        shifts,
        chances,
        value_discretization_interval=1e-2,
        log_mass_truncation_bound=-32.0,
    )
    for delta in (1e-2, 1e-5, 1e-8):
        expected = theirs.self_compose(4).get_epsilon_for_delta(delta)
        found = ours.self_compose(4).get_epsilon_for_delta(delta)
        assert found == pytest.approx(expected, rel=1e-6)
    # The check can fail: a tenth more noise is another loss.
    other = mixture_of_gaussians(1.1 * noise, shifts, chances, grid=1e-2, log_truncation=-32.0)
    assert other.get_epsilon_for_delta(1e-5) < 0.95 * theirs.get_epsilon_for_delta(1e-5)


def test_a_loss_beyond_all_figures_is_infinite_and_no_error():
    """Far more holders, or far less noise, than the grid of losses can tell apart."""
    run = UserEntityTraining(user_rate=0.05, entity_rate=0.5, noise=0.01, steps=10, holders=1100)
    assert run.joint_epsilon(1e-5) == run.entity_epsilon(1e-5) == math.inf
    assert run.joint_delta(8.0) == 1.0
    assert math.isfinite(run.user_epsilon(1e-5))
    assert run.steps_within(100.0, 1e-5) == 0


# -- holders whose whole text goes with the entity -------------------------------------------------

# Two holders of an entity and a user, each drawn by itself.
WHOLE = {"user_rate": 0.3, "holders": 2, "cell_ratio": 0.6, "noise": 0.9, "steps": 1}
_SIDE = np.linspace(-9.0, 9.0, 301)


def _deltas(vectors, epsilon, *, entity_rate=1.0, left=((0.0, 0.0),) * 3):
    """Delta of one step in both directions by integration over the plane.

    ``vectors``: what the user and each holder contribute; ``left``: what they still contribute
    without the user and the entity.
    """
    rate, noise = WHOLE["user_rate"], WHOLE["noise"]
    x, y = np.meshgrid(_SIDE, _SIDE)
    area = (_SIDE[1] - _SIDE[0]) ** 2

    def density(contributed):
        total = np.zeros_like(x)
        for active, chance in ((1, entity_rate), (0, 1 - entity_rate)):
            for drawn in np.ndindex(2, 2, 2):
                odds = chance * np.prod([rate if d else 1 - rate for d in drawn])
                user, *holders = contributed
                parts = [drawn[0] * np.array(user)]
                parts += [
                    d * (np.array(v) if active else np.array(rest))
                    for d, v, rest in zip(drawn[1:], holders, left[1:], strict=True)
                ]
                at = np.sum(parts, axis=0)
                total += odds * np.exp(-((x - at[0]) ** 2 + (y - at[1]) ** 2) / (2 * noise**2))
        return total / (2 * math.pi * noise**2)

    more, fewer = density(vectors), density(left)
    limit = math.exp(epsilon)
    return [
        float(np.maximum(p - limit * q, 0).sum() * area) for p, q in ((more, fewer), (fewer, more))
    ]


def _turned(length, angle):
    return (length * math.cos(angle), length * math.sin(angle))


@pytest.mark.parametrize("entity_rate", [1.0, 0.4])
def test_one_cell_is_exact_where_all_pull_one_way_and_holds_for_every_other_way(entity_rate):
    claimed = run(**WHOLE, entity_rate=entity_rate, one_cell=True)
    in_line = [(1.0, 0.0), (0.6, 0.0), (0.6, 0.0)]
    angles = [(0.5, 1.0), (math.pi / 2, math.pi), (2.0, 4.0)]
    turned = [[(1.0, 0.0), _turned(0.6, one), _turned(0.6, two)] for one, two in angles]
    shorter = [(0.4, 0.0), (0.6, 0.0), (0.1, 0.2)]
    for epsilon in (0.1, 1.0):
        found = claimed.joint_delta(epsilon)
        seen = _deltas(in_line, epsilon, entity_rate=entity_rate)
        # The account rounds upwards; the sum over the plane may err by 1e-4 either way.
        assert max(seen) - 1e-4 <= found <= max(seen) * 1.02 + 1e-4
        for vectors in (*turned, shorter):
            assert max(_deltas(vectors, epsilon, entity_rate=entity_rate)) <= found
    # Mutants: the user is forgotten; one holder is; the mean number of holders stands for all.
    seen = max(_deltas(in_line, 0.5, entity_rate=entity_rate))
    mean = {"holders": 1, "cell_ratio": WHOLE["user_rate"] * 2 * 0.6}
    for wrong in ({"holders": 1}, mean):
        mutant = run(**(WHOLE | wrong), entity_rate=entity_rate, one_cell=True)
        assert mutant.joint_delta(0.5) < 0.97 * seen
    forgotten = claimed._loss(user=False, entity=True).get_delta_for_epsilon(0.5)
    assert forgotten < 0.97 * seen


def test_one_cell_would_not_hold_for_holders_who_stay():
    """Something else that a holder wrote tells that it was drawn, and the draw hides nothing."""
    claimed = run(**WHOLE, entity_rate=1.0, one_cell=True)
    told = run(**WHOLE, entity_rate=1.0)
    far = 6.0  # in a real run at most a user's norm; here far enough to tell for sure
    vectors = [(0.0, 0.0), (0.6, far), (0.6, -far / 2)]
    left = [(0.0, 0.0), (0.0, far), (0.0, -far / 2)]
    seen = max(_deltas(vectors, 0.5, left=left))
    entity = claimed._loss(user=False, entity=True).get_delta_for_epsilon(0.5)
    assert seen > 1.2 * entity
    assert seen <= told._loss(user=False, entity=True).get_delta_for_epsilon(0.5)


def test_one_cell_costs_less_for_an_entity_and_the_same_for_a_user():
    given = {"user_rate": 0.25, "entity_rate": 1.0, "noise": 2.5, "steps": 40, "cell_ratio": 1.0}
    for holders in (1, 3):
        told = run(**given, holders=holders)
        kept = run(**given, holders=holders, one_cell=True)
        assert kept.user_epsilon(DELTA) == told.user_epsilon(DELTA)
        assert kept.entity_epsilon(DELTA) < told.entity_epsilon(DELTA)
        assert kept.joint_epsilon(DELTA) < 0.85 * told.joint_epsilon(DELTA)
    # Where everybody is drawn there is nothing to hide.
    given |= {"user_rate": 1.0, "holders": 2}
    assert run(**given, one_cell=True).joint_epsilon(DELTA) == pytest.approx(
        run(**given).joint_epsilon(DELTA), rel=1e-6
    )


def test_one_cell_is_one_cell_whatever_the_bound_on_cells():
    given = {"steps": 5, "one_cell": True}
    assert run(**given, cells=3).joint_epsilon(DELTA) == run(**given).joint_epsilon(DELTA)
