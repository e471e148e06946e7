"""Classifiers of texts and pairs: they learn, they are saved exactly, they can be resumed."""

import json
import math
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from scipy import stats

from command import called
from discreet.errors import InputError, InvalidValue
from discreet.evaluation.predictions import PredictionSettings, predict_file
from discreet.mechanisms.label import RandomizedResponse
from discreet.mechanisms.word import SanText
from discreet.models.bert import load_masked_model
from discreet.receipt import Receipt, receipt_path
from discreet.release.text import Sanitizer
from discreet.release.text_files import sanitize_file
from discreet.report.training import text_model_lines
from discreet.staging import Digest
from discreet.tensors import kind_of, save_tensors
from discreet.text.labelled import Labelled
from discreet.training.scores import (
    class_scores,
    number_scores,
    perplexity_says_nothing,
    scores_say_nothing,
)
from discreet.training.settings import Resumption
from discreet.training.texts.bag_of_words import BagOfWords, fit_bag_of_words
from discreet.training.texts.classifier import TextClassifier, _Reader, fine_tune
from discreet.training.texts.files import train_text_model
from discreet.training.texts.settings import BAG, FineTuning, LabelledText
from discreet.training.vectors.reading import joint_tokens
from small_spaces import random_space
from tiny_bert import sentences, write_bert

FAST = FineTuning(epochs=2, batch=16, learning_rate=3e-3, max_tokens=16)


def _single(count=120, seed=0):
    texts, labels = sentences(count, seed)
    return Labelled(texts, None, labels)


def _pairs(count=120, seed=0):
    """The score of a pair is 5 if both are good or both are bad."""
    one, two = _single(count, seed), _single(count, seed + 100)
    scores = [5.0 * (a == b) for a, b in zip(one.labels, two.labels, strict=True)]
    return Labelled(one.texts, two.texts, [str(score) for score in scores])


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return write_bert(tmp_path_factory.mktemp("bert") / "model")


def _train(kind, bert, examples, regression=False, **more):
    if kind == "bag":
        return fit_bag_of_words(examples, regression=regression)
    settings = FineTuning(frozen=kind == "frozen", epochs=3, batch=16, learning_rate=3e-3)
    return fine_tune(load_masked_model(bert), examples, settings, regression=regression, **more)


KINDS = ["bag", "frozen", "full"]


def test_of_a_joint_pair_the_network_is_told_which_text_is_which(bert):
    model = load_masked_model(bert)
    joint = joint_tokens(model, ["the tea", "a"], ["bad", "cup is"])
    read = _Reader(model.network.base_model, model.marks, 16).features(joint, None)
    inputs = torch.tensor([[model.marks.start, *joint.ids[:4], model.marks.end]])
    types = torch.tensor([[0, 0, 0, 0, 1, 1]])
    network = model.network.base_model.eval()
    with torch.no_grad():
        states, blind = (
            network(input_ids=inputs, token_type_ids=told).last_hidden_state.mean(dim=1)[0].numpy()
            for told in (types, 0 * types)
        )
    length = math.sqrt(len(states))
    np.testing.assert_allclose(read[0], states / np.linalg.norm(states) * length, atol=1e-4)
    assert np.abs(read[0] - blind / np.linalg.norm(blind) * length).max() > 1e-2


@pytest.mark.parametrize("kind", KINDS)
def test_single_texts(kind, bert, tmp_path):
    model = _train(kind, bert, _single())
    tested = _single(60, seed=5)
    predicted = model.predict(tested.texts)
    assert class_scores(tested.labels, predicted)["accuracy"] > 0.9
    model.save(tmp_path / "model.safetensors")
    again = type(model).load(tmp_path / "model.safetensors")
    assert again.predict(tested.texts) == predicted
    with pytest.raises(InvalidValue, match="single texts"):
        model.predict(["tea"], ["cup"])


@pytest.mark.parametrize("kind", KINDS)
def test_pairs_with_numbers(kind, bert, tmp_path):
    model = _train(kind, bert, _pairs(), regression=True)
    tested = _pairs(60, seed=7)
    predicted = model.predict(tested.texts, tested.seconds)
    assert number_scores(tested.numbers(), predicted)["pearson"] > 0.8
    model.save(tmp_path / "model.safetensors")
    again = type(model).load(tmp_path / "model.safetensors")
    assert np.allclose(again.predict(tested.texts, tested.seconds), predicted, atol=1e-5)
    with pytest.raises(InvalidValue, match="pairs"):
        model.predict(["tea"])
    with pytest.raises(InvalidValue, match="as many second texts"):
        model.predict(["tea", "cup"], ["tea"])


def test_training_all_weights_changes_the_encoder_and_frozen_does_not(bert):
    before = load_masked_model(bert).network.base_model.state_dict()
    frozen = _train("frozen", bert, _single()).network.state_dict()
    full = _train("full", bert, _single()).network.state_dict()
    assert all((before[name] == frozen[name]).all() for name in before)
    assert any((before[name] != full[name]).any() for name in before)


def test_a_resumed_run_equals_one_that_was_not_stopped(bert, tmp_path):
    def run(resume=False, **more):
        return fine_tune(
            load_masked_model(bert), _single(), FAST, output=tmp_path / "m", data="d",
            when=Resumption(save_every=1, resume=resume), **more,
        )  # fmt: skip

    def stop(done, _total):
        if done == 9:  # in the second epoch
            raise KeyboardInterrupt

    whole = run()
    # The model is not saved yet: whoever stops here begins where this run ended.
    (tmp_path / "m.resume").unlink()
    with pytest.raises(KeyboardInterrupt):
        run(progress=stop)
    parts = run(resume=True)
    assert (whole.head.weight == parts.head.weight).all()
    pairs = zip(whole.network.parameters(), parts.network.parameters(), strict=True)
    assert all((a == b).all() for a, b in pairs)


def test_what_was_trained_is_kept_until_the_model_is_there(bert, tmp_path, monkeypatch):
    rows, out = _write(tmp_path / "rows.jsonl", _single()), tmp_path / "m.safetensors"

    def train(resume):
        when = Resumption(save_every=1, resume=resume)
        return train_text_model(str(rows), out, str(bert), LabelledText(), FAST, when=when)

    with monkeypatch.context() as patch:
        patch.setattr(TextClassifier, "save", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            train(False)
    left = tmp_path / "m.safetensors.resume"
    assert left.exists()
    assert not out.exists()
    train(True)
    assert out.exists()
    assert not left.exists()


def test_scores_are_those_of_the_libraries():
    from sklearn import metrics

    rng = np.random.default_rng(0)
    truth, guess = rng.choice(list("abc"), (2, 200))
    ours = class_scores(list(truth), list(guess))
    assert ours["accuracy"] == pytest.approx(metrics.accuracy_score(truth, guess))
    assert ours["macro_f1"] == pytest.approx(metrics.f1_score(truth, guess, average="macro"))
    one, two = rng.standard_normal((2, 50))
    assert number_scores(one, two)["pearson"] == pytest.approx(stats.pearsonr(one, two)[0])
    assert number_scores([1.0, 2.0], [3.0, 3.0])["pearson"] == 0.0
    with pytest.raises(InvalidValue, match="cannot be compared"):
        class_scores(["a"], [])


def test_bad_examples_and_files(bert, tmp_path):
    model = load_masked_model(bert)
    for bad, message in [
        (Labelled(["tea"], None, None), "labels"),
        (Labelled(["tea", "cup"], None, ["1", "1"]), "at least 2 classes"),
    ]:
        with pytest.raises(InvalidValue, match=message):
            fit_bag_of_words(bad)
        with pytest.raises(InvalidValue, match=message):
            fine_tune(model, bad, FAST)
    with pytest.raises(InvalidValue, match="no words"):
        fit_bag_of_words(Labelled([" ", ""], None, ["0", "1"]))
    path = tmp_path / "bag.safetensors"
    fit_bag_of_words(_single()).save(path)
    assert kind_of(path) == "bag-of-words model"
    with pytest.raises(InputError, match="not a text model"):
        TextClassifier.load(path)
    save_tensors(tmp_path / "x", "text model", {}, {})
    with pytest.raises(InputError, match="not a bag-of-words model"):
        BagOfWords.load(tmp_path / "x")
    with pytest.raises(InputError, match="another architecture"):
        TextClassifier.load(tmp_path / "x")


def _write(path, examples):
    rows = zip(examples.texts, examples.labels, strict=True)
    path.write_text("".join(json.dumps({"text": t, "label": y}) + "\n" for t, y in rows))
    return path


def test_a_model_that_learnt_nothing_is_told_from_one_that_did(tmp_path):
    texts, labels = sentences(120, 0)
    chance = [str(label) for label in np.random.default_rng(0).choice(["a", "b"], 120)]
    for given, learnt in ((labels, True), (chance, False)):
        train, test = (
            _write(tmp_path / f"{learnt}-{name}.jsonl", Labelled(texts[part], None, given[part]))
            for name, part in (("train", slice(60)), ("test", slice(60, None)))
        )
        model = tmp_path / f"{learnt}.safetensors"
        done = called("train", "classify", train, "-o", model, "--test", test, cache=tmp_path)
        assert done.code == 0, done.err
        assert ("Nothing was learnt" in done.err) is not learnt
        predict = ("predict", test, "--model", model, "--label-field", "label")
        done = called(*predict, "-o", tmp_path / f"{learnt}.csv", cache=tmp_path)
        assert ("Nothing was learnt" in done.err) is not learnt


def test_what_scores_and_perplexities_say():
    assert scores_say_nothing({"pearson": 0.05}, 100)
    assert scores_say_nothing({"pearson": 0.5}, 100) is None
    assert scores_say_nothing({"accuracy": 0.56, "commonest_class": 0.5}, 10_000) is None
    assert scores_say_nothing({}, 0) is None
    assert perplexity_says_nothing(math.inf, 0.9, 10)
    assert perplexity_says_nothing(4.0, 0.9, 10) is None
    # Of two classes every perplexity is near that of guessing: who is right learnt something.
    assert perplexity_says_nothing(1.98, 0.5, 2)
    assert perplexity_says_nothing(1.9, 0.27, 2) is None


def test_the_command_trains_on_sanitised_text_and_keeps_its_receipt(bert, tmp_path):
    train, test = (
        _write(tmp_path / f"{name}.jsonl", _single(80, seed)) for name, seed in (("a", 0), ("b", 1))
    )
    space = (
        "-m",
        "santext",
        "--space",
        f"encoder:{bert}",
        "--epsilon",
        "400",
        "--calibration",
        "published",
    )
    for path in (train, test):
        out = path.with_name("s" + path.name)
        named = ("--keep", "label", "--yes-weak")
        assert called("sanitize", path, "-o", out, *space, *named, cache=tmp_path).code == 0
    model = tmp_path / "model.safetensors"
    command = ("train", "classify", tmp_path / "sa.jsonl", "-o", model)
    done = called(*command, "--test", tmp_path / "sb.jsonl", "--json", cache=tmp_path)
    assert done.code == 0, done.err
    assert "Protects each word" in done.err
    found = json.loads(done.out)
    assert found["metrics"]["accuracy"] > 0.9
    assert found["statement"]["epsilon"] == 400
    assert BagOfWords.load(model).about["receipt"]["statement"]["epsilon"] == 400
    assert called(*command, cache=tmp_path).code == 2  # it exists
    done = called(*command, "--model", bert, "--frozen", "--force", "--test", test, cache=tmp_path)
    assert done.code == 0, done.err
    assert "accuracy" in done.out.decode()
    assert TextClassifier.load(model).about["receipt"] is not None
    out = tmp_path / "predictions.csv"
    predict = ("predict", tmp_path / "sb.jsonl", "--model", model, "-o", out)
    done = called(*predict, "--label-field", "label", "--json", cache=tmp_path)
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert found["metrics"]["accuracy"] > 0.9
    assert found["statement"]["epsilon"] == 400
    assert len(out.read_text().splitlines()) == 81
    done = called(*predict, "--pair-field", "label", "--force", cache=tmp_path)
    assert done.code == 2
    assert "leave out --pair-field" in done.err


@pytest.mark.parametrize(
    ("fields", "sanitised"),
    [
        ({"text_field": "review"}, True),
        ({"text_field": "title", "pair_field": "review"}, True),
        ({"text_field": "note"}, False),
        ({"text_field": "review", "pair_field": "note"}, False),
    ],
)
def test_text_that_was_kept_as_it_is_is_not_called_sanitised(fields, sanitised, tmp_path):
    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text(
        "review,title,note,label\n" + "w1 w2,w3,quixot ab,0\nw4,w1,zebulon ab,1\n" * 2
    )
    sanitizer = Sanitizer(SanText(random_space(20), epsilon=1.0))
    columns = {"text_field": ["review", "title"], "keep": ["note", "label"]}
    sanitize_file(source, out, sanitizer, **columns)
    model = tmp_path / "model.safetensors"
    trained, _ = train_text_model(str(out), model, BAG, LabelledText(**fields), FAST)
    assert (trained.about["receipt"] is not None) is sanitised
    line = text_model_lines(BAG, trained.about, 0)[0][0]
    assert ("unprotected text" in line) is not sanitised
    predicted = predict_file(out, model, settings=PredictionSettings(**fields))
    assert (predicted.receipt is not None) is sanitised
    assert ("statement" in predicted.to_dict()) is sanitised


def test_text_beside_vectors_is_not_called_sanitised(tmp_path):
    out = tmp_path / "out.csv"
    out.write_text("text,label\nquixot ab,0\nzebulon ab,1\n")
    statement = RandomizedResponse(2, epsilon=1.0).statement
    receipt = Receipt(statement, {"input": {"text_field": "text", "kept": []}})
    receipt.of_output(Digest.of(out)).write(receipt_path(out))
    model = tmp_path / "model.safetensors"
    trained, _ = train_text_model(str(out), model, BAG, LabelledText(), FAST)
    assert trained.about["receipt"] is None


def test_the_command_refuses_in_one_sentence_and_writes_nothing(bert, tmp_path):
    train = _write(tmp_path / "a.jsonl", _single(20))
    out = tmp_path / "model.safetensors"
    for more, message in [
        (("--label-field", "class"), "no field class"),
        (("--regression", "--text-field", "label"), "another field"),
        (("--model", tmp_path / "nothing"), "not a directory"),
        (("--frozen",), "--frozen, --mixed and --resume"),
        (("--mixed",), "--frozen, --mixed and --resume"),
        (("--model", bert, "--mixed", "--frozen"), "leave out --frozen"),
        (("--rows", "1"), "--rows"),
        (("--model", bert, "--epochs", "0"), "--epochs must be"),
        (("--model", bert, "--learning-rate", "0"), "--learning-rate must be"),
    ]:
        done = called("train", "classify", train, "-o", out, *more, cache=tmp_path)
        assert done.code == 2, more
        assert message in done.err, more
        assert len(done.err.strip().splitlines()) == 1
        assert not out.exists()


def test_pretrain_command_end_to_end(bert, tmp_path):
    text = tmp_path / "public.txt"
    text.write_text("\n".join(_single(30).texts) + "\n")
    command = ("train", "pretrain", text, "-o", tmp_path / "out", "--model", bert, "--steps", "3")
    space = (
        "-m",
        "santext",
        "--space",
        f"encoder:{bert}",
        "--epsilon",
        "9",
        "--calibration",
        "published",
    )
    done = called(*command, *space, cache=tmp_path)
    assert done.code == 0, done.err
    assert "Written" in done.err
    about = load_masked_model(tmp_path / "out").about
    assert about["public_text"]["name"] == "public.txt"
    done = called(*command, "--plain", "--epsilon", "3", "--force", cache=tmp_path)
    assert done.code == 2
    assert "--plain or a mechanism" in done.err
    done = called(*command, "--force", *space[:4], cache=tmp_path)
    assert done.code == 2
    assert "needs --epsilon" in done.err
    done = called(*command, "--plain", "--force", cache=tmp_path)
    assert done.code == 0, done.err
    assert load_masked_model(tmp_path / "out").about["mechanism"] is None


@pytest.mark.encoder
def test_the_packaged_encoder(tmp_path):
    from discreet.spaces import load_space
    from discreet.training.texts.masked_lm import Pretraining, pretrain

    model = load_masked_model("all-MiniLM-L6-v2")
    assert not model.has_head
    space = load_space("encoder")
    assert model.shares_pieces(space)
    done = pretrain(
        model, ["the tea is warm and good"] * 8, space, None,
        Pretraining(steps=1, head_steps=2, batch=4), source={}, output=tmp_path / "out",
    )  # fmt: skip
    assert np.isfinite(done.losses).all()
    again = load_masked_model(tmp_path / "out")
    assert again.has_head
    examples = Labelled(
        ["wonderful", "a great film", "awful", "a terrible film"], None, ["1", "1", "0", "0"]
    )
    trained = fine_tune(again, examples, FineTuning(frozen=True))
    assert trained.predict(["excellent", "horrible"]) == ["1", "0"]
