"""The rewriter's network, its file, and what it is a function of."""

import inspect

import numpy as np
import pytest
import torch

from discreet.errors import InputError, InvalidValue, NotFound, OutputError
from discreet.mechanisms.word import SanText, SanTextPlus
from discreet.models.rewriter import (
    KIND,
    WINDOW,
    BiLSTM,
    Rewriter,
    RewriterNetwork,
    described,
    windows,
)
from discreet.tensors import load_tensors, save_tensors
from discreet.text.tokens import TokenBatch
from small_spaces import random_space

SPACE = random_space(40, 6)
MECHANISM = SanText(SPACE, epsilon=2.0, calibration="published")
CANDIDATES = np.arange(1, 21)


def small(seed=0, unknown=0):
    torch.manual_seed(seed)
    vectors = torch.from_numpy(SPACE.vectors.astype(np.float32))
    body = BiLSTM(6, hidden=4)
    network = RewriterNetwork(vectors, torch.from_numpy(CANDIDATES), body, unknown)
    network.start(torch.full((20,), 0.04), 0.01, 4.0)
    return Rewriter(network, described(MECHANISM), {"note": "test"})


def batch(*documents):
    offsets = np.cumsum([0, *map(len, documents)])
    return TokenBatch(np.array([w for d in documents for w in d], np.int32), offsets)


def test_windows_cover_every_position_once_and_never_cross_documents():
    sizes = [3, 0, 3, WINDOW + 5, 1, 3 * WINDOW, 7]
    offsets = np.cumsum([0, *sizes])
    owner = np.repeat(np.arange(len(sizes)), sizes)
    for rng in (None, np.random.default_rng(0)):
        seen = []
        for places in windows(offsets, 64, rng):
            assert places.size <= max(64, places.shape[1])
            assert (np.diff(places, axis=1) == 1).all()
            assert (owner[places] == owner[places[:, :1]]).all()
            seen.append(places.ravel())
        assert np.array_equal(np.sort(np.concatenate(seen)), np.arange(offsets[-1]))


def test_nothing_to_read_is_nothing_to_write():
    out = small().rewrite(batch([], []))
    assert out.tokens == 0
    assert len(out) == 2


def test_it_writes_candidates_or_leaves_what_it_never_learnt_and_never_the_unknown_word():
    released = batch(list(range(40)), [0, 0, 39])
    out = small().rewrite(released).ids
    candidate = np.isin(out, CANDIDATES)
    assert (candidate | (out == released.ids)).all()
    assert (out != 0).all()
    # Close to the released word and no other knowledge: words it may leave are left at times.
    assert (out[20:40] == released.ids[20:40]).any()


def test_each_document_is_read_on_its_own():
    rewriter = small()
    together = rewriter.rewrite(batch([3, 30, 5], [7, 9, 31, 2]))
    assert np.array_equal(together.ids[:3], rewriter.rewrite(batch([3, 30, 5])).ids)
    assert np.array_equal(together.ids[3:], rewriter.rewrite(batch([7, 9, 31, 2])).ids)


def test_it_starts_near_bayes_rule():
    """Without what the neighbours tell, the scores are closeness and the logarithm of frequency."""
    rewriter = small()
    network = rewriter.network.eval()
    with torch.no_grad():
        network.query.weight.zero_()
        scores = network(torch.tensor([[25]]))[0, 0].numpy()
    v = SPACE.vectors.astype(np.float32)
    np.testing.assert_allclose(scores[:20], 4 * v[CANDIDATES] @ v[25] + np.log(0.04), rtol=1e-4)
    np.testing.assert_allclose(scores[20], 4 * v[25] @ v[25] + np.log(0.01), rtol=1e-4)


def test_it_is_a_function_of_the_release_alone():
    """By its signature; the pipeline's test shows it for the whole."""
    assert list(inspect.signature(Rewriter.rewrite).parameters) == ["self", "released", "progress"]


def test_ids_of_another_vocabulary_are_refused():
    with pytest.raises(InvalidValue, match="from 0 to 39"):
        small().rewrite(batch([40]))


def test_a_saved_rewriter_writes_the_same(tmp_path):
    rewriter, path = small(), tmp_path / "r.safetensors"
    rewriter.save(path)
    again = Rewriter.load(path)
    released = batch(list(range(40)), [5, 5, 33])
    assert np.array_equal(again.rewrite(released).ids, rewriter.rewrite(released).ids)
    assert again.mechanism == rewriter.mechanism
    assert again.about == {"note": "test"}
    again.require(MECHANISM)
    with pytest.raises(OutputError, match="exists already"):
        rewriter.save(path)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (SanText(SPACE, epsilon=3.0, calibration="published"), r"epsilon 2.0.*epsilon 3.0"),
        (SanText(SPACE, epsilon=2.0), "published.*certified"),
        (
            SanText(random_space(40, 6, seed=1), epsilon=2.0, calibration="published"),
            "another space",
        ),
    ],
    ids=["epsilon", "calibration", "space"],
)
def test_another_mechanism_is_refused(other, message):
    with pytest.raises(InvalidValue, match=message):
        small().require(other)


def test_another_list_of_sensitive_words_is_another_mechanism():
    first, second = (
        described(SanTextPlus(SPACE, 2.0, sensitive=list(words), p=0.3, calibration="published"))
        for words in (range(30), range(31))
    )
    assert first != second


def test_files_that_are_no_rewriter(tmp_path):
    with pytest.raises(NotFound, match="no file"):
        Rewriter.load(tmp_path / "missing.safetensors")
    save_tensors(tmp_path / "map", "public map", {"a": np.zeros(1)}, {})
    with pytest.raises(InputError, match="is not a rewriter"):
        Rewriter.load(tmp_path / "map")
    small().save(tmp_path / "whole")
    arrays, about = load_tensors(tmp_path / "whole", KIND)
    del arrays["query.weight"]
    save_tensors(tmp_path / "part", KIND, arrays, about)
    with pytest.raises(InputError, match="does not hold a whole rewriter"):
        Rewriter.load(tmp_path / "part")
