"""The training loop: schedules, stages, resume, epochs, and what an unstable run says."""

import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from discreet.errors import InputError, InvalidValue, MissingExtra, OutputError  # noqa: E402
from discreet.training.kept_state import RunState  # noqa: E402
from discreet.training.loop import (  # noqa: E402
    Epochs,
    ShuffledRows,
    TrainingStage,
    constant,
    make_steps,
    one_cycle,
    seeded_weights,
    train_in_stages,
    train_on_rows,
    warmed_up,
)
from discreet.training.settings import Resumption  # noqa: E402

X = np.random.default_rng(0).standard_normal((40, 3)).astype(np.float32)
Y = torch.from_numpy(X @ np.array([[1.0], [-2.0], [0.5]], np.float32))


def network():
    with seeded_weights(1, "a test"):
        return torch.nn.Sequential(
            torch.nn.Linear(3, 4), torch.nn.Dropout(0.2), torch.nn.Linear(4, 1)
        )


def test_without_pytorch_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with (
        pytest.raises(MissingExtra, match=r"a test needs .*discreet\[train\]"),
        seeded_weights(1, "a test"),
    ):
        pass


def stages(model, steps=(4, 9)):
    def loss(step):
        rows = np.random.default_rng(step).integers(0, len(X), 8)
        return torch.nn.functional.mse_loss(model(torch.from_numpy(X[rows])), Y[rows])

    head, whole = list(model[2].parameters()), list(model.parameters())
    return [
        TrainingStage(steps[0], constant(0.05), head, loss),
        TrainingStage(steps[1], warmed_up(0.05, 0.3), whole, loss),
    ]


def weights(model):
    return [p.detach().clone() for p in model.parameters()]


def same(first, second):
    return all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("steps", [1, 2, 7, 100])
def test_one_cycle_is_the_schedule_of_pytorch(steps):
    parameter = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.Adam([parameter], lr=0.3)
    theirs = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.3, total_steps=steps + 1)
    for step in range(steps):
        group, ours = optimizer.param_groups[0], one_cycle(0.3)(step, steps)
        assert (ours["lr"], ours["betas"]) == (group["lr"], tuple(group["betas"]))
        optimizer.step()
        theirs.step()


def test_warm_up_rises_to_the_highest_and_falls_to_nothing():
    rates = [warmed_up(2.0, 0.25)(step, 20)["lr"] for step in range(20)]
    assert max(rates) == rates[4] == rates[5] == 2.0
    assert rates[:5] == sorted(rates[:5])
    assert rates[5:] == sorted(rates[5:], reverse=True)
    assert 0 < rates[-1] < 0.2


def test_descent_is_adam_by_hand():
    ours, theirs = network(), network()
    (stage,) = stages(ours)[1:]
    train_in_stages(ours.eval(), [stage], seed=3, weight_decay=0.0, clip=None)
    optimizer = torch.optim.Adam(theirs.parameters(), lr=0.0, fused=True)
    from discreet.training.loop import step_seed

    theirs.train()
    for step in range(stage.steps):
        torch.manual_seed(step_seed(3, step))
        optimizer.param_groups[0]["lr"] = warmed_up(0.05, 0.3)(step, stage.steps)["lr"]
        optimizer.zero_grad()
        stages(theirs)[1].loss(step).backward()
        optimizer.step()
    assert same(weights(ours), weights(theirs))
    assert not ours.training, "it is left as it was"


def test_a_stage_moves_its_own_weights_only_and_all_may_be_trained_afterwards():
    model = network()
    before = weights(model)
    train_in_stages(model, stages(model, (4, 0)), seed=1)
    after = weights(model)
    assert same(before[:2], after[:2])
    assert not same(before[2:], after[2:])
    assert all(p.requires_grad for p in model.parameters())


def test_nobody_elses_draws_are_touched():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    model = network()
    train_in_stages(model, stages(model), seed=1)
    assert torch.equal(torch.rand(3), expected)


@pytest.mark.parametrize("stopped_after", [1, 4, 6, 12])
def test_a_resumed_run_is_the_run_that_was_not_stopped(tmp_path, stopped_after):
    def run(path, resume=False, progress=None):
        model = network()
        state = RunState(path, Resumption(save_every=1, resume=resume), {"data": "mine"})
        losses = train_in_stages(model, stages(model), seed=2, state=state, progress=progress)
        state.forget()
        return weights(model), losses

    def stop(done, _total):
        if done == stopped_after:
            raise KeyboardInterrupt

    whole, losses = run(tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "parts", progress=stop)
    again, both = run(tmp_path / "parts", resume=True)
    assert same(whole, again)
    assert np.array_equal(losses, both)
    assert list(tmp_path.iterdir()) == []


def test_the_state_of_another_run_is_refused(tmp_path):
    path = tmp_path / "state"

    def run(model, settings, resume):
        state = RunState(path, Resumption(save_every=1, resume=resume), settings)
        train_in_stages(model, stages(model), seed=2, state=state)

    run(network(), {"data": "mine"}, resume=False)
    with pytest.raises(OutputError, match="--resume"):
        run(network(), {"data": "mine"}, resume=False)
    with pytest.raises(InvalidValue, match="other settings or other data"):
        run(network(), {"data": "others"}, resume=True)
    wider = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Dropout(), torch.nn.Linear(5, 1))
    with pytest.raises(InputError, match="another architecture"):
        run(wider, {"data": "mine"}, resume=True)


def test_an_unstable_run_says_at_which_step():
    model = network()
    (stage,) = stages(model)[1:]
    wild = TrainingStage(9, constant(1e30), stage.parameters, stage.loss)
    with pytest.raises(InvalidValue, match=r"unstable at step [2-9] of 9"):
        train_in_stages(model, [wild], seed=1)


def test_every_row_is_seen_once_in_an_epoch_in_a_new_order():
    rows = ShuffledRows(np.arange(10, 33), 5, np.random.default_rng(1))
    assert rows.length == 5
    orders = [np.concatenate([rows.of_step(5 * e + i) for i in range(5)]) for e in range(2)]
    assert all(sorted(order) == list(range(10, 33)) for order in orders)
    assert list(orders[0]) != list(orders[1])


def test_an_epoch_is_prepared_once_and_again_where_a_run_is_resumed():
    prepared = []
    epochs = Epochs(3, lambda epoch: prepared.append(epoch) or epoch)
    assert [epochs.at(step) for step in (4, 5, 6)] == [(1, 1), (1, 2), (2, 0)]
    assert prepared == [1, 2]


def test_rows_are_learnt_and_looked_at_after_each_step():
    model, seen, shown = network()[2:], [], []
    rows = ShuffledRows(np.arange(40), 16, np.random.default_rng(1))
    inputs = torch.from_numpy(np.hstack([X, X[:, :1]]))

    def loss(some):
        return torch.nn.functional.mse_loss(model(inputs[some]), Y[some])

    first = float(loss(np.arange(40)).detach())
    train_on_rows(
        [model],
        loss,
        rows=rows,
        epochs=60,
        schedule=one_cycle(0.1),
        after=seen.append,
        progress=lambda *done: shown.append(done),
    )
    assert float(loss(np.arange(40)).detach()) < 0.01 * first
    assert seen == list(range(1, 181))
    assert shown[-1] == (180, 180)


def test_steps_are_saved_at_intervals_and_at_the_end():
    made, saved = [], []
    make_steps(made.append, done=3, total=8, every=2, save=saved.append)
    assert made == [3, 4, 5, 6, 7]
    assert saved == [4, 6, 8]
    make_steps(made.append, done=8, total=8, save=saved.append)
    assert saved == [4, 6, 8], "nothing is made, so nothing is saved"
