"""The pages of published records: what stands on them is what stands in these."""

import importlib.util
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from discreet.report.plots import Curve
from discreet_recipes.record import Record
from discreet_recipes.sentdp import RECIPE

SCRIPT = Path(__file__).parents[2] / "scripts" / "publish_run.py"


@pytest.fixture
def publish(tmp_path, monkeypatch):
    spec = importlib.util.spec_from_file_location("publish_run", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "PAGES", tmp_path / "pages")
    monkeypatch.setattr(module, "IMAGES", tmp_path / "images")
    monkeypatch.setattr(module, "RECORDS", tmp_path / "records")
    monkeypatch.setattr(module, "draw", lambda plot, path: path.write_text(plot.title))
    return module


@pytest.mark.usefixtures("undrawn")
def test_a_record_becomes_a_part_of_the_page(publish, tmp_path):
    size = replace(RECIPE.quick, trials=5, epsilons=(1.0, 2.5), encoder="/models/mine")
    run = tmp_path / "run"
    record = Record.of(RECIPE, run / "sentdp", asdict(size), print, "Where we differ.")
    record.add_claim("it works", "yes", "0.5", "does not hold", "because")
    record.add_claim("it is fast", "1 s", "2 s", "not settled", main=True)
    record.add_key_figure("speed", "all of it", "2 s")
    record.add_table("scores", "Scores", [{"epsilon": 1.0, "F1": 0.51234}], "A note.")
    record.add_table("examples", "Examples", [{"text": "the tea is good"}])
    record.add_plot("curve", "C", ("x", "y"), [Curve("a", (1.0, 2.0), (2.0, 3.0))], "It rises.")
    record.add_plot("point", "P", ("x", "y"), [Curve("a", (1.0,), (2.0,))], "A point.")
    assert record.part("one", lambda: 0.5) == 0.5
    record.part("examples", lambda: "the tea is good")
    record.part("topics-entities", lambda: [[0, 3, "org", "the tea is good"]])
    record.finish()
    publish.main(run)
    page = (tmp_path / "pages" / "sentdp.md").read_text()
    # The command says what is not as --quick has it, without anybody's folders.
    command = page[page.index("```text") : page.rindex("```")]
    assert "discreet reproduce sentdp --quick --data DATA -o RUN/sentdp" in command
    assert [line.strip(" \\") for line in command.splitlines()[2:]] == [
        "--encoder mine",
        "--epsilons 1,2.5",
        "--trials 5",
    ]
    assert "| it works | yes | 0.5 | does not hold | because |" in page
    assert "| 1 | 0.512 |" in page
    short = (tmp_path / "pages" / "index.md").read_text()
    assert "Every table and plot: [SentDP](sentdp.md)." in short
    assert "| SentDP: it is fast | 1 s | 2 s | not settled |" in short
    assert "it works" not in short
    assert "| SentDP | 0 | 0 | 1 | 1 |" in short
    assert "| SentDP | speed | all of it | 2 s |" in short
    assert "A note." in page
    assert "![It rises.](../../images/run/sentdp-curve.png)" in page
    assert (tmp_path / "images" / "sentdp-curve.png").read_text() == "C"
    kept = (tmp_path / "records" / "sentdp.json").read_text()
    parts = [path.read_text() for path in (tmp_path / "records").glob("sentdp/parts/*")]
    assert parts == ["0.5"]
    for hidden in ("the tea is good", "/models"):
        assert hidden not in page + short + kept
    (tmp_path / "pages" / "old.md").write_text("of a recipe that is no more")
    publish.main()  # what is kept is enough
    assert (tmp_path / "pages" / "sentdp.md").read_text() == page
    assert sorted(path.name for path in (tmp_path / "pages").iterdir()) == ["index.md", "sentdp.md"]
    assert "Where we differ." in page
    assert "A point." not in page


@pytest.mark.usefixtures("undrawn")
def test_a_recipe_may_be_run_in_pieces(publish, tmp_path):
    for name, verdict in (("sentdp", "holds"), ("sentdp.more-of-it", "does not hold")):
        record = Record.of(RECIPE, tmp_path / "run" / name, asdict(RECIPE.quick), print)
        record.add_claim("in both", "yes", f"by {name}", verdict, main=True)
        record.add_claim(f"in {name}", "yes", "0.5", verdict)
        record.add_table("same", "The same in both", [{"epsilon": 1.0}])
        record.add_table("other", f"Only {name}", [{"epsilon": 1.0}])
        record.add_plot("two", "T", ("x", "y"), [Curve("a", (1.0, 2.0), (2.0, 3.0))], f"In {name}.")
        record.add_key_figure("speed", "all of it", f"that of {name}")
        record.finish()
    (tmp_path / "run" / "another").mkdir()
    (tmp_path / "run" / "another" / "record.json").write_text("{}")
    publish.main(tmp_path / "run")
    page = (tmp_path / "pages" / "sentdp.md").read_text()
    short = (tmp_path / "pages" / "index.md").read_text()
    assert "\n## SentDP\n" in page
    assert "\n## SentDP, more of it\n" in page
    assert "--quick --data DATA -o RUN/sentdp.more-of-it" in page
    # A piece repeats nothing, and two points of it are no picture.
    assert page.count("The same in both") == 1
    assert "### SentDP, more of it: Only sentdp.more-of-it" in page
    assert page.count("![") == page.count("![In sentdp.]") == 1
    assert [picture.name for picture in (tmp_path / "images").iterdir()] == ["sentdp-two.png"]
    # What both have counts once, and the whole recipe is where its figure comes from.
    assert "| SentDP | 2 | 0 | 1 | 0 |" in short
    assert "| SentDP: in both | yes | by sentdp | holds |" in short
    assert "| SentDP | speed | all of it | that of sentdp |" in short
    assert "that of sentdp.more" not in page + short


@pytest.mark.usefixtures("undrawn")
def test_long_tables_are_folded(publish, tmp_path):
    record = Record.of(RECIPE, tmp_path / "run" / "sentdp", asdict(RECIPE.quick), print)
    for rows in (24, 25):
        record.add_table(f"of-{rows}", f"Of {rows}", [{"row": row} for row in range(rows)])
    record.finish()
    publish.main(tmp_path / "run")
    page = (tmp_path / "pages" / "sentdp.md").read_text()
    folded = page[page.index("<details") : page.index("</details>")]
    assert "<summary>25 rows</summary>" in folded
    assert page.count("| row |") == 2
    assert folded.count("| row |") == page.count("<details") == 1
