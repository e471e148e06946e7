"""The same training on Flower: text stays with the clients, noise and accountant with the server.

In a step the server sends every connected client the parameters, the key by which all draw the same
entities, and a key of its own for its users: two clients that call their users alike must not draw
them together. A client finds out by itself which of its users, their entities and sentences are
drawn, computes the clipped contributions and answers with their sum, or with an empty one if nobody
is drawn. The server adds up, adds noise and moves the parameters, as :class:`UserEntityTrainer`
does in one process.

What a client that does not answer does to the guarantee. A user whose client is missing contributes
nothing, as if it had not been drawn: it takes part at most as often as was accounted for, and its
contribution is within the same bound, so the figure for users holds. Two things are assumed: that
whether a client answers does not depend on what *other* clients hold; and, for the figures that
include an entity, that it does not depend on the client's own sentences with that entity, for then
a whole contribution would move and not one cell of it.

An answer that is not numbers of the right shape counts as none; one that is too long is projected
on the ball. A client that cheats can spoil the model, but nobody else's guarantee.
"""

import json
import math
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import check
from discreet.devices import array_of, exactly, moved
from discreet.errors import DiscreetError, InvalidValue, needs_extra
from discreet.models.factors import FactorModel, Parameters
from discreet.randomness import SEEDED_CAVEAT
from discreet.statement import PrivacyStatement
from discreet.training.kept_state import put_weights, shapes_of
from discreet.training.user_entity._draws import StepDraws
from discreet.training.user_entity._gradients import add_to, norm_of, scaled
from discreet.training.user_entity.rules import Rules
from discreet.training.user_entity.trainer import ONE_CELL_CAVEAT, UserEntityTrainer
from discreet.training.user_entity.users import UserText

FEDERATED = ("certified", "user-level")
CLIENTS_CAVEAT = (
    "the server is trusted with each client's clipped sum, which it sees without noise: there is "
    "no secure aggregation, and towards the server nothing is guaranteed; towards another client, "
    "which knows what is drawn in a step, only what holds without sampling"
)
ANSWERS_CAVEAT = (
    "whether a client answers is assumed not to depend on the text of others, nor on an entity; "
    "and that no user's text is with two clients, who could not know of each other"
)
HOLDERS_CAVEAT = (
    "that no entity is held by more users than stated is assumed: in a federation nobody sees all "
    "texts and could count; the bound on cells holds after each client dropped what was beyond it"
)
_PARAMETERS, _STEP, _SUM = "parameters", "step", "sum"
_POLL = 0.2


def client_app(
    rules: Rules,
    build_model: Callable[[], FactorModel],
    load_users: Callable[[Any], Sequence[UserText]],
    answers: Callable[[Any, bytes], bool] | None = None,
) -> Any:
    """A Flower ``ClientApp`` for one user, or for a block of users in a simulation.

    All that leaves it is a sum of clipped contributions. An exception leaves as the name of its
    kind only, since Flower sends an exception's words to the server.

    Args:
        rules: What this client agreed to; a server with other rules gets no answer.
        build_model: The model's shape; its parameters come from the server.
        load_users: The client's own text, from Flower's context (its ``node_config`` says where
            that is, or which part it is in a simulation).
        answers: For simulations: whether the client answers at all, from the context and the key of
            the step. It must not look at the text.
    """
    flower = flower_library()
    _federated(rules)
    app = flower.clientapp.ClientApp()

    @app.train()  # type: ignore[untyped-decorator, unused-ignore]
    def train(message: Any, context: Any) -> Any:
        if answers is not None and not answers(context, message.content[_STEP]["key"]):
            # Nothing is in it, which is no answer; Flower would log an exception.
            return flower.app.Message(flower.app.RecordDict(), reply_to=message)
        try:
            arrays = _contribution(rules, build_model(), load_users(context), message.content)
        except _OtherRules:
            raise
        except Exception as error:
            raise DiscreetError(
                f"this client cannot answer: {type(error).__name__} while it made its sum"
            ) from None
        content = flower.app.RecordDict({_SUM: _record(flower, arrays)})
        return flower.app.Message(content, reply_to=message)

    return app


class FederatedTrainer(UserEntityTrainer):
    """The server's side: like :class:`UserEntityTrainer`, with the sums asked of Flower clients.

    Privacy: as the base class, towards whoever sees the models and not the messages; the statement
    says what a federation cannot check.

    Args:
        rules: certified or user-level.
        model: what is trained, in place.
        grid: Flower's connection to the clients, as a ``ServerApp`` gets it.
        users_per_client: how many users a client may speak for, at most; 1 unless in a simulation.
        timeout: seconds to wait for answers in a step.
        seed: for experiments only, as in the base class.
        spent: as in the base class.
        sensitive: what clients agreed to mark as a sensitive entity, as in the base class.
    """

    def __init__(
        self,
        rules: Rules,
        model: FactorModel,
        grid: Any,
        *,
        users_per_client: int = 1,
        timeout: float = 60.0,
        seed: int | None = None,
        spent: PrivacyStatement | None = None,
        sensitive: str = "",
    ) -> None:
        agreed = _federated(rules)
        super().__init__(agreed, None, model, seed=seed, spent=spent, sensitive=sensitive)
        self._grid = grid
        self._most = check.whole(users_per_client, "users per client", at_least=1) * rules.clip
        self.timeout = check.positive(timeout, "timeout")
        self.unusable: list[int] = []
        """For each step, how many clients gave no usable answer: for whoever runs the server."""
        self.may_be_silent = False
        """Whether a step without any answer counts, as one in which nobody takes part. For
        simulations, where silence is drawn; elsewhere it means that something is wrong."""

    def total(self, draws: StepDraws) -> Parameters:
        """The sum of what the clients answer in time; what is no answer counts as nothing.

        Raises:
            InvalidValue: Not one client gave a usable answer, and that is not meant; nothing is
                released then.
        """
        asked, replies = self._ask(draws)
        total, usable = self.server.empty_sum(), 0
        for reply in replies:
            answer = self._answer(reply)
            if answer is not None:
                usable += 1
                add_to(total, answer)
        self.unusable.append(asked - usable)
        if not usable and not self.may_be_silent:
            raise InvalidValue(
                f"none of the {asked} clients gave a usable answer within {self.timeout:g} "
                "seconds; look at what they say, and whether they agreed to the same rules"
            )
        return total

    def _caveats(self) -> list[str]:
        """What a federation cannot check."""
        caveats = [CLIENTS_CAVEAT, ANSWERS_CAVEAT]
        if self.rules.algorithm == "certified":
            caveats.append(HOLDERS_CAVEAT)
            if self.rules.one_cell:
                caveats.append(ONE_CELL_CAVEAT)
        return caveats if self.seed is None else [*caveats, SEEDED_CAVEAT]

    def _ask(self, draws: StepDraws) -> tuple[int, list[Any]]:
        """How many clients were asked, and at most one reply of each."""
        flower = flower_library()
        current = {n: array_of(p) for n, p in self.model.trainable().items()}
        parameters = _record(flower, current)

        def step() -> Any:
            # With a seed all is as in one process, where names are different.
            own = secrets.token_bytes(32) if self.seed is None else draws.key
            told = {"key": draws.key, "own": own, "rules": _agreed(self.rules)}
            return flower.app.ConfigRecord(told)

        messages = [
            flower.app.Message(
                flower.app.RecordDict({_PARAMETERS: parameters, _STEP: step()}),
                dst_node_id=node,
                message_type="train",
                ttl=self.timeout + 60,
            )
            for node in self._grid.get_node_ids()
        ]
        # Not the grid's own send_and_receive, which looks for answers only every three seconds.
        until = time.monotonic() + self.timeout
        open_ids = {asked for asked in self._grid.push_messages(messages) if asked is not None}
        replies: dict[str, Any] = {}
        while open_ids:
            for reply in self._grid.pull_messages(open_ids):
                if (answered := reply.metadata.reply_to_message_id) in open_ids:
                    replies[answered] = reply
                    open_ids.discard(answered)
            if not open_ids or time.monotonic() > until:
                break
            time.sleep(_POLL)
        return len(messages), list(replies.values())

    def _answer(self, reply: Any) -> Parameters | None:
        """A client's sum within its ball; empty if nobody was drawn; None if it is nonsense."""
        if reply.has_error():
            return None
        try:
            arrays = {name: np.asarray(a.numpy()) for name, a in reply.content[_SUM].items()}
        except Exception:  # whatever a client sends: its bytes are read here for the first time
            return None
        if not arrays:
            return {}
        numbers = all(array.dtype in (np.float32, np.float64) for array in arrays.values())
        if not numbers or shapes_of(arrays) != shapes_of(self.model.trainable()):
            return None
        where = self.server.device
        sums = {n: moved(array.astype(np.float64), where) for n, array in arrays.items()}
        norm = norm_of(sums)
        if not math.isfinite(norm):
            return None
        return scaled(sums, 1.0 if norm <= self._most else self._most / norm)


def server_app(
    train: Callable[[Any], None], *, clients: int = 1, connect_timeout: float = 60.0
) -> Any:
    """A Flower ``ServerApp``: it waits for clients and hands the grid to ``train``.

    Args:
        train: Makes a :class:`FederatedTrainer` on the grid and runs it.
        clients: So many must be connected before it begins.
        connect_timeout: Seconds to wait for them.
    """
    flower = flower_library()
    check.whole(clients, "clients", at_least=1)
    check.positive(connect_timeout, "connect timeout")
    app = flower.serverapp.ServerApp()

    @app.main()  # type: ignore[untyped-decorator, unused-ignore]
    def main(grid: Any, _context: Any) -> None:
        until = time.monotonic() + connect_timeout
        while (connected := len(list(grid.get_node_ids()))) < clients:
            if time.monotonic() > until:
                raise InvalidValue(
                    f"{connected} of {clients} clients are connected after {connect_timeout:g} "
                    "seconds; start the others, or ask for fewer"
                )
            time.sleep(_POLL)
        train(grid)

    return app


class _OtherRules(InvalidValue):
    """A server that trains by other rules than its client agreed to."""


def _contribution(
    rules: Rules, model: FactorModel, users: Sequence[UserText], content: Any
) -> dict[str, NDArray[Any]]:
    """What a client answers: the sum over its users, or nothing if none of them takes part."""
    step = content[_STEP]
    if step["rules"] != _agreed(rules):
        raise _OtherRules("the server trains by other rules than this client agreed to")
    arrays = {name: value.numpy() for name, value in content[_PARAMETERS].items()}
    parameters = model.trainable()
    if shapes_of(arrays) != shapes_of(parameters):
        raise InvalidValue("the server trains another model than this client was given")
    put_weights(arrays, parameters)
    draws = StepDraws(step["key"], rules.rates, own=step["own"])
    own = UserEntityTrainer(rules, users, model)
    if not own.active(draws):
        return {}
    with exactly(own.server.device):
        total = own.total(draws)
    # One contribution is in 32 bits, and a sum of them needs no more on its way.
    return {name: array_of(value).astype(np.float32) for name, value in total.items()}


def _agreed(rules: Rules) -> str:
    """What a client must agree to: everything but how the server uses the sum."""
    servers = ("learning_rate", "optimizer", "population", "delta")
    return json.dumps({k: v for k, v in asdict(rules).items() if k not in servers}, sort_keys=True)


def _federated(rules: Rules) -> Rules:
    if rules.algorithm not in FEDERATED:
        raise InvalidValue(
            f"algorithm of federated training must be one of {', '.join(FEDERATED)}; "
            f"got {rules.algorithm!r}, which needs all texts in one place"
        )
    return rules


def flower_library() -> Any:
    """Flower, or an error that names the extra with it."""
    with needs_extra("federated training", "federated"):
        import flwr
        import flwr.app
        import flwr.clientapp
        import flwr.serverapp
    return flwr


def _record(flower: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    return flower.app.ArrayRecord({n: flower.app.Array(a) for n, a in arrays.items()})
