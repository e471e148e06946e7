"""BERTScore of a model in a folder: on a second device, of any precision, with little memory."""

import pytest
import torch

from both_devices import agree, full, narrow
from discreet.encoders.encoder import quiet_transformers
from discreet.errors import InvalidValue
from discreet_recipes.similarity import bert_score
from tiny_bert import write_bert

ORIGINALS = ["the tea is good", "a cup was very cold", "bad", "the cup is not warm", "tea"]
TEXTS = ["the tea is bad", "a tea was cold", "good", "a cup is warm", "the cup"]


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    """Whose tokenizer does not say how long a text may be."""
    return write_bert(tmp_path_factory.mktemp("bert") / "model", head=False)


def test_a_text_that_is_too_long_for_the_model_is_cut(bert):
    long = "tea " * 40  # the model reads 24 positions
    assert bert_score([long], [long + "cup"], model=bert) == pytest.approx(1.0, abs=1e-6)


def test_it_is_the_same_on_a_second_device(bert, monkeypatch):
    agree(lambda: bert_score(ORIGINALS, TEXTS, model=bert), monkeypatch)


def test_a_model_that_was_saved_in_16_bits_computes_in_32(bert, tmp_path):
    from transformers import AutoModel

    for name in ("half", "single"):
        with quiet_transformers():
            network = AutoModel.from_pretrained(bert).half()
            (network if name == "half" else network.float()).save_pretrained(tmp_path / name)
        (tmp_path / name / "vocab.txt").write_bytes((bert / "vocab.txt").read_bytes())
    half, single = (bert_score(ORIGINALS, TEXTS, model=tmp_path / n) for n in ("half", "single"))
    assert half == pytest.approx(single, abs=1e-7)


def test_it_is_the_same_in_small_batches_and_with_little_memory(bert, monkeypatch):
    from transformers import BertModel

    expected = bert_score(ORIGINALS, TEXTS, model=bert, device="cpu")
    real, sizes = BertModel.forward, []
    monkeypatch.setattr(BertModel, "forward", narrow(real, 10, sizes))
    again = bert_score(ORIGINALS, TEXTS, model=bert, device="cpu", batch=3)
    assert again == pytest.approx(expected, abs=1e-5)
    assert max(sizes) == 3
    monkeypatch.setattr(BertModel, "forward", narrow(real, 2, sizes))
    again = bert_score(ORIGINALS, TEXTS, model=bert, device="cpu")
    assert again == pytest.approx(expected, abs=1e-5)
    assert max(sizes) == 10
    monkeypatch.setattr(BertModel, "forward", full)
    with pytest.raises(InvalidValue, match="memory for a pair of texts, even one at a time"):
        bert_score(ORIGINALS, TEXTS, model=bert, device="cpu")


def test_a_model_that_does_not_fit_is_said(bert, monkeypatch):
    monkeypatch.setattr(torch.nn.Module, "to", full)
    with pytest.raises(InvalidValue, match="not enough memory for this model; use a smaller one"):
        bert_score(ORIGINALS, TEXTS, model=bert, device="cpu")
