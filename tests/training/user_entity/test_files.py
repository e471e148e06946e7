"""Training from a file to a folder in one call, and the network it builds."""

import json

import numpy as np
import pytest

from discreet.errors import InvalidValue
from discreet.models.vocabulary import Vocabulary
from discreet.training.user_entity.build import PublicWords, built_network
from discreet.training.user_entity.run import UserEntityRun
from discreet.training.user_entity.settings import (
    NetworkSettings,
    Records,
    RuleOptions,
    RunSettings,
)

RULES = RuleOptions(noise=20.0, user_rate=0.5, population=6)
RECORDS = Records(tokens="tokens", tags="tags")


@pytest.fixture
def folder(tmp_path):
    rows = [
        {"user": f"u{u}", "tokens": ["tea", "of", "Zanzibar"], "tags": ["O", "O", "B-LOC"]}
        for u in range(6)
    ]
    (tmp_path / "notes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "words.txt").write_text("tea\nof\ncup\n")
    return tmp_path


def network(folder, **changes):
    given = {"vocabulary": folder / "words.txt", "embedding": 4, "hidden": 5}
    return NetworkSettings(**(given | changes))


def test_one_call_trains_and_writes_the_receipt(folder):
    run = UserEntityRun(
        str(folder / "notes.jsonl"),
        folder / "out",
        rules=RULES,
        records=RECORDS,
        network=network(folder),
        run=RunSettings(steps=3, evaluate=str(folder / "notes.jsonl"), evaluate_every=2),
        seed=1,
    )
    shown = []
    outcome, made = run.train(lambda *done: shown.append(done))
    receipt = made.to_dict()
    assert (outcome.steps, outcome.charged, shown[-1]) == (3, 3, (3, 3))
    assert json.loads((folder / "out" / "privacy.json").read_text()) == json.loads(
        json.dumps(receipt)
    )
    assert receipt["statement"]["epsilon"] == receipt["figures"]["joint"]
    assert receipt["public_evaluation"]["perplexity"] > 1
    measured = ["perplexity" in point for point in outcome.curve]
    assert measured == [True, False, True, True]  # the first is before any step


def test_the_noise_is_found_for_an_epsilon(folder):
    rules = RuleOptions(epsilon=2.0, user_rate=0.5, population=6)
    run = UserEntityRun(
        str(folder / "notes.jsonl"),
        folder / "out",
        rules=rules,
        records=RECORDS,
        network=network(folder),
        run=RunSettings(steps=2),
    )
    found = run.trainer.rules
    assert found.loss(2).joint <= 2.0 < found.with_noise(found.noise * 0.95).loss(2).joint
    assert not (folder / "out").exists(), "nothing is written before it is trained"


def test_words_of_a_space_bring_their_vectors():
    words = PublicWords.of_space("starter", 50)
    model = words.network()
    assert len(words.vocabulary) == len(words.vectors) + 2
    assert model.shape.words == len(words.vocabulary)
    assert model.shape.embedding == words.vectors.shape[1]
    start, theirs = model.weights()["embedding"][-1].numpy(), words.vectors[-1]
    assert np.corrcoef(start, theirs)[0, 1] > 0.999


def test_words_without_vectors_get_random_ones_of_the_length_asked_for():
    words = PublicWords(Vocabulary(["tea", "cup"]))
    assert words.network(embedding=7).shape.embedding == 7
    assert words.network().shape.embedding == 100


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"vocabulary": None}, "--embedding does nothing without --vocabulary"),
        ({"model": "there", "trained": "lstm"}, "--hidden does nothing with --model"),
        ({"trained": "words"}, "trained part"),
    ],
)
def test_networks_that_cannot_be_built_are_refused(folder, changes, message):
    with pytest.raises(InvalidValue, match=message):
        built_network(network(folder, **changes))
