"""``discreet sanitize`` on real files: what changes, what stays, what the receipt says."""

import csv
import gzip
import hashlib
import io
import json
import math
import re
import unicodedata
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats

from command import MARKER, UNKNOWN, WORDS, Outcome, called, discreet, law, vectors, write_space
from discreet.statement import Notion, PrivacyStatement
from goodness import LEVEL

EPSILON = 1.5
VOCABULARY = {UNKNOWN, *WORDS}
TEXTS = [" ".join(np.random.default_rng(i).choice(WORDS, 1 + i % 9)) for i in range(40)] + [""]
IDS = ["007", "1.00", "", "a, b", 'said "no"', "é ☕", "two\nlines", *map(str, range(7, 41))]
SIGN = re.compile(r"<unk>|[^\W_]+|[^\w\s]")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a space and a cache that all tests of this module share."""
    directory = tmp_path_factory.mktemp("sanitize")
    write_space(directory / "space.txt")
    return directory


@pytest.fixture
def run(place: Path) -> Callable[..., Outcome]:
    """The command: installed where a test asks for it, or its entry point."""

    def sanitize(
        *arguments: object, epsilon: float = EPSILON, installed: bool = False, **options: object
    ) -> Outcome:
        named = () if {"-m", "--mechanism"} & set(map(str, arguments)) else ("-m", "santext")
        command = discreet if installed else called
        return command(
            "sanitize",
            *arguments,
            *named,
            "--epsilon",
            epsilon,
            "--space",
            place / "space.txt",
            cache=place / "cache",
            **options,
        )

    return sanitize


def receipt_of(output: Path) -> dict:
    return json.loads(Path(f"{output}.privacy.json").read_text())


# -- every format ----------------------------------------------------------------------------------


def delimited(delimiter: str) -> Callable[[list[str]], bytes]:
    def render(texts: list[str]) -> bytes:
        out = io.StringIO(newline="")
        writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
        writer.writerow(["id", "text", "label"])
        writer.writerows(zip(IDS, texts, [MARKER] * len(IDS), strict=True))
        return out.getvalue().encode()

    return render


def jsonl(texts: list[str]) -> bytes:
    return "".join(
        f'{{"n":1.00, "text" : {json.dumps(text, ensure_ascii=False)},"big":{10**30 + i}, '
        f'"o":{{"text":"{MARKER}"}}}}\n'
        for i, text in enumerate(texts)
    ).encode()


def txt(texts: list[str]) -> bytes:
    return ("\n".join(texts) + "\n").encode()


def read_delimited(delimiter: str) -> Callable[[bytes], list[str]]:
    def read(data: bytes) -> list[str]:
        rows = csv.DictReader(io.StringIO(data.decode(), newline=""), delimiter=delimiter)
        return [row["text"] for row in rows]

    return read


FORMATS = {
    "txt": (txt, lambda data: data.decode().removesuffix("\n").split("\n")),
    "csv": (delimited(","), read_delimited(",")),
    "tsv": (delimited("\t"), read_delimited("\t")),
    "jsonl": (jsonl, lambda data: [json.loads(line)["text"] for line in data.splitlines()]),
}


def check_texts(released: list[str]) -> None:
    """As many words as went in, all from the vocabulary, and not the same ones."""
    assert [len(text.split()) for text in released] == [len(text.split()) for text in TEXTS]
    assert set(" ".join(released).split()) <= VOCABULARY
    assert released != TEXTS


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gz"])
@pytest.mark.parametrize("format", FORMATS)
def test_only_the_text_changes(run, tmp_path, format, packed):
    render, read = FORMATS[format]
    ending = f"{format}.gz" if packed else format
    pack, unpack = (gzip.compress, gzip.decompress) if packed else (bytes, bytes)
    source, target = tmp_path / f"in.{ending}", tmp_path / f"out.{ending}"
    source.write_bytes(pack(render(TEXTS)))
    done = run(source, "-o", target, "--keep-others")
    assert (done.code, done.out) == (0, b""), done.err
    data = unpack(target.read_bytes())
    released = read(data)
    check_texts(released)
    assert data == render(released)  # every byte that is not of the text
    assert receipt_of(target)["counts"]["documents"] == len(TEXTS)
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(
        [source.name, target.name, f"{target.name}.privacy.json"]
    )


def test_parquet_keeps_its_other_columns_and_types(run, tmp_path):
    table = pa.table(
        {
            "id": pa.array(range(len(TEXTS)), pa.int16()),
            "review": pa.array(TEXTS, pa.large_string()),
            "tags": pa.array([["a", None], None] * 20 + [[]], pa.list_(pa.string())),
        }
    ).replace_schema_metadata({"owner": "us"})
    source, target = tmp_path / "in.parquet", tmp_path / "out.parquet"
    pq.write_table(table, source, row_group_size=7)
    table = pq.read_table(source)
    done = run(source, "-o", target, "--text-field", "review", "--keep-others")
    assert done.code == 0, done.err
    written = pq.read_table(target)
    assert written.schema.equals(table.schema.remove_metadata(), check_metadata=True)
    assert written.drop_columns(["review"]).equals(table.drop_columns(["review"]))
    check_texts(written["review"].to_pylist())


def test_other_columns_are_said_to_be_public_where_there_are_any(run, tmp_path):
    other = "the columns that are written as they are: name"
    (tmp_path / "in.csv").write_text(f"text,name\nbabax kokox,{MARKER}\n")
    run(tmp_path / "in.csv", "-o", tmp_path / "out.csv", "--keep", "name")
    said = receipt_of(tmp_path / "out.csv")
    assert other in said["statement"]["public"]
    assert said["input"] == {"format": "csv", "text_field": "text"}
    # Only the texts are written to txt, and then nothing else is public.
    run(tmp_path / "in.csv", "-o", tmp_path / "out.txt")
    assert MARKER not in (tmp_path / "out.txt").read_text()
    assert other not in receipt_of(tmp_path / "out.txt")["statement"]["public"]


# -- standard streams ------------------------------------------------------------------------------


def test_data_goes_to_standard_output_and_words_for_people_to_standard_error(run):
    done = run("-", "-o", "-", stdin=txt(TEXTS), installed=True)
    assert done.code == 0
    check_texts(done.out.decode().removesuffix("\n").split("\n"))
    statement = "Protects each word"
    assert statement in done.err
    assert statement.encode() not in done.out
    assert "receipt" not in done.err  # there is no file to put one beside
    assert not set(WORDS) & set(SIGN.findall(done.err))


def test_a_pipe_says_its_format_and_its_column(run):
    done = run(
        "-", "-o", "-", "--format", "csv", "--text-field", "review", stdin=b"review\nbabax kokox\n"
    )
    assert done.code == 0
    header, row = done.lines
    assert header == "review"
    assert len(row.split()) == 2
    assert set(row.split()) <= VOCABULARY


# -- layouts ---------------------------------------------------------------------------------------


def test_public_layout_keeps_capitals_and_punctuation_and_says_so(run, tmp_path):
    texts = ["Babax,  kokox! (MIMIX)", "tutux: 'Rebax' - babax?", "Mirex...\ttubax"]
    (tmp_path / "in.txt").write_bytes(txt(texts))
    # An epsilon at which a word stays a word of the vocabulary but seldom itself.
    done = run(tmp_path / "in.txt", "-o", tmp_path / "out.txt", "--layout", "public", epsilon=0.01)
    assert done.code == 0
    released = (tmp_path / "out.txt").read_text().splitlines()

    word = re.compile(r"<unk>|\w+", re.IGNORECASE)
    assert [word.sub("_", text) for text in released] == [word.sub("_", text) for text in texts]
    before, after = (word.findall("\n".join(which)) for which in (texts, released))
    assert before != after
    for old, new in zip(before, after, strict=True):
        if "unk" not in new.lower():  # brackets have no capitals
            assert (new.istitle(), new.isupper()) == (old.istitle(), old.isupper())
    said = receipt_of(tmp_path / "out.txt")
    assert said["layout"] == "public"
    shown = "; ".join(said["statement"]["public"])
    assert "white space and punctuation" in shown
    assert "capital letter" in shown
    assert "white space and punctuation" in done.err


def test_unknown_words_never_pass_through(run):
    secrets = [
        MARKER,
        MARKER.title(),
        MARKER.upper(),
        "zAnzibar",
        "zänzïbâr",
        "ｚａｎｚｉｂａｒ",
        "zan\u00adzibar",
        f"{MARKER}'s",
        f"{MARKER}-{MARKER}",
        f"@{MARKER}.org",
        f"babax-{MARKER}",
        f"{MARKER}babax",
        f"{MARKER}7",
        "4111111111111111",
        "078-05-1120",
        "1,000.50",
        "桑给巴尔",
        "<unk>zanzibar",
        "🙈",
    ]
    for layout in ("tokens", "public"):
        done = run("-", "-o", "-", "--layout", layout, stdin=txt([" ".join(secrets)] * 1000))
        assert done.code == 0
        folded = unicodedata.normalize("NFKD", done.out.decode()).casefold()
        words = set(re.findall(r"[^\W_]+", folded))
        assert words <= {"unk", *WORDS}, layout
        assert len(words) > 30  # and they are not all one word either
        assert not set("🙈桑0123456789") & set(folded)
        assert MARKER not in done.err


# -- noise -----------------------------------------------------------------------------------------


def test_a_seed_repeats_and_is_loud_about_it(run, tmp_path):
    (tmp_path / "in.txt").write_bytes(txt(TEXTS))
    runs = [
        run(tmp_path / "in.txt", "-o", tmp_path / f"{i}.txt", "--seed", 5, installed=i == 1)
        for i in (1, 2)
    ]
    first, second = ((tmp_path / f"{i}.txt").read_bytes() for i in (1, 2))
    assert first == second
    for i, done in enumerate(runs, 1):
        assert "seeded: not for release" in done.err
        said = receipt_of(tmp_path / f"{i}.txt")
        assert said["statement"]["caveats"] == ["seeded: not for release"]
        assert any("seeded: not for release" in line for line in said["in_words"])


def test_by_default_no_two_runs_are_alike(run, tmp_path):
    (tmp_path / "in.txt").write_bytes(txt(TEXTS))
    for i in (1, 2):
        done = run(tmp_path / "in.txt", "-o", tmp_path / f"{i}.txt", installed=i == 1)
        assert "seeded" not in done.err
        assert receipt_of(tmp_path / f"{i}.txt")["statement"]["caveats"] == []
    assert (tmp_path / "1.txt").read_bytes() != (tmp_path / "2.txt").read_bytes()


def test_force_replaces_the_output_and_its_receipt(run, tmp_path):
    target = tmp_path / "out.txt"
    target.write_text("old")
    Path(f"{target}.privacy.json").write_text("old")
    done = run("-", "-o", target, "--force", stdin=txt(["babax"]))
    assert done.code == 0
    assert target.read_text().strip() in VOCABULARY
    assert receipt_of(target)["counts"] == {"documents": 1, "words": 1}


# -- what the receipt says is what was done ------------------------------------------------------


def test_words_that_are_drawn_a_second_time_are_told(run, tmp_path):
    source = tmp_path / "in.txt"
    source.write_text("\n".join(TEXTS[:3]))
    first = run(source, "-o", tmp_path / "once.txt")
    second = run(tmp_path / "once.txt", "-o", tmp_path / "twice.txt")
    assert (first.code, second.code) == (0, 0)
    assert [f"{name}.txt is released already" in second.err for name in ("in", "once")] == [0, 1]
    assert "is released already" not in first.err


def test_the_receipt_says_what_was_done(run, tmp_path):
    texts = [*TEXTS, f"Babax, {MARKER} kokox! {MARKER.upper()}?"]
    (tmp_path / "in.txt").write_bytes(txt(texts))
    done = run(tmp_path / "in.txt", "-o", tmp_path / "out.txt", "--yes-weak", epsilon=3)
    assert done.code == 0, done.err
    said = receipt_of(tmp_path / "out.txt")
    words = sum(len(SIGN.findall(text)) for text in texts)
    assert said["counts"] == {"documents": len(texts), "words": words}
    assert words == len((tmp_path / "out.txt").read_text().split())
    assert f"{words} words of {len(texts)} documents" in done.err
    assert said["input"] == {"format": "txt", "text_field": None}

    statement = PrivacyStatement.from_dict(said["statement"])
    assert statement.to_dict() == said["statement"]
    assert said["in_words"] == statement.lines()
    assert done.err.splitlines()[1 : 1 + len(said["in_words"])] == said["in_words"]
    assert (statement.notion, statement.epsilon, statement.unit) == (Notion.METRIC, 3.0, "word")
    assert said["mechanism"]["name"] == "santext"
    assert said["mechanism"]["epsilon"] == 3.0

    rows = vectors().astype("<f4")
    digest = hashlib.sha256(f"<f4{rows.shape}\n".encode())
    digest.update("\0".join([UNKNOWN, *WORDS]).encode() + rows.tobytes())
    assert said["space"]["fingerprint"] == said["certificate"]["space"] == digest.hexdigest()
    assert (said["space"]["words"], said["space"]["dimension"]) == rows.shape

    # The kappa that was used meets epsilon, by the worst log-ratio of the law over all pairs.
    kappa = said["mechanism"]["kappa"]
    assert kappa == said["certificate"]["kappa"] >= 3.0 / 2
    v = rows.astype(float)
    distances = np.sqrt(((v[:, None] - v[None]) ** 2).sum(axis=2))
    logs = np.log(law(kappa))
    far = distances + np.eye(len(v))
    rates = [((logs[x] - logs).max(axis=1) / far[x]).max() for x in range(len(v))]
    assert max(rates) <= 3.0 + 1e-9
    assert max(rates) == pytest.approx(said["certificate"]["rate"], rel=1e-6)
    assert said["keep"] == pytest.approx(np.diag(law(kappa)).mean(), abs=0.05)


@pytest.mark.parametrize(("mechanism", "simulated"), [("santext", False), ("cmp", True)])
def test_how_often_a_word_stays_is_said_of_every_law(place, tmp_path, mechanism, simulated):
    """Also where it has no formula; what draws say is called simulated."""
    (tmp_path / "in.txt").write_text(f"{WORDS[0]} {WORDS[1]}\n")
    given = (tmp_path / "in.txt", "-o", tmp_path / "out.txt", "-s", place / "space.txt")
    done = called("sanitize", *given, "-m", mechanism, "-e", 0.5, cache=place / "cache")
    assert done.code == 0, done.err
    assert "At this setting a word stays as it is with probability" in done.err
    assert ("(simulated: 1,024 draws for public words)" in done.err) is simulated
    said = json.loads((tmp_path / "out.txt.privacy.json").read_text())
    assert ("keep_draws" in said) is simulated
    assert 0 <= said["keep"] < 0.9


def test_no_word_of_the_input_is_left_anywhere_else(place, tmp_path):
    cache = tmp_path / "cache"
    (tmp_path / "in.csv").write_text(
        f"who,text\n1,{MARKER} {MARKER.upper()}7 babax\n2,Quagga {MARKER}\n"
    )
    (tmp_path / "list.txt").write_text("babax\nkokox\n")
    for number, options in enumerate(
        (
            ["-m", "santext", "--layout", "public"],
            ["-m", "santext-plus", "--sensitive-file", tmp_path / "list.txt"],
        )
    ):
        command = called if number else discreet
        done = command(
            *("sanitize", tmp_path / "in.csv", "-o", tmp_path / f"out{number}.csv", "-e", "2"),
            *("-s", place / "space.txt", "--keep", "who", *options),
            cache=cache,
        )
        assert done.code == 0, done.err
        assert not re.search(f"{MARKER}|quagga", done.err, re.IGNORECASE)
    left = [path for path in tmp_path.rglob("*") if path.name not in ("in.csv", "list.txt")]
    assert any(path.is_file() and cache in path.parents for path in left)
    for path in left:
        assert MARKER not in path.name.lower()
        if path.is_file():
            assert not re.search(rb"zanzibar|quagga", path.read_bytes(), re.IGNORECASE), path


# -- SanText+ --------------------------------------------------------------------------------------


def plus_outcome(run, tmp_path, sensitive: list[str], *options: object) -> tuple[dict, dict]:
    """Every word 400 times; which words came out for each, and the receipt."""
    (tmp_path / "in.txt").write_bytes(txt([f"{word} " * 400 for word in [*WORDS, MARKER]]))
    target = tmp_path / "out.txt"
    done = run(tmp_path / "in.txt", "-o", target, "-m", "santext-plus", *options)
    assert done.code == 0, done.err
    came = [line.split() for line in target.read_text().splitlines()]
    allowed = {UNKNOWN, *sensitive}
    for word, out in zip([*WORDS, MARKER], came, strict=True):
        assert len(out) == 400
        if word in sensitive or word == MARKER:
            assert set(out) <= allowed
        else:
            assert set(out) <= {word, *allowed}
    assert "disclosed" in done.err
    kept = {word: out.count(word) for word, out in zip(WORDS, came, strict=False)}
    said = receipt_of(target)
    assert said["mechanism"]["sensitive_words"] == len(allowed)
    assert f"only the {len(allowed)} words" in said["statement"]["scope"]
    assert "the list of sensitive words" in said["statement"]["public"]
    return kept, said


def stays(kept: dict, words: list[str], share: float) -> bool:
    """The other words stayed as often as the share says (two-sided binomial test)."""
    total = sum(kept[word] for word in words)
    return stats.binomtest(total, 400 * len(words), share).pvalue > LEVEL


def test_sensitive_words_by_public_frequency(run, tmp_path):
    # The file lists frequent words first, so the rarer half is the second half of it.
    sensitive = WORDS[-29:]
    kept, said = plus_outcome(run, tmp_path, sensitive, "--sensitive-share", 0.5, "--p", 0.2)
    assert stays(kept, WORDS[:30], 0.8)
    assert not stays(kept, WORDS[:30], 0.75)
    statement = PrivacyStatement.from_dict(said["statement"])
    assert statement.notion is Notion.UTILITY_OPTIMISED
    assert statement.slack == pytest.approx(math.log(5))
    assert said["mechanism"]["p"] == 0.2


def test_sensitive_words_from_a_public_list(run, tmp_path):
    # A list in other capitals, with words that the space does not have: those are unknown anyway.
    sensitive = WORDS[3:9]
    (tmp_path / "list.txt").write_text("\n".join([*map(str.title, sensitive), "elsewhere"]) + "\n")
    kept, said = plus_outcome(run, tmp_path, sensitive, "--sensitive-file", tmp_path / "list.txt")
    others = [word for word in WORDS if word not in sensitive]
    assert stays(kept, others, 0.7)
    assert PrivacyStatement.from_dict(said["statement"]).slack == pytest.approx(math.log(1 / 0.3))


# -- whole texts -----------------------------------------------------------------------------------


def test_whole_texts_and_persons_are_stated_and_told(run, tmp_path):
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text(f"who,text\n{MARKER},babax kokox babax\n7,kokox\n{MARKER},mimix mimix\n")
    done = run(source, "-o", target, "--person-field", "who", "--repeat", "once", "--keep-others")
    assert done.code == 0, done.err
    rows = list(csv.DictReader(io.StringIO(target.read_text())))
    assert [row["who"] for row in rows] == [MARKER, "7", MARKER]
    first, _, third = rows[0]["text"].split()
    assert first == third
    whole = receipt_of(target)["whole"]
    assert [whole[key]["words"] for key in ("document", "person")] == [2, 3]
    stated = [PrivacyStatement.from_dict(whole[key]["statement"]) for key in ("document", "person")]
    assert stated[0].epsilon < stated[1].epsilon
    assert all(line in done.err for line in whole["in_words"])
    assert "The longest text (2 drawn words, repetitions not counted)" in done.err
    assert "The person with most text (3 drawn words, repetitions not counted)" in done.err
    assert MARKER not in done.err + json.dumps(receipt_of(target))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--person-field", "who"), "row 2 of .* has no who"),
        (("--person-field", "nobody"), "has no column nobody"),
        (("--whole-delta", "1"), "--whole-delta must be a finite number of at least 0 and below 1"),
        (("--repeat", "never"), "--repeat must be one of each, once"),
        (
            ("--repeat=once", "--mechanism=near-words", "--guide=ngram", "--space=starter"),
            "or its guide, which readable brings unless guide is none",
        ),
    ],
)
def test_what_cannot_be_said_of_whole_texts_is_refused(place, tmp_path, options, said):
    source = tmp_path / "in.csv"
    source.write_text(f"who,text\n{MARKER},babax\n,kokox\n")
    space = () if "--space=starter" in options else ("--space", place / "space.txt")
    said_of_all = ("--epsilon", EPSILON, "--keep-others", *space)
    arguments = ("sanitize", source, "-o", tmp_path / "out.csv", *said_of_all, *options)
    done = called(*arguments, cache=place / "cache")
    assert done.code != 0
    assert re.search(said, " ".join(done.err.split())), done.err
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]


# -- more than a batch -----------------------------------------------------------------------------


def words_of(path: Path) -> list[str]:
    if path.suffix == ".parquet":
        return pq.read_table(path)["text"].to_pylist()
    return FORMATS[path.suffix[1:]][1](path.read_bytes())


@pytest.mark.parametrize("format", [*FORMATS, "parquet"])
def test_batches_join_without_loss(place, tmp_path, monkeypatch, format):
    from discreet.cli import app
    from discreet.text.readers import open_documents

    monkeypatch.setenv("DISCREET_CACHE", str(place / "cache"))
    monkeypatch.setitem(open_documents.__wrapped__.__kwdefaults__, "batch_documents", 6)
    source, target = tmp_path / f"in.{format}", tmp_path / f"out.{format}"
    if format == "parquet":
        pq.write_table(pa.table({"text": TEXTS}), source)
    else:
        source.write_bytes(FORMATS[format][0](TEXTS))
    # At this epsilon every word stays: the order of the rows can be read off.
    app(
        [
            *("sanitize", str(source), "-o", str(target), "-m", "santext", "-e", "400"),
            *("-s", str(place / "space.txt"), "--keep-others", "--yes-weak"),
        ],
        standalone_mode=False,
    )
    assert words_of(target) == TEXTS
    words = sum(len(text.split()) for text in TEXTS)
    receipt = receipt_of(target)
    assert receipt["counts"] == {"documents": len(TEXTS), "words": words}
    assert receipt["whole"]["document"]["words"] == 9  # the longest is not of the last batch


def test_a_long_file_arrives_whole(run, tmp_path):
    # Two million lines are one batch; here are some more.
    count = 2_000_100
    (tmp_path / "in.txt").write_bytes(b"\n" * (count - 1) + b"babax\n")
    done = run(tmp_path / "in.txt", "-o", tmp_path / "out.txt")
    assert done.code == 0, done.err
    *blank, last = (tmp_path / "out.txt").read_bytes().removesuffix(b"\n").split(b"\n")
    assert len(blank) == count - 1
    assert not any(blank)
    assert last.decode() in VOCABULARY
    assert receipt_of(tmp_path / "out.txt")["counts"] == {"documents": count, "words": 1}


# -- the space that ships ------------------------------------------------------------------------


def test_the_starter_space_works_out_of_the_box(tmp_path):
    text = b"The doctor saw me on Monday, and my name is Zanzibarian.\n"
    arguments = ("sanitize", "-", "-o", "-", "-m", "santext", "-e", 8, "--calibration", "published")
    done = discreet(*arguments, cache=tmp_path / "cache", stdin=text * 200)
    assert done.code == 0, done.err
    assert len(done.lines) == 200
    assert all(len(line.split()) == 13 for line in done.lines)
    assert b"anzibarian" not in done.out
    assert len(set(done.lines)) > 190
    assert "2,600 words of 200 documents" in done.err


def test_an_epsilon_that_hides_next_to_nothing_is_told(run):
    loud = run("-", "-o", "-", "--yes-weak", epsilon=40, stdin=b"babax\n")
    assert "most of the text comes out as it was" in loud.err
    quiet = run("-", "-o", "-", epsilon=1, stdin=b"babax\n")
    assert "most of the text" not in quiet.err
