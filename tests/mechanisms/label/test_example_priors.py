"""One prior for each label: the law of every row is that of the mechanism with one prior."""

import numpy as np
import pytest

from discreet.errors import InvalidValue
from discreet.mechanisms.label import PriorPerExample, PriorResponse
from discreet.statement import Notion, Unit

RNG = np.random.default_rng(3)
PRIORS = np.concatenate(
    [RNG.dirichlet(np.full(5, a), 40) for a in (0.05, 0.5, 5.0)]
    + [np.eye(5), np.full((1, 5), 0.2), [[0.5, 0.5, 0, 0, 0]]]
)


@pytest.mark.parametrize("epsilon", [0.0, 0.4, 1.0, 3.0, 30.0])
def test_each_row_has_the_law_of_its_prior(epsilon):
    many = PriorPerExample(PRIORS, epsilon)
    for prior, law, kept in zip(PRIORS, many.transitions, many.kept, strict=True):
        alone = PriorResponse(prior, epsilon)
        np.testing.assert_allclose(law, alone.transition, atol=1e-12)
        assert set(np.flatnonzero(kept)) == set(alone.kept)


@pytest.mark.parametrize("epsilon", [0.4, 2.0])
def test_the_inequality_holds_in_every_row(epsilon):
    laws = PriorPerExample(PRIORS, epsilon).transitions
    np.testing.assert_allclose(laws.sum(axis=2), 1)
    most, least = laws.max(axis=1), laws.min(axis=1)
    assert (most <= np.exp(epsilon) * least * (1 + 1e-12)).all()
    # A prior that is the label itself would be told at once: the check can fail.
    assert not (laws.max(axis=1) <= np.exp(epsilon / 2) * laws.min(axis=1)).all()


def test_draws_follow_the_law():
    priors = np.repeat([[0.5, 0.3, 0.15, 0.05], [0.02, 0.02, 0.48, 0.48]], 4, axis=0)
    labels, draws = np.tile(np.arange(4), 2), 20_000
    many = PriorPerExample(np.repeat(priors, draws, axis=0), 1.2)
    found = many.release(np.repeat(labels, draws), np.random.default_rng(1)).reshape(8, draws)
    law = np.exp(PriorPerExample(priors, 1.2).log_probabilities(labels))
    shares = np.stack([np.bincount(row, minlength=4) / draws for row in found])
    # Six standard deviations: a false alarm in 1 of 10^7 for the 32 shares together.
    assert (np.abs(shares - law) <= 6 * np.sqrt(law * (1 - law) / draws)).all()
    assert (np.abs(shares - np.roll(law, 1, axis=1)) > 0.05).any()


def test_the_statement_is_for_each_label():
    statement = PriorPerExample(PRIORS, 2.0).statement
    assert (statement.notion, statement.epsilon, statement.unit) == (Notion.PURE, 2.0, Unit.LABEL)


@pytest.mark.parametrize(
    ("priors", "codes", "message"),
    [
        ([0.5, 0.5], [0], "a row of 2 or more"),
        ([[1.0]], [0], "a row of 2 or more"),
        ([["zanzibar", "1"]], [0], "a row of 2 or more numbers for each label$"),
        ([[0.5, 0.5], [0.5, 0.6]], [0, 0], "1 of 2 rows are not, the first is row 1"),
        ([[0.5, np.nan]], [0], "1 of 1 rows"),
        ([[1.5, -0.5]], [0], "1 of 1 rows"),
        ([[0.5, 0.5]], [0, 1], "each of its 1 priors; got 2"),
        ([[0.5, 0.5]], [2], "from 0 to 1"),
    ],
)
def test_bad_input(priors, codes, message):
    with pytest.raises(InvalidValue, match=message):
        PriorPerExample(priors, 1.0).release(codes, np.random.default_rng(0))
