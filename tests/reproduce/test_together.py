"""All recipes in one go: a page, and a failure that does not take the others with it."""

import pytest

from discreet.errors import DiscreetError, InputError
from discreet.reproduce.record import Finding, Headline, Record
from discreet.reproduce.together import Recipe, recipes, reproduce_all


def _recipe(name, claim, *, fails=False):
    def run(data, folder, *, quick, say):
        if fails:
            raise InputError("there is no file x.jsonl.gz; check --data")
        record = Record(folder, name, {"quick": quick}, say, title=f"Recipe {name}")
        record.part("one", lambda: str(data))
        record.findings.append(Finding(claim, "1", "2", "does not hold", "because"))
        record.headlines.append(Headline("attack", f"attack of {name}", "0.51"))
        record.finish()
        return record

    return Recipe(name, run, 3)


def test_the_page_opens_with_a_summary_of_all_claims_and_figures(tmp_path):
    said = []
    page = reproduce_all(
        [_recipe("a", "claim of a"), _recipe("b", "claim of b")],
        tmp_path,
        tmp_path / "out",
        quick=True,
        say=said.append,
    )
    text = page.read_text()
    summary = text[text.index("Summary</h2>") : text.index("Recipe a</h2>")]
    assert "a: claim of a" in summary
    assert "b: claim of b" in summary
    assert "attack of b" in summary
    assert "[1/2] a; about 6 minutes left" in said
    assert "[2/2] b; about 3 minutes left" in said


def test_a_recipe_that_fails_is_named_and_the_others_are_shown(tmp_path):
    with pytest.raises(DiscreetError, match="1 of 2 recipes failed"):
        reproduce_all(
            [_recipe("bad", "x", fails=True), _recipe("good", "claim of good")],
            tmp_path,
            tmp_path / "out",
            quick=True,
            say=lambda _line: None,
        )
    text = (tmp_path / "out" / "index.html").read_text()
    assert "Recipes that failed" in text
    assert "claim of good" in text


def test_all_five_papers_are_there():
    names = [recipe.name for recipe in recipes()]
    assert names == ["santext", "sentence-ldp", "sentdp", "uedp", "trlaplace"]
