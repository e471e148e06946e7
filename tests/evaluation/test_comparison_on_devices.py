"""What a comparison trains itself is trained on the device that the command has."""

import numpy as np
import pytest

from both_devices import agree, left_behind
from discreet.evaluation.comparison import documents
from discreet.training.documents import recoder
from discreet.training.documents.candidates import Documents
from second_device import LeftBehind


def store():
    """The public side of the document mechanisms, from 60 documents of 2 to 4 sentences."""
    rng = np.random.default_rng(0)
    offsets = np.r_[0, np.cumsum(rng.integers(2, 5, 60))]
    vectors = rng.standard_normal((offsets[-1], 4)).astype(np.float32)
    return documents._store(Documents(vectors, offsets), "0")


def test_candidates_are_recoded_alike_on_a_second_device(monkeypatch):
    sentences = np.eye(4, dtype=np.float32)
    agree(lambda: store().recoded(sentences), monkeypatch, atol=1e-4)


def test_the_recoder_is_on_the_device(monkeypatch):
    with left_behind(recoder, monkeypatch), pytest.raises(LeftBehind):
        store()
