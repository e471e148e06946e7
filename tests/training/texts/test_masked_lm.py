"""Sanitisation-aware pretraining: what is read, what is predicted, and a run that was stopped."""

import json

import numpy as np
import pytest

from discreet.errors import InputError, InvalidValue, OutputError
from discreet.mechanisms.word import SanText
from discreet.models.bert import load_masked_model
from discreet.spaces.space import EmbeddingSpace
from discreet.training.settings import Resumption
from discreet.training.texts.alignment import IGNORED, piece_table
from discreet.training.texts.masked_lm import masked_rows, pretrain, windows_of
from discreet.training.texts.settings import Pretraining
from tiny_bert import bert_space, sentences, write_bert

FAST = Pretraining(steps=6, head_steps=2, batch=8, window=8, seed=3)
SOURCE = {"name": "ours"}


@pytest.fixture
def directory(tmp_path):
    return write_bert(tmp_path / "bert", head=False)


@pytest.fixture
def model(directory):
    return load_masked_model(directory)


@pytest.fixture
def word_space():
    # "teas" is two pieces of the model, "cupsly" three, "zzz" none that it knows.
    words = ["<unk>", "tea", "teas", "cupsly", "good", "bad", "zzz"]
    vectors = np.random.default_rng(0).standard_normal((len(words), 4))
    return EmbeddingSpace.from_arrays(words, vectors, name="words")


def test_targets_are_the_original_tokens_at_exactly_the_masked_positions(model):
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 9, 200)
    row = np.repeat(np.arange(200), lengths)
    original = rng.integers(5, len(model.pieces), len(row))
    released = rng.integers(5, len(model.pieces), len(row))
    table = piece_table(bert_space(model.directory), model)
    rows = masked_rows(
        original, released, row, 200, table, model, share=0.3, rng=rng, unknown=model.marks.unknown
    )
    inside = (rows.attention == 1) & (rows.inputs != model.marks.start)
    inside &= np.arange(rows.inputs.shape[1]) < rows.attention.sum(axis=1, keepdims=True) - 1
    shown, targets = rows.inputs[inside], rows.targets[inside]
    assert len(shown) == len(original)
    drawn = targets != IGNORED
    assert (targets[drawn] == original[drawn]).all()
    assert (shown[~drawn] == released[~drawn]).all()
    assert (rows.targets[~inside] == IGNORED).all()
    assert not drawn[shown == model.marks.mask].size or drawn[shown == model.marks.mask].all()
    masked = (shown[drawn] == model.marks.mask).mean()
    kept = (shown[drawn] == released[drawn]).mean()
    assert 0.7 < masked < 0.9
    assert 0.04 < kept < 0.25
    assert 0.2 < drawn.mean() < 0.4


def test_an_unknown_original_is_never_a_target(model):
    original = np.array([model.marks.unknown] * 50 + [6])
    table = piece_table(bert_space(model.directory), model)
    rows = masked_rows(
        original, original, np.zeros(51, dtype=int), 1, table, model,
        share=0.9, rng=np.random.default_rng(0), unknown=model.marks.unknown,
    )  # fmt: skip
    assert (rows.targets != model.marks.unknown).all()


def test_words_stay_aligned_however_many_pieces_they_have(model, word_space):
    table = piece_table(word_space, model)
    piece = {name: number for number, name in enumerate(model.pieces)}
    assert table.counts.tolist() == [1, 1, 2, 3, 1, 1, 1]
    assert table.single.tolist()[:5] == [piece["[UNK]"], piece["tea"], -1, -1, piece["good"]]
    # original: teas tea; released: good cupsly. All drawn, so all takes the room of the original.
    rows = masked_rows(
        np.array([2, 1]), np.array([4, 3]), np.zeros(2, dtype=int), 1, table, model,
        share=1 - 1e-12, rng=_always(0.5), unknown=0,
    )  # fmt: skip
    expected = [IGNORED, piece["tea"], piece["##s"], piece["tea"], IGNORED]
    assert rows.targets[0].tolist() == expected
    assert rows.inputs[0, 1:4].tolist() == [model.marks.mask] * 3
    # None drawn but one: the others are written as released, with nothing to predict.
    rows = masked_rows(
        np.array([2, 0, 1]), np.array([4, 1, 3]), np.zeros(3, dtype=int), 1, table, model,
        share=1e-12, rng=_always(0.5), unknown=0,
    )  # fmt: skip
    assert (rows.targets != IGNORED).any()
    # A shown word needs as many pieces as its original: "teas" over "good" is masked instead.
    rows = masked_rows(
        np.array([2]), np.array([4]), np.zeros(1, dtype=int), 1, table, model,
        share=1 - 1e-12, rng=_always(0.95), unknown=0,
    )  # fmt: skip
    assert rows.inputs[0, 1:3].tolist() == [model.marks.mask] * 2


class _always:
    """A generator that always draws the same share; the rest as usual."""

    def __init__(self, value):
        self._value, self._rng = value, np.random.default_rng(0)

    def random(self, size):
        return np.full(size, self._value)

    def __getattr__(self, name):
        return getattr(self._rng, name)


def test_windows_follow_each_other(model):
    windows = windows_of(
        ["the tea is good", "", "a cup was very cold the tea"], bert_space(model.directory), 3
    )
    assert np.diff(windows.offsets).tolist() == [3, 1, 3, 3, 1]
    places, row = windows.places(np.array([3, 1]))
    assert places.tolist() == [7, 8, 9, 3]
    assert row.tolist() == [0, 0, 0, 1]


def test_alignment_is_refused_where_there_is_none(model, tmp_path):
    other = write_bert(
        tmp_path / "other", pieces=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "x"]
    )
    with pytest.raises(InvalidValue, match="another model"):
        piece_table(bert_space(other), model)
    foreign = EmbeddingSpace.from_arrays(["жук", "дом", "лес"], np.eye(3))
    with pytest.raises(InvalidValue, match="does not know"):
        piece_table(foreign, model)
    table = piece_table(bert_space(model.directory), model)
    with pytest.raises(InvalidValue, match="not aligned"):
        masked_rows(
            np.array([5, 6]), np.array([5]), np.zeros(2, dtype=int), 1, table, model,
            share=0.2, rng=np.random.default_rng(0),
        )  # fmt: skip


def _run(directory, output, resume=False, **changes):
    space = bert_space(directory)
    texts, _ = sentences(40)
    mechanism = SanText(space, epsilon=20.0, calibration="published")
    return pretrain(
        load_masked_model(directory),
        texts,
        space,
        mechanism,
        FAST,
        source=SOURCE,
        output=output,
        when=Resumption(save_every=1, resume=resume),
        **changes,
    )


def _weights(directory):
    return (directory / "model.safetensors").read_bytes()


@pytest.mark.parametrize("stopped_after", [1, 5])
def test_a_resumed_run_equals_one_that_was_not_stopped(directory, tmp_path, stopped_after):
    whole = _run(directory, tmp_path / "whole")

    def stop(done, _total):
        if done == stopped_after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _run(directory, tmp_path / "parts", progress=stop)
    assert not (tmp_path / "parts").exists()
    with pytest.raises(OutputError, match="--resume"):
        _run(directory, tmp_path / "parts")
    again = _run(directory, tmp_path / "parts", resume=True)
    assert _weights(tmp_path / "whole") == _weights(tmp_path / "parts")
    assert (again.losses == whole.losses).all()
    assert not (tmp_path / "parts.resume").exists()
    # and a run with another seed is another model
    other = pretrain(
        load_masked_model(directory), sentences(40)[0], bert_space(directory), None,
        Pretraining(steps=6, head_steps=2, batch=8, window=8, seed=4), source=SOURCE,
    )  # fmt: skip
    assert (other.losses != whole.losses).any()


def test_a_state_of_another_run_or_model_is_refused(directory, tmp_path):
    def stop(done, _total):
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _run(directory, tmp_path / "out", progress=stop)
    space = bert_space(directory)
    changed = Pretraining(steps=7, head_steps=2, batch=8, window=8, seed=3)
    common = {"source": SOURCE, "output": tmp_path / "out", "when": Resumption(resume=True)}
    with pytest.raises(InvalidValue, match="other settings"):
        pretrain(load_masked_model(directory), sentences(40)[0], space, None, changed, **common)
    larger = write_bert(tmp_path / "larger", pieces=[*space.words, "more"])
    with pytest.raises(InputError, match="another architecture"):
        pretrain(
            load_masked_model(larger), sentences(40)[0], bert_space(larger), None, FAST, **common
        )
    (tmp_path / "out.resume").write_bytes(b"not a state")
    with pytest.raises(InputError, match="not a file that discreet wrote"):
        _run(directory, tmp_path / "out", resume=True)
    assert not (tmp_path / "out").exists()


def test_a_tiny_model_learns_and_says_what_it_was_trained_on(directory, tmp_path):
    space = bert_space(directory)
    mechanism = SanText(space, epsilon=400.0, calibration="published")
    texts, _ = sentences(60)
    done = pretrain(
        load_masked_model(directory),
        texts,
        space,
        mechanism,
        Pretraining(steps=60, head_steps=10, batch=16, window=8, learning_rate=1e-2),
        source=SOURCE,
        output=tmp_path / "out",
    )
    assert done.about["final_loss"] < 0.7 * done.losses[:5].mean()
    about = json.loads((tmp_path / "out" / "discreet.json").read_text())
    assert about["statement"]["epsilon"] == 400.0
    assert about["public_text"] == {"name": "ours", "documents": 60, "words": 480, "windows": 60}
    assert about["settings"]["head_steps"] == 10
    again = load_masked_model(tmp_path / "out")
    assert again.has_head
    assert again.about["mechanism"] == "santext"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"steps": -1}, "steps"),
        ({"share": 1.0}, "share"),
        ({"learning_rate": 0.0}, "learning_rate"),
        ({"batch": 0}, "batch"),
        ({"warmup": 0.0}, "warmup"),
    ],
)
def test_bad_settings(change, message):
    with pytest.raises(InvalidValue, match=message):
        Pretraining(**change)


def test_texts_without_words_and_an_unstable_run(model):
    space = bert_space(model.directory)
    with pytest.raises(InvalidValue, match="no words"):
        pretrain(model, ["", " "], space, None, FAST, source=SOURCE)
    with pytest.raises(InvalidValue, match="at least 1 step"):
        pretrain(model, ["tea"], space, None, Pretraining(steps=0, head_steps=0), source=SOURCE)
    wild = Pretraining(steps=30, head_steps=0, batch=4, window=8, learning_rate=1e30)
    with pytest.raises(InvalidValue, match="unstable at step"):
        pretrain(model, sentences(40)[0], space, None, wild, source=SOURCE)
