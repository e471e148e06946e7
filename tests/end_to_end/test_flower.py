"""Federated training as people run it: Flower's simulation, and real processes over loopback.

Both run in processes of their own, as Flower and Ray are not as quiet as the tests here must be.
What a step does in detail is tested without them, in ``tests/training/test_federated.py``.
"""

import contextlib
import json
import os
import socket
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import psutil
import pytest
from safetensors.numpy import load_file

from discreet.models.awd_lstm import AwdLstm, AwdLstmShape
from discreet.training.user_entity import settings
from discreet.training.user_entity._draws import StepDraws
from discreet.training.user_entity.build import built_network
from discreet.training.user_entity.records import read_users
from discreet.training.user_entity.rules import Rules
from discreet.training.user_entity.simulation import silent
from discreet.training.user_entity.trainer import UserEntityTrainer
from discreet.training.user_entity.users import Sentence, gather

# Processes start slowly on a busy machine; nothing here waits that long on an idle one.
PATIENCE = 600.0
SEED = 5
SIMULATED, SILENT = 8, 0.4
ROWS = [
    {"user": f"user {u}", "ids": [1 + u, 2, 3 + s], "entities": [f"entity {s}"] * (s % 2)}
    for u in range(4)
    for s in range(3)
]
RULES = {
    "user_rate": 1.0,
    "entity_rate": 0.5,
    "noise": 1.0,
    "holders": 4,
    "population": 4,
    "optimizer": "sgd",  # which remembers nothing from step to step
    "learning_rate": 0.1,
}
SHAPE = {"words": 8, "boundary": 0, "embedding": 3, "hidden": 4}

COMMON = f"""
    import json
    from pathlib import Path

    import numpy as np

    from discreet.models.awd_lstm import AwdLstm, AwdLstmShape
    from discreet.training.user_entity.rules import Rules
    from discreet.training.user_entity.users import Sentence, gather

    RULES = Rules(**{RULES!r})


    def build_model():
        return AwdLstm(AwdLstmShape(**{SHAPE!r}), seed=1)


    def read_users(path):
        rows = [json.loads(line) for line in Path(path).read_text().splitlines()]
        return gather(Sentence(r["user"], r["ids"], frozenset(r["entities"])) for r in rows)


    def write_result(folder, trainer, outcome):
        model = {{name: p.detach().numpy() for name, p in trainer.model.trainable().items()}}
        np.savez(Path(folder) / "model.npz", **model)
        about = {{"unusable": trainer.unusable, "charged": outcome.charged,
                 "epsilon": outcome.statement.epsilon}}
        (Path(folder) / "result.json").write_text(json.dumps(about))
"""
CLIENT = """
    from discreet.training.user_entity.federated import client_app

    from notes_app.common import RULES, build_model, read_users

    app = client_app(RULES, build_model, lambda context: read_users(context.node_config["text"]))
"""
# After its first step the server says so and waits until one of its clients is dead.
SERVER = f"""
    import os
    import time
    from pathlib import Path

    from discreet.training.user_entity.federated import FederatedTrainer, server_app

    from notes_app.common import RULES, build_model, write_result

    FOLDER = Path(os.environ["NOTES_FOLDER"])


    def train(grid):
        begun = time.monotonic()
        trainer = FederatedTrainer(
            RULES, build_model(), grid, users_per_client=2, timeout={PATIENCE}, seed={SEED}
        )

        def after_step(done, _steps):
            if done == 1:
                trainer.timeout = max(8.0, 1.5 * (time.monotonic() - begun))
                (FOLDER / "first step done").touch()
                while not (FOLDER / "client killed").exists():
                    time.sleep(0.1)

        outcome = trainer.run(2, folder=FOLDER / "state", progress=after_step)
        write_result(FOLDER, trainer, outcome)


    app = server_app(train, clients=2, connect_timeout={PATIENCE})
"""
PROJECT = """
    [build-system]
    requires = ["hatchling"]
    build-backend = "hatchling.build"

    [project]
    name = "notes-app"
    version = "1.0.0"
    license = "Apache-2.0"
    dependencies = []

    [tool.flwr.app]
    publisher = "tests"

    [tool.flwr.app.components]
    serverapp = "notes_app.server:app"
    clientapp = "notes_app.client:app"

    [tool.flwr.app.config]
"""


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text).lstrip())


def write_rows(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def quiet_environment(folder):
    return os.environ | {
        "FLWR_HOME": str(folder / "flower"),
        "FLWR_TELEMETRY_ENABLED": "0",
        "FLWR_SUPEREXEC_TASK_POLL_INTERVAL": "0.2",
        "NOTES_FOLDER": str(folder),
        "OMP_NUM_THREADS": "1",
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }


def users_of(rows):
    return gather(Sentence(r["user"], r["ids"], frozenset(r["entities"])) for r in rows)


def in_process(*rows_of_steps):
    """The model after one step on each of these, without Flower."""
    model = AwdLstm(AwdLstmShape(**SHAPE), seed=1)
    for step, rows in enumerate(rows_of_steps):
        UserEntityTrainer(Rules(**RULES), users_of(rows), model, seed=SEED).step(step)
    return {name: p.detach().numpy() for name, p in model.trainable().items()}


def assert_same(folder, expected):
    with np.load(folder / "model.npz") as found:
        assert set(found) == set(expected)
        for name, value in expected.items():
            np.testing.assert_allclose(found[name], value, rtol=1e-5, atol=1e-6)


def apart(one, other):
    return max(float(np.abs(one[name] - other[name]).max()) for name in one)


def test_flowers_simulation_trains_as_one_process_does_without_who_is_silent(tmp_path):
    words = ["one", "two", "three", "four", "five", "six"]
    write(tmp_path / "vocabulary.txt", "\n".join(words))
    write_rows(
        tmp_path / "notes.jsonl",
        [
            {
                "user": f"user {u}",
                "tokens": [words[u], words[s], words[u + s]],
                "tags": ["B-PER" if s else "O", "O", "O"],
            }
            for u in range(3)
            for s in range(3)
        ],
    )
    done = subprocess.run(
        [
            *("discreet", "train", "user-entity", "notes.jsonl", "-o", "flower", "--json"),
            *("--tokens-field", "tokens", "--tags-field", "tags", "--steps", "2"),
            *("--vocabulary", "vocabulary.txt", "--embedding", "4", "--hidden", "5"),
            *("--user-rate", "0.9", "--noise", "3", "--holders", "3", "--population", "3"),
            *("--optimizer", "sgd", "--learning-rate", "0.1"),
            *("--seed", str(SIMULATED), "--federated", "2", "--drop-out", str(SILENT)),
        ],
        cwd=tmp_path,
        env=quiet_environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    receipt = json.loads(done.stdout)
    found = load_file(tmp_path / "flower" / "model.safetensors")

    records = settings.Records(tokens="tokens", tags="tags")
    vocabulary = tmp_path / "vocabulary.txt"
    sizes = settings.NetworkSettings(vocabulary=vocabulary, embedding=4, hidden=5)
    built, full = built_network(sizes), built_network(sizes)
    users = read_users(str(tmp_path / "notes.jsonl"), records, built.words)
    step_size = {"optimizer": "sgd", "learning_rate": 0.1}
    rules = Rules(user_rate=0.9, noise=3.0, holders=3, population=3, cell_clip=0.1, **step_size)
    blocks, missing = [users[0::2], users[1::2]], []
    for step in range(2):
        key = StepDraws.seeded(rules.rates, SIMULATED, step).key
        there = [n for n in range(2) if not silent(key, n, SILENT)]
        missing.append(2 - len(there))
        answering = [user for n in there for user in blocks[n]]
        UserEntityTrainer(rules, answering, built.network, seed=SIMULATED).step(step)
        UserEntityTrainer(rules, users, full.network, seed=SIMULATED).step(step)
    assert missing == [0, 1]  # everybody answers, then one of the two
    given = {"seed": SIMULATED, "sensitive": records.sensitive}
    whole = UserEntityTrainer(rules, users, built.network, **given).statement(2)
    # What a missing client would have added is missing; the statement is that of full steps.
    assert receipt["statement"] == whole.to_dict()
    assert receipt["steps"] == {"planned": 2, "made": 2, "charged": 2}
    assert receipt["federated"]["missing"] == missing
    assert "no secure aggregation" in receipt["federated"]["trust"]
    assert set(found) == set(built.network.weights())
    for name, value in built.network.weights().items():
        np.testing.assert_allclose(found[name], value.numpy(), rtol=1e-5, atol=1e-6)
    everybody = {name: value.numpy() for name, value in full.network.weights().items()}
    assert apart(found, everybody) > 1e-3


@contextlib.contextmanager
def started(*command, folder, log):
    """A process of our own that is gone at the end, with all that it started."""
    with log.open("wb") as out:
        process = psutil.Popen(
            command, cwd=folder, env=quiet_environment(folder), stdout=out, stderr=out
        )
    try:
        yield process
    finally:
        end(process)


def end(process):
    with contextlib.suppress(psutil.NoSuchProcess):
        family = [*process.children(recursive=True), process]
        for one in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                one.kill()
        psutil.wait_procs(family, timeout=10)
    process.wait(timeout=10)


def free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def wait_for(condition, *, logs):
    until = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > until:
            pytest.fail("\n".join(f"{log.name}:\n{log.read_text()[-3000:]}" for log in logs))
        time.sleep(0.1)


def listening(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_real_processes_train_on_when_a_client_is_killed(tmp_path):
    app = tmp_path / "app"
    write(app / "pyproject.toml", PROJECT)
    write(app / "notes_app" / "__init__.py", "")
    for name, text in {"common": COMMON, "client": CLIENT, "server": SERVER}.items():
        write(app / "notes_app" / f"{name}.py", text)
    blocks = [ROWS[:6], ROWS[6:]]
    for number, rows in enumerate(blocks):
        write_rows(tmp_path / f"client {number}.jsonl", rows)
    link, *nodes = free_ports(3)
    logs = [tmp_path / f"{name}.log" for name in ("link", "node 0", "node 1", "run")]
    write(
        tmp_path / "flower" / "config.toml",
        f'[superlink]\ndefault = "here"\n\n[superlink.here]\n'
        f'address = "127.0.0.1:{link}"\ninsecure = true\n',
    )
    with contextlib.ExitStack() as stack:
        stack.enter_context(
            started(
                *("flower-superlink", "--insecure", "--host", "127.0.0.1", "--port", str(link)),
                "--disable-runtime-dependency-installation",
                folder=tmp_path,
                log=logs[0],
            )
        )
        wait_for(lambda: listening(link), logs=logs[:1])
        clients = [
            stack.enter_context(
                started(
                    *("flower-supernode", "--insecure", "--superlink", f"127.0.0.1:{link}"),
                    *("--host", "127.0.0.1", "--port", str(port)),
                    *("--node-config", f'text="{tmp_path}/client {number}.jsonl"'),
                    folder=tmp_path,
                    log=logs[1 + number],
                )
            )
            for number, port in enumerate(nodes)
        ]
        with started("flwr", "run", "app", folder=tmp_path, log=logs[3]) as run:
            assert run.wait(timeout=PATIENCE) == 0, logs[3].read_text()
        wait_for((tmp_path / "first step done").exists, logs=logs)
        end(clients[1])
        (tmp_path / "client killed").touch()
        wait_for((tmp_path / "result.json").exists, logs=logs)
    result = json.loads((tmp_path / "result.json").read_text())
    assert result["unusable"] == [0, 1]
    assert result["charged"] == 2
    # Who is missing counts as not drawn; the budget is that of a step with everybody.
    assert result["epsilon"] == Rules(**RULES).loss(2).joint
    expected = in_process(ROWS, blocks[0])
    assert_same(tmp_path, expected)
    assert apart(expected, in_process(ROWS, ROWS)) > 1e-3
