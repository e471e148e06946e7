"""Loading and saving BERT-style models."""

import json

import pytest

from discreet.errors import InputError, NotFound, OutputError
from discreet.models.bert import load_masked_model, network_of, save_masked_model
from discreet.text.labelled import Labelled
from discreet.training.texts.classifier import TextClassifier, fine_tune
from discreet.training.texts.settings import FineTuning
from half_precision import WIDE, halved, kinds_of
from tiny_bert import PIECES, bert_space, sentences, write_bert


def test_a_model_with_and_one_without_a_head(tmp_path):
    whole = load_masked_model(write_bert(tmp_path / "whole"))
    bare = load_masked_model(write_bert(tmp_path / "bare", head=False))
    assert whole.has_head
    assert not bare.has_head
    assert whole.pieces == tuple(PIECES)
    assert whole.pieces[whole.marks.mask] == "[MASK]"
    # The head shares the token matrix with the input: it is not among the head's own weights.
    assert max(p.numel() for p in bare.head_parameters()) < len(PIECES) * 16
    assert whole.shares_pieces(bert_space(tmp_path / "whole"))


def test_saved_and_read_again_with_what_it_was_trained_on(tmp_path):
    model = load_masked_model(write_bert(tmp_path / "a", head=False))
    save_masked_model(model, tmp_path / "b", {"made": "test"})
    again = load_masked_model(tmp_path / "b")
    assert again.has_head
    assert again.about == {"made": "test"}
    with pytest.raises(OutputError, match="exists already"):
        save_masked_model(model, tmp_path / "b", {})
    save_masked_model(model, tmp_path / "b", {"made": "again"}, force=True)
    assert load_masked_model(tmp_path / "b").about == {"made": "again"}
    # A folder that is no model of ours is never replaced: somebody's work may be in it.
    with pytest.raises(OutputError, match="no model of ours"):
        save_masked_model(model, tmp_path / "a", {}, force=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "b"]


def test_weights_that_were_saved_in_16_bits_are_read_and_trained_in_32(tmp_path):
    model = load_masked_model(halved(write_bert(tmp_path / "a")), device="cpu")
    assert kinds_of(model.network) == WIDE
    texts, labels = sentences(16)
    settings = FineTuning(epochs=1, batch=8, max_tokens=16, device="cpu")
    trained = fine_tune(model, Labelled(texts, None, labels), settings)
    trained.save(tmp_path / "model.safetensors")
    assert kinds_of(TextClassifier.load(tmp_path / "model.safetensors").network) == WIDE
    # Such a file may have been written before.
    saved = trained.network.config.to_dict() | {"dtype": "float16"}
    assert kinds_of(network_of(saved, 100)) == WIDE


def test_bad_models(tmp_path):
    with pytest.raises(NotFound):
        load_masked_model(tmp_path / "nothing")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="holds no model"):
        load_masked_model(tmp_path / "empty")
    bare = write_bert(tmp_path / "bare")
    (bare / "vocab.txt").rename(bare / "tokenizer_config.json").write_text("{}")
    with pytest.raises(InputError, match="vocab"):
        load_masked_model(bare)
    no_mask = write_bert(tmp_path / "nomask", pieces=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "tea"])
    with pytest.raises(InputError, match="no piece"):
        load_masked_model(no_mask)
    other = write_bert(tmp_path / "other")
    config = json.loads((other / "config.json").read_text())
    config["num_hidden_layers"] = 3  # the weights are of one layer
    (other / "config.json").write_text(json.dumps(config))
    with pytest.raises(InputError, match="do not belong together"):
        load_masked_model(other)
    (other / "config.json").write_text(json.dumps({**config, "model_type": "nonsense"}))
    with pytest.raises(InputError, match="BERT-style"):
        load_masked_model(other)
