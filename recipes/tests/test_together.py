"""All recipes in one go: a page, and a failure that does not take the others with it."""

import pytest

from discreet.errors import DiscreetError, InputError
from discreet_recipes.record import Finding, Headline, Record
from discreet_recipes.together import Recipe, recipes, reproduce_all


def _recipe(name, claim, *, fails=False):
    def run(data, folder, *, quick, say):
        if fails:
            raise InputError("there is no file x.jsonl.gz; check --data")
        record = Record(folder, name, {"quick": quick}, say, title=f"Recipe {name}")
        record.part("one", lambda: str(data))
        record.findings.append(Finding(claim, "1", "2", "does not hold", "because", main=True))
        record.findings.append(Finding("a detail", "3", "4", "holds"))
        record.headlines.append(Headline("attack", f"attack of {name}", "0.51"))
        record.finish()
        return record

    return Recipe(name, f"Paper {name}", run, 3)


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
    assert "Paper a: claim of a" in summary
    assert "Paper b: claim of b" in summary
    assert "attack of b" in summary
    assert "a detail" not in summary
    assert text.count(">a detail</td>") == 2
    verdicts = (tmp_path / "out" / "tables" / "verdicts.csv").read_text().splitlines()
    assert verdicts[0] == "subject,claims,holds,holds in part,does not hold,not settled"
    assert verdicts[1:] == ["Paper a,2,1,0,1,0", "Paper b,2,1,0,1,0"]
    claims = (tmp_path / "out" / "tables" / "claims.csv").read_text().splitlines()
    assert claims == [
        "claim,published,measured,verdict,why",
        "Paper a: claim of a,1,2,does not hold,because",
        "Paper b: claim of b,1,2,does not hold,because",
    ]
    attacks = (tmp_path / "out" / "tables" / "attack.csv").read_text().splitlines()
    assert attacks == [
        "subject,what,figure",
        "Paper a,attack of a,0.51",
        "Paper b,attack of b,0.51",
    ]
    readme = (tmp_path / "out" / "README.md").read_text()
    assert "| Paper b: claim of b |" in readme
    assert "[Paper b](b/README.md)" in readme
    assert (tmp_path / "out" / "b" / "README.md").is_file()
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
