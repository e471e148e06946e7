"""Near words as a person would use them: sanitize, explain, audit, and what is refused."""

import json
import re
import unicodedata
from pathlib import Path

import pytest

from command import UNKNOWN, WORDS, called, write_space
from discreet.text.function_words import FUNCTION_WORDS

VOCABULARY = {UNKNOWN, *WORDS}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("near-words")
    write_space(directory / "space.txt")
    (directory / "in.txt").write_text("\n".join(" ".join(WORDS[i : i + 5]) for i in range(30)))
    return directory


def run(place: Path, command: str, *arguments: object):
    given = ("-m", "near-words", "--space", place / "space.txt", *arguments)
    return called(command, *given, cache=place / "cache")


def test_text_in_text_out_with_a_receipt_that_names_the_settings(place):
    output = place / "out.txt"
    done = run(place, "sanitize", place / "in.txt", "-o", output, "-e", 3, "--outputs", 20)
    assert done.code == 0, done.err
    lines = output.read_text().splitlines()
    assert [len(line.split()) for line in lines] == [5] * 30
    assert {word for line in lines for word in line.split()} <= VOCABULARY - {UNKNOWN}
    receipt = json.loads(Path(f"{output}.privacy.json").read_text())
    assert receipt["statement"]["notion"] == "pure"
    told = receipt["mechanism"]
    assert (told["name"], told["epsilon"], told["outputs"]) == ("near-words", 3.0, 20)
    assert told["near"] >= 1


def test_explain_says_what_is_near_and_how_often_a_guess_is_right(place):
    done = run(place, "explain", "-e", 3, "--near", 3, "--json")
    assert done.code == 0, done.err
    said = json.loads(done.out)
    assert all(len(replacements) == 3 for replacements in said["examples"].values())
    assert 0 < said["guess"] < 1
    assert [step["epsilon"] for step in said["steps"]] == [6, 8, 10, 12]
    guesses = [step["guess"] for step in said["steps"]]
    assert guesses == sorted(guesses)
    shown = run(place, "explain", "-e", 8, "--near", 2).out.decode()
    assert "best guess" in shown
    assert "epsilon 8:" not in shown
    assert "epsilon 12:" in shown


def test_the_audit_passes(place):
    done = run(place, "audit", "-e", 2, "--seed", 1, "--samples", 1000)
    assert done.code == 0, done.out.decode() + done.err
    assert b"law.inequality" in done.out


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--near", 0), "--near must be a whole number of at least 1"),
        (("--near", 9, "--outputs", 8), "--near must be at most the number of outputs"),
        (("--outputs", 1), "--outputs must be a whole number of at least 2"),
        (("--outputs", 10**6), "--outputs must be at most"),
        (("--pool", 5), "--pool is for a guide"),
        (("--weight", 5), "--weight is for a guide"),
        (("--guide", "nobody"), "guide"),
        (("-e", 0), "--epsilon must be a finite number above 0"),
        (("-e", "nan"), "epsilon must be a finite number"),
    ],
)
def test_what_makes_no_sense_is_refused_and_nothing_is_written(place, options, told):
    output = place / "refused.txt"
    given = options if "-e" in options else ("-e", 3, *options)
    done = run(place, "sanitize", place / "in.txt", "-o", output, *given)
    assert done.code == 2
    assert told in done.err
    assert not list(place.glob("refused*"))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--near", 4, "--pool", 3), "--pool must be a whole number of at least 4"),
        (("--outputs", 20, "--pool", 21), "--pool must be at most 20"),
        (("--weight", -1), "--weight must be"),
    ],
)
def test_what_makes_no_sense_with_a_guide_is_refused(english, options, told):
    given = (english / "in.txt", "-o", english / "refused.txt", "-s", english / "space.txt")
    done = called(
        *("sanitize", *given, "-e", 3, "--guide", "ngram", *options), cache=english / "cache"
    )
    assert done.code == 2
    assert told in done.err
    assert not list(english.glob("refused*"))


def test_an_epsilon_beyond_what_fits_keeps_every_output_possible(place):
    """Far outputs have weight 1 of 2**63 and are drawn no less often than is said."""
    given = (place / "in.txt", "-o", place / "large.txt", "-e", 500, "--outputs", 20, "--near", 2)
    refused = run(place, "sanitize", *given)
    assert refused.code == 2
    assert "this setting is weak" in refused.err or "the statement of this setting" in refused.err
    assert not list(place.glob("large*"))
    done = run(place, "sanitize", *given, "--yes-weak")
    assert done.code == 0, done.err
    assert "any of which can come out" in " ".join(done.err.split())


# -- defaults --------------------------------------------------------------------------------------

LISTED = """
the of and was a to in is my our we i he she it . , ! doctor nurse hospital ill kind rude hotel room
clean dirty breakfast dinner good bad film story actor phone battery week day month city town paris
london mother father wife husband children bought sold died lived came went street road
"""
ENGLISH = LISTED.split()


@pytest.fixture(scope="module")
def english(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("readable")
    write_space(directory / "space.txt", [UNKNOWN, *ENGLISH])
    (directory / "in.txt").write_text("The doctor was kind.\nMy mother bought a phone in Paris!\n")
    return directory


def test_without_epsilon_a_table_says_what_a_few_mean(english):
    output = english / "asked.txt"
    given = (english / "in.txt", "-o", output, "-s", english / "space.txt")
    done = called("sanitize", *given, cache=english / "cache")
    assert done.code == 2
    heading, *rows, last = done.err.splitlines()
    assert heading.split()[0] == "epsilon"
    assert [row.split()[0] for row in rows] == ["6", "8", "10", "12"]
    assert all("->" in row for row in rows)
    guesses = [float(row.split()[2]) for row in rows]
    assert guesses == sorted(guesses)
    assert "near-words needs --epsilon" in last
    assert not done.out
    assert not list(english.glob("asked*"))
    named = called("sanitize", *given, "-m", "santext", cache=english / "cache")
    assert named.code == 2
    assert "santext needs --epsilon" in named.err


def test_readable_is_four_options_at_once(english):
    spelt = ("--layout", "public", "--public", "function-words", "--polish", "--guide", "ngram")
    texts = []
    for name, options in (("short", ("--readable",)), ("long", spelt)):
        output = english / f"{name}.txt"
        given = (english / "in.txt", "-o", output, "-s", english / "space.txt", "-e", 6)
        done = called("sanitize", *given, "--seed", 1, *options, cache=english / "cache")
        assert done.code == 0, done.err
        assert "the guide ngram" in done.err
        receipt = json.loads(Path(f"{output}.privacy.json").read_text())
        assert (receipt["layout"], receipt["public"]) == ("public", "function-words")
        assert receipt["mechanism"]["guide"] == "ngram"
        texts.append(output.read_text())
    assert texts[0] == texts[1]
    first, second = texts[0].splitlines()
    assert first.split()[0] == "The"
    assert first.split()[2] == "was"
    assert first.endswith(".")
    assert second.startswith("My ")
    assert second.endswith("!")
    drawn = {first.split()[1], *second.strip("!").split()[1:3]}
    assert not {word.lower() for word in drawn} & FUNCTION_WORDS


def test_readable_works_for_a_mechanism_without_a_guide(english):
    output = english / "santext.txt"
    given = (english / "in.txt", "-o", output, "-s", english / "space.txt", "-e", 1)
    done = called("sanitize", *given, "-m", "santext", "--readable", cache=english / "cache")
    assert done.code == 0, done.err
    assert output.read_text().startswith("The ")


# -- words that the vocabulary does not have -------------------------------------------------------

SCRIPTS = {
    "cyrillic": "Доктор сказал Марии правду",
    "chinese": "医生告诉我母亲真相",
    "japanese": "お医者さんは親切でした カタカナ",
    "arabic": "قال الطبيب الحقيقة ٣٤٥",
    "hindi": "डॉक्टर ने सच कहा १२३",
    "thai": "หมอบอกความจริง",
    "korean": "의사가 말했다",
    "greek": "Ο γιατρός είπε",
    "full width": "Ｄｏｃｔｏｒ ｓａｉｄ １２３",
    "mathematical": "𝐃𝐨𝐜𝐭𝐨𝐫 𝒔𝒂𝒊𝒅 𝟏𝟐𝟑",
    "enclosed": "Ⓓⓞⓒⓣⓞⓡ ① ⅷ",
    "emoji": "😀 👩‍⚕️ 🇫🇷",
}


@pytest.mark.parametrize("options", [("--readable",), ()])
@pytest.mark.parametrize("script", SCRIPTS)
def test_other_scripts_never_pass_in_clear(english, tmp_path, script, options):
    text = SCRIPTS[script]
    (tmp_path / "in.txt").write_text(text * 3 + "\n", "utf-8")
    given = (tmp_path / "in.txt", "-o", tmp_path / "out.txt", "-s", english / "space.txt", "-e", 6)
    done = called("sanitize", *given, *options, cache=english / "cache")
    assert done.code == 0, done.err
    kept = set(text) & set((tmp_path / "out.txt").read_text("utf-8"))
    assert not {c for c in kept if unicodedata.category(c)[0] in "LNMS"}


@pytest.mark.parametrize("line", ["zanzibar quagga xyzzy doctor", "xyzzy doctor doctor"])
def test_text_that_is_largely_unknown_is_warned_of_before_anything_is_released(
    english, tmp_path, line
):
    """Of Spanish, two words in five are unknown, and hardly one in ten of English."""
    (tmp_path / "in.txt").write_text(f"{line}\n" * 5)
    given = (tmp_path / "in.txt", "-o", tmp_path / "out.txt", "-s", english / "space.txt", "-e", 6)
    done = called("sanitize", *given, cache=english / "cache")
    assert done.code == 0
    warning = next(line for line in done.err.splitlines() if line.startswith("Caveat: more than"))
    assert "another language" in warning
    assert done.err.index(warning) < done.err.index("Sanitised")
    assert not {"75 %", "33 %"} & set(re.findall(r"\d+ %", done.err))
    for word in ("zanzibar", "quagga", "xyzzy"):
        assert word not in done.err
    written = (tmp_path / "out.txt.privacy.json").read_text() + (tmp_path / "out.txt").read_text()
    assert not re.search(r"0\.75|75 %|0\.33|33 %|another language", written)
    assert "unknown_share" not in written


@pytest.mark.parametrize("terminal", [True, False])
def test_the_share_of_unknown_words_is_shown_on_a_terminal_and_kept_out_of_logs(
    english, tmp_path, monkeypatch, terminal
):
    monkeypatch.setattr("discreet.cli.sanitize.on_a_terminal", lambda: terminal)
    (tmp_path / "in.txt").write_text("zanzibar doctor doctor doctor\n" * 5)
    given = (tmp_path / "in.txt", "-o", tmp_path / "out.txt", "-s", english / "space.txt", "-e", 6)
    done = called("sanitize", *given, cache=english / "cache")
    assert done.code == 0
    assert ("does not have 25.0 % of the words" in done.err) is terminal


def test_known_text_gets_no_warning(english, tmp_path):
    given = (english / "in.txt", "-o", tmp_path / "o.txt", "-s", english / "space.txt", "-e", 6)
    done = called("sanitize", *given, cache=english / "cache")
    assert done.code == 0
    assert "the words that this text begins with" not in done.err
