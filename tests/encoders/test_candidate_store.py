"""A candidate store: what goes in comes out, and nothing damaged or foreign is taken for one."""

import json
from dataclasses import replace

import numpy as np
import pytest

from discreet.encoders.candidate_store import ABOUT, ARRAYS, TEXTS, CandidateStore, Voters
from discreet.encoders.maps import PublicMap
from discreet.errors import InputError, InvalidValue, NotFound, OutputError
from discreet.mechanisms.document import SoftVotes
from discreet.tensors import load_tensors, save_tensors

ENCODER = "e" * 64


def rows(count, width, seed=0):
    return np.random.default_rng(seed).normal(size=(count, width)).astype(np.float32)


def recoder(inputs=6, outputs=4):
    layers = [(rows(inputs, 5, 1), rows(1, 5, 2)[0]), (rows(5, outputs, 3), rows(1, outputs, 4)[0])]
    return PublicMap.of_layers(layers, encoder=ENCODER, about={"made": "recoder"})


def make_store(**changes):
    values = {
        "candidates": rows(9, 4),
        "texts": tuple(f"document {i}, with 'marks' é\n and\u2028lines" for i in range(9)),
        "clusters": np.arange(9) % 3,
        "projections": rows(8, 4, 5),
        "centroids": {2: rows(2, 6, 6), 3: rows(3, 6, 7)},
        "voters": {2: Voters(rows(2, 6, 8), rows(2, 6, 9), np.zeros(2, np.float32))},
        "box": np.stack([np.full(6, -1.0), np.ones(6)]).astype(np.float32),
        "recoder": recoder(),
        "encoder": ENCODER,
        "best_projections": {1.0: 2, 10.0: 8},
        "best_centroids": {1.0: 2, 10.0: 3},
        "best_voters": {1.0: 2, 10.0: 2},
        "about": {"seed": 0},
    }
    return CandidateStore(**(values | changes))


@pytest.mark.parametrize("changes", [{}, {"recoder": None, "candidates": rows(9, 6)}])
def test_what_is_saved_is_loaded(tmp_path, changes):
    if "recoder" in changes:
        changes = changes | {"projections": rows(8, 6, 5)}
    store = make_store(**changes)
    store.save(tmp_path / "store")
    again = CandidateStore.load(tmp_path / "store")
    assert again.fingerprint == store.fingerprint
    assert again.texts == store.texts
    assert (again.candidates == store.candidates).all()
    assert again.centroids.keys() == store.centroids.keys()
    assert again.best_projections == store.best_projections
    assert again.about == store.about
    sentences = rows(5, 6, 11)
    assert (again.recoded(sentences) == store.recoded(sentences)).all()
    assert json.loads((tmp_path / "store" / ABOUT).read_text())["encoder"] == ENCODER
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


def test_the_choice_of_the_nearest_epsilon_counts():
    store = make_store()
    assert len(store.projections_for(0.1)) == 2
    assert len(store.projections_for(3.0)) == 2
    assert len(store.projections_for(3.3)) == 8  # by ratio: 10 / 3.3 < 3.3 / 1
    assert len(store.centroids_for(50)) == 3
    assert len(store.voters_for(1).choices) == 2
    with pytest.raises(InvalidValue, match="epsilon"):
        store.centroids_for(0)


def test_soft_votes_are_kept_by_epsilon(tmp_path):
    soft = {
        e: Voters(rows(3, 6, 20 + n), rows(3, 6, 30 + n), rows(1, 3, n)[0])
        for n, e in enumerate((1.0, 0.1, 30.0))
    }
    store = make_store(soft_voters=soft)
    store.save(tmp_path / "store")
    again = CandidateStore.load(tmp_path / "store")
    assert again.fingerprint == store.fingerprint != make_store().fingerprint
    assert list(again.soft_voters) == [1.0, 0.1, 30.0]
    assert (again.soft_voters_for(9.0).weights == soft[30.0].weights).all()
    assert (SoftVotes.from_store(again, 0.2).choices == soft[0.1].choices).all()


def test_a_store_without_soft_votes_says_how_to_get_them(tmp_path):
    make_store().save(tmp_path / "store")
    with pytest.raises(InvalidValue, match=r"no soft votes; make it again .* --label-field"):
        SoftVotes.from_store(CandidateStore.load(tmp_path / "store"), 3.0)


def test_the_fingerprint_tells_stores_apart():
    store = make_store()
    found = {
        store.fingerprint,
        make_store(candidates=rows(9, 4, 99)).fingerprint,
        make_store(encoder="f" * 64).fingerprint,
        make_store(recoder=recoder().__class__.random(6, 4)).fingerprint,
    }
    assert len(found) == 4


def test_a_row_is_recoded_by_itself():
    store, sentences = make_store(), rows(6, 6, 12)
    changed = sentences.copy()
    changed[2] = 7.0
    same = (store.recoded(sentences) == store.recoded(changed)).all(axis=1)
    assert same.tolist() == [True, True, False, True, True, True]


def test_another_encoder_is_refused():
    make_store().require(ENCODER)
    with pytest.raises(InvalidValue, match="another encoder"):
        make_store().require("f" * 64)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"candidates": np.empty((0, 4), np.float32)}, "at least one candidate"),
        ({"candidates": np.full((9, 4), np.nan, np.float32)}, "candidates .* finite"),
        ({"texts": ("one",)}, "a text and a cluster"),
        ({"clusters": np.arange(3)}, "a text and a cluster"),
        ({"projections": rows(8, 5)}, "projections .* rows of 4"),
        ({"projections": np.full((8, 4), np.inf, np.float32)}, "projections .* finite"),
        ({"centroids": {2: rows(2, 4), 3: rows(3, 6)}}, "centroids .* rows of 6"),
        ({"centroids": {2: rows(3, 6), 3: rows(3, 6)}}, "named by their number"),
        ({"voters": {}}, "its choices"),
        ({"box": np.zeros((2, 6), np.float32)}, "low bounds below"),
        ({"box": np.full((2, 6), np.nan, np.float32)}, "box .* finite"),
        ({"recoder": recoder(outputs=3)}, "recoder"),
        ({"best_projections": {}}, "its choices"),
        ({"best_projections": {1.0: 9}}, "its choices"),
        ({"best_centroids": {1.0: 50}}, "its choices"),
    ],
)
def test_what_does_not_fit_is_refused(changes, words):
    with pytest.raises(InvalidValue, match=words):
        make_store(**changes)


@pytest.mark.parametrize(
    "arrays",
    [
        (np.empty((0, 3)), np.empty((0, 3)), np.empty(0)),
        (rows(2, 3), rows(3, 3), np.zeros(2)),
        (rows(2, 3), rows(2, 3), np.zeros(3)),
        (rows(2, 3), rows(2, 3), np.array([0.0, np.nan])),
    ],
)
def test_voters_that_do_not_fit_are_refused(arrays):
    with pytest.raises(InvalidValue, match="voters"):
        Voters(*arrays)


@pytest.mark.parametrize("shape", [(3, 5), (3,), (2, 3, 6)])
def test_vectors_of_the_wrong_size_are_refused(shape):
    with pytest.raises(InvalidValue, match="6 columns"):
        make_store().recoded(np.zeros(shape))


def damage_lines(folder):
    (folder / TEXTS).write_text('{"text": "other"}\n' * 9)


def no_candidates(folder):
    arrays, about = load_tensors(folder / ARRAYS, "candidate store")
    arrays["candidates"] = arrays["candidates"][:0]
    save_tensors(folder / ARRAYS, "candidate store", arrays, about, force=True)


def without(name):
    def change(folder):
        arrays, about = load_tensors(folder / ARRAYS, "candidate store")
        del arrays[name]
        save_tensors(folder / ARRAYS, "candidate store", arrays, about, force=True)

    return change


def cut(folder):
    path = folder / ARRAYS
    path.write_bytes(path.read_bytes()[:200])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (damage_lines, "not the one it was written with"),
        (lambda folder: (folder / TEXTS).unlink(), "is missing"),
        (lambda folder: (folder / ARRAYS).unlink(), "not a candidate store"),
        (no_candidates, "at least one candidate"),
        (without("projections"), "lacks a part"),
        (without("recoder.bias.1"), "lacks a part"),
        (without("centroids.3"), "its choices"),
        (cut, "not a file that discreet wrote"),
    ],
)
def test_a_damaged_store_is_a_clear_error(tmp_path, change, words):
    folder = tmp_path / "store"
    make_store().save(folder)
    change(folder)
    with pytest.raises(InputError, match=words):
        CandidateStore.load(folder)


def test_no_store_at_all(tmp_path):
    with pytest.raises(NotFound, match="discreet train candidates"):
        CandidateStore.load(tmp_path / "store")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="not a candidate store"):
        CandidateStore.load(tmp_path / "empty")


def test_a_store_is_replaced_only_by_force_and_anything_else_never(tmp_path):
    folder = tmp_path / "store"
    make_store().save(folder)
    with pytest.raises(OutputError, match="exists already"):
        make_store().save(folder)
    other = make_store(candidates=rows(9, 4, 77))
    other.save(folder, force=True)
    assert CandidateStore.load(folder).fingerprint == other.fingerprint
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "letter.txt").write_text("dear")
    with pytest.raises(OutputError, match="no candidate store"):
        make_store().save(tmp_path / "precious", force=True)
    assert (tmp_path / "precious" / "letter.txt").read_text() == "dear"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["precious", "store"]


def test_a_failed_save_leaves_what_was_there(tmp_path, monkeypatch):
    folder = tmp_path / "store"
    first = make_store()
    first.save(folder)

    def fail(*_arguments, **_options):
        raise OSError("no space left")

    monkeypatch.setattr("discreet.encoders.candidate_store.save_tensors", fail)
    with pytest.raises(OSError, match="no space"):
        replace(first, candidates=rows(9, 4, 3)).save(folder, force=True)
    monkeypatch.undo()
    assert CandidateStore.load(folder).fingerprint == first.fingerprint
    assert [path.name for path in tmp_path.iterdir()] == ["store"]
