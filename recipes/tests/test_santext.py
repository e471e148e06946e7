"""The SanText recipe: its parts on a small data set, and what its pages conclude from figures."""

import json
from dataclasses import replace

import numpy as np
import pytest

from discreet.audit import laws
from discreet.errors import NotFound
from discreet.spaces import load_space
from discreet.spaces.space import EmbeddingSpace
from discreet_recipes.record import Record
from discreet_recipes.santext import RECIPE, tuned
from discreet_recipes.santext import bench as santext
from discreet_recipes.santext.bench import Bench
from discreet_recipes.santext.data import (
    SanTextSetting,
    in_few_dimensions,
    masked_at,
    order_at,
    ranked,
    settings_at,
    with_shares,
)
from discreet_recipes.santext.pages import Figures, add_pages, key_of
from discreet_recipes.santext.run import _ATTACKED, _SPACE, _SWEEP, run
from discreet_recipes.santext.sizes import PAPER, QUICK, STANDARD, files
from discreet_recipes.santext.tuned import TunedBench
from discreet_recipes.santext.tuned_pages import Shown, add_shown
from small_data import is_kept, shorter, write_labelled, write_rows
from tiny_bert import bert_space, sentences, write_bert

SMALL = replace(QUICK, train=60, seeds=2, words=20)


@pytest.fixture
def data(tmp_path):
    files = {"sst2-train": 80, "sst2-dev": 40, "sst2-test": 40, "imdb-val": 20}
    return write_labelled(tmp_path, files)


def test_accuracy_and_privacy_of_a_setting(data):
    bench = Bench(data, SMALL)
    assert bench.accuracy(SanTextSetting("unsanitised")) == [1.0, 1.0]
    sharp = SanTextSetting("santext", 14.0, "certified")
    assert min(bench.accuracy(sharp)) > 0.8
    assert max(bench.accuracy(SanTextSetting("uniform"))) < 0.8
    found = bench.privacy(sharp)
    assert found["keep"] > 0.9
    assert found["inputs"] == 1
    # The noise and the rows are those of the seed: a part computed again is the same.
    assert bench.accuracy(sharp) == bench.accuracy(sharp)


@pytest.mark.parametrize(
    ("every", "most", "over"),
    [
        (1000, 1000, "all pairs of 301 inputs"),
        (100, 1000, "all 45,150 pairs by the closed form"),
        (100, 100, "(of 301 inputs)"),
    ],
)
def test_the_guarantee_is_checked_in_spaces_of_every_size(data, monkeypatch, every, most, over):
    monkeypatch.setattr(laws, "ALL_PAIRS", every)
    monkeypatch.setattr(laws, "MOST_WORDS", most)
    found = Bench(data, replace(SMALL, vocabulary=300)).guarantee()
    assert found["passed"]
    assert 0 < found["found"] <= found["claimed"] == 8.0
    assert over in found["over"]


def test_pairs_and_pretraining_run_from_end_to_end(data, monkeypatch):
    bert = write_bert(data / "bert", head=False)
    pieces = bert_space(bert)
    space = EmbeddingSpace.from_arrays(
        pieces.words, pieces.vectors, frequencies=range(len(pieces)), subwords=True
    )
    for name, seed in (("train", 3), ("test", 4)):
        texts, labels = sentences(80, seed)
        rows = [
            {"text1": texts[i], "text2": texts[i - 1], "score": 5 * (labels[i] == y)}
            for i, y in enumerate([labels[-1], *labels[:-1]])
        ]
        write_rows(data / f"stsb-{name}.jsonl.gz", rows)
    size = replace(
        SMALL,
        encoder=str(bert),
        pairs=80,
        pair_tests=80,
        head_steps=3,
        steps=5,
        tuned=64,
        tuned_tests=40,
        attacked=50,
    )
    bench = Bench(data, size)
    assert bench.pearson(SanTextSetting("unsanitised"))[0] > 0.8
    assert bench.pearson(SanTextSetting("uniform"))[0] < 0.5
    monkeypatch.setattr(santext, "load_space", lambda _name, **_most: space)
    found = bench.pretraining(300.0, 5, attack=True)
    assert min(found["original"]["accuracy"]) > 0.9
    for name in ("plain", "sanitised"):
        assert min(found[name]["accuracy"]) > 0.9
        assert found[name]["attack"]["words"] == 50
        assert set(found[name]["attack"]["defence"]) >= {"mask", "bayes", "informed"}
    # The attacker who inverts the mechanism does not use the model: the same figure for both.
    both = [found[name]["attack"]["defence"]["bayes"] for name in ("plain", "sanitised")]
    assert both[0] == both[1]
    json.dumps(found)
    # Figure 4 attacks the same words, and the text as it is needs no attacker of its own.
    sharp = bench.masked(SanTextSetting("santext", 300.0, "published"))
    assert min(sharp["accuracy"]) > 0.9
    assert sharp["words"] == 50
    assert sharp["defence"]["bayes"] == both[0]
    assert sharp["defence"]["unprotected"] == found["plain"]["attack"]["defence"]["unprotected"]
    assert bench.masked(SanTextSetting("unsanitised")).keys() == {"accuracy"}
    random = bench.masked(SanTextSetting("santext", 1e-3, "published"))
    assert max(random["accuracy"]) < 0.9
    json.dumps(sharp)


def test_the_tuned_encoder_reads_phrases_and_joint_pairs(data):
    bert = write_bert(data / "bert", head=False)
    texts, labels = sentences(90, 5)
    others, theirs = sentences(90, 6)
    rows = [
        {"question": a, "sentence": b, "label": "entailment" if x == y else "not_entailment"}
        for a, b, x, y in zip(texts, others, labels, theirs, strict=True)
    ]
    write_rows(data / "qnli-dev.jsonl.gz", rows)
    size = replace(SMALL, encoder=str(bert), tuned=64, tuned_tests=40, epochs=4)
    size = replace(size, tuned_epsilons=(8.0,))
    assert TunedBench(data, size, load_space("starter")).tasks == ("sst2",)
    size = replace(size, qnli=90, pair_epsilons=(8.0, 9.0))
    bench = TunedBench(data, size, load_space("starter"))
    assert bench.tasks == ("sst2", "qnli")
    assert replace(bench, size=replace(size, joint_pairs=True)).tasks == ("sst2", "stsb", "qnli")
    assert len(bench.settings("sst2")) < len(bench.settings("qnli"))
    for seed in range(2):
        assert bench.score("sst2", SanTextSetting("unsanitised"), seed) > 0.9
        assert bench.score("sst2", SanTextSetting("uniform"), seed) < 0.9
    assert 0 <= bench.score("qnli", SanTextSetting("santext", 14.0, "certified"), 0) <= 1


@pytest.mark.usefixtures("undrawn")
def test_what_is_shown_beside(data, tmp_path):
    size = replace(SMALL, epsilons=(8.0,), both_epsilons=(4.0, 8.0), tuned_epsilons=(8.0,))
    size = replace(size, pair_epsilons=(6.0,))
    bench = Bench(data, replace(size, pieces="starter"))
    both = [
        {"space": name, "epsilon": e, **bench.both(name, e)}
        for name in ("words", "pieces")
        for e in size.both_epsilons
    ]
    assert both[0]["keep"] < both[1]["keep"]
    score = {"santext": 0.5, "unsanitised": 0.9}
    tuned = {
        "sst2": {
            s.key: [score.get(s.mechanism, 0.6) + 0.2 * (s.calibration == "certified")]
            for s in settings_at((8.0,))
        },
        "stsb": {s.key: [0.4] for s in settings_at((6.0,))},
    }
    record = Record(tmp_path / "out", "santext", {})
    models = {"original": 0.5, "plain": 0.6, "sanitised": 0.7}
    longer = [
        {"epsilon": 12.0, "steps": steps}
        | {name: {"accuracy": [value], "error": 0.01} for name, value in models.items()}
        for steps in (10, 20)
    ]
    shown = Shown(tuned, {}, both, longer, bench.examples((8.0,)), bench.vocabularies())
    add_shown(record, replace(size, tuned_seeds=2), shown)
    assert [claim.verdict for claim in record.claims] == ["holds"] * 4
    one_seed = Record(tmp_path / "one", "santext", {})
    add_shown(one_seed, size, shown)
    assert one_seed.claims[0].verdict == "not settled"
    tables = {table.name: table for table in record.tables}
    assert len(tables["both-spaces"].rows) == 4
    # Text as it is and at random for both tasks, and five mechanisms at an epsilon of each.
    cells = [row[-2:] for row in tables["tuned"].rows]
    assert len(cells) == 12
    assert [
        sum(cell not in (None, "") for cell in column) for column in zip(*cells, strict=True)
    ] == [7, 7]
    assert tables["pretraining-steps"].rows[1][3:] == ("+0.200 ± 0.020", "+0.100 ± 0.020")
    assert tables["vocabularies"].rows[0][1:] == (20_000, 18_000)
    # The phrases as they are, and four ways to sanitise them.
    assert len(tables["examples"].rows) == 5


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(
    ("accuracy", "mask", "informed", "verdicts"),
    [
        (0.87, 0.6, 0.6, ["holds", "holds"]),
        (0.80, 0.6, 0.2, ["holds in part", "does not hold"]),
        (0.87, 0.3, 0.3, ["does not hold", "holds"]),
    ],
)
def test_figure_4_is_judged_by_the_published_law_at_the_last_epsilon(
    tmp_path, accuracy, mask, informed, verdicts
):
    def rate(value):
        return {"value": value, "low": value - 0.02, "high": value + 0.02, "trials": 100}

    size = replace(SMALL, mask_epsilons=(12.0, 16.0))
    defence = {"mask": mask, "bayes": informed, "informed": informed, "unprotected": 0.35}
    masked = {
        s.key: {"accuracy": [accuracy], "defence": {n: rate(v) for n, v in defence.items()}}
        for s in masked_at(size.mask_epsilons)
    }
    masked[SanTextSetting("unsanitised").key] = {"accuracy": [0.9]}
    record = Record(tmp_path, "santext", {})
    add_shown(record, size, Shown({}, masked, [], [], [{"texts": ["a film"]}], [["words", 3, 1]]))
    assert [claim.verdict for claim in record.claims] == verdicts
    (table,) = (table for table in record.tables if table.name == "masked")
    assert len(table.rows) == 5
    # What is missed without noise stands in the row of the text as it is.
    assert table.rows[-1][0] == "unsanitised"
    assert "0.350" in table.rows[-1][4]


def test_parts_that_are_kept_are_known_though_options_came_later():
    piece = RECIPE, "santext.tuned-encoder", "masked-santext-published-12"
    assert is_kept(*piece, _ATTACKED)
    for option, other in (("windows", 6), ("warmup", 0.01), ("share", 0.5)):
        assert not is_kept(*piece, _ATTACKED, **{option: other})
    vocabularies = RECIPE, "santext.fifty-dimensions", "vocabularies"
    assert is_kept(*vocabularies, (*_SPACE, "piece vectors", "share"))
    plus = with_shares(settings_at([3.0]), 0.9, 0.3)[-1].part
    assert is_kept(RECIPE, "santext.fifty-dimensions", f"sst2-{plus}", _SWEEP)


def test_the_paper_reads_no_reviews_where_a_corpus_takes_their_place():
    assert "imdb-val" in files(STANDARD)
    assert "imdb-val" not in files(PAPER)
    assert "imdb-val" not in files(replace(STANDARD, reviews=0))


def test_warm_up_is_that_of_2000_steps_of_the_paper(data):
    bench = Bench(data, replace(PAPER, space="starter"))
    steps = bench._pretraining(steps=PAPER.steps, head_steps=0)
    assert round(steps.warmup * steps.steps) == 2000
    assert steps.steps * steps.batch * steps.window == pytest.approx(600e6, rel=0.01)


def test_all_words_of_the_data_set_are_measured_or_some_of_them(data):
    bench = Bench(data, replace(SMALL, words=0))
    space = load_space("starter")
    every = bench._every_word(space)
    texts = [text for part in ("train", "test") for text in bench._read(f"sst2-{part}").texts]
    known = {space.id_of(word) for text in texts for word in text.lower().split()}
    assert {*every.tolist()} == known - {space.unknown}
    measured = bench.both("words", 8.0)
    assert 0 < measured["keep"] < 1
    assert measured != Bench(data, SMALL).both("words", 8.0)


def test_shares_of_sensitive_and_of_replaced_words_are_options(data, tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(Bench, "accuracy", lambda _self, one: seen.append(one) or [0.5])
    private, rule = _figures(0.5, 0.6, 0.7).privacy[0], ("epsilon", "calibration")
    measured = {name: value for name, value in private.items() if name not in rule}
    monkeypatch.setattr(Bench, "privacy", lambda *_: measured)
    monkeypatch.setattr(
        TunedBench, "score", lambda _self, _task, one, _seed: seen.append(one) or 0.5
    )
    none = replace(SMALL, pieces="starter", share=0.5, probability=0.1, epsilons=(8.0,))
    none = replace(none, tuned_epsilons=(9.0,))
    lists = ("noise_epsilons", "order_epsilons", "pair_epsilons", "piece_epsilons", "both_epsilons")
    none = replace(none, shares=(), probabilities=(), **dict.fromkeys(lists, ()))
    passed = {"claimed": 8, "found": 4, "passed": True, "over": ""}
    monkeypatch.setattr(Bench, "guarantee", lambda _: passed)
    record = run(data, tmp_path, none, lambda _: None)
    plus = [setting for setting in seen if setting.mechanism == "santext-plus"]
    assert {(one.epsilon, one.w, one.p) for one in plus} == {(8.0, 0.5, 0.1), (9.0, 0.5, 0.1)}
    assert (tmp_path / "parts" / f"sst2-{plus[0].part}-{record.digest_of(_SWEEP)}.json").is_file()
    (table,) = (table for table in record.tables if table.name == "vocabularies")
    assert table.title.endswith("w = 0.5")
    assert table.rows[0][2] == pytest.approx(0.5 * table.rows[0][1], rel=0.1)


def test_qnli_is_trained_on_its_training_part_where_more_is_asked_for(data, monkeypatch):
    pair = {"question": "is tea good", "sentence": "tea is good", "label": "entailment"}
    write_rows(data / "qnli-train.jsonl.gz", [pair] * 9)
    write_rows(data / "qnli-dev.jsonl.gz", [pair] * 4)
    monkeypatch.setattr(tuned, "PAIRS_OF_QNLI_DEV", 4)
    for asked, rows in ((3, (2, 1)), (8, (8, 4))):
        bench = TunedBench(data, replace(SMALL, qnli=asked), load_space("starter"))
        assert tuple(map(len, bench._questions(0))) == rows


def test_words_without_frequencies_are_ranked_by_their_order():
    space = EmbeddingSpace.from_arrays(["the", "tea", "cup"], np.eye(3))
    assert ranked(space).least_frequent(0.34).tolist() == [2]


def test_few_dimensions_keep_words_and_neighbours():
    space = load_space("starter")
    few = in_few_dimensions(space)
    assert few.words == space.words
    assert few.unknown == space.unknown
    assert few.dimension == 20
    assert np.linalg.norm(few.vectors, axis=1) == pytest.approx(1, abs=1e-5)
    cat, dog, law = (few.vectors[few.id_of(word)] for word in ("cat", "dog", "law"))
    assert np.linalg.norm(cat - dog) < np.linalg.norm(cat - law)


def test_speed_is_that_of_the_whole_text(data):
    found = Bench(data, SMALL).speed()
    assert (found["phrases"], found["cmp_phrases"]) == (80, 8)
    assert found["santext"] > 0
    assert found["cmp"] > 0


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(NotFound, match="there is no sst2-train"):
        Bench(tmp_path, SMALL).accuracy(SanTextSetting("unsanitised"))


def test_names_of_settings_are_different():
    for size in (QUICK, STANDARD, PAPER):
        settings = settings_at(size.epsilons)
        keys = [setting.key for setting in settings]
        assert len(set(keys)) == len(keys)
        assert key_of("santext-plus", "certified", size.epsilons[0]) in keys
        assert key_of("cmp", "published", size.epsilons[0]) in keys


def _figures(published, certified, sanitised):
    accuracy = {"unsanitised": 0.77, "uniform": 0.48, "cmp": 0.5}
    utility = {}
    for setting in settings_at(QUICK.epsilons):
        value = accuracy.get(setting.mechanism, 0.68)
        if setting.mechanism == "santext":
            value = certified if setting.calibration == "certified" else published
        utility[setting.key] = [value, value + 0.002]
    for epsilon in QUICK.noise_epsilons:
        utility[key_of("cmp", "published", epsilon)] = [0.5, 0.5]
    few = {"cmp": 0.55, "santext": 0.6, "santext-plus": 0.7}
    utility |= {s.key: [few[s.mechanism]] * 2 for s in order_at(QUICK.order_epsilons)}
    rate = {"value": 0.5, "low": 0.48, "high": 0.52, "trials": 10}
    weak = {"value": 0.3, "low": 0.28, "high": 0.32, "trials": 10}
    privacy = [
        {"epsilon": e, "calibration": c, "kappa": e, "keep": 0.5, "options": 3.0, "inputs": 2.0,
         "defence": rate}
        for c in ("published", "certified") for e in QUICK.epsilons
    ]  # fmt: skip
    models = {
        "original": {"accuracy": [0.70], "error": 0.005},
        "plain": {"accuracy": [0.70], "error": 0.005, "attack": {"defence": {"mask": rate}}},
        "sanitised": {"accuracy": [sanitised], "error": 0.0, "attack": {"defence": {"mask": weak}}},
    }
    pairs = {s.key: [0.5] for s in settings_at(QUICK.pair_epsilons)}
    influence = [{"w": 0.9, "p": 0.3, "accuracy": [0.6, 0.61]}]
    speed = {"phrases": 80, "santext": 1.0, "cmp_phrases": 8, "cmp": 2.0}
    return Figures(utility, influence, privacy, pairs, [{"epsilon": 12.0, **models}], speed)


_NO = "does not hold"


@pytest.mark.parametrize(
    ("published", "certified", "sanitised", "verdicts"),
    [
        (0.51, 0.66, 0.72, ["holds", "holds", "holds", "holds", "holds", _NO]),
        (
            0.60,
            0.62,
            0.68,
            ["holds in part", "holds", "holds", "holds", "does not hold", "does not hold"],
        ),
        (0.51, 0.75, 0.72, ["holds", "holds", _NO, "holds", "holds", _NO]),
        (0.51, 0.66, 0.705, ["holds", "holds", "holds", "holds", "not settled", _NO]),
    ],
)
def test_claims_follow_the_figures(tmp_path, published, certified, sanitised, verdicts):
    record = Record(tmp_path, "santext", {})
    add_pages(record, QUICK, _figures(published, certified, sanitised))
    assert [claim.verdict for claim in record.claims] == verdicts
    page = record.finish().page.read_text()
    assert "Accuracy on SST-2" in page
    assert (tmp_path / "plots" / "utility.png").is_file()


def test_what_was_not_asked_for_is_not_shown(tmp_path):
    """A run of a few parts alone has a record all the same."""
    none = replace(QUICK, epsilons=(), noise_epsilons=(), order_epsilons=(), pair_epsilons=())
    record = Record(tmp_path, "santext", {})
    add_pages(record, none, replace(_figures(0.5, 0.6, 0.7), influence=[], pretraining=[]))
    add_shown(record, none, Shown({}, {}, [], [], [{"texts": ["a film"]}], [["words", 3, 1]]))
    assert not record.claims
    assert [table.name for table in record.tables] == ["vocabularies"]
    assert "Sizes of the vocabularies" in record.finish().page.read_text()


@pytest.mark.usefixtures("undrawn")
def test_any_list_may_be_shorter(data, tmp_path, monkeypatch):
    """What was run is shown and nothing is claimed of the rest, whichever list was cut."""
    figures = _figures(0.5, 0.6, 0.7)
    said = ("epsilon", "calibration")
    private, models = (
        {name: value for name, value in some[0].items() if name not in said}
        for some in (figures.privacy, figures.pretraining)
    )
    attacks = models["plain"]["attack"]["defence"]["mask"]
    defence = dict.fromkeys(("mask", "bayes", "informed", "unprotected"), attacks)
    guarantee = {"claimed": 8.0, "found": 4.0, "passed": True, "over": "pairs"}
    measured = {
        "accuracy": [0.6, 0.7],
        "privacy": private,
        "both": {**private, "accuracy": [0.6, 0.7]},
        "pearson": [0.5],
        "pretraining": models,
        "masked": {"accuracy": [0.6], "defence": defence},
        "speed": figures.speed,
        "guarantee": guarantee,
    }
    for name, value in measured.items():
        monkeypatch.setattr(Bench, name, lambda *_a, _value=value, **_k: _value)
    monkeypatch.setattr(TunedBench, "score", lambda *_: 0.6)
    whole = replace(
        SMALL,
        pieces="starter",
        epsilons=(4.0, 8.0),
        noise_epsilons=(20.0, 40.0),
        order_epsilons=(2.0, 4.0),
        pair_epsilons=(4.0, 8.0),
        tuned_epsilons=(4.0, 8.0),
        mask_epsilons=(12.0, 16.0),
        piece_epsilons=(12.0, 14.0),
        both_epsilons=(4.0, 8.0),
        curve_steps=(1, SMALL.steps),
        shares=(0.5, 0.9),
        probabilities=(0.1, 0.3),
    )
    names = {table.name for table in run(data, tmp_path, whole, lambda _: None).tables}
    sizes = [len(names)]
    for one in shorter(whole):
        record = run(data, tmp_path, one, lambda _: None)
        assert {table.name for table in record.tables} <= names
        sizes.append(len(record.tables))
    assert len(sizes) > 20
    assert min(sizes) < max(sizes)
