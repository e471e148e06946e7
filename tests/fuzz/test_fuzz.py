"""Readers refuse in a sentence ten thousand hostile files, and every one that was ever found."""

import random
from pathlib import Path

import pytest

import fuzzing
from fuzzing import MARKER, TARGETS, Target, fault_of, inputs, mutated, seeds


def test_there_are_ten_thousand():
    assert sum(target.share for target in TARGETS.values()) >= 10_000


@pytest.mark.parametrize("name", TARGETS)
def test_only_errors_of_ours_come_out(name):
    if name == "rewriter":
        pytest.importorskip("torch")
    target = TARGETS[name]
    for number, data in enumerate(inputs(name, target.share)):
        fault = fault_of(target, data)
        assert fault is None, f"input {number} of {name}, {data[:300]!r}: {fault}"


@pytest.mark.parametrize("name", TARGETS)
def test_the_first_file_of_each_corpus_is_a_good_one(tmp_path, name):
    path = tmp_path / f"x{TARGETS[name].ending}"
    path.write_bytes(seeds(name)[0])
    if name == "receipt":
        (tmp_path / "x.csv").write_text("released")
    TARGETS[name].read(path)


def test_faults_are_seen(monkeypatch):
    def careless(path: Path) -> None:
        from discreet.errors import InputError

        data = path.read_bytes()
        if data == b"crash":
            raise KeyError(data)
        if data == b"repeat":
            raise InputError(f"{MARKER} is not a number")
        while data == b"hang":
            pass

    monkeypatch.setattr(fuzzing, "SECONDS", 0.2)
    target = Target(careless, ".txt", 1)
    assert "KeyError" in fault_of(target, b"crash")
    assert "repeats the file" in fault_of(target, b"repeat")
    assert "more than" in fault_of(target, b"hang")
    assert fault_of(target, b"good") is None


def test_most_files_are_changed():
    rng = random.Random(1)
    seed = seeds("receipt")[0]
    assert len({mutated(seed, rng) for _ in range(200)}) > 150
