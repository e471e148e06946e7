"""discreet.sanitize: the same kind of thing comes out, nothing passes that nobody decided about."""

import io
import json
import pickle
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import discreet
from command import MARKER, UNKNOWN, WORDS
from discreet import DiscreetError, Sanitizer
from discreet.errors import InvalidValue
from discreet.mechanisms.word import SanText
from discreet.randomness import SEEDED_CAVEAT
from discreet.release import streams
from discreet.release.choice import chosen_sanitizer
from discreet.release.frames import sanitize
from discreet.release.text_files import sanitize_file
from discreet.spaces.space import EmbeddingSpace

# No text below has a word of the space, so any word of a text in an output is a leak.
TEXTS = [f"{MARKER} bought tea", None, "", f"she likes {MARKER}", "one, two"]
LENGTHS = [3, None, 0, 3, 3]
NAMES = ["Ann Roe", "Bob Poe", "Cay Loe", "Ann Roe", "Dan Moe"]
STARS = [1, 2, 3, 4, 5]


@pytest.fixture(scope="module")
def sanitizer():
    vectors = np.random.default_rng(0).standard_normal((len(WORDS) + 1, 4))
    space = EmbeddingSpace.from_arrays([UNKNOWN, *WORDS], vectors, "test", name="test")
    return Sanitizer(SanText(space, epsilon=1.0))


def check_texts(texts, lengths=LENGTHS):
    """One released word for each, from the public words alone."""
    assert len(texts) == len(lengths)
    for text, length in zip(texts, lengths, strict=True):
        if length is None:
            assert pd.isna(text)
        else:
            assert len(text.split()) == length
            assert set(text.split()) <= {UNKNOWN, *WORDS}


COLUMNS = {"body": TEXTS, "customer": NAMES, "stars": STARS}
TABLES = {
    "pandas": lambda: pd.DataFrame(COLUMNS),
    "pandas objects": lambda: pd.DataFrame(COLUMNS, dtype=object),
    "pandas strings": lambda: pd.DataFrame(COLUMNS).astype({"body": "string"}),
    "pandas arrow": lambda: pd.DataFrame(COLUMNS).astype({"body": pd.ArrowDtype(pa.string())}),
    "pandas categories": lambda: pd.DataFrame(COLUMNS).astype({"body": "category"}),
    "polars": lambda: pl.DataFrame(COLUMNS),
    "polars categories": lambda: pl.DataFrame(COLUMNS).cast({"body": pl.Categorical}),
    "arrow": lambda: pa.table(COLUMNS),
    "arrow large": lambda: pa.table({**COLUMNS, "body": pa.array(TEXTS, pa.large_string())}),
    "arrow codes": lambda: pa.table({**COLUMNS, "body": pa.array(TEXTS).dictionary_encode()}),
    "record batch": lambda: pa.RecordBatch.from_pydict(COLUMNS),
    "columns": lambda: dict(COLUMNS),
    "rows": lambda: pa.table(COLUMNS).to_pylist(),
}


def columns_of(table):
    """Any of them as lists by name."""
    if isinstance(table, pd.DataFrame):
        return {name: table[name].tolist() for name in table.columns}
    if isinstance(table, pl.DataFrame):
        return table.to_dict(as_series=False)
    if isinstance(table, pa.Table | pa.RecordBatch):
        return table.to_pydict()
    if isinstance(table, list):
        return {name: [row[name] for row in table] for name in table[0]}
    return table


@pytest.mark.parametrize("kind", TABLES)
def test_a_table_comes_out_as_it_went_in(kind, sanitizer):
    table = TABLES[kind]()
    before = repr(table)
    release = sanitize(
        table, columns=["body"], sanitizer=sanitizer, keep=["stars"], drop=["customer"]
    )
    assert type(release.values) is type(table)
    assert repr(table) == before
    out = columns_of(release.values)
    assert list(out) == ["body", "stars"]
    assert out["stars"] == STARS
    check_texts(out["body"])
    assert MARKER not in str(release.values)
    assert release.units == 9
    assert release.draws.tolist() == [3, 0, 0, 3, 3]
    assert release.columns == {"body": "sanitise", "stars": "keep", "1 other": "drop"}
    public = release.statement.public
    assert "the columns that are written as they are: stars" in public
    assert "which texts are missing" in public
    if kind.startswith("arrow"):
        assert release.values.schema.field("body").type == table.schema.field("body").type
    if kind in ("pandas", "pandas objects", "pandas strings", "pandas arrow"):
        assert release.values["body"].dtype == table["body"].dtype


@pytest.mark.parametrize("kind", TABLES)
def test_a_column_is_replaced_by_surrogates_and_several_are_sanitised(kind, sanitizer):
    release = sanitize(
        TABLES[kind](),
        ["body", "customer"],
        sanitizer=sanitizer,
        surrogates={},
        others="drop",
    )
    out = columns_of(release.values)
    assert list(out) == ["body", "customer"]
    check_texts(out["customer"], [2] * 5)
    assert release.units == 19
    assert release.receipt.counts["words_of_field"] == {"body": 9, "customer": 10}
    made = sanitize(
        TABLES[kind](),
        "body",
        sanitizer=sanitizer,
        surrogates={"customer": "person"},
        drop=["stars"],
    )
    assert "may stand in the texts as well" in made.statement.caveats[-1]
    assert made.receipt.statement.caveats == made.statement.caveats
    people = columns_of(made.values)["customer"]
    assert not set(people) & set(NAMES)
    assert all(isinstance(each, str) and each for each in people)


@pytest.mark.parametrize("kind", TABLES)
def test_what_nobody_decided_about_is_refused_by_name(kind, sanitizer):
    with pytest.raises(DiscreetError) as refused:
        sanitize(TABLES[kind](), columns=["body"], sanitizer=sanitizer, keep=["stars"])
    assert "what becomes of customer" in str(refused.value)
    assert "drop=['customer']" in str(refused.value)
    assert "--" not in str(refused.value)


ALONE = {
    "list": lambda: list(TEXTS),
    "tuple": lambda: tuple(TEXTS),
    "array": lambda: np.array(TEXTS, dtype=object),
    "pandas": lambda: pd.Series(TEXTS, name="body"),
    "polars": lambda: pl.Series("body", TEXTS),
    "arrow": lambda: pa.array(TEXTS),
    "chunks": lambda: pa.chunked_array([TEXTS[:2], TEXTS[2:]]),
}


@pytest.mark.parametrize("kind", ALONE)
def test_a_column_alone_comes_out_as_it_went_in(kind, sanitizer):
    data = ALONE[kind]()
    release = sanitize(data, sanitizer=sanitizer)
    assert type(release.values) is type(data)
    check_texts(
        list(release.values.to_pylist() if "arrow" in kind or kind == "chunks" else release.values)
    )
    assert release.units == 9
    if kind in ("pandas", "polars"):
        assert release.values.name == "body"
    with pytest.raises(DiscreetError, match="columns are for tables"):
        sanitize(data, columns="body", sanitizer=sanitizer)


def test_a_single_text(sanitizer):
    release = sanitize(f"{MARKER} here", sanitizer=sanitizer)
    check_texts([release.values], [2])
    assert release.units == 2


@pytest.mark.parametrize("missing", [None, float("nan"), np.nan, pd.NA, pd.NaT])
def test_whatever_stands_for_nothing_stays(missing, sanitizer):
    values = sanitize([missing, "tea"], sanitizer=sanitizer).values
    assert values[0] is missing
    frame = pd.DataFrame({"body": pd.Series([missing, "tea"], dtype=object)})
    assert sanitize(frame, "body", sanitizer=sanitizer).values["body"].isna().tolist() == [
        True,
        False,
    ]
    nothing = pd.DataFrame({"body": [missing, missing]})
    assert sanitize(nothing, "body", sanitizer=sanitizer).values["body"].isna().all()


@pytest.mark.parametrize(
    ("data", "given", "says"),
    [
        (["tea", 7], {}, "row 1 .* not a string but of type int"),
        ([b"tea"], {}, "of type bytes"),
        ([["tea"]], {}, "of type list"),
        (["a\0b"], {}, "row 0 .* NUL"),
        (["tea", "\ud800"], {}, "row 1 .* half a surrogate pair"),
        (None, {}, "got one of type NoneType"),
        (3, {}, "got one of type int"),
        ({"tea"}, {}, "got one of type set"),
        (np.array([["a"]]), {}, "one dimension"),
        (pd.DataFrame({"body": ["tea"]}), {}, "columns=\\['NAME', ...\\]"),
        (pd.DataFrame({"body": ["tea"]}), {"columns": ["bod"]}, "no column bod; its columns: body"),
        (pd.DataFrame({"body": [3.5]}), {"columns": ["body"]}, "of type float"),
        (pd.DataFrame({0: ["tea"]}), {"columns": ["body"]}, "column 1 .* must be a string"),
        (pd.DataFrame([["a", "b"]], columns=["c", "c"]), {"columns": "c"}, "the same name"),
        (pl.DataFrame({"body": [3]}), {"columns": ["body"]}, "not of a string type"),
        (pl.LazyFrame({"body": ["tea"]}), {"columns": ["body"]}, "collect"),
        (pa.table({"body": [3]}), {"columns": ["body"]}, "not of a string type"),
        ({"body": ["tea"], "id": [1, 2]}, {"columns": ["body"]}, "differ in length"),
        ({"body": "tea"}, {"columns": ["body"]}, "of type str; .* put it in a list"),
        ({"body": b"tea"}, {"columns": ["body"]}, "of type bytes"),
        ({"body": ["tea"], "id": 1}, {"columns": ["body"]}, "of type int"),
        ({"body": {"a": "tea"}}, {"columns": ["body"]}, "of type dict"),
        ([{"body": "tea"}, "tea"], {"columns": ["body"]}, "row 1 .* not a dictionary"),
        (["tea"], {"keep": ["id"]}, "no column id"),
        (["tea"], {"num_proc": 2}, "num_proc is for datasets"),
        (["tea"], {"epsilon": 2}, "epsilon belongs to the sanitizer"),
        (["tea"], {"nonsense": 2}, "nonsense belongs to the sanitizer"),
        (["tea"], {"whole_delta": 2}, "whole_delta"),
        (pd.DataFrame({"body": ["tea"], "who": [None]}),
         {"columns": "body", "others": "drop", "person_field": "who"}, "row 0 .* has no who"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_an_error_of_ours(data, given, says, sanitizer):
    with pytest.raises(DiscreetError, match=says) as refused:
        sanitize(data, sanitizer=sanitizer, **given)
    assert "tea" not in str(refused.value)
    assert refused.value.__cause__ is None


def test_the_mechanism_is_that_of_the_command_unless_given():
    release = sanitize(["The doctor saw me."], epsilon=8)
    assert release.receipt.mechanism["name"] == "near-words"
    assert release.receipt.about["space"]["name"] == "english"
    with pytest.raises(DiscreetError, match="near-words needs epsilon"):
        sanitize(["tea"])
    with pytest.raises(DiscreetError, match=r"nonsense is not an .*its options: epsilon, near"):
        sanitize(["tea"], epsilon=8, nonsense=1)


def test_a_weak_setting_is_refused_until_it_is_accepted(sanitizer):
    weak = SanText(sanitizer.mechanism.space, epsilon=1000.0)
    for given in ({"mechanism": weak}, {"sanitizer": Sanitizer(weak)}):
        with pytest.raises(DiscreetError, match=r"weak.*accept_weak=True") as refused:
            sanitize(["tea"], **given)
        assert "--" not in str(refused.value)
        assert sanitize(["tea"], **given, accept_weak=True).units == 1
    with pytest.raises(DiscreetError, match="epsilon belongs to a mechanism"):
        chosen_sanitizer(mechanism=weak, epsilon=3)


def test_the_row_labels_of_pandas_have_a_fate(sanitizer):
    frame = pd.DataFrame(COLUMNS).set_index("customer")
    with pytest.raises(DiscreetError, match="what becomes of customer"):
        sanitize(frame, "body", sanitizer=sanitizer, keep=["stars"])
    dropped = sanitize(frame, "body", sanitizer=sanitizer, others="drop").values
    assert dropped.index.equals(pd.RangeIndex(5))
    kept = sanitize(frame, "body", sanitizer=sanitizer, keep=["customer"], others="drop")
    assert kept.values.index.equals(frame.index)
    assert "the columns that are written as they are: customer" in kept.statement.public
    check_texts(kept.values["body"].tolist())
    for wrong in ({"surrogates": {"customer": "person"}}, {"columns": ["body", "customer"]}):
        with pytest.raises(DiscreetError, match="reset_index"):
            sanitize(frame, **{"columns": "body", "others": "drop"} | wrong, sanitizer=sanitizer)
    some = pd.DataFrame(COLUMNS)[lambda rows: rows.stars > 2]
    with pytest.raises(DiscreetError, match="what becomes of customer, index"):
        sanitize(some, "body", sanitizer=sanitizer, keep=["stars"])
    series = some["body"]
    with pytest.raises(DiscreetError, match="what becomes of index"):
        sanitize(series, sanitizer=sanitizer)
    assert sanitize(series, sanitizer=sanitizer, keep=["index"]).values.index.tolist() == [2, 3, 4]
    two = pd.DataFrame(COLUMNS).set_index(["customer", "stars"])
    out = sanitize(two, "body", sanitizer=sanitizer, keep=["stars"], drop=["customer"]).values
    assert out.index.names == ["stars"]


def test_nothing_else_of_a_table_comes_along(sanitizer):
    frame = pd.DataFrame({"body": ["tea"], "id": [1]})
    frame.attrs["source"] = MARKER
    out = sanitize(frame, "body", keep=["id"], sanitizer=sanitizer).values
    assert out.attrs == out["id"].attrs == {}
    fields = [pa.field(name, kind, metadata={"about": MARKER}) for name, kind in
              (("body", pa.string()), ("id", pa.int64()))]  # fmt: skip
    schema = pa.schema(fields, metadata={"source": MARKER})
    table = pa.table({"body": ["tea"], "id": [1]}, schema=schema)
    for given in (table, table.to_batches()[0]):
        out = sanitize(given, "body", keep=["id"], sanitizer=sanitizer).values
        assert out.schema.equals(schema.remove_metadata())
        assert MARKER.encode() not in pickle.dumps(out)


# As long as polars needs them to be to leave them where they are.
WARDS = ["the ward named B", "the ward named A", f"the ward named {MARKER}"]
CODED = pa.dictionary(pa.int32(), pa.string())
FILTERED = {
    "categories": pd.DataFrame({"ward": pd.Categorical(WARDS)}),
    "codes of pandas": pd.DataFrame({"ward": pd.array(WARDS, pd.ArrowDtype(CODED))}),
    "categories of polars": pl.DataFrame({"ward": WARDS}).cast(pl.Categorical),
    "enum": pl.DataFrame({"ward": WARDS}).cast(pl.Enum(WARDS)),
    "enums": pl.DataFrame({"ward": [[each] for each in WARDS]}).cast(pl.List(pl.Enum(WARDS))),
    "codes": pa.table({"ward": pa.array(WARDS, CODED)}),
    "batch": pa.RecordBatch.from_pydict({"ward": pa.array(WARDS, CODED)}),
    "a column of it": {"ward": pd.Categorical(WARDS)},
    "strings of polars": pl.DataFrame({"ward": WARDS}),
    "bytes of polars": pl.DataFrame({"ward": [each.encode() for each in WARDS]}),
}


@pytest.mark.parametrize("kind", FILTERED)
def test_what_no_row_has_is_not_kept(kind, sanitizer):
    """Whoever filters a table still has the values of all rows in its categories."""
    table, texts = FILTERED[kind], ["tea"] * 3
    if isinstance(table, pd.DataFrame):
        some = table.assign(body=texts)[:2]
    elif isinstance(table, pl.DataFrame):
        some = table.with_columns(body=pl.Series(texts)).filter(pl.int_range(3) < 2)
    elif isinstance(table, dict):
        some = {"ward": table["ward"][:2], "body": texts[:2]}
    else:
        some = table.append_column("body", pa.array(texts)).slice(0, 2)
    out = sanitize(some, "body", keep=["ward"], sanitizer=sanitizer).values
    wards = [w.decode() if isinstance(w, bytes) else w for w in np.ravel(columns_of(out)["ward"])]
    assert wards == WARDS[:2]
    assert MARKER.encode() not in _written(out)


def _written(table):
    """What is in the files that a library writes of a table, and in its memory."""
    if isinstance(table, pl.DataFrame):
        return pickle.dumps(table) + pickle.dumps(table.to_arrow()) + table.serialize()
    if isinstance(table, pd.DataFrame):
        table.to_feather(file := io.BytesIO(), compression="uncompressed")
        return pickle.dumps(table) + file.getvalue()
    return pickle.dumps(table)


WAS = 7_777_777_777_777
MISSING = {
    "pandas": lambda: pd.DataFrame({"age": pd.array([40, WAS], "Int64")}).assign(
        age=lambda frame: frame["age"].mask(frame["age"] > 99)
    ),
    "polars": lambda: pl.DataFrame({"age": [40, WAS]}).with_columns(
        age=pl.when(pl.col("age") > 99).then(None).otherwise(pl.col("age"))
    ),
}


@pytest.mark.parametrize("library", MISSING)
def test_a_number_that_was_made_missing_is_not_kept(library, sanitizer):
    """Both libraries leave it where it was, under a mark that says that it is missing."""
    table, was, texts = MISSING[library](), np.int64(WAS).tobytes(), ["tea", "tea"]
    some = (
        table.assign(body=texts)
        if library == "pandas"
        else table.with_columns(body=pl.Series(texts))
    )
    assert was in _written(some)
    out = sanitize(some, "body", keep=["age"], sanitizer=sanitizer).values
    assert was not in _written(out)
    assert out["age"].dtype == some["age"].dtype
    first, second = out["age"].to_list()
    assert first == 40
    assert second is None or second is pd.NA


def test_row_labels_that_no_row_has_are_not_kept(sanitizer):
    frame = pd.DataFrame({"body": ["tea"] * 3, "ward": WARDS, "kind": pd.Categorical(WARDS)})
    frame["name"] = pd.array(WARDS, "string")
    for labels in (["ward"], ["kind"], ["name"], ["ward", "kind"]):
        some = frame.set_index(labels)[:2]
        out = sanitize(some, "body", others="keep", sanitizer=sanitizer).values
        assert out.index.tolist() == some.index.tolist()
        assert out.index.names == labels
        assert MARKER.encode() not in _written(out)


def test_an_iterator_gives_a_stream_that_reads_on_as_it_is_read(sanitizer, monkeypatch):
    monkeypatch.setattr(streams, "BLOCK_ROWS", 4)
    read = []

    def texts():
        for number in range(100):
            read.append(number)
            yield None if number % 5 == 4 else f"{MARKER} {number}"

    stream = sanitize(texts(), sanitizer=sanitizer)
    assert len(read) == 4
    first = [next(stream) for _ in range(5)]
    assert len(read) == 8
    rest = list(stream)
    check_texts([*first, *rest], [None if i % 5 == 4 else 2 for i in range(100)])
    assert stream.units == 160
    assert stream.receipt.counts == {"documents": 100, "words": 160}
    assert stream.values is stream
    assert stream.statement == sanitize(["tea"], sanitizer=sanitizer).statement
    assert repr(stream).startswith("SanitizedStream(160 words so far")


def test_long_texts_of_an_iterator_are_not_gathered(sanitizer, monkeypatch):
    monkeypatch.setattr(streams, "_BLOCK_CHARACTERS", 1000)
    read = []
    texts = (read.append(0) or "word " * 150 for _ in range(10))
    next(sanitize(texts, sanitizer=sanitizer))
    assert len(read) == 2


def test_iterators_of_rows_and_tables(sanitizer, monkeypatch):
    monkeypatch.setattr(streams, "BLOCK_ROWS", 2)
    rows = pa.table(COLUMNS).to_pylist()
    out = list(sanitize(iter(rows), "body", sanitizer=sanitizer, others="drop"))
    assert [list(row) for row in out] == [["body"]] * 5
    check_texts([row["body"] for row in out])
    chunks = (pd.DataFrame(COLUMNS) for _ in range(3))
    stream = sanitize(chunks, "body", sanitizer=sanitizer, keep=["stars"], drop=["customer"])
    frames_out = list(stream)
    assert [list(frame.columns) for frame in frames_out] == [["body", "stars"]] * 3
    assert stream.units == 27
    reader = pa.table(COLUMNS).to_reader(max_chunksize=2)
    batches = list(sanitize(reader, "body", sanitizer=sanitizer, others="drop"))
    assert [batch.num_rows for batch in batches] == [2, 2, 1]
    # A field that appears late, and that nobody spoke of, stops the stream.
    late = iter([{"body": "tea"}, {"body": "tea"}, {"body": "tea", "email": MARKER}])
    stream = sanitize(late, "body", sanitizer=sanitizer)
    with pytest.raises(DiscreetError, match="what becomes of column 2") as refused:
        list(stream)
    assert MARKER not in str(refused.value)
    assert list(sanitize(iter([]), sanitizer=sanitizer)) == []


def test_a_seeded_release_repeats_and_says_so(sanitizer):
    one, two = (
        sanitize(["a b c d e f g h"], sanitizer=sanitizer, rng=np.random.default_rng(1))
        for _ in range(2)
    )
    assert one.values == two.values
    assert one.statement.caveats == (SEEDED_CAVEAT,)
    fresh = sanitize(["a " * 50] * 2, sanitizer=sanitizer)
    assert fresh.values[0] != fresh.values[1]
    assert not fresh.statement.caveats


def test_parts_of_a_long_table_are_one_release(sanitizer, monkeypatch):
    monkeypatch.setattr("discreet.release.tables._CHARACTERS", 40)
    seen = []
    texts = [f"word number {i}" for i in range(50)]
    release = sanitize(texts, sanitizer=sanitizer, progress=lambda *each: seen.append(each))
    check_texts(release.values, [3] * 50)
    assert release.draws.tolist() == [3] * 50
    assert seen[-1] == (50, 50)
    assert len(seen) > 10
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_the_receipt_says_what_that_of_a_file_says(sanitizer, tmp_path):
    frame = pd.DataFrame(COLUMNS)
    release = sanitize(
        frame,
        "body",
        sanitizer=sanitizer,
        keep=["stars"],
        drop=["customer"],
        person_field="customer",
    )
    frame.to_csv(tmp_path / "in.csv", index=False, na_rep="-")
    of_file = sanitize_file(
        tmp_path / "in.csv",
        tmp_path / "out.csv",
        sanitizer,
        text_field="body",
        keep=["stars"],
        drop=["customer"],
        person_field="customer",
    )
    told = json.loads(release.receipt.to_json())
    there = json.loads(of_file.to_json())
    assert set(there) - set(told) == {"output", "written"}
    for same in ("mechanism", "space", "columns", "keep", "best_guess", "layout", "repeat"):
        assert told[same] == there[same]
    assert told["whole"]["person"]["words"] == 6
    assert MARKER not in release.receipt.to_json()
    release.receipt.write(tmp_path / "receipt.json")
    assert discreet.Receipt.read(tmp_path / "receipt.json").counts == {"documents": 5, "words": 9}


class _Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.text = set(), ""

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        assert all(name == "style" for name, _ in attrs)

    def handle_data(self, data):
        self.text += data


def test_cards_show_the_guarantee_and_counts_and_no_text(sanitizer):
    hostile = "<script>alert(1)</script>"
    frame = pd.DataFrame({"body": [f"{MARKER} tea"], hostile: ["x"], "note": ["private"]})
    release = sanitize(frame, "body", sanitizer=sanitizer, keep=[hostile], drop=["note"])
    for shown in (release, release.statement):
        page = _Tags()
        page.feed(shown._repr_html_())
        assert "script" not in page.tags
        assert "Protects each word" in page.text
        assert MARKER not in page.text
        assert release.values["body"][0] not in page.text
        assert len(repr(shown)) < 120
        assert "Protects" in str(shown.statement if shown is release else shown)
    card = release._repr_html_()
    assert "<td>words</td>" in card
    assert "<td>a word stays</td>" in card
    assert "body: sanitise, column 2: keep, 1 other: drop" in card
    caveat = sanitize(["tea"], sanitizer=sanitizer, rng=np.random.default_rng(0))._repr_html_()
    assert "Caveat: seeded" in caveat.partition("<details>")[0]
    assert release.values["body"][0] not in repr(release)


def test_a_bar_in_a_notebook(sanitizer, monkeypatch):
    """The kernel of a notebook, as far as a bar needs one."""
    shown = []

    class Handle:
        def update(self, what):
            shown.append(what._repr_html_())

    def display(what, *, display_id):
        assert display_id
        shown.append(what._repr_html_())
        return Handle()

    shell = type("Shell", (), {"kernel": object()})()
    modules = {
        "IPython": type("IPython", (), {"get_ipython": staticmethod(lambda: shell)}),
        "IPython.display": type("display", (), {"display": staticmethod(display)}),
    }
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    sanitize(["tea"] * 10, sanitizer=sanitizer, progress=True)
    assert '<progress value="10" max="10"></progress>' in shown[-2]
    assert shown[-1] == ""


def test_the_python_way_waits_for_no_accountant():
    code = (
        "import sys, discreet\n"
        "release = discreet.sanitize(['The doctor saw me.'], epsilon=8)\n"
        "release.receipt\n"
        "heavy = ('dp_accounting', 'torch')\n"
        "sys.exit(any(name.startswith(heavy) for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_command_waits_for_no_accountant(tmp_path):
    code = (
        "import sys\nfrom discreet.cli import main\n"
        "sys.argv = ['discreet', 'sanitize', 'in.txt', '-o', 'out.txt', '--epsilon', '8']\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code\n"
        "sys.exit(any(name.startswith('dp_accounting') for name in sys.modules))"
    )
    (tmp_path / "in.txt").write_text("The doctor saw me.\n")
    assert subprocess.run([sys.executable, "-c", code], check=False, cwd=tmp_path).returncode == 0


@pytest.mark.parametrize("fate", ["keep", "drop"])
def test_a_single_string_is_no_list_of_columns(sanitizer, fate):
    with pytest.raises(InvalidValue, match=f"{fate} must be a list of columns"):
        sanitize({"text": ["one"], "id": [1]}, "text", sanitizer=sanitizer, **{fate: "id"})
