"""The same folder on Spark, in local mode; a data frame through Arrow; an error without Java."""

import re
import textwrap
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from discreet import Sanitizer, load_space, mechanism
from discreet.engines import EngineSettings
from discreet.errors import InvalidValue, NotFound
from part_folders import check_kills, small_space, words_of, write

pytestmark = [
    pytest.mark.skipif(not Path("/proc").is_dir(), reason="workers are found in /proc"),
    # Spark leaves sockets to the end of its processes.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def sanitizer(tmp_path_factory):
    space = load_space(small_space(tmp_path_factory.mktemp("space")))
    return Sanitizer(mechanism("santext", space=space, epsilon=4.0))


@pytest.fixture(scope="module")
def session():
    """A Spark of this machine for all tests here; engines use what runs already."""
    pytest.importorskip("pyspark")
    from discreet.engines.spark import _started

    session = _started(None, 2)
    yield session
    session.stop()


@pytest.mark.usefixtures("session")
def test_killed_workers_cost_attempts_and_nothing_else(tmp_path, sanitizer):
    check_kills(tmp_path, sanitizer, EngineSettings(engine="spark", part_rows=10_000), rows=20_000)


def test_the_lines_of_the_guide(tmp_path, sanitizer, session, monkeypatch):
    page = Path(__file__).parent.parent.parent / "docs" / "guides" / "engines.md"
    found = re.search(
        r"(?m)^    from discreet.engines.spark import sanitize\n(?:    .*\n|\n)*", page.read_text()
    )
    source = write(tmp_path / "in", "parquet", files=1, rows=50)
    names = {"df": session.read.parquet(str(source)), "sanitizer": sanitizer, "spark": session}
    monkeypatch.chdir(tmp_path)
    lines = textwrap.dedent(found[0]).replace('"released"', repr(str(tmp_path / "released")))
    exec(lines, names)
    assert names["released"].count() == 50


def test_a_data_frame_is_sanitised_as_it_is_written(tmp_path, sanitizer, session):
    from discreet.engines.spark import sanitize

    source = write(tmp_path / "in", "parquet", files=1, rows=500)
    out = tmp_path / "out"
    frame = session.read.parquet(str(source)).select("id", "body")
    told = frame.withMetadata("body", {"comment": "zanzibar"})
    released = sanitize(told, sanitizer, text="body")
    assert released.schema == frame.schema
    released.write.parquet(str(out))
    assert not any(b"zanzibar" in path.read_bytes() for path in out.iterdir())
    table = pq.read_table(out)
    assert sorted(table.column("id").to_pylist()) == list(range(500))
    texts = " ".join(table.column("body").to_pylist())
    assert len(texts.split()) == words_of(500)
    assert "zanzibar" not in texts


@pytest.mark.parametrize(
    ("address", "error", "said"),
    [
        ("spark://127.0.0.1:1", NotFound, "no Spark at spark://127.0.0.1:1 .nobody answers"),
        ("spark://127.0.0.1:1,127.0.0.1:2", NotFound, "nobody answers"),
        ("spark://somewhere", InvalidValue, "must have a port"),
    ],
)
def test_where_no_cluster_is(address, error, said):
    pytest.importorskip("pyspark")
    from discreet.engines.spark import _started

    with pytest.raises(error, match=said):
        _started(address, None)


def test_without_java(monkeypatch, tmp_path):
    pytest.importorskip("pyspark")
    from discreet.engines.spark import _started

    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(NotFound, match="needs Java 17"):
        _started(None, 2)
