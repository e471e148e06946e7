"""Federated training on clients that Flower simulates on this machine, all text in one place."""

import hashlib
import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from discreet import check
from discreet.errors import InvalidValue, needs_extra
from discreet.private_ray import private_ray
from discreet.training.user_entity.federated import (
    FederatedTrainer,
    client_app,
    flower_library,
    server_app,
)
from discreet.training.user_entity.trainer import TrainingOutcome, UserEntityTrainer
from discreet.training.user_entity.users import UserText

# Simulated clients do not go missing; they wait for a processor, and Ray begins slowly.
_TIMEOUT = 600.0


def silent(key: bytes, client: int, share: float) -> bool:
    """Whether a simulated client says nothing in the step with this key, whatever its text."""
    drawn = hashlib.blake2b(b"%d" % client, digest_size=8, key=key, person=b"silent").digest()
    return int.from_bytes(drawn, "little") < int(share * 2**64)


def simulated(
    trainer: UserEntityTrainer,
    clients: int,
    run: Callable[[FederatedTrainer], TrainingOutcome],
    *,
    drop_out: float = 0.0,
) -> tuple[TrainingOutcome, list[int]]:
    """The run of a trainer, on clients that Flower simulates on this machine with a block of users.

    All is in one place, so what holds is what the trainer says, and no bound is merely assumed.

    Args:
        trainer: Rules, users, model and seed; client i gets every ``clients``-th user from i on.
        clients: How many, at most as many as users.
        run: Runs the trainer that it is given, which asks the clients.
        drop_out: Chance that a client says nothing in a step, as a dead or a late one does not.

    Returns:
        The outcome, and for each step that was made now how many clients were missing in it.
    """
    flower = _flower_that_tells_nobody()
    rules, model, users = trainer.rules, trainer.model, trainer.users
    most = users_per_client(len(users), clients)
    blocks = [users[first::clients] for first in range(clients)]
    check.in_range(drop_out, "drop out", at_least=0, below=1)
    outcomes: list[tuple[TrainingOutcome, list[int]]] = []

    def train(grid: Any) -> None:
        asking = FederatedTrainer(
            rules,
            model,
            grid,
            users_per_client=most,
            timeout=_TIMEOUT,
            seed=trainer.seed,
            spent=trainer.spent,
            sensitive=trainer.sensitive,
        )
        asking.may_be_silent = drop_out > 0
        outcomes.append((run(asking), asking.unusable))

    def own_block(context: Any) -> tuple[UserText, ...]:
        return blocks[int(context.node_config["partition-id"])]

    def answers(context: Any, key: bytes) -> bool:
        return not silent(key, int(context.node_config["partition-id"]), drop_out)

    with private_ray() as options:  # every client's text goes through it
        try:
            flower.simulation.run_simulation(
                server_app(train, clients=clients, connect_timeout=_TIMEOUT),
                client_app(rules, lambda: model, own_block, answers=answers),
                num_supernodes=clients,
                backend_config={
                    "client_resources": {"num_cpus": 1, "num_gpus": 0.0},
                    "init_args": {"num_cpus": 1, **options},
                },
            )
        finally:
            import ray

            ray.shutdown()
    outcome, missing = outcomes[0]
    return replace(outcome, statement=trainer.statement(outcome.charged)), missing


def simulation_section(clients: int, missing: Sequence[int]) -> dict[str, Any]:
    """What a receipt says of a simulation, where nobody but this machine saw the sums."""
    return {
        "simulated": True,
        "clients": clients,
        "missing": list(missing),
        "trust": (
            "all text was in one place; among machines the server would be trusted with each "
            "client's clipped sum, without noise: there is no secure aggregation"
        ),
    }


def users_per_client(users: int, clients: int) -> int:
    """How many users the largest block of a simulation holds.

    >>> users_per_client(10, 4)
    3
    """
    check.whole(clients, "clients", at_least=1)
    if clients > users:
        raise InvalidValue(f"clients must be at most {users}, the number of users; got {clients}")
    return -(-users // clients)


def _flower_that_tells_nobody() -> Any:
    """Flower with Ray; neither reports to its makers that it runs, and both say errors only."""
    # Read when the library begins; what is Ray's is set where it is started.
    os.environ.setdefault("FLWR_TELEMETRY_ENABLED", "0")
    flower = flower_library()
    with needs_extra("federated simulation", "federated"):
        import flwr.simulation  # noqa: F401
    logging.getLogger("flwr").setLevel(logging.ERROR)
    return flower
