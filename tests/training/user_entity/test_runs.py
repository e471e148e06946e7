"""Runs: the budget, checkpoints, crashes, and what each algorithm does and claims."""

import json
import math
import os
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from discreet.errors import BudgetExceeded, InputError, InvalidValue, OutputError
from discreet.models.awd_lstm import AwdLstm, AwdLstmShape
from discreet.staging import held
from discreet.statement import Notion, Unit
from discreet.training.user_entity._draws import Rates, StepDraws
from discreet.training.user_entity._gradients import norm_of
from discreet.training.user_entity.rules import Rules, TrainingPlan
from discreet.training.user_entity.settings import ALGORITHMS
from discreet.training.user_entity.trainer import UserEntityTrainer, quality
from discreet.training.user_entity.users import Sentence, gather
from given_gradients import GivenGradients

SHAPE = AwdLstmShape(words=12, boundary=0, embedding=4, hidden=5, output_drop=0.2)


def sentences():
    rng = np.random.default_rng(4)
    return [
        Sentence(
            f"user {u}",
            rng.integers(1, 12, rng.integers(1, 6)).tolist(),
            frozenset({f"e{u % 3}"} if s % 2 else set()),
        )
        for u in range(6)
        for s in range(4)
    ]


def people():
    return gather(sentences())


def rules(**changes):
    given = {"user_rate": 0.5, "noise": 20.0, "population": 6, "holders": 6, "learning_rate": 0.1}
    given["optimizer"] = "sgd"
    return Rules(**(given | changes))


def trainer(seed=1, **changes):
    return UserEntityTrainer(rules(**changes), people(), AwdLstm(SHAPE, seed=2), seed=seed)


def weights(run):
    return {name: value.clone() for name, value in run.model.trainable().items()}


def same(one, other):
    return all(torch.equal(one[name], other[name]) for name in one)


# -- resuming ------------------------------------------------------------------------------------


@pytest.mark.parametrize("changes", [{}, {"optimizer": "adam"}, {"algorithm": "user-level"}])
def test_a_seeded_run_that_was_stopped_ends_where_it_would_have(tmp_path, changes):
    whole = trainer(**changes)
    whole.run(7)
    trainer(**changes).run(4, folder=tmp_path, checkpoint_every=3)
    second = trainer(**changes)
    outcome = second.run(7, folder=tmp_path, resume=True)
    assert same(weights(whole), weights(second))
    assert (outcome.steps, outcome.charged) == (7, 7)
    assert [point["step"] for point in outcome.curve] == list(range(1, 8))


def test_sample_level_resumes_too(tmp_path):
    changes = {"algorithm": "sample-level", "sentence_rate": 0.4, "optimizer": "adam"}
    whole = trainer(**changes)
    whole.run(5)
    trainer(**changes).run(3, folder=tmp_path)
    second = trainer(**changes)
    second.run(5, folder=tmp_path, resume=True)
    assert same(weights(whole), weights(second))


def test_runs_without_a_seed_differ():
    runs = [trainer(seed=None), trainer(seed=None)]
    for run in runs:
        run.run(1)
    assert not same(*[weights(run) for run in runs])


OTHER = {
    "noise": {"noise": 21.0},
    "rate": {"user_rate": 0.4},
    "algorithm": {"algorithm": "user-level"},
    "learning rate": {"learning_rate": 0.2},
    "seed": {"seed": 2},
}


@pytest.mark.parametrize("changes", OTHER.values(), ids=OTHER)
def test_a_run_with_other_settings_is_not_resumed(tmp_path, changes):
    trainer().run(1, folder=tmp_path)
    with pytest.raises(InputError, match="other settings"):
        trainer(**changes).run(2, folder=tmp_path, resume=True)


def test_nor_one_with_another_model_or_other_data(tmp_path):
    trainer().run(1, folder=tmp_path)
    other = UserEntityTrainer(rules(), people(), AwdLstm(SHAPE, seed=3), seed=1)
    with pytest.raises(InputError, match="another model"):
        other.run(2, folder=tmp_path, resume=True)
    fewer = UserEntityTrainer(rules(), people()[1:], AwdLstm(SHAPE, seed=2), seed=1)
    with pytest.raises(InputError, match="other data"):
        fewer.run(2, folder=tmp_path, resume=True)


def test_a_folder_is_not_begun_twice_nor_resumed_before_it_was_begun(tmp_path):
    with pytest.raises(InputError, match="no run"):
        trainer().run(1, folder=tmp_path / "none", resume=True)
    trainer().run(1, folder=tmp_path)
    with pytest.raises(OutputError, match="holds a run already"):
        trainer().run(1, folder=tmp_path)


def test_a_damaged_ledger_stops_the_run(tmp_path):
    trainer().run(1, folder=tmp_path)
    (tmp_path / "ledger.json").write_text('{"charged": -1}')
    with pytest.raises(InputError, match="damaged"):
        trainer().run(2, folder=tmp_path, resume=True)


def test_two_processes_cannot_spend_the_same_budget(tmp_path):
    pytest.importorskip("fcntl")
    trainer().run(1, folder=tmp_path)
    with held(tmp_path) as ours:
        assert ours
        with pytest.raises(OutputError, match="in use"):
            trainer().run(2, folder=tmp_path, resume=True)
    trainer().run(2, folder=tmp_path, resume=True)


# -- the budget ----------------------------------------------------------------------------------


def test_a_run_stops_before_the_budget_is_exceeded():
    budget = trainer().rules.loss(3).joint * 1.001
    outcome = trainer().run(10, budget=budget)
    assert (outcome.steps, outcome.stopped_by_budget) == (3, True)
    assert outcome.loss.joint <= budget < trainer().rules.loss(4).joint
    assert outcome.statement.epsilon == outcome.loss.joint


def test_a_budget_too_small_for_one_step_is_exceeded_at_once():
    run = trainer()
    before = weights(run)
    with pytest.raises(BudgetExceeded):
        run.run(10, budget=1e-4)
    assert same(before, weights(run))


def test_a_budget_already_spent_is_an_error(tmp_path):
    trainer(seed=None).run(2, folder=tmp_path)
    with pytest.raises(BudgetExceeded, match="spent so far: 2, and 2 were asked for"):
        trainer(seed=None).run(2, folder=tmp_path, resume=True)


def test_a_budget_needs_a_guarantee():
    with pytest.raises(InvalidValue, match="guarantee"):
        trainer(algorithm="noiseless").run(1, budget=1.0)


KILLED = """
    import os, signal, sys
    sys.path[:0] = {paths!r}
    import test_runs as runs
    from discreet.training.user_entity import _server, checkpoints
    from discreet.training.user_entity import trainer as user_entity
    from pathlib import Path

    def train(seed):
        run = runs.trainer(seed=seed)
        done = 0
        release = run.server.release

        def third(*arguments):
            nonlocal done
            done += 1
            norm = release(*arguments)
            if done == 3:
                print("third step made", flush=True)
                os.kill(os.getpid(), signal.SIGKILL)
            return norm

        run.server.release = third
        run.run(6, folder=Path({folder!r}) / str(seed), checkpoint_every=2)

    runs.trainer().server.optimizer  # the libraries are loaded once, its own as well
    for seed in {seeds}:  # each in a process of its own
        child = os.fork()
        if not child:
            train(seed)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
"""
SEEDS = (None, 1)


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """A folder for each seed, as a run leaves it that is killed after its third step."""
    here, folder = Path(__file__).parent, tmp_path_factory.mktemp("killed")
    for seed in SEEDS:
        (folder / str(seed)).mkdir()
    code = textwrap.dedent(KILLED).format(
        paths=[str(here), str(here.parents[1])], seeds=SEEDS, folder=str(folder)
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["third step made"] * len(SEEDS)
    return folder


@pytest.mark.parametrize("seed", SEEDS)
def test_killed_between_step_and_checkpoint_the_budget_is_not_understated(killed, seed):
    folder = killed / str(seed)
    assert json.loads((folder / "ledger.json").read_text())["charged"] == 3
    second = trainer(seed=seed)
    outcome = second.run(6, folder=folder, resume=True)
    if seed is None:  # the third step was made and lost; what is made now is another
        assert (outcome.steps, outcome.charged) == (5, 6)
    else:  # the same step again is no new release
        assert (outcome.steps, outcome.charged) == (6, 6)
        whole = trainer(seed=seed)
        whole.run(6)
        assert same(weights(whole), weights(second))
    assert outcome.statement.epsilon == second.rules.loss(6).joint


# -- noise and sums ------------------------------------------------------------------------------


def test_the_noise_has_the_size_that_is_accounted_for():
    """A model with many parameters and no gradients releases the noise alone."""
    model = GivenGradients(np.zeros((2, 40_000)))
    run = UserEntityTrainer(
        rules(noise=3.0, clip=0.5, cell_clip=0.1, learning_rate=1.0, user_rate=0.5, population=8),
        gather([Sentence("a", [1])]),
        model,
    )
    run.step(0)
    released = model.trainable()["weights"].double().numpy()
    expected = 3.0 * 0.5 / (0.5 * 8)
    # The standard deviation of 40,000 draws is within 2 % but for one time in 10^15.
    assert released.std() == pytest.approx(expected, rel=0.02)
    assert abs(released.mean()) < 7 * expected / math.sqrt(40_000)
    grid = 2.0 ** (math.floor(math.log2(1.5)) - 20) / 4
    assert np.abs(released / grid - np.rint(released / grid)).max() < 1e-2


def test_the_sum_is_divided_by_a_public_number():
    """The denominator does not move with the data, as it would if it counted who was drawn."""
    plans = [TrainingPlan.of(rules(), people()[:n]) for n in (1, 6)]
    assert plans[0] == plans[1]
    assert plans[0].denominator == 0.5 * 6


# -- algorithms ----------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_runs_and_states_what_holds(algorithm):
    run = trainer(algorithm=algorithm)
    before = weights(run)
    outcome = run.run(2)
    assert not same(before, weights(run))
    assert all(bool(torch.isfinite(value).all()) for value in run.model.trainable().values())
    statement = outcome.statement
    assert "seeded: not for release" in statement.caveats
    units = {
        "certified": Unit.USER_ENTITY,
        "user-level": Unit.USER,
        "sample-level": Unit.SENTENCE,
    }
    if algorithm in units:
        assert (statement.notion, statement.unit) == (Notion.APPROXIMATE, units[algorithm])
        assert 0 < statement.epsilon < math.inf
        assert statement.delta == run.rules.delta
    else:
        assert statement.notion is Notion.NONE
        assert len(statement.caveats) > 1


def test_user_level_epsilon_is_dp_accountings():
    from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent, pld

    chosen = rules(algorithm="user-level", user_rate=0.05, noise=2.0)
    accountant = pld.PLDAccountant(value_discretization_interval=1e-3)
    accountant.compose(PoissonSampledDpEvent(0.05, GaussianDpEvent(2.0)), 50)
    assert chosen.loss(50).user == pytest.approx(accountant.get_epsilon(1e-5), rel=1e-3)


def test_noise_is_found_for_an_epsilon():
    chosen = rules(algorithm="user-level", user_rate=0.05).calibrated(5, 1.0)
    assert 0.97 < chosen.loss(5).user <= 1.0
    with pytest.raises(InvalidValue, match="give the noise"):
        rules(algorithm="published").calibrated(5, 1.0)


def test_the_published_algorithm_is_the_papers():
    """Weights, caps, normalisers and noise of a data set small enough for a pencil."""
    users = gather(
        [
            Sentence("a", [1], frozenset({"x"})),
            Sentence("a", [1], frozenset({"x", "y"})),
            Sentence("a", [1]),
            Sentence("b", [1], frozenset({"y"})),
        ]
    )
    chosen = rules(
        algorithm="published-optimized",
        user_rate=0.5,
        entity_rate=0.25,
        sentence_rate=0.5,
        noise=2.0,
        clip=3.0,
        learning_rate=0.1,
        user_cap=2,
        entity_cap=4,
        sentence_cap=10,
    )
    plan = TrainingPlan.of(chosen, users)
    assert plan.user_weights == {"a": 1.0, "b": 0.5}
    assert plan.entity_weights == {"x": 0.5, "y": 0.5}
    assert plan.sentence_weight == 0.1
    second = 0.25 * 1.0 + 0.5 * 0.1
    assert plan.denominator == pytest.approx(0.5 * 1.5 * second)
    assert plan.deviation == pytest.approx(2.0 * (0.5 * 2 + 1) * 1.0 * 3.0)
    draws = StepDraws(bytes(32), Rates(users=1.0, entities=1.0, sentences=1.0))
    text = plan.active(users[0], draws)
    assert text.weights == pytest.approx([0.05, 0.1, 0.01])  # learning rate times the sums of w
    assert text.scale == 1.0
    simple = TrainingPlan.of(rules(**{**vars(chosen), "algorithm": "published"}), users)
    assert simple.denominator == pytest.approx(0.5 * 1.5 * 0.25)
    assert simple.active(users[0], draws).sentences.tolist() == [0, 1]


def test_published_figures_come_with_what_they_cost_at_least():
    chosen = rules(algorithm="published", user_rate=0.05, entity_rate=0.5, noise=2.0)
    figures = chosen.published(50, 0.8)
    assert figures.claimed == pytest.approx(0.587, abs=0.005)
    assert figures.at_true_rate == pytest.approx(10.0, abs=0.1)
    optimised = rules(algorithm="published-optimized", user_rate=0.05, noise=2.0)
    assert optimised.published(50, 0.4).claimed < figures.claimed


def test_at_sample_level_every_sentence_is_clipped_by_itself():
    """Without noise to speak of: one long gradient moves a step by no more than the norm."""
    table = np.array([[0.0, 0.0], [1e6, 0.0], [0.0, 0.25]])
    model = GivenGradients(table)
    chosen = rules(
        algorithm="sample-level",
        sentence_rate=1.0,
        noise=1e-6,
        clip=0.5,
        cell_clip=0.1,
        population=4,
        learning_rate=1.0,
    )
    users = gather([Sentence("a", [1]), Sentence("a", [1]), Sentence("b", [2])])
    UserEntityTrainer(chosen, users, model, seed=0).step(0)
    moved = -model.trainable()["weights"].numpy() * 4
    assert moved == pytest.approx([1.0, 0.25], abs=2e-4)  # norms are one in ten thousand smaller


def test_at_sample_level_nothing_but_the_unit_is_different():
    """Noise and draws are those of users; a sentence stands where a user does."""
    run = trainer(seed=None, algorithm="sample-level", sentence_rate=0.4)
    assert run.statement(3).caveats == ()
    assert run.server.plan.denominator == pytest.approx(0.4 * 6)
    assert run.server.plan.deviation == 20.0 * run.rules.clip
    alone = gather([replace(one, user=f"{n}") for n, one in enumerate(sentences())])
    plain, everybody = replace(SHAPE, output_drop=0.0), StepDraws(bytes(32), Rates(users=1.0))
    sums = [
        UserEntityTrainer(rules(algorithm=name), users, AwdLstm(plain, seed=2)).total(everybody)
        for name, users in (("sample-level", people()), ("user-level", alone))
    ]
    assert norm_of(sums[0]) > 0.1
    for name, value in sums[0].items():
        torch.testing.assert_close(value, sums[1][name], rtol=1e-4, atol=1e-7)


def test_training_without_noise_learns():
    run = trainer(algorithm="noiseless", user_rate=1.0, learning_rate=2.0)
    before = quality(run.model, people())
    run.run(60)
    after = quality(run.model, people())
    assert after.perplexity < 0.8 * before.perplexity
    assert after.error_rate < before.error_rate


def test_quality_of_a_model_that_knows_nothing():
    model = AwdLstm(SHAPE)
    for value in model.trainable().values():
        value.zero_()
    assert quality(model, people()).perplexity == pytest.approx(12.0, rel=1e-4)


def test_words_of_entities_are_told_apart():
    model = AwdLstm(SHAPE)
    for value in model.trainable().values():
        value.zero_()
    model.weights()["output.bias"][5] = math.log(3.0)  # 3 of 14, the others 1 of 14
    sentences = [
        Sentence("a", [5, 2], marked=[True, False]),
        Sentence("a", [3, 4, 5], marked=[False, False, True]),
        Sentence("b", [5], marked=[False]),
    ]
    found = quality(model, gather(sentences))
    assert found.entities == pytest.approx(14 / 3, rel=1e-4)
    # Seven others, one of them word 5; the end of a sentence is none of an entity.
    assert found.others == pytest.approx(14 / 3 ** (1 / 7), rel=1e-4)
    assert found.perplexity == pytest.approx(14 / 3 ** (3 / 9), rel=1e-4)
    unmarked = quality(model, gather([*sentences, Sentence("c", [1])]))
    assert unmarked.entities is None
    assert unmarked.others is None
