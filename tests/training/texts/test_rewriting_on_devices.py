"""A rewriter on a device with little memory: measured alike, and what does not fit is said."""

import pytest

from both_devices import full, narrow
from discreet.errors import InvalidValue
from discreet.mechanisms.word import SanText
from discreet.models.rewriter import RewriterNetwork
from discreet.spaces.space import EmbeddingSpace
from discreet.text.tokens import tokenizer_for
from discreet.training.texts import rewriting
from discreet.training.texts.rewriting import (
    RewritingSanitizer,
    measure_rewriter,
    train_rewriter,
)
from discreet.training.texts.settings import RewriterTraining

SPACE = EmbeddingSpace.from_arrays(
    ["<unk>", "tea", "cup", "good", "bad"], [[9.0, 0], [1.0, 0], [2.0, 1], [5.0, 0], [6.0, 2]]
)
MECHANISM = SanText(SPACE, epsilon=2.0)
TEXTS = ["tea cup good bad tea", "cup good tea", "bad tea cup"] * 20
SMALL = RewriterTraining(hidden=4, epochs=1, device="cpu")


@pytest.fixture(scope="module")
def rewriter():
    return train_rewriter(MECHANISM, TEXTS, SMALL)


def test_it_is_measured_alike_with_little_memory(rewriter, monkeypatch):
    batch = tokenizer_for(SPACE.words, SPACE.unknown, SPACE.subwords).encode(TEXTS[:9])
    expected, sizes = measure_rewriter(rewriter, MECHANISM, batch), []
    monkeypatch.setattr(RewriterNetwork, "forward", narrow(RewriterNetwork.forward, 2, sizes))
    assert measure_rewriter(rewriter, MECHANISM, batch) == pytest.approx(expected)
    assert max(sizes) > 2


def test_no_room_for_a_rewriter_is_said(rewriter, monkeypatch):
    """Where it is moved and begins to learn, and where it rewrites."""
    with monkeypatch.context() as patch:
        patch.setattr(rewriting, "_begin", full)
        with pytest.raises(InvalidValue, match="not enough memory for the rewriter; let it write"):
            train_rewriter(MECHANISM, TEXTS, SMALL)
    monkeypatch.setattr(RewriterNetwork, "forward", full)
    with pytest.raises(InvalidValue, match="rewriter, on one text at a time; use --device cpu"):
        RewritingSanitizer(MECHANISM, rewriter).sanitize(["tea cup"])


def test_another_error_keeps_its_name(rewriter, monkeypatch):
    def wrong(*_given):
        raise RuntimeError("shapes cannot be multiplied")

    monkeypatch.setattr(RewriterNetwork, "forward", wrong)
    with pytest.raises(RuntimeError, match="shapes"):
        RewritingSanitizer(MECHANISM, rewriter).sanitize(["tea cup"])
