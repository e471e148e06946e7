"""The SentDP recipe: its pieces by hand, and the whole of it on documents of our own."""

import math
from dataclasses import replace

import numpy as np
import pytest

from discreet.encoders.encoder import load_encoder
from discreet.errors import InputError, NotFound
from discreet.report.claims import VERDICTS
from discreet_recipes.sentdp import run as sentdp
from discreet_recipes.sentdp import sizes
from discreet_recipes.sentdp.data import NINE_CATEGORIES, Part, load_corpus
from discreet_recipes.sentdp.methods import classifier
from discreet_recipes.sentdp.pages import ALL, AT_LEAST_8, PAPER, PAPER_TABLE_1, values
from discreet_recipes.sentdp.run import guesser, needed_candidates, scores
from discreet_recipes.sentdp.sizes import QUICK
from small_data import is_kept, shorter, write_rows
from tiny_bert import MARKS, write_bert

WORDS = ["tea", "warm", "good", "cup", "run", "walk", "very", "cold", "the", "is", "was", "a"]
SIZE = replace(
    QUICK,
    news=(60, 20, 20),
    reviews=(60, 20, 20),
    candidates=20,
    trials=2,
    word_documents=4,
    word_trials=1,
    word_epsilons=(10.0,),
)


def part(counts, labels):
    offsets = np.concatenate([[0], np.cumsum(counts)])
    names = [f"sentence {i}" for i in range(offsets[-1])]
    return Part(names, np.arange(offsets[-1] * 2.0).reshape(-1, 2), offsets, np.array(labels))


def test_there_are_nine_categories_of_all_twenty_groups():
    groups = [group for some in NINE_CATEGORIES.values() for group in some]
    assert len(NINE_CATEGORIES) == 9
    assert len(groups) == len(set(groups)) == 20


def test_parts_and_their_means():
    some = part([2, 3, 1], [0, 1, 0])
    assert some.texts[1] == "sentence 2 sentence 3 sentence 4"
    assert some.means(some.vectors).tolist() == [[1.0, 2.0], [6.0, 7.0], [10.0, 11.0]]
    kept = some.where(np.array([False, True, True]))
    assert kept.labels.tolist() == [1, 0]
    assert kept.vectors.tolist() == some.vectors[2:].tolist()


@pytest.mark.parametrize(("epsilon", "published", "depth"), PAPER_TABLE_1)
def test_conditions_for_deep_candidates_by_hand(epsilon, published, depth):
    needed = needed_candidates(epsilon, depth, "exponential")

    def chance(deep):
        weight = deep * math.exp(epsilon * depth / 2)
        return weight / (weight + 5000 - deep)

    assert chance(needed) >= 0.95
    assert needed == 1 or chance(needed - 1) < 0.95
    assert needed <= published
    assert needed_candidates(epsilon, depth, "permute-and-flip") <= needed


def test_a_guesser_by_simulation():
    public, private = part([2] * 10, [0] * 6 + [1] * 3 + [2]), part([2] * 8, [0] * 4 + [1] * 4)
    f1, accuracy = guesser(public, private)
    assert accuracy == pytest.approx(0.6 * 0.5 + 0.3 * 0.5)
    assert f1 == pytest.approx((2 * 0.6 * 0.5 / 1.1 + 2 * 0.3 * 0.5 / 0.8) / 2)


def test_scores_are_of_the_documents_of_that_length():
    some = part([2, 9, 9, 3], [0, 0, 1, 1])
    found = scores(some, np.array([1, 0, 1, 0]))
    assert found[AT_LEAST_8] == 1.0
    assert found[ALL] == 0.5
    assert found["2 to 3"] == 0.0
    assert found["21 to 30"] is None
    runs = {"some": {"3.0": [found, found]}}
    assert values(runs, "some", 3.0) == [1.0, 1.0]
    assert values(runs, "some", 3.0, "21 to 30") == values(runs, "some", 6.0) == []


def rows(count, labels, seed):
    rng = np.random.default_rng(seed)
    out = []
    for number in range(count):
        own = WORDS[:4] if number % 2 else WORDS[4:8]
        sentences = [f"The {' '.join(rng.choice(own, 4))}." for _ in range(rng.integers(3, 12))]
        out.append({"text": " ".join(sentences), "label": labels[number % 2]})
    return out


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    for seed, name in enumerate(("train", "test")):
        write_rows(folder / f"20news-{name}.jsonl.gz", rows(60, ["sci.med", "sci.space"], seed))
    for seed, name in enumerate(("train", "val", "test")):
        write_rows(folder / f"imdb-{name}.jsonl.gz", rows(70, [0, 1], 10 + seed))
    return folder


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    return load_encoder(str(write_bert(folder, head=False, pieces=[*MARKS, *WORDS, "."])))


@pytest.mark.usefixtures("undrawn", "honest")
def test_the_whole_recipe(data, encoder, tmp_path, monkeypatch):
    monkeypatch.setattr(sentdp, "load_encoder", lambda _model: encoder)
    said = []
    record = sentdp.run(data, tmp_path, SIZE, said.append)
    page = (tmp_path / "README.md").read_text()
    for method in (PAPER, "sentence-votes", "truncation"):
        assert page.count(f"| {method} |") == 6  # three tables for each data set
    assert {claim.verdict for claim in record.claims} <= set(VERDICTS[:3])
    assert {path.stem for path in (tmp_path / "plots").iterdir()} == {
        f"{name}-{kind}"
        for name in ("20news", "imdb")
        for kind in ("epsilon-2", "epsilon-8", "sentences")
    }
    # A second run takes everything over: no encoding, no store, the same page.
    said.clear()
    sentdp.run(data, tmp_path, SIZE, said.append)
    assert said == []
    assert (tmp_path / "README.md").read_text() == page
    for one in shorter(SIZE):
        sentdp.run(data, tmp_path, one, said.append)
    assert said == []
    # Of epsilons that nobody asked for nothing is claimed.
    for epsilons, about in (((), 0), ((1.0,), 2), ((1.0, 10.0), 3)):
        record = sentdp.run(data, tmp_path, replace(SIZE, epsilons=epsilons), said.append)
        claims = [claim.claim for claim in record.claims if "Candidate" in claim.claim]
        assert len(claims) == about + 1, claims  # and the guarantee, which needs no run
        assert not any("nan" in claim.measured for claim in record.claims)


def test_data_that_is_missing_or_broken_is_one_sentence(encoder, tmp_path):
    with pytest.raises(NotFound, match=r"20news-train\.jsonl\.gz"):
        load_corpus("20news", tmp_path, SIZE.news, encoder, tmp_path)
    (tmp_path / "imdb-train.jsonl.gz").write_bytes(b"not gzip")
    with pytest.raises(InputError, match="is not intact gzip data"):
        load_corpus("imdb", tmp_path, SIZE.reviews, encoder, tmp_path)


def test_documents_of_yelp_are_ten_sentences_of_one_label(encoder, tmp_path):
    rows = [{"text": f"the tea is {WORDS[i % 4]} .", "label": i % 2} for i in range(130)]
    for part in ("dev", "test"):
        write_rows(tmp_path / f"yelp-{part}.jsonl.gz", rows)
    corpus = load_corpus("yelp", tmp_path, (100, 100, 5), encoder, tmp_path / "vectors")
    parts = (corpus.public, corpus.validation, corpus.private)
    assert [len(each.labels) for each in parts] == [10, 2, 5]
    for each in parts:
        assert set(each.counts.tolist()) == {10}
        # Words of even places are of one label, the others of the other.
        words = {WORDS.index(sentence.split()[3]) % 2 for sentence in each.sentences[:10]}
        assert words == {int(each.labels[0])}


def test_of_a_document_so_many_sentences_count_or_all(encoder, tmp_path):
    text = " ".join(f"The tea was {WORDS[i % 4]} and good." for i in range(45))
    for part in ("train", "val", "test"):
        write_rows(tmp_path / f"imdb-{part}.jsonl.gz", [{"text": text, "label": 1}] * 2)
    for most, counted in ((30, 30), (0, 45)):
        found = load_corpus("imdb", tmp_path, (2, 2, 2), encoder, tmp_path / "vectors", most)
        assert found.private.counts.tolist() == [counted, counted]
    group = scores(found.private, found.private.labels)
    assert (group["31 to 60"], group["21 to 30"]) == (1.0, None)
    assert values({"some": {"3.0": [{"21 to 30": 1.0}]}}, "some", 3.0, "31 to 60") == []


def test_rows_are_those_of_the_documents_that_are_asked_for():
    asked = {(*each.files, each.option): each.most for each in sizes.rows(sizes.PAPER)}
    assert asked["imdb-train", "reviews"] == 23_000
    # The paper's documents, of which a fifth is private; and ten sentences of Yelp each.
    assert 11_239 <= asked["20news-train", "20news-test", "news"] <= 11_250
    assert asked["yelp-dev", "yelp"] == 60_000
    assert asked["yelp-test", "yelp"] == 120_000
    assert {each.option for each in sizes.rows(QUICK)} == {"news", "reviews"}


def test_parts_that_are_kept_are_known_though_options_came_later():
    kept = sentdp.RECIPE, "sentdp.words", "20news-words-10"
    uses = (
        *("weights", "most_sentences", "news", *sentdp._READ_BY, "vectors"),
        *("word_documents", "word_trials"),
    )
    assert is_kept(*kept, uses)
    assert not is_kept(*kept, uses, classifier_epochs=20)
    assert sizes.STANDARD.most_sentences == 30


@pytest.mark.parametrize("kind", ["logistic", "mlp"])
def test_both_classifiers_tell_two_clouds_apart(kind):
    rng = np.random.default_rng(0)
    labels = np.arange(300) % 2
    rows = rng.standard_normal((300, 5)) + 4 * labels[:, None]
    assert (classifier(rows, labels, kind)(rows) == labels).mean() > 0.95
