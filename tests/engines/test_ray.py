"""The same folder on Ray: every row once, also when a worker is killed; clear errors without it."""

import os
from importlib.metadata import requires
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from discreet import Sanitizer, load_space, mechanism
from discreet.engines import EngineSettings
from discreet.errors import InvalidValue, NotFound
from part_folders import check_kills, small_space, words_of, write

pytestmark = [
    pytest.mark.skipif(not Path("/proc").is_dir(), reason="workers are found in /proc"),
    # Ray leaves files and sockets to the end of its processes.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def sanitizer(tmp_path_factory):
    space = load_space(small_space(tmp_path_factory.mktemp("space")))
    return Sanitizer(mechanism("santext", space=space, epsilon=4.0))


@pytest.fixture(scope="module")
def cluster():
    """A Ray of this machine for all tests here; engines use what runs already."""
    ray = pytest.importorskip("ray")
    from discreet.engines.ray import RayEngine

    engine = RayEngine(None, 2)
    yield ray
    engine.close()


@pytest.mark.usefixtures("cluster")
def test_killed_workers_cost_attempts_and_nothing_else(tmp_path, sanitizer):
    check_kills(tmp_path, sanitizer, EngineSettings(engine="ray", part_rows=10_000), rows=20_000)


def test_nobody_else_is_let_in(cluster):
    """It listens on the network, and would run whatever anybody sends to it."""
    from ray._raylet import AuthenticationTokenLoader, GcsClient

    place = cluster.get_runtime_context().gcs_address
    folder = Path(cluster._private.worker._global_node.get_session_dir_path())
    assert folder.parents[1].stat().st_mode & 0o777 == 0o700
    assert GcsClient(address=place).cluster_id
    loader, token = AuthenticationTokenLoader.instance(), os.environ["RAY_AUTH_TOKEN"]
    try:
        os.environ["RAY_AUTH_TOKEN"] = "a guess"
        loader.reset_cache()
        with pytest.raises(cluster.exceptions.AuthenticationError):
            GcsClient(address=place)
    finally:
        os.environ["RAY_AUTH_TOKEN"] = token
        loader.reset_cache()
    assert GcsClient(address=place).cluster_id


def test_it_is_the_version_that_flower_pins(cluster):
    """Both extras are installed here, side by side; Flower says which Ray it works with."""
    wanted = {each.partition(";")[0].strip() for each in requires("flwr") if "ray==" in each}
    assert wanted == {f"ray=={cluster.__version__}"}


@pytest.mark.usefixtures("cluster")
def test_a_dataset_is_sanitised_as_it_is_written(tmp_path, sanitizer):
    import ray.data

    from discreet.engines.ray import sanitize

    ray.data.DataContext.get_current().enable_progress_bars = False
    source = write(tmp_path / "in", "parquet", files=1, rows=500)
    out = tmp_path / "out"
    dataset = ray.data.read_parquet(str(source)).select_columns(["id", "body"])
    sanitize(dataset, sanitizer, text="body").write_parquet(str(out))
    table = pq.read_table(out)
    assert sorted(table.column("id").to_pylist()) == list(range(500))
    assert len(" ".join(table.column("body").to_pylist()).split()) == words_of(500)
    assert "zanzibar" not in " ".join(table.column("body").to_pylist())


@pytest.mark.parametrize(
    ("address", "error", "said"),
    [
        ("127.0.0.1:1", NotFound, "no Ray cluster at 127.0.0.1:1"),
        ("ray://127.0.0.1:1", NotFound, "no Ray cluster at ray://127.0.0.1:1"),
        ("somewhere", InvalidValue, "with the port"),
    ],
)
def test_where_no_cluster_is(address, error, said):
    pytest.importorskip("ray")
    from discreet.engines.ray import _started

    with pytest.raises(error, match=said):
        _started(address, None)
