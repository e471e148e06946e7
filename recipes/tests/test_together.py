"""All recipes in one go: a page, and a failure that does not take the others with it."""

import json
import sys
from dataclasses import dataclass, replace
from typing import Annotated

import pytest
from typer.testing import CliRunner

from discreet import devices
from discreet.cli.reproduce import _commands
from discreet.errors import DiscreetError, InputError, InvalidValue, MissingExtra, NotFound
from discreet.settings import Setting, declared_in
from discreet_recipes import together
from discreet_recipes.data_files import Rows, rows_of, short_files
from discreet_recipes.needs import require_width
from discreet_recipes.options import Model, Options
from discreet_recipes.recipe import SIZES, Recipe
from discreet_recipes.record import Record
from discreet_recipes.together import RECIPES, reproduce_all
from small_data import write_rows


@dataclass(frozen=True, kw_only=True)
class Own(Options):
    """What it can be told."""

    rows: Annotated[int, Setting("Rows.", at_least=1)] = 1
    epsilons: Annotated[tuple[float, ...], Setting("Epsilons.", above=0)] = (1.0,)
    encoder: Annotated[str, Model("The model.")] = "small"


@dataclass(frozen=True, kw_only=True)
class Small(Recipe):
    """A recipe that computes nothing."""

    fails: bool = False

    def run(self, data, folder, options, say):
        if self.fails:
            raise InputError("there is no file x.jsonl.gz; check --data")
        record = Record.of(self, folder, {"rows": options.rows, "device": options.device}, say)
        record.part("one", lambda: str(data))
        record.add_claim(f"claim of {self.name}", "1", "2", "does not hold", "because", main=True)
        record.add_claim("a detail", "3", "4", "holds")
        record.add_key_figure("attack", f"attack of {self.name}", "0.51")
        return record.finish()


def _recipe(name, *, fails=False):
    words = dict.fromkeys(
        ("folder", "paper", "data", "fields", "short_help", "help", "the_paper_ran", "we_run"), ""
    )
    return Small(
        **words,
        name=name,
        subject=f"Paper {name}",
        title=f"Recipe {name}",
        quick_minutes=3,
        quick=Own(),
        standard=Own(rows=20, epsilons=(1.0, 2.5)),
        papers=Own(rows=300, encoder=""),
        files=lambda options: ["a-train", f"b-{options.rows}"],
        fails=fails,
    )


def test_the_page_opens_with_a_summary_of_all_claims_and_figures(tmp_path):
    said = []
    page = reproduce_all(
        [_recipe("a"), _recipe("b")],
        tmp_path,
        tmp_path / "out",
        size="quick",
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


def test_all_recipes_run_on_the_device_that_was_given(tmp_path):
    recipes, where = [_recipe("a"), _recipe("b")], {"size": "quick", "say": lambda _line: None}
    reproduce_all(recipes, tmp_path, tmp_path / "out", device="cpu", **where)
    kept = [json.loads((tmp_path / "out" / n / "record.json").read_text()) for n in "ab"]
    assert [one["settings"]["device"] for one in kept] == ["cpu", "cpu"]
    with pytest.raises(InvalidValue, match="device"):
        reproduce_all(recipes, tmp_path, tmp_path / "none", device="toaster", **where)
    assert not (tmp_path / "none").exists()


def test_a_recipe_that_fails_is_named_and_the_others_are_shown(tmp_path):
    with pytest.raises(DiscreetError, match="1 of 2 recipes failed"):
        reproduce_all(
            [_recipe("bad", fails=True), _recipe("good")],
            tmp_path,
            tmp_path / "out",
            size="quick",
            say=lambda _line: None,
        )
    text = (tmp_path / "out" / "index.html").read_text()
    assert "Recipes that failed" in text
    assert "claim of good" in text


def test_a_size_is_taken_by_its_name_and_changed_by_what_is_given():
    recipe = _recipe("a")
    assert recipe.chosen({}) == recipe.standard
    assert recipe.chosen({"quick": True, "rows": None}) == recipe.quick
    given = {"paper": True, "encoder": "mine", "epsilons": " 3, 0.5 "}
    assert recipe.chosen(given) == Own(rows=300, epsilons=(3.0, 0.5), encoder="mine")
    flags = {each.flag: each for each in recipe.declared()}
    own = ["--rows", "--epsilons", "--encoder"]
    assert list(flags) == ["--quick", "--standard", "--paper", "--device", *own]
    assert flags["--epsilons"].setting.help == "Epsilons. 1 (quick, paper); 1,2.5 (standard)."
    assert "to be given (paper)" in flags["--encoder"].setting.help


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"quick": True, "paper": True}, "--quick and --paper exclude each other"),
        ({"epsilons": "1,two"}, "--epsilons must be numbers with commas"),
        ({"epsilons": "1,-2"}, "each of --epsilons must be"),
        ({"rows": 0}, "rows of Own must be"),
    ],
)
def test_what_cannot_be_chosen(given, words):
    with pytest.raises(InvalidValue, match=words):
        _recipe("a").chosen(given)


def test_what_is_missing_is_named_before_any_work(tmp_path):
    recipe = _recipe("a")
    with pytest.raises(InvalidValue, match=r"--encoder must be given. The model."):
        Recipe.run(recipe, tmp_path, tmp_path / "out", recipe.papers, print)
    with pytest.raises(NotFound, match=r"no a-train\.jsonl\.gz, no b-20\.jsonl\.gz in"):
        Recipe.run(recipe, tmp_path, tmp_path / "out", recipe.standard, print)
    assert not (tmp_path / "out").exists()


def test_rows_that_a_file_does_not_have_are_named_before_any_work(tmp_path):
    recipe = replace(_recipe("a"), rows=lambda options: rows_of("a-train", rows=options.rows))
    write_rows(tmp_path / "a-train.jsonl.gz", [{"text": "a"}] * 19)
    write_rows(tmp_path / "b-20.jsonl.gz", [])
    words = r"a-train\.jsonl\.gz has 19 rows where --rows asks for 20: ask for fewer"
    with pytest.raises(InvalidValue, match=words):
        Recipe.run(recipe, tmp_path, tmp_path / "out", recipe.standard, print)
    assert not (tmp_path / "out").exists()
    write_rows(tmp_path / "a-train.jsonl.gz", [{"text": "a"}] * 20)
    with pytest.raises(NotFound, match="small"):  # its model, looked for next
        recipe.require(tmp_path, recipe.standard)


def test_rows_are_counted_over_files_and_for_every_option_that_asks(tmp_path):
    for name, rows in (("a", 7), ("b", 4)):
        write_rows(tmp_path / f"{name}.jsonl.gz", [{"text": "tea"}] * rows)
    assert not short_files(tmp_path, [*rows_of("a", train=7), Rows(("a", "b"), "test", 11)])
    asked = [*rows_of("a", train=8, tuned=9, seeds=2, none=0), Rows(("a", "b"), "sst2_test", 12)]
    assert short_files(tmp_path, asked) == [
        "a.jsonl.gz has 7 rows where --train asks for 8 and --tuned asks for 9",
        "a.jsonl.gz and b.jsonl.gz together have 11 rows where --sst2-test asks for 12",
    ]
    (tmp_path / "b.jsonl.gz").write_bytes(b"not gzip")
    with pytest.raises(InputError, match="is not intact gzip data"):
        short_files(tmp_path, asked)


def test_public_text_that_is_mostly_protected_too_is_refused_before_any_work(tmp_path):
    """Some rows are in both by themselves; a whole file of them is not public."""
    recipe = replace(_recipe("a"), apart=lambda _options: [("b-20", "a-train")])
    write_rows(tmp_path / "a-train.jsonl.gz", [{"text": f"tea {i}"} for i in range(20)])
    for both in (5, 6):
        own = [{"text": f"tea {i if i < both else i + 100}"} for i in range(10)]
        write_rows(tmp_path / "b-20.jsonl.gz", own)
        words = "6 of the 10 rows of b-20.jsonl.gz are in a-train.jsonl.gz too"
        # Else the model is looked for next.
        with pytest.raises((InvalidValue, NotFound), match=words if both == 6 else "small"):
            recipe.require(tmp_path, recipe.standard)


def test_what_a_recipe_imports_is_looked_for_before_any_work(tmp_path, monkeypatch):
    recipe = _recipe("a")
    for name in recipe.files(recipe.quick):
        (tmp_path / f"{name}.jsonl.gz").touch()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"imports matplotlib needs.*discreet\[report\]"):
        recipe.require(tmp_path, recipe.quick)


def test_dimensions_that_a_model_does_not_have_are_named(tmp_path):
    (tmp_path / "config.json").write_text('{"hidden_size": 384}')
    require_width(str(tmp_path), {"dimensions": 384})
    words = r"--tuned-dimensions asks for 768 dimensions, where a vector of .* has 384"
    with pytest.raises(InvalidValue, match=words):
        require_width(str(tmp_path), {"dimensions": 384, "tuned_dimensions": 768})
    (tmp_path / "config.json").write_text("{}")
    require_width(str(tmp_path), {"dimensions": 384, "tuned_dimensions": 768})


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
@pytest.mark.parametrize("size", SIZES)
def test_rows_are_asked_of_files_that_are_read(recipe, size):
    options = recipe.sized(size)
    asked = {name for each in recipe.rows(options) for name in each.files}
    apart = {name for pair in recipe.apart(options) for name in pair}
    assert asked or size == "quick"
    assert asked | apart <= {*recipe.files(options)}
    names = {each.name for each in declared_in(type(options))}
    assert {each.option for each in recipe.rows(options)} <= names


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_options_that_came_later_are_as_before_unless_the_paper_says_otherwise(recipe):
    """What is kept was made with these values, and its command does not say them."""
    for size in ("quick", "standard"):
        options = recipe.sized(size)
        assert {n: getattr(options, n) for n in recipe.quick.later} == dict(recipe.quick.later)


def test_a_model_that_is_not_there_or_cannot_read_is_named_before_any_work(tmp_path):
    recipe = _recipe("a")
    for name in recipe.files(recipe.quick):
        (tmp_path / f"{name}.jsonl.gz").touch()
    bare = tmp_path / "bare"
    bare.mkdir()
    (bare / "config.json").write_text('{"model_type": "bert"}')
    for model, error, words in (
        (str(tmp_path / "none"), NotFound, "is not a directory with a model"),
        (str(bare), InputError, "has no tokeniser"),
    ):
        with pytest.raises(error, match=words):
            Recipe.run(recipe, tmp_path, tmp_path / "out", Own(encoder=model), print)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
@pytest.mark.parametrize("size", SIZES)
def test_every_recipe_has_three_sizes_that_are_in_range_and_different(recipe, size, tmp_path):
    options = recipe.sized(size)
    assert type(options) is type(recipe.quick)
    assert [o for o in map(recipe.sized, SIZES) if o == options] == [options]
    # Whatever is missing, the error says so: the folder is empty.
    with pytest.raises((InvalidValue, NotFound), match=r"must be given|there is no"):
        recipe.require(tmp_path, options)
    assert recipe.files(options)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["santext", "--paper"], "--space and --pieces and --encoder and --corpus must be given"),
        (["santext", "--corpus", "/none/such.txt"], "there is no file /none/such.txt"),
        (["santext", "--paper", "--quick"], "--quick and --paper exclude each other"),
        (["sentdp", "--quick", "--epsilons", "1,x"], "--epsilons must be numbers with commas"),
        (["sentdp", "--quick", "--data-sets", "20news,other"], "each of --data-sets must be"),
        (["sentdp", "--quick", "--news", "700,120"], "--news must be 3 values with commas"),
        (["sentence-ldp", "--tuned", "none"], "--tuned must be 2 values with commas"),
        (["uedp", "--epsilons", "none"], "--epsilons cannot be none"),
        (["uedp", "--topics", "5"], "--topics must be 2 values with a comma between them, or none"),
        (["uedp", "--steps", "0"], "--steps must be"),
        (["uedp", "--device", "abacus"], "--device must be one of"),
        (["uedp", "--device", "mps"], "mps was asked for and this machine has none"),
        (["trlaplace", "--utility", "gaussian:x"], "is NAME:EPSILON or NAME:EPSILON:published"),
        (["trlaplace", "--utility", "gaussian:-1"], "is NAME:EPSILON or NAME:EPSILON:published"),
        (["trlaplace", "--utility", "gauss:1"], "a mechanism of --utility must be one of cmp,"),
        (["trlaplace", "--news-utility", "uniform:1"], "has an epsilon, which uniform has not"),
        (["trlaplace", "--news-utility", "gaussian:2:published"], "leave out :published"),
        (["trlaplace"], "there is no sst2-train.jsonl.gz, no sst2-dev.jsonl.gz"),
        (["all", "--quick", "--standard"], "--quick and --standard exclude each other"),
    ],
)
def test_the_command_refuses_before_any_work(arguments, words, tmp_path, monkeypatch):
    monkeypatch.setattr(devices, "_present", lambda: ())
    out = tmp_path / "out"
    found = CliRunner().invoke(_commands(together), [*arguments, *_places(tmp_path, out)])
    assert words in str(found.exception)
    assert not out.exists()


@pytest.mark.parametrize("command", ["uedp", "all"])
def test_a_device_without_64_bits_is_refused_before_any_work(command, tmp_path, monkeypatch):
    monkeypatch.setattr(devices, "_present", lambda: ("mps",))
    out = tmp_path / "out"
    arguments = [command, "--quick", "--device", "mps", *_places(tmp_path, out)]
    found = CliRunner().invoke(_commands(together), arguments)
    assert "mps has no 64-bit numbers" in str(found.exception)
    assert not out.exists()


def _places(data, out):
    return ["--data", str(data), "-o", str(out)]


def test_all_five_papers_are_there():
    names = [recipe.name for recipe in RECIPES]
    assert names == ["santext", "sentence-ldp", "sentdp", "uedp", "trlaplace"]
