"""A classifier that was trained for users is read from its folder and says what it learnt."""

import csv
import json
import shutil

import numpy as np
import pytest
import torch

from command import called
from discreet.errors import InputError, InvalidValue, NotFound, VerificationFailed
from discreet.evaluation.predictions import predict_file
from discreet.models.awd_lstm import AwdLstm
from discreet.models.language import AdaptedLanguageModel
from discreet.training.user_entity.classifier import SentenceClassifier
from discreet.training.user_entity.run import UserEntityRun
from discreet.training.user_entity.settings import (
    NetworkSettings,
    Records,
    RuleOptions,
    RunSettings,
)
from tiny_bert import write_bert
from tiny_causal import save_model

WORDS = ["good", "bad", "tea", "of", "the"]
TEXTS = ["good tea", "Bad tea", "the good, the bad", "good of the tea tea", "bad", "tea of the tea"]
LABELS = ["fine", "poor", "poor", "fine", "poor", "poor"]


def trained(folder, network, records, **rules):
    source = folder / "notes.jsonl"
    rows = zip(TEXTS, LABELS, strict=True)
    lines = [{"user": i, "text": text, "label": label} for i, (text, label) in enumerate(rows)]
    source.write_text("".join(json.dumps(line) + "\n" for line in lines))
    run = UserEntityRun(
        str(source),
        folder / "run",
        rules=RuleOptions(**rules),
        records=records,
        network=network,
        run=RunSettings(steps=8, evaluate=str(source)),
        seed=1,
    )
    return run.train()[1]


def own_network(folder):
    (folder / "words.txt").write_text("\n".join(WORDS) + "\n")
    return NetworkSettings(vocabulary=folder / "words.txt", embedding=4, hidden=5)


@pytest.fixture(scope="module", params=["own network", "adapters", "all weights"])
def made(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    if request.param == "adapters":
        pytest.importorskip("peft")
        save_model(folder / "below", WORDS)
        network = NetworkSettings(model=str(folder / "below"), rank=2)
    elif request.param == "all weights":
        pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
        write_bert(folder / "before", head=False, pieces=pieces, dropout=0.0)
        network = NetworkSettings(model=str(folder / "before"), adapters="all")
    else:
        network = own_network(folder)
    records = Records(label="label", labels="poor,fine")
    rules = {"algorithm": "user-level", "noise": 5.0, "user_rate": 0.5, "population": 6}
    return folder, trained(folder, network, records, **rules)


def test_predictions_are_those_of_the_network_that_was_trained(made):
    folder, receipt = made
    measured = receipt.about["public_evaluation"]
    found = predict_file(folder / "notes.jsonl", folder / "run", label_field="label")
    assert found.scores["accuracy"] == pytest.approx(1 - measured["error_rate"])
    assert found.trained == SentenceClassifier.load(folder / "run").receipt
    assert found.trained.statement == receipt.statement
    assert list(found.columns) == ["row", "prediction", "probability"]
    right = np.array(found.columns["prediction"]) == LABELS
    chance = np.array(found.columns["probability"])
    mean = -np.log(np.where(right, chance, 1 - chance)).mean()
    assert np.exp(mean) == pytest.approx(measured["perplexity"], rel=1e-4)


def test_a_text_is_read_by_itself_and_may_be_empty(made):
    loaded = SentenceClassifier.load(made[0] / "run")
    long = 16 if (made[0] / "before").exists() else 500  # as far as its positions go
    together = loaded.scores([*TEXTS, "", "tea " * long])
    alone = np.concatenate(
        [loaded.scores([text]) for text in (*TEXTS, "", "tea " * min(long, 128))]
    )
    np.testing.assert_allclose(together, alone, rtol=1e-4, atol=1e-5)
    assert set(loaded.predict(TEXTS)) <= {"poor", "fine"}
    assert loaded.scores([]).shape == (0, 2)


def test_scores_are_the_same_with_little_memory(made, monkeypatch):
    loaded = SentenceClassifier.load(made[0] / "run", device="cpu")
    expected, scores = loaded.scores(TEXTS), loaded.network.class_scores

    def little(batch):
        if len(batch) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return scores(batch)

    monkeypatch.setattr(loaded.network, "class_scores", little)
    np.testing.assert_allclose(loaded.scores(TEXTS), expected, rtol=1e-4, atol=1e-5)


def test_a_device_too_small_for_the_network_is_one_sentence(made, monkeypatch):
    def full(*_given, **_named):
        raise torch.OutOfMemoryError("CUDA out of memory")

    for kind in (AwdLstm, AdaptedLanguageModel):
        monkeypatch.setattr(kind, "__init__", full)
    with pytest.raises(InvalidValue, match=r"not enough memory for the .*--device cpu"):
        SentenceClassifier.load(made[0] / "run", device="cpu")


def test_the_command_says_what_holds_and_for_whom(made):
    folder, receipt = made
    out = folder / "predicted.csv"
    options = ("--model", folder / "run", "-o", out, "--json")
    said = called("predict", folder / "notes.jsonl", *options, cache=folder / "cache")
    assert said.code == 0, said.err
    told = " ".join(said.err.split())
    assert f"epsilon = {receipt.statement.epsilon:g}"[:14] in told
    assert "Nothing protects the texts that were predicted for" in told
    assert json.loads(said.out)["model"]["statement"] == receipt.statement.to_dict()
    with out.open() as file:
        assert [row["row"] for row in csv.DictReader(file)] == list("123456")


def test_a_folder_is_refused_that_is_not_as_it_was_trained(made, tmp_path):
    folder, _ = made
    with pytest.raises(InputError, match="a part of a run; name its folder"):
        predict_file(folder / "notes.jsonl", folder / "run" / "model.safetensors")
    other = shutil.copytree(folder / "run", tmp_path / "other")
    (other / "curve.json").write_text("[]")
    with pytest.raises(VerificationFailed):
        SentenceClassifier.load(other)
    (tmp_path / "empty").mkdir()
    with pytest.raises(NotFound, match="no receipt"):
        SentenceClassifier.load(tmp_path / "empty")


def test_a_model_without_classes_predicts_none(tmp_path):
    trained(tmp_path, own_network(tmp_path), Records(), algorithm="noiseless")
    with pytest.raises(InputError, match="names no classes"):
        predict_file(tmp_path / "notes.jsonl", tmp_path / "run")


def test_a_sentence_is_read_between_the_marks_of_its_tokenizer(made):
    folder, receipt = made
    if not (folder / "before").exists():
        assert "marks" not in receipt.about["model"].get("adapters", {})
        return
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    assert receipt.about["model"]["adapters"]["marks"] == [[2], [3]]
    tokenizer = AutoTokenizer.from_pretrained(folder / "run")
    opened = AutoModelForSequenceClassification.from_pretrained(folder / "run").eval()
    assert opened.config.id2label == {0: "poor", 1: "fine"}
    ids = [tokenizer(text, return_tensors="pt").input_ids for text in TEXTS]
    plain = np.concatenate([opened(input_ids=one).logits.detach().numpy() for one in ids])
    scores = SentenceClassifier.load(folder / "run").scores(TEXTS)
    np.testing.assert_allclose(scores, plain, rtol=1e-4, atol=1e-5)


def test_adapters_need_the_model_below(made):
    folder, _ = made
    if (folder / "below").exists():
        moved = (folder / "below").rename(folder / "elsewhere")
        try:
            with pytest.raises(NotFound, match="--base"):
                SentenceClassifier.load(folder / "run")
            assert SentenceClassifier.load(folder / "run", base=str(moved)).predict(["tea"])
        finally:
            moved.rename(folder / "below")
    else:
        with pytest.raises(InvalidValue, match="--base is for adapters"):
            SentenceClassifier.load(folder / "run", base="smollm2")
