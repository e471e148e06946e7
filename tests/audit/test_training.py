"""Audits of training: sound training passes, planted and published faults are caught."""

import json
from dataclasses import replace

import numpy as np
import pytest

from command import but, called
from discreet.audit.canaries import audit_canaries
from discreet.audit.training import (
    PROTECTED,
    KnownGradients,
    TrainingGame,
    audit_training,
    claimed,
    protected_by,
    shift_law,
)
from discreet.errors import InvalidValue
from discreet.training.user_entity.rules import Rules, TrainingPlan

CERTIFIED = Rules(
    user_rate=0.5, entity_rate=0.5, noise=0.7, cell_clip=0.5, holders=2, population=10
)
# One holder who is always drawn: what an entity costs is the subsampled Gaussian at its rate.
ALONE = Rules(user_rate=1.0, entity_rate=0.05, noise=1.0, cell_clip=1.0, holders=1, population=1)
PAPER = Rules(
    algorithm="published",
    user_rate=0.05,
    entity_rate=0.5,
    noise=2.0,
    population=60,
    user_cap=1,
    entity_cap=1,
    sentence_cap=1,
)


class AnyEntityDrawn(TrainingPlan):
    """The planted fault: one drawn entity is enough to use a sentence."""

    def _all_entities_drawn(self, user, draws):
        drawn = np.array([any(map(draws.entity, cell)) for cell in user.cells] + [False])
        return drawn[user.cell] | (user.cell < 0)


class TooLittleNoise(TrainingPlan):
    """Another: the noise does not fit the clipping norm."""

    @classmethod
    def of(cls, rules, users):
        plan = super().of(rules, users)
        return replace(plan, deviation=plan.deviation / 8)


def play(rules, protected, *, steps, canaries, seed, plan=None):
    return audit_canaries(
        TrainingGame(rules, protected, canaries, steps, plan),
        claimed=claimed(rules, protected, steps, canaries),
        delta=rules.delta,
        seed=seed,
    )


def test_certified_training_stays_below_its_figures_and_the_audit_is_not_blind():
    found = audit_training(CERTIFIED, steps=6, canaries=80, seed=11)
    assert tuple(found) == PROTECTED
    loss = CERTIFIED.loss(6)
    claims = [loss.user, loss.entity, loss.joint, loss.entity]
    assert [one.claimed for one in found.values()] == claims
    for one in found.values():
        assert one.lower < one.claimed
        assert not one.broken
    assert found["users"].lower > 0.5
    assert found["entities"].lower > 0
    assert found["both"].lower > 0.5
    # With partners nearly no sentence is used: nothing is to be seen.
    assert found["entities-with-partners"].lower < 0.5


def test_training_with_one_cell_stays_below_its_smaller_figures():
    rules = replace(CERTIFIED, one_cell=True)
    found = audit_training(rules, steps=6, canaries=80, seed=11)
    assert found["both"].claimed == rules.loss(6).joint < CERTIFIED.loss(6).joint
    for one in found.values():
        assert one.lower < one.claimed
        assert not one.broken
    assert found["entities"].lower > 0
    assert found["both"].lower > 0.5
    quiet = replace(rules, noise=14.0, user_rate=0.9, entity_rate=0.9)
    game = {"steps": 4, "canaries": 100, "seed": 3}
    assert not play(quiet, "both", **game).broken
    assert play(quiet, "both", **game, plan=TooLittleNoise.of).broken


def test_any_entity_activation_is_caught():
    game = {"steps": 10, "canaries": 150, "seed": 2}
    assert not play(ALONE, "entities-with-partners", **game).broken
    found = play(ALONE, "entities-with-partners", **game, plan=AnyEntityDrawn.of)
    assert found.broken
    assert found.lower > 1.5 * found.claimed
    # Without partners the fault is invisible, which is why there is a game with them.
    assert not play(ALONE, "entities", **game, plan=AnyEntityDrawn.of).broken


def test_too_little_noise_is_caught():
    rules = replace(ALONE, noise=4.0)
    game = {"steps": 4, "canaries": 200, "seed": 3}
    assert not play(rules, "users", **game).broken
    found = play(rules, "users", **game, plan=TooLittleNoise.of)
    assert found.broken
    assert found.lower > found.claimed


@pytest.mark.parametrize(("algorithm", "runs"), [("published", 48), ("published-optimized", 24)])
def test_the_published_figure_is_exceeded(algorithm, runs):
    """The counter-example of docs/background/claims.md, at the paper's own constants."""
    rules = replace(PAPER, algorithm=algorithm)
    [found] = audit_training(rules, steps=50, canaries=1, runs=runs, seed=1).values()
    assert found.claimed == pytest.approx(0.586 if algorithm == "published" else 0.218, rel=0.01)
    assert found.lower > 2 * found.claimed
    assert found.broken
    # Far below what the sampling rate alone costs.
    assert found.lower < rules.published(50, 1.0).at_true_rate


def test_user_level_training():
    rules = replace(CERTIFIED, algorithm="user-level")
    found = audit_training(rules, steps=8, canaries=100, seed=4)
    assert tuple(found) == ("users",)
    assert 0.3 < found["users"].lower < found["users"].claimed


def test_scores_use_the_law_of_the_shift():
    game = TrainingGame(CERTIFIED, "both", 10, 3)
    law = shift_law(game)
    assert sum(law.values()) == pytest.approx(1)
    assert max(law) == 2.0  # the user, and two holders with half a norm each
    assert law[2.0] == pytest.approx(0.5**4)
    assert shift_law(TrainingGame(CERTIFIED, "users", 10, 3)) == pytest.approx({0.0: 0.5, 1.0: 0.5})


def test_gradients_are_known():
    import torch

    from discreet.models.factors import SentenceBatch

    model = KnownGradients(2, [0, 0, 1], [0.0, 3.0, -2.0])
    batch = SentenceBatch(torch.tensor([1, 2, 0, 1]), torch.tensor([3, 1]))
    [factor] = model.factors(batch, None)
    weights = torch.ones(4)
    gradient = factor.gradient(slice(None), weights, model.trainable()["weights"].shape)
    assert gradient[:, 0].tolist() == [6.0, -2.0]
    model.trainable()["weights"] += torch.tensor([[1.0], [10.0]])
    assert model.predicted(batch).losses.tolist() == [3.0, -20.0, 0.0, 3.0]


@pytest.mark.parametrize(
    "make",
    [
        lambda: TrainingGame(CERTIFIED, "sentences", 10, 3),
        lambda: TrainingGame(CERTIFIED, "users", 0, 3),
        lambda: TrainingGame(CERTIFIED, "users", 10, 0),
        lambda: TrainingGame(PAPER, "users", 10, 3),
        lambda: audit_training(replace(CERTIFIED, algorithm="noiseless"), steps=2, canaries=2),
        lambda: audit_training(CERTIFIED, steps=2, canaries=2, runs=0),
    ],
)
def test_games_that_make_no_sense(make):
    with pytest.raises(InvalidValue):
        make()


def test_what_is_claimed():
    assert protected_by(replace(CERTIFIED, algorithm="de-identified")) == ()
    assert claimed(PAPER, "entities", 50, 1) == pytest.approx(0.586, abs=0.001)


# -- the command -----------------------------------------------------------------------------------

QUICK = ["--steps", 3, "--canaries", 20, "--holders", 1, "--seed", 1]


def test_the_command_and_its_exit_codes(tmp_path):
    done = called("audit", "training", *QUICK, cache=tmp_path)
    assert done.code == 0, done.err
    assert [line.split()[:2] for line in done.lines[1:-1]] == [["PASS", name] for name in PROTECTED]
    done = called("audit", "training", *QUICK, "--json", cache=tmp_path)
    values = json.loads(done.out)
    assert values["passed"] is True
    assert set(values["findings"]) == set(PROTECTED)
    for bad, message in [
        (["--algorithm", "nothing"], "--algorithm must be one of"),
        (["--algorithm", "noiseless"], "makes no claim"),
        (["--user-rate", 2], "--user-rate must be"),
        (["--canaries", 0], "--canaries must be"),
    ]:
        done = called("audit", "training", *but(QUICK, *bad), cache=tmp_path)
        assert (done.code, done.out) == (2, b"")
        assert message in done.err


def test_a_mechanism_is_still_audited_without_a_command(tmp_path):
    done = called("audit", cache=tmp_path)
    assert done.code == 2
    assert done.err.startswith("discreet: near-words needs --epsilon; ")
    done = called("audit", "--epsilon", 2, "training", *QUICK, cache=tmp_path)
    assert done.code == 2
    assert "options before 'training'" in done.err
