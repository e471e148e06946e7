"""Comparing mechanisms: what is compared, on what, the frontier, and the command."""

import json
import os
import signal
import stat
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from command import UNKNOWN, WORDS, called, write_space
from discreet.attacks.outcome import Estimate
from discreet.errors import DiscreetError, InputError, InvalidValue
from discreet.evaluation.comparison.bench import Bench
from discreet.evaluation.comparison.contenders import STANDARD, contenders
from discreet.evaluation.comparison.frontier import beaten_by, recommendations
from discreet.evaluation.comparison.members import membership
from discreet.evaluation.comparison.parts import Parts, finished
from discreet.evaluation.comparison.reading import TaskReading
from discreet.evaluation.comparison.run import Comparison, ComparisonRow, compared
from discreet.evaluation.comparison.settings import ComparisonSettings
from discreet.evaluation.comparison.task import Effort, Task
from discreet.evaluation.comparison.turned import epsilon_at
from discreet.report.comparison import lines
from discreet.report.frontier import frontier_plot
from discreet.spaces import load_space
from discreet.spaces.space import EmbeddingSpace
from discreet.text.labelled import read_labelled
from discreet.text.tokens import TokenBatch

EFFORT = Effort(texts=80, longest=20, attacked=300, encoded=20, judged=20, seeds=2, folds=4)


def _texts(count, seed):
    """Two kinds of texts by four writers, told apart by their words, which follow each other."""
    rng = np.random.default_rng(seed)
    rows = []
    for number in range(count):
        kind, writer = number % 2, number % 4
        own = WORDS[10 * writer : 10 * writer + 10]
        word = int(rng.integers(10))
        text = []
        for _ in range(12):
            word = (word + 1) % 10 if rng.random() < 0.8 else int(rng.integers(10))
            text.append(own[word])
        rows.append({"text": " ".join(text), "label": f"kind {kind}", "author": f"w{writer}"})
    return rows


def _write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compare")
    write_space(folder / "space.txt")
    _write(folder / "input.jsonl", _texts(100, 1))
    _write(folder / "public.jsonl", _texts(60, 2))
    return folder


@pytest.fixture(scope="module")
def bench(place):
    rows, public = _texts(100, 1), [row["text"] for row in _texts(60, 2)]
    columns = [[row[name] for row in rows] for name in ("text", "label", "author")]
    task = Task.of(*columns, public, EFFORT)
    return Bench(task, load_space(str(place / "space.txt")), EFFORT, encoder=False, judges=())


@pytest.fixture(scope="module")
def found(bench, tmp_path_factory):
    entries = contenders(["santext:epsilon=0.5/1.5/60", "uniform"], [], len(bench.space))
    return compared(bench, entries, tmp_path_factory.mktemp("parts"))


# -- what is compared ------------------------------------------------------------------------------


def test_the_standard_mechanisms_can_all_be_read():
    found = contenders(None, [], 20_000)
    assert len(found) == len(STANDARD)
    assert "near-words:near=1:outputs=20000" in [each.label for each in found]
    assert all(each.epsilons != (None,) or each.name == "uniform" for each in found)


def test_settings_have_the_types_of_the_mechanism():
    (one,) = contenders(["gaussian:delta=1e-5:clip=2:epsilon=1/0.5"], [], 9)
    assert one.settings == {"delta": 1e-5, "clip": 2.0}
    assert one.epsilons == (0.5, 1.0)
    (other,) = contenders(["near-words:near=2:guide=ngram"], [8.0], 9)
    assert other.settings == {"near": 2, "guide": "ngram"}
    assert other.label == "near-words:near=2:guide=ngram"


@pytest.mark.parametrize(
    ("names", "epsilons", "says"),
    [
        (["nonsense"], [8.0], "--mechanisms must be one of cmp"),
        (["purkayastha"], [8.0], "is for a sentence"),
        (["santext:guide=ngram"], [8.0], "guide is not an option of santext; its options: epsilon"),
        (["uniform:epsilon=3"], [], "epsilon is not an option of uniform; its options: none"),
        (["santext"], [], "santext needs an epsilon"),
        (["gaussian:delta=1e-5"], [8.0], "gaussian needs clip"),
        (["near-words:near"], [8.0], "NAME=VALUE"),
        (["near-words:near=two"], [8.0], "near of near-words must be a whole number"),
        (["near-words:near=2:near=3"], [8.0], "given twice"),
        (["santext:epsilon=6/x"], [], "must be a number"),
        (["santext:epsilon=-1"], [], "above 0"),
        (["santext", "santext"], [8.0], "named twice"),
        ([" "], [8.0], "names none"),
        (None, [8.0], "epsilons of their own"),
    ],
)
def test_what_cannot_be_compared(names, epsilons, says):
    with pytest.raises(InvalidValue, match=says):
        contenders(names, epsilons, 100)


# -- on what ---------------------------------------------------------------------------------------


def test_a_sample_has_all_groups_in_all_folds():
    rows = _texts(100, 1)
    columns = [[row[name] for row in rows] for name in ("text", "label", "author")]
    task = Task.of(*columns, [row["text"] for row in rows], Effort(texts=40, folds=5))
    assert len(task.texts) == 40
    for fold in range(5):
        assert np.bincount(task.authors[task.folds == fold], minlength=4).tolist() == [2] * 4
    assert task.texts == [text for text in columns[0] if text in task.texts]  # in their order


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"labels": ["one"] * 100}, "all have one label"),
        ({"authors": ["me"] * 100}, "2 different authors; got 1"),
        ({"labels": ["a", *["b"] * 99]}, "the rarest of 2 labels has 1"),
        ({"authors": ["a", *["b"] * 99]}, "an author has 1"),
        ({"texts": ["word"] * 9 + [" "] * 91}, "INPUT must have at least 20 texts"),
        ({"public": ["word"] * 3}, "--public must have at least 20 texts"),
        ({"effort": Effort(folds=60)}, "for 60 folds"),
    ],
)
def test_what_says_nothing_is_refused(change, says):
    rows = _texts(100, 1)
    given = {
        "texts": [row["text"] for row in rows],
        "labels": [row["label"] for row in rows],
        "authors": None,
        "public": [row["text"] for row in rows],
        "effort": EFFORT,
    }
    with pytest.raises(InvalidValue, match=says):
        Task.of(**given | change)


def test_attackers_must_not_know_the_texts(place):
    with pytest.raises(InputError, match="are the same file"):
        Task.read(str(place / "input.jsonl"), str(place / "input.jsonl"), EFFORT)


# -- what is measured ------------------------------------------------------------------------------


def test_figures_rise_with_epsilon_and_end_at_the_texts_themselves(found):
    first, middle, last, nothing = found.rows
    assert [row.epsilon for row in found.rows] == [0.5, 1.5, 60.0, None]
    for name in ("exact", "contextual", "watching"):
        success = [row.attackers[name].value for row in (first, middle, last)]
        assert success == sorted(success), name
        assert success[-1] > 0.99, name
    assert nothing.attackers["exact"].value < 0.1
    assert last.utility["accuracy"].value == found.raw.utility["accuracy"].value == 1.0
    assert nothing.utility["accuracy"].value < 0.75
    assert last.authorship["adaptive, macro-F1"].value > 0.95
    assert nothing.authorship["adaptive, macro-F1"].value < 0.5
    assert last.speed > 0
    assert "by distance" in first.statement
    assert "12 words" in first.document


def test_reading_along_names_more_than_single_words_do(found):
    middle = found.rows[1]
    assert middle.attackers["contextual"].value > middle.attackers["exact"].value + 0.05
    assert middle.best_attacker[0] == "contextual"
    # Labels that words give away are learnt and not remembered: there the members are not found.
    assert found.broken == ("membership",)
    assert found.raw.attackers["contextual"].low > found.chance


def test_an_attacker_that_fails_without_protection_is_called_broken(bench, tmp_path):
    rng = np.random.default_rng(0)
    mixed = [" ".join(rng.choice(WORDS[:40], 12)) for _ in range(120)]
    task = Task.of(mixed[:60], ["a", "b"] * 30, None, mixed[60:], EFFORT)
    other = Bench(task, bench.space, EFFORT, encoder=False, judges=())
    found = compared(other, contenders(["uniform"], [], 60), tmp_path)
    assert "contextual" in found.broken
    assert "exact" not in found.broken


def test_what_is_done_is_not_done_again(bench, tmp_path, monkeypatch):
    entries = contenders(["santext:epsilon=4", "uniform"], [], len(bench.space))
    told = []
    first = compared(bench, entries[:1], tmp_path, say=told.append)
    assert [line.split(":")[0] for line in told] == ["1 of 2", "2 of 2"]
    measured = []
    monkeypatch.setattr(
        Bench,
        "measured",
        lambda self, mechanism, own=Bench.measured: (
            measured.append(mechanism.name) or own(self, mechanism)
        ),
    )
    again = compared(bench, entries, tmp_path)
    assert measured == ["uniform"]
    assert again.rows[0] == first.rows[0]
    other = Parts(tmp_path, {"effort": "another"})
    assert not other.has("without protection")


def test_several_processes_find_what_one_finds(bench, found, tmp_path):
    entries = contenders(["santext:epsilon=0.5/1.5/60", "uniform"], [], len(bench.space))
    told = []
    both = compared(bench, entries, tmp_path, workers=2, say=told.append)
    assert [line.split(":")[0] for line in told] == [f"{number} of 5" for number in range(1, 6)]
    assert len(list(tmp_path.iterdir())) == 5
    for one, other in zip((found.raw, *found.rows), (both.raw, *both.rows), strict=True):
        assert replace(one, speed=None) == replace(other, speed=None)


@pytest.mark.parametrize(
    ("fails", "says"),
    [
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "was lost, for lack of memory perhaps"),
        (lambda: read_labelled("nowhere.csv"), "nowhere.csv"),
    ],
)
def test_a_process_that_fails_is_told_and_what_is_done_stays(tmp_path, fails, says):
    parts = Parts(tmp_path, {})
    jobs = [("good", parts, dict), ("bad", parts, fails)]
    done = []
    with pytest.raises(DiscreetError, match=says):
        done.extend(finished(jobs, 2))
    assert not parts.has("bad")
    assert [name for name, _ in finished(jobs[:1], 2)] == ["good"]
    assert parts.has("good")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is one process")
def test_nothing_goes_on_when_a_run_is_killed(tmp_path):
    def begun():
        (tmp_path / str(os.getpid())).touch()
        time.sleep(60)

    run = os.fork()
    if not run:
        try:
            list(finished([(name, Parts(tmp_path / "parts", {}), begun) for name in "ab"], 2))
        finally:
            os._exit(1)
    workers = _soon(lambda: [int(path.name) for path in tmp_path.iterdir()], lambda ids: ids[1:])
    os.kill(run, signal.SIGKILL)
    os.waitpid(run, 0)
    _soon(lambda: [each for each in workers if _goes_on(each)], lambda left: not left)


def _soon(look, good):
    """What is seen once it is good."""
    for _ in range(300):
        if good(seen := look()):
            return seen
        time.sleep(0.1)
    raise AssertionError("nothing happened for half a minute")


def _goes_on(process):
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_a_mechanism_may_have_a_vocabulary_of_its_own(bench, tmp_path):
    few = EmbeddingSpace.from_arrays(
        list(bench.space.words[:-5]), bench.space.vectors[:-5], unknown=bench.space.words[0]
    )
    other = replace(bench, space=few, base=bench)
    entries = contenders(["santext:epsilon=4", "uniform"], [], len(bench.space))
    found = compared(bench, entries, tmp_path, elsewhere={"uniform": other})
    alone = compared(bench, entries, tmp_path)
    assert found.rows[0] == alone.rows[0]
    assert found.rows[1] != alone.rows[1]  # what was measured elsewhere is not taken for it
    assert found.raw == alone.raw


def test_identifiers_behind_the_words_that_are_used_do_not_count(bench):
    texts = ["a b c d e f 555 123 4567", "mail ann@shop.example now"] * 20
    effort = replace(EFFORT, longest=5)
    task = Task.of(texts, ["a", "b"] * 20, None, texts, effort)
    other = Bench(task, bench.space, effort, encoder=False, judges=())
    assert other.reading.originals[0] == "a b c d e"
    columns = dict(other._attacks(None, other.batch.ids, other.reading.originals, 0))["identifiers"]
    assert [each.tolist() for each in columns] == [[0, 1] * 20] * 2


def test_of_long_texts_fewer_are_read():
    effort = replace(EFFORT, encoded=30, longest=120)
    counts = [
        TaskReading(Task.of(["word " * words] * 40, None, None, ["a"] * 40, effort), effort).count
        for words in (5, 40, 80, 5000)
    ]
    assert counts == [30, 30, 15, 10]


def test_a_damaged_part_is_named(tmp_path):
    parts = Parts(tmp_path, {})
    parts.path("one").write_text("{")
    with pytest.raises(Exception, match="is damaged; delete it"):
        parts.get("one", dict)


def test_function_words_may_pass_in_every_mechanism(tmp_path):
    words = ["<unk>", "the", "of", "and", "in", *WORDS[:40]]
    rng = np.random.default_rng(0)
    space = EmbeddingSpace.from_arrays(words, rng.standard_normal((45, 4)))
    texts = [" ".join(rng.choice(words[1:], 12)) for _ in range(120)]
    task = Task.of(texts[:60], ["a", "b"] * 30, None, texts[60:], EFFORT)
    bench = Bench(task, space, EFFORT, encoder=False, judges=(), function_words=True)
    entries = contenders(["near-words:near=1:outputs=20:epsilon=9", "uniform"], [], 45)
    found = compared(bench, entries, tmp_path)
    for row, entry in zip(found.rows, entries, strict=True):
        made = bench.built(entry, row.epsilon)
        seen, own = bench.released(made, 0), bench.batch.ids
        assert np.array_equal(seen[own <= 4], own[own <= 4])
        assert not (seen[own > 4] == own[own > 4]).all()
        assert row.words == bench.attack.words * EFFORT.seeds
    assert set(bench.built(entries[0], 9.0).words.tolist()).isdisjoint({1, 2, 3, 4})
    assert found.space.endswith("function words pass")
    assert found.raw.words < bench.attack.texts.tokens


def test_function_words_do_not_pass_in_pieces_of_words(bench):
    pieces = EmbeddingSpace.from_arrays(["in", "##sulin"], np.eye(2), subwords=True)
    with pytest.raises(InvalidValue, match="a space of pieces of words"):
        Bench(bench.task, pieces, EFFORT, function_words=True)


def test_members_are_found_by_who_can_make_the_same_release_again():
    # Labels say nothing of the texts: all that a model can do is remember them.
    rng = np.random.default_rng(5)
    texts = TokenBatch(rng.integers(0, 500, 7200), np.arange(0, 7201, 12))
    labels, own = rng.integers(0, 2, 600), texts.ids.astype(np.int64)
    code = rng.permutation(500)

    def noise(batch):
        return rng.integers(0, 500, batch.tokens)

    bare = membership(texts, own, None, labels, 500)
    coded = membership(texts, code[own], lambda batch: code[batch.ids], labels, 500)
    drawn = membership(texts, noise(texts), noise, labels, 500)
    assert bare.low > 0.75
    assert coded.low > 0.75  # a word for a word is no protection here
    assert drawn.low < 0.5 < drawn.high
    assert membership(texts, own, None, np.zeros(600, int), 500) is None


# -- frontier --------------------------------------------------------------------------------------


def _row(label, use, named, epsilon=1.0, peer=False):
    return ComparisonRow(
        label,
        epsilon,
        {"accuracy": Estimate(use, use - 0.01, use + 0.01)},
        {"exact": Estimate(named, named - 0.01, named + 0.01)},
        statement="any two words: 8",
        peer=peer,
    )


def _compared(*rows, at=None):
    raw = _row("no protection", 0.9, 1.0)
    return Comparison(rows, raw, 0.05, 100, 1000, 500, 2, 0.5, 0, "accuracy", at, "test")


def test_the_frontier_is_what_nothing_beats_in_both():
    good, cheap, bad = _row("good", 0.8, 0.4), _row("cheap", 0.6, 0.2), _row("bad", 0.7, 0.5)
    rows = [good, cheap, bad, _row("as bad", 0.7, 0.5)]
    assert beaten_by(good, rows, "accuracy") is None
    assert beaten_by(cheap, rows, "accuracy") is None
    assert beaten_by(bad, rows, "accuracy") is good
    assert beaten_by(rows[3], rows[2:], "accuracy") is None  # equals do not beat each other


def test_a_peer_beats_nobody_because_its_attacker_is_a_lower_bound():
    good, foreign = _row("good", 0.8, 0.4), _row("foreign", 0.9, 0.1, peer=True)
    worse = _row("worse", 0.7, 0.5, peer=True)
    assert beaten_by(good, [good, foreign, worse], "accuracy") is None
    assert beaten_by(worse, [good, foreign, worse], "accuracy") is good
    plot = frontier_plot(_compared(_row("low", 0.6, 0.2), good, foreign, worse))
    assert (plot.edge.x, plot.edge.y) == ((0.2, 0.4), (0.6, 0.8))
    named = [curve.label for curve in plot.curves if "further right" in curve.label]
    assert named == ["foreign (or further right)", "worse (or further right)"]


def test_the_choice_keeps_to_the_limit_and_is_of_use():
    rows = [_row("good", 0.8, 0.4), _row("cheap", 0.6, 0.25), _row("noise", 0.5, 0.1)]
    rows.append(_row("foreign", 0.95, 0.1, peer=True))
    chosen = {each.limit: each.row and each.row.label for each in recommendations(_compared(*rows))}
    assert chosen == {0.2: None, 0.3: "cheap", 0.5: "good"}


def test_labels_that_the_texts_do_not_tell_choose_nothing():
    told = _compared(_row("good", 0.8, 0.2))
    assert len(lines(told)) == 1  # what holds at all limits is said once
    assert lines(told)[0].startswith("If the best attacker may name at most 20, 30 or 50 of 100")
    lucky = replace(told, raw=_row("no protection", 0.505, 1.0), broken=("contextual",))
    first, second = lines(lucky)
    assert first.startswith("The accuracy says nothing here")
    assert second.startswith("Broken attackers, which do not beat chance")
    assert "themselves: contextual." in second


def test_only_accuracy_is_compared_with_the_commonest_label():
    alike = {"similarity": Estimate(0.4, 0.39, 0.41)}
    row = replace(_row("good", 0.8, 0.2), utility=alike)
    found = replace(_compared(row), measure="similarity", raw=replace(row, label="no protection"))
    assert recommendations(found)[0].row is row
    assert "commonest" not in lines(found)[0]
    assert replace(found, measure="macro-F1").guessing == pytest.approx(1 / 3)


def test_the_question_can_be_turned_round(bench, tmp_path):
    entries = contenders(["santext:epsilon=1", "uniform"], [], len(bench.space))
    found = compared(bench, entries, tmp_path, at=0.5)
    row = found.rows[0]
    # The search looks at the very releases that the row is about.
    assert row.best_attacker[1].value == pytest.approx(0.5, abs=0.03) or row.note
    (entry, _) = entries
    searched = bench.success(bench.built(entry, row.epsilon))
    assert searched == pytest.approx(row.best_attacker[1].value, abs=1e-12)
    assert found.rows[1].note == "has no epsilon"
    with pytest.raises(InvalidValue, match="between 0 and 1"):
        compared(bench, entries, tmp_path, at=1.5)


def test_turned_round_no_epsilon_need_be_given():
    turned = {"at": "attacker=0.3", "mechanisms": "near-words"}
    assert ComparisonSettings(**turned).numbers == [8.0]
    assert ComparisonSettings(**turned, epsilons="5,6").numbers == [5.0, 6.0]
    assert ComparisonSettings(at="attacker=0.3").numbers == []  # the standard ones have their own


def test_a_success_that_is_never_reached_is_told():
    found = epsilon_at(lambda _: 0.2, 0.7, [5.0])
    assert not found.reached
    asked = []
    assert not epsilon_at(lambda e: asked.append(e) or 0.6, 0.3, [5.0]).reached
    assert len(asked) < 15  # it does not look for what cannot be found
    assert epsilon_at(lambda e: min(1.0, e / 100), 0.3, [500.0, None]).reached


# -- the command -----------------------------------------------------------------------------------


def _command(place, output, *more):
    return called(
        "compare",
        *(place / "input.jsonl", "--public", place / "public.jsonl"),
        *("--space", place / "space.txt", "--no-encoder", "--no-language-model", "--quick"),
        *("-o", output, *more),
        cache=place,
    )


def test_the_command_writes_one_page_and_quotes_nobody_else(place):
    names = ("--mechanisms", "santext:epsilon=3/60,uniform")
    done = _command(place, place / "report", "--label-field", "label", *names)
    assert done.code == 0, done.err
    page = (place / "report" / "index.html").read_text()
    assert "What to choose" in page
    assert page.count("<h3>Text ") == 20
    assert "santext, epsilon 60" in page
    assert "http" not in page.replace("http-equiv", "")
    assert (place / "report" / "frontier.png").stat().st_size > 10_000
    values = json.loads((place / "report" / "comparison.json").read_text())
    assert [row["epsilon"] for row in values["rows"]] == [3.0, 60.0, None]
    # What quotes texts is for nobody else to read; what does not quote them may be passed on.
    for kept in [place / "report" / "index.html", *(place / "report" / "parts").iterdir()]:
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    known = (*WORDS, UNKNOWN)
    assert not any(word in json.dumps(values) for word in known)
    assert not any(word in done.err for word in known)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ((), "--label-field, or that of the authors"),
        (("--label-field", "nope"), "has no field nope"),
        (("--label-field", "label", "--at", "attacker=2"), "--at must be attacker=SHARE"),
        (("--label-field", "label", "--at", "utility=0.3"), "--at must be attacker=SHARE"),
        (("--label-field", "label", "--epsilons", "a,b"), "numbers with commas"),
        (("--label-field", "label", "--mechanisms", "santext:near=2"), "not an option of santext"),
        (("--label-field", "label", "--measure", "joy"), "--measure must be one of accuracy"),
        (("--label-field", "label", "--folds", "90"), "for 90 folds"),
        (("--label-field", "label", "--vectors", "--texts", "30"), "at least 50 different texts"),
    ],
)
def test_mistakes_show_before_any_work(place, tmp_path, more, says):
    done = _command(place, tmp_path / "new", *more)
    assert done.code == 2
    assert says in done.err
    assert not list((tmp_path / "new").glob("parts/*"))


def test_a_folder_of_something_else_is_left_alone(place, tmp_path):
    (tmp_path / "precious.txt").write_text("mine")
    done = _command(place, tmp_path, "--label-field", "label")
    assert (done.code, [p.name for p in tmp_path.iterdir()]) == (2, ["precious.txt"])
    assert "holds something else" in done.err
