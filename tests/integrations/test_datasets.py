"""Datasets of Hugging Face: fresh draws on every call, exact counts, nothing raw in what is new."""

import pickle

import numpy as np
import pytest

from command import MARKER
from discreet import DiscreetError, sanitize
from discreet.randomness import SEEDED_CAVEAT

ROWS = 40
TEXTS = [None if row % 10 == 9 else f"{MARKER} " * 20 for row in range(ROWS)]


@pytest.fixture(scope="module", autouse=True)
def _library():
    """Loaded for the tests alone, and quiet."""
    global datasets, sanitize_dataset
    import datasets

    from discreet.integrations.datasets import sanitize_dataset

    datasets.disable_progress_bars()
    yield
    datasets.enable_progress_bars()


@pytest.fixture
def on_disk(tmp_path):
    """A dataset that has a cache, as downloaded ones do."""
    columns = {"text": TEXTS, "user": [f"u{row % 4}" for row in range(ROWS)], "n": [*range(ROWS)]}
    datasets.Dataset.from_dict(columns).save_to_disk(tmp_path / "saved")
    return datasets.load_from_disk(tmp_path / "saved")


def test_a_release_is_never_replayed(on_disk, sanitizer, is_released, tmp_path):
    def released():
        return sanitize_dataset(on_disk, "text", sanitizer=sanitizer, keep=["n"], drop=["user"])

    one, two = released(), released()
    assert one.values.column_names == ["text", "n"]
    assert one.values["n"][:] == [*range(ROWS)]
    texts = one.values["text"][:]
    assert [text is None for text in texts] == [text is None for text in TEXTS]
    assert all(is_released(text, 20) for text in texts if text)
    assert texts != two.values["text"][:]
    assert one.values._fingerprint != two.values._fingerprint
    assert one.units == two.units == 36 * 20
    assert one.receipt.counts == {"documents": ROWS, "words": 720}
    assert one.receipt.about["whole"]["document"]["words"] == 20
    # Draws of one call differ, too: every row had the same text.
    assert len(set(filter(None, texts))) == 36
    # What datasets kept of it holds nothing raw; what it was loaded from still does.
    kept = {path: MARKER.encode() in path.read_bytes() for path in tmp_path.rglob("*.arrow")}
    assert sum(kept.values()) == 1
    assert len(kept) >= 3


def test_processes_draw_their_own_noise(on_disk, sanitizer, is_released):
    release = sanitize_dataset(
        on_disk, "text", num_proc=2, sanitizer=sanitizer, others="drop", person_field="user"
    )
    texts = release.values["text"][:]
    assert len(texts) == ROWS
    assert all(is_released(text, 20) for text in texts if text)
    assert len(set(filter(None, texts))) == 36
    assert release.units == 720
    # u0 and u2 have ten texts each, u1 and u3 the missing ones: rows 9, 19, 29 and 39.
    assert release.receipt.about["whole"]["person"]["words"] == 200
    assert not release.statement.caveats
    with pytest.raises(DiscreetError, match="rng is for one process"):
        sanitize_dataset(
            on_disk,
            "text",
            num_proc=2,
            sanitizer=sanitizer,
            others="drop",
            rng=np.random.default_rng(0),
        )


def test_splits_identifiers_and_seeds(sanitizer, space_file):
    splits = datasets.DatasetDict(
        train=datasets.Dataset.from_dict({"text": [f"write to {MARKER}@example.org", None]}),
        test=datasets.Dataset.from_dict({"text": ["nothing here"]}),
        empty=datasets.Dataset.from_dict({"text": []}),
    )
    release = sanitize(
        splits,
        columns="text",
        mechanism="santext",
        space=space_file,
        epsilon=1.0,
        identifiers="rules",
        rng=np.random.default_rng(0),
    )
    assert isinstance(release.values, datasets.DatasetDict)
    assert {name: len(split) for name, split in release.values.items()} == {
        "train": 2,
        "test": 1,
        "empty": 0,
    }
    assert release.identifiers == {"email": 1}
    assert MARKER not in str([split["text"][:] for split in release.values.values()])
    assert (
        release.statement.caveats[-1] == SEEDED_CAVEAT or SEEDED_CAVEAT in release.statement.caveats
    )
    again = sanitize(splits["test"], "text", sanitizer=sanitizer, rng=np.random.default_rng(0))
    same = sanitize(splits["test"], "text", sanitizer=sanitizer, rng=np.random.default_rng(0))
    assert again.values["text"][:] == same.values["text"][:]


@pytest.mark.parametrize("rows", [2, 0])
def test_nothing_else_of_a_dataset_comes_along(sanitizer, tmp_path, rows):
    columns = {"text": ["a word"] * 3, "ward": ["A", "B", MARKER]}
    about = datasets.DatasetInfo(description=MARKER, homepage=MARKER, license=MARKER)
    told = datasets.Dataset.from_dict(columns, info=about, split="train")
    some = told.filter(lambda row: rows and row["ward"] != MARKER)
    out = sanitize(some, "text", sanitizer=sanitizer, keep=["ward"]).values
    assert out["ward"][:] == ["A", "B"][:rows]
    assert out.features == some.features
    assert (out.split, out.info.description, out.info.homepage) == ("train", "", "")
    out.save_to_disk(tmp_path / "out")
    for held in (pickle.dumps(out), *(p.read_bytes() for p in (tmp_path / "out").iterdir())):
        assert MARKER.encode() not in held


def test_what_is_read_anew_on_every_pass_is_refused(sanitizer):
    stream = object.__new__(datasets.IterableDataset)  # the library would load torch to make one
    with pytest.raises(DiscreetError, match=r"sanitise iter\(dataset\)"):
        sanitize(stream, "text", sanitizer=sanitizer)
    with pytest.raises(DiscreetError, match="Dataset or DatasetDict"):
        sanitize_dataset(stream, "text", sanitizer=sanitizer)
    with pytest.raises(DiscreetError, match="what becomes of n"):
        sanitize(datasets.Dataset.from_dict({"text": ["a"], "n": [1]}), "text", sanitizer=sanitizer)
