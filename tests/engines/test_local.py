"""Folders released by processes of this machine: every row once, whoever is killed."""

import subprocess
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from command import COMMAND, environment
from discreet import Sanitizer, load_space, mechanism
from discreet.engines import EngineSettings, sanitize_folder
from discreet.engines.parts import PartReceipt
from part_folders import check_kills, check_whole, small_space, words_of, write

pytestmark = pytest.mark.skipif(not Path("/proc").is_dir(), reason="workers are found in /proc")
PATIENCE = 120


@pytest.fixture(scope="module")
def space(tmp_path_factory):
    return small_space(tmp_path_factory.mktemp("space"))


@pytest.fixture(scope="module")
def sanitizer(space):
    return Sanitizer(mechanism("santext", space=load_space(space), epsilon=4.0))


def _workers_of(parent: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            status = path.joinpath("stat").read_text().rpartition(")")[2].split()
            command = path.joinpath("cmdline").read_bytes()
        except OSError:
            continue
        if int(status[1]) == parent and b"discreet.engines.local" in command:
            found.append(int(path.name))
    return found


def test_killed_workers_cost_attempts_and_nothing_else(tmp_path, sanitizer):
    engine = EngineSettings(engine="local", workers=2, part_rows=10_000)
    check_kills(tmp_path, sanitizer, engine, rows=40_000)


def test_a_killed_driver_is_continued_and_draws_no_finished_part_again(tmp_path, space):
    source = write(tmp_path / "in", "parquet", files=1, rows=60_000, group=10_000)
    out = tmp_path / "out"
    command = [COMMAND, "sanitize", source, "-o", out, "-s", space, "-e", "4", "--workers", "1"]
    command += ["--text-field", "body", "--keep", "id", "--drop-others", "--part-rows", "10000"]
    run = {"env": environment(tmp_path / "cache"), "stderr": subprocess.PIPE}
    driver = subprocess.Popen([str(each) for each in command], **run)
    records: list[Path] = []
    until = time.monotonic() + PATIENCE
    while len(records) < 2 and time.monotonic() < until:
        records = list(tmp_path.glob("out.unfinished/*/*.json"))
        time.sleep(0.001)
    workers = _workers_of(driver.pid)
    driver.kill()
    driver.communicate()
    assert len(workers) == 1
    while any(Path(f"/proc/{worker}").exists() for worker in workers):  # nobody draws on
        assert time.monotonic() < until
        time.sleep(0.01)
    assert not out.exists()
    done = [PartReceipt.read(path) for path in tmp_path.glob("out.unfinished/*/*.json")]
    done = [part for part in done if list(tmp_path.glob(f"out.unfinished/*/{part.part.name}"))]
    assert 1 <= len(done) < 6
    again = subprocess.run([str(each) for each in command], check=True, **run)
    receipt = check_whole(out, 60_000, words_of(60_000))
    files = receipt.about["output"]["files"]
    for part in done:
        assert files[part.part.name]["sha256"] == part.digest.sha256
    assert receipt.about["engine"]["attempts"] in (6, 7)
    assert b"Written" in again.stderr


def test_two_workers_share_no_noise(tmp_path, sanitizer):
    # One text of 2,000 equal words in each part: the draws of two parts agree no more often than
    # those of two words do. They would agree everywhere if workers shared a generator.
    source = tmp_path / "in"
    source.mkdir()

    word = sanitizer.mechanism.space.words[1]
    for number in range(4):
        table = pa.table({"text": [" ".join([word] * 2_000)]})
        pq.write_table(table, source / f"{number}.parquet")
    sanitize_folder(source, tmp_path / "out", sanitizer, EngineSettings(workers=2))
    texts = [text.split() for text in pq.read_table(tmp_path / "out").column("text").to_pylist()]
    law = sanitizer.mechanism.log_probabilities([1])
    chance = float(np.exp(2 * law).sum())
    for one in range(4):
        for other in range(one):
            equal = sum(a == b for a, b in zip(texts[one], texts[other], strict=True)) / 2_000
            # Six standard deviations of a share of 2,000: a false alarm in 10^8 runs.
            assert abs(equal - chance) < 6 * (chance * (1 - chance) / 2_000) ** 0.5
            assert chance < 0.9
