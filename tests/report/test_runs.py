"""Receipts and results as sections of a page."""

import contextlib
import json
from dataclasses import asdict

import pytest

from discreet.errors import DiscreetError, InputError, NotFound, VerificationFailed
from discreet.receipt import Receipt, receipt_path
from discreet.report.claims import Claim
from discreet.report.page import Section, figures_of, write_page
from discreet.report.plots import Curve, Plot, draw
from discreet.report.runs import overview, runs_in, section_of
from discreet.report.tables import Table
from discreet.staging import Digest
from discreet.statement import Notion, PrivacyStatement, Unit


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
    ((*_, outcome),) = overview([("run", _receipt(keep=0.6622))]).tables[0].rows
    assert outcome == "1,200 documents, a word stays with chance 0.66"


def test_outcomes_of_attacks_are_rows_of_a_table():
    outcomes = [
        {"attack": "membership", "success": {"value": 0.51, "low": 0.48}, "chance": 0.5},
        {"attack": "inversion", "success": {"value": 0.2, "low": 0.1}, "chance": None},
    ]
    (table,) = section_of("attack", {"outcomes": outcomes}).tables
    assert table.columns == ("attack", "success, value", "success, low", "chance")
    assert table.rows == (("membership", 0.51, 0.48, 0.5), ("inversion", 0.2, 0.1, None))


def test_a_failed_audit_cannot_be_overlooked():
    audit = {
        **_receipt(),
        "passed": False,
        "findings": [{"check": "law", "verdict": "FAIL", "summary": "epsilon 2 claimed, 3 found"}],
    }
    section = section_of("audit", audit)
    assert ("law", "FAIL", "epsilon 2 claimed, 3 found") in section.tables[0].rows
    ((*_, outcome),) = overview([("audit", audit)]).tables[0].rows
    assert outcome == "AUDIT FAILED"


def test_a_failed_audit_of_training_cannot_be_overlooked():
    audit = {"passed": False, "findings": {"user": {"claimed": 1.0, "lower": 2.5}}}
    (figures, findings) = section_of("audit", audit).tables
    assert figures.rows == (("passed", "False"),)
    assert ("user, lower", 2.5) in findings.rows
    ((*_, outcome),) = overview([("audit", audit)]).tables[0].rows
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
    with pytest.raises(NotFound, match="no receipt"):
        runs_in([tmp_path])
    (tmp_path / "curve.json").write_text("[1, 2]")
    with pytest.raises(NotFound, match="no receipt"):
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
