"""``discreet spaces``: what is at hand, what it is like, what building and certifying do."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from command import MARKER, UNKNOWN, WORDS, Outcome, called, discreet, law, vectors, write_space
from discreet.spaces import load_space
from discreet.spaces.index import NeighborIndex, build_index, store_index
from goodness import fits

SEED = 20260301
KAPPA = 1.5
MANY = [UNKNOWN, *(word + end for word in WORDS[:50] for end in ("", "a", "e", "i", "u", "ae"))]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small space, and one with more words than the index keeps neighbours of each."""
    directory = tmp_path_factory.mktemp("spaces")
    write_space(directory / "space.txt")
    write_space(directory / "many.txt", MANY, seed=1)
    return directory


def spaces(place: Path, *arguments: object) -> Outcome:
    return called("spaces", *arguments, cache=place / "cache")


# -- list and inspect ------------------------------------------------------------------------------


def test_the_list_has_the_starter_and_what_was_read_before(tmp_path):
    write_space(tmp_path / "space.txt")
    before = called("spaces", "list", "--json", cache=tmp_path / "cache")
    called("spaces", "inspect", tmp_path / "space.txt", cache=tmp_path / "cache")
    after = called("spaces", "list", "--json", cache=tmp_path / "cache")
    assert [done.code for done in (before, after)] == [0, 0]
    first, then = json.loads(before.out), json.loads(after.out)
    assert first[0] == {"name": "starter", "kind": "shipped", "words": 20_000, "dimension": 80}
    assert [s for s in then if s not in first] == [
        {"name": "space", "kind": "cached", "words": 60, "dimension": 6}
    ]


def test_the_list_for_people_is_what_no_subcommand_shows(place):
    shown, listed = spaces(place), spaces(place, "list")
    assert shown.lines == listed.lines
    assert any(line.startswith("starter ") and "20,000 words" in line for line in shown.lines)


def test_inspect_shows_distances_and_neighbours(place):
    done = spaces(place, "inspect", place / "space.txt", "--word", "babax", "--json")
    said = json.loads(done.out)
    v = vectors()
    distances = np.sqrt(((v[:, None] - v[None]) ** 2).sum(axis=2))
    apart = distances + np.where(np.eye(len(v)), np.inf, 0)
    assert (said["words"], said["dimension"], said["unknown"]) == (60, 6, UNKNOWN)
    assert said["distances"]["nearest"] == pytest.approx(np.median(apart.min(axis=1)), rel=0.02)
    assert said["distances"]["farthest"] >= distances.max() * (1 - 1e-6)
    pairs = distances[np.triu_indices(len(v), 1)]
    assert said["distances"]["median"] == pytest.approx(np.median(pairs), rel=0.1)
    words = [UNKNOWN, *WORDS]
    nearest = np.argsort(apart[words.index("babax")])[:8]
    assert said["neighbours"] == {"babax": [words[i] for i in nearest]}
    assert said["frequencies"] is True
    assert len(said["fingerprint"]) == 64

    plain = spaces(place, "inspect", place / "space.txt", "--word", "babax").lines
    assert plain[0] == f"space: 60 words x 6, fingerprint {said['fingerprint']}"
    assert f"  babax: {', '.join(said['neighbours']['babax'])}" in plain


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["inspect", "nowhere.txt"], "no space of that name"),
        (["inspect", "SPACE", "--word", "typed"], "'typed' is not among"),
        (["inspect", "SPACE", "--max-words", 1], "at least 2"),
        (["inspect"], "missing argument"),
        (["build", "nowhere.txt"], "no space of that name"),
        (["build", "SPACE", "-o", "OUT.txt"], "end its name in .safetensors"),
        (["build", "SPACE", "-o", "DIR"], "exists already"),
        (["certify", "SPACE", "--sensitive-share", 2], "--sensitive-share must be"),
        (["shrink", "SPACE"], "no such command"),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, list) else "",
)
def test_mistakes_are_one_sentence(place, tmp_path, arguments, part):
    names = {"SPACE": place / "space.txt", "OUT.txt": tmp_path / "out.txt", "DIR": tmp_path}
    done = spaces(place, *(names.get(a, a) for a in arguments))
    assert (done.code, done.out) == (2, b"")
    assert done.err.startswith("discreet: ")
    assert done.err.count("\n") == 1
    assert part in done.err
    assert MARKER not in done.err
    assert list(tmp_path.iterdir()) == []


# -- build -----------------------------------------------------------------------------------------


def released(place: Path, cache: Path, words: list[str]) -> np.ndarray:
    """What the command makes of these words."""
    done = called(
        *(
            "sanitize",
            "-",
            "-o",
            "-",
            "-m",
            "santext",
            "-s",
            place / "many.txt",
            "--calibration",
            "published",
        ),
        *("-e", 2 * KAPPA, "--seed", SEED),
        cache=cache,
        stdin=" ".join(words).encode(),
    )
    assert done.code == 0, done.err
    number = {word: i for i, word in enumerate(MANY)}
    return np.array([number[word] for word in done.out.decode().split()])


def test_the_next_run_uses_the_index_and_keeps_the_law(place, tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    inspect = ("spaces", "inspect", place / "many.txt", "--json")
    assert json.loads(called(*inspect, cache=cache).out)["indexed"] is False
    done = called("spaces", "build", place / "many.txt", cache=cache)
    assert (done.code, done.out) == (0, b"")
    assert "128 nearest neighbours of each of 301 words" in done.err
    assert json.loads(called(*inspect, cache=cache).out)["indexed"] is True

    # Many times one word: a whole row is cheaper. Each word some times: the index is.
    right = law(KAPPA, len(MANY), seed=1)
    draws = released(place, cache, [MANY[17]] * 20_000)
    assert fits(draws, right[17]), f"off the law, seed {SEED}"
    for wrong in (0.93, 1.07):
        assert not fits(draws, law(wrong * KAPPA, len(MANY), seed=1)[17])
    every = MANY[1:] * 60
    assert fits(released(place, cache, every), right[1:].mean(axis=0))

    # An index that was tampered with is not used, hence the law is kept.
    (neighbours,) = (cache / "indices").glob("*.neighbors.npy")
    reversed_ = np.load(neighbours)[:, ::-1]
    np.save(neighbours, reversed_)
    assert json.loads(called(*inspect, cache=cache).out)["indexed"] is False
    assert fits(released(place, cache, every), right[1:].mean(axis=0))

    # A properly kept one with the far words first misses the law: so it is the index that is used.
    monkeypatch.setenv("DISCREET_CACHE", str(cache))
    space = load_space(place / "many.txt")
    store_index(space, NeighborIndex(reversed_, build_index(space).lower))
    own = np.repeat(np.arange(1, len(MANY))[None], 60, axis=0).ravel()
    kept = (released(place, cache, every) == own).mean()
    assert kept < np.diag(right)[1:].mean() / 2


def test_build_saves_the_space_and_replaces_it_only_when_told(place, tmp_path):
    target = tmp_path / "mine.safetensors"
    assert spaces(place, "build", place / "space.txt", "-o", target).code == 0
    saved = json.loads(spaces(place, "inspect", target, "--json").out)
    source = json.loads(spaces(place, "inspect", place / "space.txt", "--json").out)
    assert saved["fingerprint"] == source["fingerprint"]
    content = target.read_bytes()
    target.write_text("precious")
    again = spaces(place, "build", place / "space.txt", "-o", target)
    assert again.code == 2
    assert "exists" in again.err
    assert target.read_text() == "precious"
    forced = spaces(place, "build", place / "space.txt", "-o", target, "--force")
    assert (forced.code, f"Written: {target}" in forced.err) == (0, True)
    assert target.read_bytes() == content


# -- certify ---------------------------------------------------------------------------------------


def rate_of(kappa: float, targets: np.ndarray) -> float:
    """kappa + the steepest |ln Z(x) - ln Z(x')| / d(x, x'), over every pair."""
    v = vectors().astype(np.float32).astype(np.float64)
    distances = np.sqrt(((v[:, None] - v[None]) ** 2).sum(axis=2))
    log_z = np.log(np.exp(-kappa * distances[:, targets]).sum(axis=1))
    slopes = np.abs(log_z[:, None] - log_z[None]) / (distances + np.eye(len(v)))
    return kappa + slopes.max()


@pytest.mark.parametrize("share", [None, 0.5])
def test_the_table_holds_the_exact_rates(place, share):
    some = [] if share is None else ["--sensitive-share", share]
    done = spaces(place, "certify", place / "space.txt", *some, "--json")
    said = json.loads(done.out)
    # The unknown token is always sensitive, and the file lists frequent words first.
    targets = np.arange(60) if share is None else np.array([0, *range(31, 60)])
    assert (said["targets"] == "all") == (share is None)
    assert len(said["kappas"]) >= 32
    for i in range(0, len(said["kappas"]), 7):
        kappa = said["kappas"][i]
        assert said["rates"][i] == pytest.approx(rate_of(kappa, targets), rel=1e-5)
        assert said["rates"][i] >= rate_of(kappa, targets) * (1 - 1e-6)
    if share is None:
        keeps = [np.diag(law(kappa)).mean() for kappa in said["kappas"]]
        assert said["keeps"] == pytest.approx(keeps, abs=1e-5)


def test_the_table_for_people_says_what_is_gained(place):
    done = spaces(place, "certify", place / "space.txt")
    rows = [[float(cell) for cell in line.split()] for line in done.lines[2:]]
    assert len(rows) >= 8
    for epsilon, published, certified, stays in rows:
        assert published == pytest.approx(epsilon / 2, rel=1e-3)
        assert published <= certified * 1.001
        assert certified <= epsilon * 1.001
        assert 0 < stays <= 1


def test_again_computes_the_table_anew(tmp_path, monkeypatch):
    """A table in the cache is taken as it is; --again looks at every pair once more."""
    from discreet.mechanisms import certificate

    monkeypatch.setattr(certificate, "_WORTH_CACHING", 2)
    write_space(tmp_path / "space.txt")
    command = ("spaces", "certify", tmp_path / "space.txt", "--json")
    cache = tmp_path / "cache"
    first = called(*command, cache=cache).out
    (kept,) = (cache / "certificates").iterdir()
    table = certificate.CertificateTable.from_json(first.decode())
    other = replace(table, keeps=(0.125,) * len(table.keeps)).to_json()
    kept.write_text(other)
    assert json.loads(called(*command, cache=cache).out)["keeps"][0] == 0.125
    assert called(*command, "--again", cache=cache).out == first
    assert called(*command, cache=cache).out == first, "the new table is kept"
    kept.write_text(other.replace("0.125", "0.126"))
    assert called(*command, cache=cache).out == first, "an altered table is not believed"


def test_the_installed_command_certifies(place):
    done = discreet("spaces", "certify", place / "space.txt", cache=place / "cache")
    assert (done.code, done.err) == (0, "")
    assert done.lines == spaces(place, "certify", place / "space.txt").lines
