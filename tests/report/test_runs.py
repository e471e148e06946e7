"""Receipts and results as sections of a page."""

import contextlib
import json
from dataclasses import asdict

import numpy as np
import pytest

from discreet.attacks.mask_inference import AttackReport
from discreet.attacks.outcome import AttackOutcome, Estimate, Rate
from discreet.errors import DiscreetError, InputError, NotFound, VerificationFailed
from discreet.receipt import Receipt, receipt_path
from discreet.report.claims import Claim
from discreet.report.page import Section, figures_of, write_page
from discreet.report.plots import Curve, Plot, draw
from discreet.report.runs import overview, runs_in, section_of
from discreet.report.tables import Table
from discreet.staging import Digest
from discreet.statement import Metric, Notion, PrivacyStatement, Unit


def _receipt(epsilon=2.0, **more):
    statement = PrivacyStatement(notion=Notion.PURE, epsilon=epsilon, unit=Unit.LABEL)
    return {"statement": statement.to_dict(), "counts": {"documents": 1200}, **more}


def test_a_receipt_is_found_by_the_name_of_its_output(tmp_path):
    output = tmp_path / "out.csv"
    output.write_text("text\n")
    Receipt.from_dict(_receipt()).of_output(Digest.of(output)).write(receipt_path(output))
    ((name, values),) = runs_in([output])
    section = section_of(name, values)
    assert section.title == "out.csv"
    assert section.guarantee == tuple(PrivacyStatement.from_dict(values["statement"]).lines())


def test_settings_are_grouped_and_long_lists_only_counted():
    section = section_of(
        "run",
        {
            "keep": 0.5,
            "space": {"name": "small", "sizes": {"words": 20000, "lists": list(range(99))}},
            "guess": {"lowest": 0.1, "median": 0.25, "highest": 0.5, "mean": 0.3},
            "input": {"text_field": "review", "kept": []},
        },
    )
    tables = {table.name: dict(table.rows) for table in section.tables}
    assert tables["figures"] == {"chance that a word stays, on average": 0.5}
    assert tables["space"]["sizes, lists"] == "99 entries"
    assert tables["guess"] == {"": "0.25 in the median, from 0.1 to 0.5"}
    assert tables["input"] == {"text field": "review", "kept": "none"}
    assert "no privacy statement" in section.paragraphs[0]


def test_the_overview_says_how_often_a_word_stays():
    ((_, outcome, *_),) = overview([("run", _receipt(keep=0.6622))]).tables[0].rows
    assert outcome == "1,200 documents, a word stays with chance 0.66"
    ((_, drawn, *_),) = overview([("run", _receipt(keep=0.25, keep_draws=1024))]).tables[0].rows
    assert "a word stays with chance 0.25 (simulated)" in drawn
    known = _receipt(keep=0.0154, best_guess=0.431)
    ((_, outcome, *_),) = overview([("run", known)]).tables[0].rows
    assert outcome == "1,200 documents, the best guess names 43 of 100 words"


def test_a_receipt_says_what_holds_for_whole_texts_in_words():
    line = "The longest text (8 drawn words), all of it replaced: odds change by at most 54.6."
    whole = {"document": {"words": 8, "statement": {"epsilon": 4.0}}, "in_words": [line]}
    section = section_of("run", _receipt(keep=0.0154, best_guess=0.431, whole=whole))
    assert section.guarantee[-1] == line
    figures = {table.name: dict(table.rows) for table in section.tables}
    assert figures["figures"] == {"chance that the best guess at a word is right": 0.431}
    assert "whole" not in figures  # not as a dump of JSON as well
    for damaged in ({"in_words": [7]}, ["x"], {"in_words": {}}):
        assert line not in section_of("run", _receipt(whole=damaged)).guarantee


def _outcome(success, chance, unprotected=None):
    measured = Estimate(success, success - 0.05, success + 0.05)
    outcome = AttackOutcome("inversion to words", "F1", measured, chance, unprotected, 400)
    return outcome.to_dict()


def test_outcomes_of_attacks_are_sentences_and_bars():
    values = {**_receipt(), "outcomes": [_outcome(0.31, 0.12, Estimate(0.7, 0.6, 0.8))]}
    section = section_of("attack", values)
    said = " ".join(section.paragraphs)
    assert "Inversion to words, F1: 0.310 on 400 targets" in said
    assert "between 0.260 and 0.360" in said
    assert "gives 0.120. This is more than guessing gives." in said
    assert "not protected reaches 0.700" in said
    (bars,) = section.plots
    assert [bar.label for bar in bars.bars] == ["inversion to words", "without protection"]
    assert bars.level == ("guessing", 0.12)
    assert not any(table.name == "outcomes" for table in section.tables)
    ((_, outcome, *_),) = overview([("attack", values)]).tables[0].rows
    assert outcome == "inversion to words, F1 0.31 (0.12 by guessing)"
    weak = section_of("attack", {"outcomes": [_outcome(0.14, 0.12)]})
    assert "no more than guessing gives" in weak.paragraphs[1]


def _words_attacked(named, epsilon, guessing=0.05, **more):
    hits = {
        "bayes": np.arange(100) < 100 * named,
        "chance": np.arange(100) < 100 * guessing,
    }
    report = AttackReport(100, 0, {n: Rate.of(hit) for n, hit in hits.items()}, {}, 0)
    return _receipt(epsilon, **more) | report.to_dict()


def test_an_attack_on_words_says_how_many_were_named():
    values = _words_attacked(0.66, 8.0, mechanism={"name": "santext", "epsilon": 8.0})
    section = section_of("attack", values)
    assert "named 66 of 100; with 95 % confidence between 56 and 75 of 100" in section.paragraphs[0]
    ((_, outcome, *_),) = overview([("attack", values)]).tables[0].rows
    assert outcome == "the best attacker names 66 of 100 words (5 by guessing)"


@pytest.mark.parametrize("values", [
    {"outcomes": [{"attack": "x"}]},
    {"outcomes": [1]},
    {"defence": {"bayes": {"value": "high"}}},
    {"defence": {"unheard of": {"value": 0.1, "low": 0.0, "high": 1.0, "trials": 5}}},
])  # fmt: skip
def test_an_attack_that_discreet_did_not_write_is_shown_as_figures(values):
    section = section_of("attack", values)
    assert not section.plots
    assert section.tables


def test_a_failed_audit_cannot_be_overlooked():
    audit = {
        **_receipt(),
        "passed": False,
        "findings": [{"check": "law", "verdict": "FAIL", "summary": "epsilon 2 claimed, 3 found"}],
    }
    section = section_of("audit", audit)
    assert ("law", "FAIL", "epsilon 2 claimed, 3 found") in section.tables[0].rows
    ((_, outcome, *_),) = overview([("audit", audit)]).tables[0].rows
    assert outcome == "AUDIT FAILED"


def test_a_failed_audit_of_training_cannot_be_overlooked():
    audit = {"passed": False, "findings": {"user": {"claimed": 1.0, "lower": 2.5}}}
    (figures, findings) = section_of("audit", audit).tables
    assert figures.rows == (("passed", "False"),)
    assert ("user, lower", 2.5) in findings.rows
    ((_, outcome, *_),) = overview([("audit", audit)]).tables[0].rows
    assert outcome == "AUDIT FAILED"


def test_figures_of_several_runs_become_a_plot_against_epsilon():
    runs = [
        (f"run {epsilon}", _receipt(epsilon, metrics={"accuracy": 0.5 + epsilon / 10}))
        for epsilon in (3.0, 1.0, 2.0)
    ]
    (plot,) = overview(runs).plots
    assert plot.curves[0].x == (1.0, 2.0, 3.0)
    assert plot.curves[0].y == pytest.approx((0.6, 0.7, 0.8))
    assert not overview(runs[:2]).plots


def _made(name, epsilon, value, **settings):
    mechanism = {"name": name, "epsilon": epsilon, **settings}
    return (f"{name} {epsilon}", _receipt(epsilon, mechanism=mechanism, metrics={"f1": value}))


def test_every_mechanism_and_setting_is_a_line_of_its_own():
    runs = [_made("a", at, at / 10, calibration="certified") for at in (1.0, 2.0, 3.0)]
    runs += [_made("b", at, at / 5, near=round(at)) for at in (1.0, 2.0)]
    runs += [_made("a", at, at / 2, calibration="published") for at in (1.0, 2.0)]
    runs += [_made("c", 1.0, value, dim=dim) for value, dim in ((0.7, 8), (0.9, 8), (0.1, 16))]
    (plot,) = overview(runs).plots
    lines = {curve.label: (curve.x, curve.y) for curve in plot.curves}
    assert lines == {
        "a (calibration certified)": ((1.0, 2.0, 3.0), (0.1, 0.2, 0.3)),
        "b (near 1 to 2)": ((1.0, 2.0), (0.2, 0.4)),
        "a (calibration published)": ((1.0, 2.0), (0.5, 1.0)),
        "c (dim 8)": ((1.0,), (pytest.approx(0.8),)),  # two runs alike: their mean
        "c (dim 16)": ((1.0,), (0.1,)),
    }
    assert "a (calibration published): 0.5 at epsilon 1, 1 at 2" in plot.alternative


def test_the_order_of_the_files_decides_nothing():
    runs = [_made(name, at, at / n) for n, name in ((3, "a"), (7, "b")) for at in (1.0, 2.0, 3.0)]
    forth, back = ({c.label: c.y for c in overview(r).plots[0].curves} for r in (runs, runs[::-1]))
    assert forth == back
    assert len(forth) == 2


def test_epsilons_that_bound_different_things_share_no_axis():
    runs = [_made("a", at, 0.5) for at in (1.0, 2.0, 3.0)]
    metric = Metric("distance in the space s", 0.1, 1.0, 2.0)
    for at in (1.0, 2.0, 3.0):
        statement = PrivacyStatement(
            notion=Notion.METRIC, epsilon=at, unit=Unit.WORD, metric=metric
        )
        runs.append((f"m {at}", {"statement": statement.to_dict(), "metrics": {"f1": 0.9}}))
    first, second = overview(runs).plots
    assert (len(first.curves), len(second.curves)) == (1, 1)
    assert first.x == "epsilon, each label"
    assert "distance in the space s" in second.x
    (bars,) = overview(runs[2:4] + runs[:1]).plots
    assert len(bars.bars) == 3
    assert "not comparable" in bars.alternative


def test_attacks_are_drawn_against_epsilon_beside_guessing():
    runs = [
        (f"{name} {at}", _words_attacked(at / 10, at, mechanism={"name": name, "epsilon": at}))
        for name in ("a", "b")
        for at in (2.0, 4.0, 6.0)
    ]
    (plot,) = overview(runs).plots
    assert plot.title == "share of words that the best attacker names"
    assert [curve.label for curve in plot.curves] == ["a", "b"]
    assert plot.curves[0].y == pytest.approx((0.2, 0.4, 0.6))
    assert plot.level == ("guessing, on average", pytest.approx(0.05))


def test_the_record_of_a_recipe_is_a_section():
    plot = Plot("p", "P", "x", "y", (Curve("c", (1.0,), (2.0,), (0.1,)),), "A dot.", True, ("l", 3))
    table = Table("t", "T", ("a",), ((1.5,),), "note")
    claim = Claim("a", "b", "c", "holds")
    record = {
        "recipe": "small",
        "title": "",
        "introduction": ["What was run."],
        "findings": [asdict(claim)],
        "tables": [asdict(table)],
        "plots": [asdict(plot)],
    }
    section = section_of("x", json.loads(json.dumps(record)))
    assert section == Section(
        "small", ("What was run.",), claims=(claim,), tables=(table,), plots=(plot,)
    )


@pytest.mark.parametrize(
    ("ending", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")]
)
def test_a_plot_is_written_in_the_format_of_its_name(tmp_path, ending, start):
    path = tmp_path / f"plot.{ending}"
    draw(Plot("p", "P", "x", "y", (Curve("c", (1.0,), (2.0,)),), "A dot."), path)
    assert path.read_bytes().startswith(start)


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ("not json", InputError),
        ("[1]", InputError),
        ("{}", InputError),
        ('{"recipe": "x"}', InputError),
    ],
)
def test_other_files_are_refused(tmp_path, content, error):
    path = tmp_path / "x.json"
    path.write_text(content)
    with pytest.raises(error):
        [section_of(*run) for run in runs_in([path])]


def test_missing_files_and_empty_folders_are_refused(tmp_path):
    with pytest.raises(NotFound, match="check the path"):
        runs_in([tmp_path / "absent.json"])
    with pytest.raises(NotFound, match="holds no receipt"):
        runs_in([tmp_path])
    (tmp_path / "curve.json").write_text("[1, 2]")
    with pytest.raises(NotFound, match="none of these is a receipt"):
        runs_in([tmp_path])
    # Beside a result, other files of a folder are passed over.
    (tmp_path / "result.json").write_text('{"rows": 1}')
    assert runs_in([tmp_path]) == [("result", {"rows": 1})]


def test_the_page_escapes_what_it_shows_and_needs_no_network(tmp_path):
    path = tmp_path / "page.html"
    plot = Plot("p", "P", "x", "y", (Curve("c", (1.0,), (2.0,)),), 'A "dot" <b>.')
    write_page(path, "<script>", ["a & b"], [Section("s", guarantee=("x < y",), plots=(plot,))])
    text = path.read_text()
    assert "<script>" not in text
    assert "&lt;script&gt;" in text
    assert "x &lt; y" in text
    assert "http" not in text
    assert text.count('src="data:image/png;base64,') == 1


def test_the_figures_of_a_plot_are_a_table():
    plot = Plot(
        "p",
        "P",
        "x",
        "y",
        (Curve("a", (1.0, 2.0), (5.0, 6.0)), Curve("b", (2.0,), (7.0,), (1.0,))),
        "",
    )
    assert figures_of(plot).rows == ((1.0, 5.0, None), (2.0, 6.0, "7 ± 1"))


def _sealed(folder):
    output = folder / "out.csv"
    output.write_text("text\n")
    Receipt.from_dict(_receipt()).of_output(Digest.of(output)).write(receipt_path(output))
    return output


def test_an_output_that_is_not_the_one_of_its_receipt_is_not_reported(tmp_path):
    output = _sealed(tmp_path)
    output.write_text("other\n")
    for given in (output, receipt_path(output)):
        with pytest.raises(VerificationFailed, match="not what its receipt was written for"):
            runs_in([given])
    output.unlink()
    ((_, values),) = runs_in([receipt_path(output)])
    assert "the receipt alone" in values["checked"]


STATEMENT = _receipt()["statement"]
METRIC = {"name": "d", "nearest": 0.1, "median": 1.0, "farthest": 2.0, "kind": "other"}
RECORD = {"recipe": "r", "title": "t", "introduction": [], "findings": [], "tables": []}
PLOT = asdict(Plot("p", "P", "x", "y", (Curve("c", (1.0, 2.0), (2.0, 3.0)),), "A line."))


@pytest.mark.parametrize(
    "values",
    [
        {"counts": {"documents": "three"}},
        {"counts": {"documents": [3]}},
        {"keep": 10**400},
        {"rows": {"a": 10**400}},
        {"a": "\ud800"},
        {"findings": [1, 2], "passed": True},
        {"findings": [{"check": {"a": 1}, "verdict": [], "summary": 10**400}], "passed": True},
        {"guess": {"lowest": [], "median": {}, "highest": "x"}},
        {"statement": STATEMENT | {"epsilon": "two"}},
        {"statement": STATEMENT | {"epsilon": 10**400}},
        {"statement": STATEMENT | {"caveats": [1, 2]}},
        {"statement": STATEMENT | {"scope": {"a": 1}}},
        {"statement": STATEMENT | {"notion": "metric", "metric": METRIC | {"median": "x"}}},
        {"statement": STATEMENT | {"notion": "metric", "metric": METRIC | {"name": None}}},
        RECORD | {"title": 5, "plots": []},
        RECORD | {"plots": [PLOT | {"title": "$\\badcmd{$"}]},
        RECORD | {"plots": [PLOT | {"curves": [{"label": "$x$", "x": [1.0], "y": []}]}]},
        RECORD | {"plots": [PLOT | {"curves": [{"label": "c", "x": ["a"], "y": [1.0]}]}]},
        RECORD | {"plots": [PLOT | {"level": ["l", "high"]}]},
        RECORD | {"plots": [], "tables": [{"name": "t", "title": "T", "columns": 3, "rows": 4}]},
    ],
)
def test_a_malformed_result_is_a_page_or_a_sentence(tmp_path, values):
    path = tmp_path / "result.json"
    path.write_text(json.dumps(values))
    with contextlib.suppress(DiscreetError):
        runs = runs_in([path])
        sections = [overview(runs), *(section_of(*run) for run in runs)]
        write_page(tmp_path / "page.html", "t", [], sections)


@pytest.mark.parametrize("depth", [100, 900, 5000, 100_000])
def test_nesting_is_refused_at_any_depth(tmp_path, depth):
    path = tmp_path / "result.json"
    path.write_text('{"a": ' + "[" * depth + "]" * depth + "}")
    with pytest.raises(InputError):
        runs_in([path])
