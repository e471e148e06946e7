"""The federated step on a grid in memory: as the one in process, and safe from its clients."""

import dataclasses
import json
import sys

import numpy as np
import pytest
import torch
from flwr.app import (
    Array,
    ArrayRecord,
    ConfigRecord,
    Context,
    Error,
    Message,
    MetricRecord,
    RecordDict,
)
from flwr.supercore.task_identity import TaskIdentity

from discreet.errors import BudgetExceeded, InvalidValue, MissingExtra
from discreet.models.awd_lstm import AwdLstm, AwdLstmShape
from discreet.training.user_entity import federated
from discreet.training.user_entity.federated import FederatedTrainer, client_app, server_app
from discreet.training.user_entity.rules import Rules
from discreet.training.user_entity.simulation import silent, users_per_client
from discreet.training.user_entity.trainer import ONE_CELL_CAVEAT, UserEntityTrainer
from discreet.training.user_entity.users import Sentence, gather
from given_gradients import GivenGradients

MARKER = "zanzibar"
SHAPE = AwdLstmShape(words=9, boundary=0, embedding=3, hidden=4, weight_drop=0.2, output_drop=0.3)
USERS = gather(
    Sentence(f"{MARKER} {u}", [1 + u, 2, 3 + s], frozenset({f"{MARKER} entity {s}"} if s else ()))
    for u in range(4)
    for s in range(3)
)


@pytest.fixture(autouse=True)
def _in_a_run(monkeypatch):
    """Flower's processes know which run they belong to, and so do the messages they make."""
    for name in ("_run_id", "_task_id", "_node_id"):
        monkeypatch.setattr(TaskIdentity, name, 1)


def rules(**changes):
    given = {"user_rate": 0.7, "entity_rate": 0.6, "noise": 1.5, "holders": 4, "population": 4}
    return Rules(**(given | changes))


def build_model():
    return AwdLstm(SHAPE, seed=1)


class GridInMemory:
    """What the trainer uses of Flower's grid; a client is a function from a message to a reply."""

    def __init__(self, clients, connected=10**9):
        self.clients = dict(enumerate(clients, start=1))
        self.connected, self.sent, self.received = connected, [], []
        self._replies = {}

    def get_node_ids(self):
        self.connected += 1
        return list(self.clients)[: self.connected]

    def push_messages(self, messages):
        self.sent += messages
        for number, message in enumerate(messages):
            identity = f"{len(self.sent)} {number}"
            message.metadata.__dict__["_message_id"] = identity
            try:
                found = self.clients[message.metadata.dst_node_id](message)
            except Exception as error:  # Flower sends the words of an exception
                reason = f"{type(error)}:<'{error}'>"
                found = Message(Error(code=6, reason=reason), reply_to=message)
            self._replies[identity] = found if isinstance(found, list) else [found]
        return [message.metadata.message_id for message in messages]

    def pull_messages(self, message_ids):
        found = [r for i in message_ids for r in self._replies.pop(i, []) if r is not None]
        self.received += found
        return found


def client(users, given=None, load=None, build=build_model):
    """A client with the app's own code, without Flower's processes around it."""
    app = client_app(given or rules(), build, load or (lambda _context: users))

    def answer(message):
        context = Context(run_id=1, node_id=1, node_config={}, state=RecordDict(), run_config={})
        return app(message, context)

    return answer


def answers(content):
    """A client that answers with the same whatever it is asked."""
    return lambda message: Message(content, reply_to=message)


def sums(arrays):
    return RecordDict({"sum": ArrayRecord({n: Array(np.asarray(a)) for n, a in arrays.items()})})


def of_norm(norm, like=None):
    """Arrays of the model's shapes and a given norm."""
    shapes = like or {n: tuple(p.shape) for n, p in build_model().trainable().items()}
    rng = np.random.default_rng(0)
    arrays = {n: rng.standard_normal(s).astype(np.float64) for n, s in shapes.items()}
    length = np.sqrt(sum((a**2).sum() for a in arrays.values()))
    return {n: a * (norm / length) for n, a in arrays.items()}


def trainer_on(clients, **changes):
    given = changes.pop("rules", rules())
    settings = {"seed": 3, "timeout": 0.3} | changes
    return FederatedTrainer(given, build_model(), GridInMemory(clients), **settings)


def trainer_in_process(users=USERS, given=None):
    return UserEntityTrainer(given or rules(), users, build_model(), seed=3)


def assert_close(found, expected):
    assert set(found) == set(expected)
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value, rtol=1e-5, atol=1e-6)


def distance(one, other):
    gaps = [torch.as_tensor(one[n]) - torch.as_tensor(other[n]) for n in one]
    return float(torch.cat([gap.reshape(-1) for gap in gaps]).norm())


def test_a_client_bounds_its_sum_with_products_of_32_bits():
    """It makes no step of its own, in which that would be seen to."""
    seen = []

    def build():
        model = build_model()
        factors = model.factors
        model.factors = lambda *given: (
            seen.append(torch.get_float32_matmul_precision()) or factors(*given)
        )
        return model

    trainer = trainer_on([client(USERS, build=build)], users_per_client=4)
    torch.set_float32_matmul_precision("medium")
    try:
        trainer.total(trainer.draws(0))
    finally:
        torch.set_float32_matmul_precision("highest")
    assert seen == ["highest"]


@pytest.mark.parametrize(
    "changes",
    [
        {"algorithm": "user-level"},
        {"algorithm": "certified"},
        {"algorithm": "certified", "one_cell": True, "cell_clip": 1.0},
    ],
)
@pytest.mark.parametrize("clients", [1, 2, 4])
def test_a_step_equals_the_one_in_process(changes, clients):
    given = rules(**changes)
    blocks = [USERS[i::clients] for i in range(clients)]
    there = trainer_on(
        [client(block, given) for block in blocks],
        rules=given,
        users_per_client=4 // clients,
    )
    here = trainer_in_process(given=given)
    moved = False
    for step in range(4):
        draws = here.draws(step)
        assert draws == there.draws(step)
        total = here.total(draws)
        moved |= any(bool(value.any()) for value in total.values())
        assert_close(there.total(draws), total)
    assert moved
    first, second = there.run(2), here.run(2)
    assert_close(there.model.trainable(), here.model.trainable())
    assert distance(here.model.trainable(), build_model().trainable()) > 0.1
    assert (first.charged, first.loss) == (second.charged, second.loss)
    assert there.unusable == [0] * 6


def test_parameters_and_a_key_go_out_and_sums_come_back():
    there = trainer_on([client((user,)) for user in USERS])
    there.run(3)
    parameters = {n: tuple(p.shape) for n, p in there.model.trainable().items()}
    grid = there._grid
    assert len(grid.sent) == len(grid.received) == 12
    for message in grid.sent:
        assert set(message.content) == {"parameters", "step"}
        assert {n: a.shape for n, a in message.content["parameters"].items()} == parameters
        assert set(message.content["step"]) == {"key", "own", "rules"}
        numbers = json.loads(message.content["step"]["rules"])
        assert set(numbers) <= {field.name for field in dataclasses.fields(Rules)}
    sizes = set()
    for reply in grid.received:
        assert set(reply.content) == {"sum"}
        arrays = reply.content["sum"]
        sizes.add(len(arrays))
        assert not arrays or {n: a.shape for n, a in arrays.items()} == parameters
        norm = sum((a.numpy().astype(float) ** 2).sum() for a in arrays.values()) ** 0.5
        assert norm <= there.rules.clip
    assert sizes == {0, len(parameters)}  # some were drawn, some were not
    assert MARKER not in everything_said(grid)


def test_users_of_two_clients_are_drawn_apart_even_if_they_have_the_same_name():
    """Were they drawn together, the sum would tell of each whether the other is in it."""
    given = rules(algorithm="user-level", user_rate=0.5)
    same = [gather([Sentence("me", [1, 2, 3])]) for _ in range(2)]

    def together(**changes):
        there = trainer_on([client(users, given) for users in same], rules=given, **changes)
        for step in range(40):
            there.total(there.draws(step))
        taking_part = [bool(reply.content["sum"]) for reply in there._grid.received]
        return taking_part[::2] == taking_part[1::2], there._grid.sent

    assert together()[0]  # a seed repeats what one process does, where names are different
    alike, sent = together(seed=None)
    assert not alike  # which happens by chance once in 2^40 times
    keys = [(step["key"], step["own"]) for step in (message.content["step"] for message in sent)]
    assert len({own for _, own in keys}) == 80
    assert len({key for key, _ in keys}) == 40  # all clients draw the same entities


def test_two_users_of_a_client_have_two_names():
    with pytest.raises(InvalidValue, match="two users have the same name"):
        UserEntityTrainer(rules(), (USERS[0], USERS[0]), build_model())


def everything_said(grid):
    """All of all messages, as text."""
    said = []
    for message in [*grid.sent, *grid.received]:
        said.append(str(message.metadata))
        if message.has_error():
            said.append(message.error.reason)
        else:
            said.append(str(message.content))
            for record in message.content.values():
                said += [a.data.decode("latin-1") for a in record.values() if isinstance(a, Array)]
    return " ".join(said)


def test_the_words_of_an_exception_stay_with_the_client():
    """Flower would send them; the mutant, an app that lets them through, is caught."""

    def broken(_context):
        raise KeyError(f"no such word: {MARKER}")

    there = trainer_on([client((), load=broken), client(USERS)], users_per_client=4)
    there.run(1)
    assert there.unusable == [1]
    assert "KeyError" in everything_said(there._grid)
    assert MARKER not in everything_said(there._grid)
    leaky = trainer_on([broken, client(USERS)], users_per_client=4)
    leaky.run(1)
    assert MARKER in everything_said(leaky._grid)


def with_one(name, value):
    return of_norm(0.5) | {name: value}


NONSENSE = {
    "an exception": lambda message: 1 / 0,  # noqa: ARG005
    "no answer": lambda message: None,  # noqa: ARG005
    "no sum": answers(RecordDict()),
    "metrics for a sum": answers(RecordDict({"sum": MetricRecord({"output.bias": 1.0})})),
    "settings for a sum": answers(RecordDict({"sum": ConfigRecord({"output.bias": "none"})})),
    "one name too few": answers(sums({"output.bias": np.zeros(9)})),
    "one name too many": answers(sums(with_one("more", np.zeros(2)))),
    "another shape": answers(sums(with_one("output.bias", np.zeros(10)))),
    "one number": answers(sums(with_one("output.bias", np.float64(0.1)))),
    "whole numbers": answers(sums(with_one("output.bias", np.ones(9, dtype=np.int64)))),
    "complex numbers": answers(sums(with_one("output.bias", np.ones(9, dtype=np.complex128)))),
    "not a number": answers(sums(with_one("output.bias", np.full(9, np.nan)))),
    "infinity": answers(sums(with_one("output.bias", np.full(9, np.inf)))),
    "beyond all numbers": answers(sums(of_norm(1e250))),
    "bytes of no array": answers(
        RecordDict(
            {"sum": ArrayRecord({"output.bias": Array("float32", (9,), "numpy.ndarray", b"?")})}
        )
    ),
    "another kind of bytes": answers(
        RecordDict({"sum": ArrayRecord({"output.bias": Array("float32", (9,), "pickle", b"?")})})
    ),
    "a reply to nobody": lambda message: [other_reply(message)],
}


def other_reply(message):
    reply = Message(sums(of_norm(0.5)), reply_to=message)
    reply.metadata.__dict__["_reply_to_message_id"] = "something else"
    return reply


@pytest.mark.parametrize("nonsense", NONSENSE)
def test_nonsense_counts_as_no_answer(nonsense):
    there = trainer_on([NONSENSE[nonsense], client(USERS[1:])], users_per_client=3)
    here = trainer_in_process(USERS[1:])
    for step in range(2):
        assert_close(there.total(here.draws(step)), here.total(here.draws(step)))
    assert there.unusable == [1, 1]


@pytest.mark.parametrize("users", [1, 2])
@pytest.mark.parametrize("norm", [0.5, 1.0, 3.0, 1e30, 1e150])
def test_an_answer_is_projected_on_the_ball(norm, users):
    far = answers(sums(of_norm(norm)))
    there = trainer_on([far, client(USERS[:1])], users_per_client=users)
    draws = there.draws(0)
    moved = {
        n: v - trainer_in_process(USERS[:1]).total(draws)[n] for n, v in there.total(draws).items()
    }
    bound = users * there.rules.clip
    expected = of_norm(min(norm, bound))
    assert distance(moved, of_norm(0)) <= bound * (1 + 1e-12)
    assert distance(moved, expected) < 1e-6
    there._most = float("inf")  # the mutant that trusts its clients
    if norm > bound:
        assert distance(there.total(draws), of_norm(0)) > bound + 0.1


def test_a_second_answer_of_a_client_does_not_count():
    def twice(message):
        return [Message(sums(of_norm(1.0)), reply_to=message) for _ in range(2)]

    there = trainer_on([twice])
    assert distance(there.total(there.draws(0)), of_norm(0)) == pytest.approx(1.0)


def test_who_is_missing_counts_as_not_drawn_and_costs_the_same():
    """A client that comes and goes: the sums are those without its user, the charge is not less."""
    given = rules(user_rate=1.0, noise=6.0)
    first, asked = client(USERS[:1], given), []

    def comes_and_goes(message):
        asked.append(message)
        return first(message) if len(asked) % 2 else None

    there = trainer_on([comes_and_goes, client(USERS[1:], given)], rules=given, users_per_client=3)
    for step in range(4):
        users = USERS if step % 2 == 0 else USERS[1:]
        draws = there.draws(step)
        assert_close(there.total(draws), trainer_in_process(users, given).total(draws))
    assert there.unusable == [0, 1, 0, 1]
    outcome = there.run(2)
    assert (outcome.charged, outcome.loss) == (2, given.loss(2))


def test_a_silent_client_of_a_simulation_is_one_that_is_missing():
    context = Context(run_id=1, node_id=1, node_config={}, state=RecordDict(), run_config={})

    def of(number, users):
        app = client_app(
            rules(),
            build_model,
            lambda _: users,
            answers=lambda _, key: not silent(key, number, 0.5),
        )
        return lambda message: app(message, context)

    blocks = [USERS[:1], USERS[1:]]
    there = trainer_on([of(n, block) for n, block in enumerate(blocks)], users_per_client=3)
    missing = []
    for step in range(12):
        draws = there.draws(step)
        loud = [n for n in range(2) if not silent(draws.key, n, 0.5)]
        missing.append(2 - len(loud))
        if loud:
            answering = [user for n in loud for user in blocks[n]]
            assert_close(there.total(draws), trainer_in_process(answering).total(draws))
    assert set(missing) >= {0, 1}
    assert there.unusable == [count for count in missing if count < 2]
    assert MARKER not in everything_said(there._grid)
    assert not any(silent(bytes(32), n, 0.0) for n in range(99))
    # The key is fixed, so this does not hang on chance.
    assert 80 < sum(silent(bytes(32), n, 0.3) for n in range(400)) < 160


def test_a_client_refuses_a_server_with_other_rules():
    for change in ({"noise": 1.0}, {"clip": 2.0}, {"cell_clip": 0.2}, {"user_rate": 0.8}):
        there = trainer_on([client(USERS, rules(**change)), client(USERS)], users_per_client=4)
        there.total(there.draws(0))
        assert there.unusable == [1]
        assert "other rules" in everything_said(there._grid)
    same = trainer_on([client(USERS, rules(learning_rate=9.0, population=7))], users_per_client=4)
    same.total(same.draws(0))
    assert same.unusable == [0]


def test_a_client_refuses_another_model():
    other = dataclasses.replace(SHAPE, words=10)
    refusing = client(USERS, build=lambda: AwdLstm(other, seed=1))
    there = trainer_on([refusing, client(USERS)], users_per_client=4)
    there.total(there.draws(0))
    assert there.unusable == [1]


def test_a_block_of_users_keeps_the_bounds_that_it_can_see():
    """Cells are one user's own; of holders a client sees those among its own users."""
    shared = gather(Sentence(f"u{i}", [i], frozenset({"x"})) for i in range(5))
    given = rules(user_rate=1.0, entity_rate=1.0, holders=2)
    table = np.eye(5) * 10
    grid = GridInMemory([client(shared, given, build=lambda: GivenGradients(table))])
    there = FederatedTrainer(given, GivenGradients(table), grid, users_per_client=5, seed=3)
    total = there.total(there.draws(0))["weights"]
    assert int((total > 0).sum()) == 2


def test_no_answer_at_all_stops_the_run_and_is_charged(tmp_path):
    there = trainer_on([lambda message: None] * 3)  # noqa: ARG005
    with pytest.raises(InvalidValue, match="none of the 3 clients gave a usable answer"):
        there.run(5, folder=tmp_path / "state")
    assert json.loads((tmp_path / "state" / "ledger.json").read_text())["charged"] == 1
    assert_close(there.model.trainable(), build_model().trainable())


def test_the_budget_and_a_resumed_run_are_as_in_process(tmp_path):
    budget = rules().loss(3).joint + 1e-6
    outcome = trainer_on([client(USERS)], users_per_client=4).run(10, budget=budget)
    assert (outcome.charged, outcome.stopped_by_budget) == (3, True)
    with pytest.raises(BudgetExceeded):
        trainer_on([client(USERS)]).run(10, budget=0.01)
    folder = tmp_path / "state"
    trainer_on([client(USERS)], users_per_client=4).run(2, folder=folder)
    again = trainer_on([client(USERS)], users_per_client=4)
    again.run(4, folder=folder, resume=True)
    here = trainer_in_process()
    here.run(4)
    assert_close(again.model.trainable(), here.model.trainable())


def test_the_statement_says_what_a_federation_cannot_check():
    certified = trainer_on([]).statement(2)
    plain = rules().statement(2)
    assert (certified.epsilon, certified.delta) == (plain.epsilon, plain.delta)
    assert federated.HOLDERS_CAVEAT in certified.caveats
    assert federated.CLIENTS_CAVEAT in certified.caveats
    assert ONE_CELL_CAVEAT not in certified.caveats
    one_cell = trainer_on([], rules=rules(one_cell=True, cell_clip=1.0)).statement(2)
    assert ONE_CELL_CAVEAT in one_cell.caveats
    users_only = FederatedTrainer(rules(algorithm="user-level"), build_model(), GridInMemory([]))
    caveats = users_only.statement(2).caveats
    assert caveats == (federated.CLIENTS_CAVEAT, federated.ANSWERS_CAVEAT)


def test_the_server_waits_for_its_clients():
    app, grids = server_app(lambda grid: grids.append(grid), clients=2, connect_timeout=5), []
    context = Context(run_id=1, node_id=0, node_config={}, state=RecordDict(), run_config={})
    grid = GridInMemory([None, None], connected=-1)  # one more each time it is asked
    app(grid, context)
    assert grids == [grid]
    app = server_app(lambda grid: grids.append(grid), clients=3, connect_timeout=0.1)
    with pytest.raises(InvalidValue, match="2 of 3 clients are connected"):
        app(grid, context)
    assert grids == [grid]


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (lambda: client_app(rules(algorithm="published"), build_model, list), "algorithm"),
        (lambda: trainer_on([], rules=rules(algorithm="noiseless")), "algorithm"),
        (lambda: trainer_on([], users_per_client=0), "users per client"),
        (lambda: trainer_on([], timeout=0.0), "timeout"),
        (lambda: trainer_on([]).run(0), "steps"),
        (lambda: server_app(print, clients=0), "clients"),
        (lambda: server_app(print, connect_timeout=-1.0), "connect timeout"),
        (lambda: users_per_client(4, 5), "at most 4"),
        (lambda: users_per_client(4, 0), "clients"),
    ],
)
def test_bad_input(what, message):
    with pytest.raises(InvalidValue, match=message):
        what()


def test_without_flower_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "flwr", None)
    with pytest.raises(MissingExtra, match="federated"):
        client_app(rules(), build_model, list)
