"""The recipe of truncated Laplace noise: from data to pages, on a small data set."""

import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from discreet.errors import InvalidValue, MissingExtra, NotFound
from discreet.report.claims import VERDICTS
from discreet.spaces import load_space
from discreet.spaces.space import EmbeddingSpace
from discreet.text.tokens import TokenBatch
from discreet_recipes.record import Record
from discreet_recipes.trlaplace import pages, sizes
from discreet_recipes.trlaplace import run as trlaplace
from discreet_recipes.trlaplace.auto_encoder import TextAutoEncoder
from discreet_recipes.trlaplace.classifier import Judge
from discreet_recipes.trlaplace.data import build, random_space, read_tasks
from discreet_recipes.trlaplace.setting import TrLaplaceSetting
from discreet_recipes.trlaplace.sizes import NETWORK, PAPER, QUICK, STANDARD, apart, needs
from small_data import is_kept, shorter, write_labelled, write_rows
from tiny_bert import WORDS, write_bert

SMALL = replace(
    QUICK,
    epsilons=(0.1, 1.0, 10.0),
    high_epsilons=(100.0,),
    metric_epsilons=(10.0,),
    santext_epsilons=(8.0,),
    utility=("truncated-laplace:1:published", "santext:14"),
    news_utility=("truncated-laplace:1:published",),
    public=40,
    train=60,
    test=40,
    epochs=1,
    compared=10,
    words=12,
    runs=10,
    seeds=2,
    auto_texts=40,
    auto_epochs=1,
)
FILES = ("sst2-train", "sst2-dev", "sst2-test", "agnews-dev", "agnews-test")


@pytest.fixture
def data(tmp_path):
    return write_labelled(tmp_path, dict.fromkeys(FILES, 80))


@pytest.fixture
def space(tmp_path):
    """Words in 40 dimensions; most of them never occur."""
    words = ["<unk>", *WORDS, *(f"word{i}" for i in range(150))]
    vectors = np.random.default_rng(0).standard_normal((len(words), 40))
    path = tmp_path / "vectors.txt"
    rows = (f"{w} {' '.join(map(str, v))}\n" for w, v in zip(words, vectors, strict=True))
    path.write_text("".join(rows))
    return str(path)


@pytest.mark.usefixtures("undrawn", "honest")
def test_the_recipe_runs_from_data_to_pages(data, space, tmp_path):
    model = write_bert(tmp_path / "model", head=False)
    (model / "tokenizer_config.json").write_text('{"model_max_length": 24}')
    said = []
    options = replace(SMALL, space=(space, "random"), encoder=str(model))
    record = trlaplace.run(data, tmp_path / "out", options, said.append)
    tables = {table.name: table for table in record.tables}
    # Released and rewritten text of each setting, and the original.
    assert len(tables["utility-sst2"].rows) == 5
    assert len(tables["utility-agnews"].rows) == 3
    by = {(row[0], row[4]): row for row in tables["utility-sst2"].rows}
    columns = tables["utility-sst2"].columns
    kept = columns.index("N_w")
    assert by["santext", "released"][kept] > 0.9
    assert by["truncated-laplace", "released"][kept] < 0.2
    # Over two seeds; the original is one text.
    spread = columns.index("sd of accuracy")
    assert by["santext", "released"][spread] >= 0
    assert by["none", "original"][spread] is None
    delta = columns.index("delta that holds")
    assert float(by["truncated-laplace", "released"][delta]) > 0.5
    assert {claim.verdict for claim in record.claims} <= set(VERDICTS[:3])
    assert record.claims[0].verdict == "does not hold"
    assert [figure.subject for figure in record.key_figures] == ["utility"]
    # Without noise, and three mechanisms, in both spaces; a box of random vectors is no better.
    assert len(tables["auto-encoder"].rows) == 8
    assert {row[0] for row in tables["auto-encoder"].rows} == {"vectors", "random"}
    assert {row[0] for row in tables["privacy-random"].rows} == {
        "laplace",
        "gaussian",
        "truncated-laplace",
    }
    assert "163 words, 40 dimensions" in record.introduction[2]
    # A second run has nothing left to compute.
    said.clear()
    trlaplace.run(data, tmp_path / "out", options, said.append)
    for one in (*shorter(options), replace(options, epsilons=(100.0,), high_epsilons=())):
        trlaplace.run(data, tmp_path / "out", one, said.append)
    assert said == []


def test_missing_files_are_named(data):
    (data / "agnews-dev.jsonl.gz").unlink()
    with pytest.raises(NotFound, match="agnews-dev"):
        read_tasks(data, SMALL)


def test_files_with_one_label_after_the_other_give_parts_with_both(tmp_path):
    for part, rows in (("dev", 200), ("test", 60)):
        ordered = [{"text": f"tea {i}", "label": int(i < rows // 2)} for i in range(rows)]
        write_rows(tmp_path / f"yelp-{part}.jsonl.gz", ordered)
    (task,) = read_tasks(tmp_path, replace(SMALL, tasks=("yelp",)))
    assert set(task.train.labels) == set(task.test.labels) == {"0", "1"}
    assert (len(task.train), len(task.test), len(task.public)) == (60, 40, 40)
    assert not set(task.public) & set(task.train.texts)


def test_the_published_delta_is_that_of_all_dimensions_also_where_it_is_no_number():
    words = [f"w{i}" for i in range(30)]
    vectors = np.random.default_rng(1).standard_normal((30, 40))
    space = EmbeddingSpace.from_arrays(words, vectors)
    for epsilon, total in ((1.0, 40), (10.0, 500), (20.0, 1700)):
        box = build(TrLaplaceSetting("truncated-laplace", epsilon, "published"), space)
        assert box.dummy_dimensions + 40 == total
        # delta ** (1 / d) is 1/4 whatever d is.
        wanted = -np.log1p(-epsilon / (0.5 * np.sqrt(total))) * box.noise.scale
        assert box.half_width == pytest.approx(wanted, rel=1e-6)
    assert "1e-1024" in box.statement.caveats[0] or "1e-1023" in box.statement.caveats[0]


def test_random_vectors_keep_words_and_lengths():
    vectors = 3 * np.random.default_rng(1).standard_normal((300, 40))
    space = EmbeddingSpace.from_arrays([f"w{i}" for i in range(300)], vectors)
    found = random_space(space)
    assert found.words == space.words
    lengths = [np.median(np.linalg.norm(each.vectors, axis=1)) for each in (space, found)]
    assert lengths[0] == pytest.approx(lengths[1], rel=0.05)
    assert abs(np.corrcoef(space.vectors.ravel(), found.vectors.ravel())[0, 1]) < 0.05


def test_the_auto_encoder_learns_to_write_what_it_reads_and_nothing_from_noise():
    space = EmbeddingSpace.from_arrays([f"w{i}" for i in range(12)], np.eye(12))
    rng = np.random.default_rng(0)
    offsets = np.arange(0, 1201, 6)

    def batch():
        return TokenBatch(rng.integers(0, 12, 1200).astype(np.int32), offsets)

    public, test = batch(), batch()
    found = {}
    for setting in (None, TrLaplaceSetting("truncated-laplace", 0.1, "published")):
        mechanism = setting and build(setting, space)
        trained = TextAutoEncoder(space, public, mechanism, epochs=8)
        result = trained.measured(test, np.random.default_rng(1))
        found[setting and setting.mechanism] = float((result["texts"].ids == test.ids).mean())
    assert found[None] > 0.95
    assert found["truncated-laplace"] < 0.3


@pytest.mark.parametrize("text", ["gaussian", "gaussian:x", ""])
def test_a_mechanism_that_is_not_one_is_refused(text):
    with pytest.raises(InvalidValue, match="NAME:EPSILON"):
        TrLaplaceSetting.of(text)


def test_the_auto_encoder_leaves_the_chance_of_others_alone():
    space = EmbeddingSpace.from_arrays([f"w{i}" for i in range(4)], np.eye(4))
    public = TokenBatch(np.arange(4, dtype=np.int32), np.array([0, 2, 4]))
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    TextAutoEncoder(space, public, None, epochs=1)
    assert torch.rand(3).equal(expected)


def test_sst2_is_parted_anew_where_more_is_tested_than_its_test_part_has(data):
    for part in ("train", "test"):
        texts = ({"text": f"{part} {i}", "label": i % 2} for i in range(80))
        write_rows(data / f"sst2-{part}.jsonl.gz", texts)
    size = replace(SMALL, tasks=("sst2",), train=100, sst2_test=50)
    (task,) = read_tasks(data, size)
    assert (len(task.train), len(task.test)) == (100, 50)
    drawn = task.train.texts + task.test.texts
    assert len(set(drawn)) == 150
    for part in (task.train, task.test):  # of both files
        assert {text.split()[0] for text in part.texts} == {"train", "test"}
    # As the paper has it: all of GLUE's training and validation phrases.
    (asked,) = (each for each in sizes.rows(PAPER) if "sst2-test" in each.files)
    assert (asked.files, asked.most) == (("sst2-train", "sst2-test"), 67_349 + 872)
    assert sizes.rows(STANDARD)[0].option == "train"


def test_ag_news_is_drawn_from_its_training_part_where_that_is_asked_for(data):
    write_rows(
        data / "agnews-train.jsonl.gz", ({"text": f"n {i}", "label": i % 4} for i in range(90))
    )
    (task,) = read_tasks(data, replace(SMALL, tasks=("agnews",), agnews_train=60))
    numbers = [int(text.split()[1]) for text in task.train.texts]
    assert len(set(numbers)) == 60
    assert numbers != sorted(numbers)
    assert ("agnews-dev", "agnews-train") in apart(PAPER)
    assert ("agnews-dev", "agnews-train") not in apart(STANDARD)


def test_the_network_learns_classes_and_does_so_again(space):
    texts = [
        f"{'good tea' if i % 2 else 'bad sea'} word{i % 150} {'the ' * (i % 4)}"
        for i in range(1200)
    ]
    labels = [str(i % 2) for i in range(1200)]
    judge = Judge(NETWORK, load_space(space))
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    found = judge.accuracy(texts[:900], labels[:900], texts[900:], labels[900:])
    assert torch.rand(3).equal(expected)
    assert found > 0.95
    assert found == judge.accuracy(texts[:900], labels[:900], texts[900:], labels[900:])
    # An empty text is of some class.
    assert judge.accuracy(texts[:300], labels[:300], ["", "good tea"], ["0", "1"]) in (0.5, 1.0)


def test_parts_that_are_kept_are_known_though_options_came_later():
    kept = trlaplace.RECIPE, "trlaplace.starter-space"
    for part, uses in (
        ("sst2-original", trlaplace._JUDGED),
        ("sst2-truncated-laplace-published-1", trlaplace._UTILITY),
        ("auto-encoder-3336c53d-yelp-truncated-laplace-published-0.05", trlaplace._REWRITTEN),
    ):
        assert is_kept(*kept, part, uses)
        assert not is_kept(*kept, part, uses, sst2_test=9)
    assert not is_kept(*kept, "sst2-original", trlaplace._JUDGED, classifier=NETWORK)
    assert not is_kept(*kept, "sst2-original", trlaplace._JUDGED, agnews_train=9)


def test_what_measures_text_is_looked_for_before_any_work(monkeypatch):
    needs(QUICK)
    for name in ("bert_score", "sacrebleu"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtra, match=r"sacrebleu and bert_score needs .*discreet\[eval\]"):
        needs(QUICK)


def test_noise_is_compared_by_the_time_of_the_processor(tmp_path):
    """By the clock another program's work would count."""

    def row(noise, setting=None):
        return setting, {"noise_seconds": noise, "processor_seconds": 2.0}

    verdicts = []
    for box in (0.4, 0.9):
        record = Record(tmp_path, "trlaplace", {})
        rows = [row(0.0), row(0.5, TrLaplaceSetting("laplace", 1.0))]
        rows.append(row(box, TrLaplaceSetting("truncated-laplace", 1.0, "published")))
        pages._add_seconds(record, rows)
        verdicts += [claim.verdict for claim in record.claims]
    assert verdicts == ["holds", "does not hold"]
    record = Record(tmp_path, "trlaplace", {})
    pages._add_seconds(record, [(setting, {"epoch_seconds": 1.0}) for setting, _ in rows])
    assert not record.claims
