"""Whenever a process is killed, no receipt lies beside what it was not written for.

Each test asks what somebody finds if a child is killed at any one of its file-system calls.
The next run of the same output removes what was left.
"""

import json
import os
import sys
from unittest.mock import Mock

import numpy as np
import pytest

from command import UNKNOWN, WORDS, vectors
from crash_points import crashes
from discreet.encoders.candidate_store import CandidateStore, Voters
from discreet.encoders.maps import PublicMap
from discreet.errors import DiscreetError, NotFound
from discreet.files import staged
from discreet.mechanisms.label import RandomizedResponse
from discreet.mechanisms.word import SanText
from discreet.receipt import Receipt, receipt_path
from discreet.release.text import Sanitizer
from discreet.release.text_files import sanitize_file
from discreet.release.vectors import VectorSet, read_vectors, write_vectors
from discreet.spaces.space import EmbeddingSpace
from discreet.tensors import load_tensors, save_tensors

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks, and locks of files")

SPACE = EmbeddingSpace.from_arrays([UNKNOWN, *WORDS], vectors().astype(np.float32))
LOUD, QUIET = 12.0, 0.1


def leftovers(folder):
    return [path.name for path in folder.rglob(".*") if path.suffix in (".partial", ".old")]


def readable(folder):
    """Temporary files that somebody else could read."""
    return [p.name for p in folder.rglob(".*.partial") if p.stat().st_mode & 0o077]


def agree(output, epsilons):
    """The output is whole, and a receipt beside it is its own; says which epsilon it has."""
    assert output.exists()
    receipt = Receipt.beside(output)  # refuses what does not match
    if receipt is not None:
        assert receipt.statement.epsilon in epsilons
    return None if receipt is None else receipt.statement.epsilon


@pytest.mark.parametrize("name", ["out.txt", "out.csv.gz", "out.parquet"])
def test_text_never_lies_beside_the_receipt_of_another(tmp_path, name):
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = tmp_path / "run"
    folder.mkdir()
    source = folder / name.replace("out", "in").removesuffix(".gz")
    texts = [" ".join(WORDS[:9])] * 4
    if source.suffix == ".parquet":
        pq.write_table(pa.table({"text": texts}), source)
    else:
        source.write_text("\n".join(["text", *texts]) + "\n")
    loud, quiet = (Sanitizer(SanText(SPACE, epsilon=e)) for e in (LOUD, QUIET))
    sanitize_file(source, folder / name, quiet, accept_weak=True)
    seen = set()
    for _, place in crashes(
        folder,
        lambda at: sanitize_file(at / source.name, at / name, loud, accept_weak=True, force=True),
    ):
        seen.add(agree(place / name, (LOUD, QUIET)))
        assert not readable(place)
    assert seen == {QUIET, None, LOUD}  # the old, the moment between, the new


def labelled(epsilon):
    return Receipt(RandomizedResponse(2, epsilon=epsilon).statement)


@pytest.mark.parametrize("name", ["v.npz", "v.npy", "v.parquet"])
def test_vectors_never_lie_beside_the_receipt_of_others(tmp_path, name):
    folder = tmp_path / "run"
    folder.mkdir()
    write_vectors(folder / name, VectorSet(np.ones((5, 3))), labelled(QUIET))
    new = VectorSet(np.full((5, 3), 2.0))
    seen = set()
    for _, place in crashes(
        folder, lambda at: write_vectors(at / name, new, labelled(LOUD), force=True)
    ):
        epsilon = agree(place / name, (LOUD, QUIET))
        held = float(read_vectors(place / name).vectors[0, 0])
        assert epsilon is None or (epsilon, held) in ((QUIET, 1.0), (LOUD, 2.0))
        assert not readable(place)
        seen.add(epsilon)
    assert seen == {QUIET, None, LOUD}


def test_what_was_left_goes_with_the_next_run_and_what_is_in_use_stays(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    left = 0
    for _, place in crashes(
        folder, lambda at: write_vectors(at / "v.npz", VectorSet(np.ones((2, 2))), labelled(1.0))
    ):
        left += bool(leftovers(place))
        with staged(place / "v.npz") as living:
            write_vectors(place / "v.npz", VectorSet(np.ones((2, 2))), labelled(2.0), force=True)
            assert leftovers(place) == [living.path.name]
        assert agree(place / "v.npz", (2.0,)) == 2.0
        assert not leftovers(place)
    assert left > 3


def store(size):
    rng = np.random.default_rng(size)
    rows = rng.standard_normal((size, 3)).astype(np.float32)
    return CandidateStore(
        candidates=rows,
        texts=tuple(f"text {i}" for i in range(size)),
        clusters=np.zeros(size, np.int64),
        projections=rows[:2],
        centroids={2: rows[:2]},
        voters={2: Voters(rows[:2], rows[:2], np.zeros(2, np.float32))},
        box=np.array([[-9.0] * 3, [9.0] * 3], np.float32),
        recoder=None,
        encoder="e",
        best_projections={1.0: 1},
        best_centroids={1.0: 2},
        best_voters={1.0: 2},
        about={},
    )


def test_a_store_is_the_old_one_the_new_one_or_not_there(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    store(4).save(folder / "store")
    seen = set()
    for _, place in crashes(folder, lambda at: store(6).save(at / "store", force=True)):
        try:
            seen.add(len(CandidateStore.load(place / "store").texts))
        except NotFound:
            seen.add(0)
        store(5).save(place / "store", force=True)
        assert len(CandidateStore.load(place / "store").texts) == 5
        assert not leftovers(place)
    assert seen == {4, 0, 6}


def test_a_model_is_the_old_one_or_the_new_one(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    PublicMap.random(4, 2, seed=1).save(folder / "map.safetensors")
    seen = set()
    for _, place in crashes(
        folder, lambda at: PublicMap.random(4, 3, seed=1).save(at / "map.safetensors", force=True)
    ):
        seen.add(PublicMap.load(place / "map.safetensors").dimension)
        save_tensors(place / "map.safetensors", "x", {"a": np.zeros(2)}, {}, force=True)
        assert load_tensors(place / "map.safetensors", "x")[1]["kind"] == "x"
        assert not leftovers(place)
    assert seen == {2, 3}


def test_no_budget_is_understated_whenever_training_is_killed(tmp_path):
    torch = pytest.importorskip("torch")
    from discreet.models.awd_lstm import AwdLstm, AwdLstmShape
    from discreet.training.user_entity.checkpoints import RunFolder
    from discreet.training.user_entity.rules import Rules
    from discreet.training.user_entity.trainer import UserEntityTrainer
    from discreet.training.user_entity.users import Sentence, gather

    users = gather([Sentence(f"u{i}", [1, 2, 3], frozenset({"x"})) for i in range(3)])
    rules = Rules(user_rate=0.5, holders=3, population=3)

    model = AwdLstm(AwdLstmShape(words=5, boundary=0, embedding=3, hidden=4))
    trainer = UserEntityTrainer(rules, users, model)
    step = trainer.step

    def train(at):
        # What a step has made is a release as soon as it is made: each says so at once.
        def telling(number):
            (at / f"made-{number}").touch()
            return step(number)

        trainer.step = telling
        trainer.run(2, folder=at / "state", checkpoint_every=1)

    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # a child has no threads of its parent
    try:
        trainer.run(1)  # what is computed once is computed here
        folder = tmp_path / "run"
        folder.mkdir()
        spent = set()
        for _, place in crashes(folder, train):
            state, made = place / "state", len(list(place.glob("made-*")))
            ledger = state / "ledger.json"
            charged = json.loads(ledger.read_text())["charged"] if ledger.exists() else 0
            assert charged >= made
            if ledger.exists():
                assert not [p for p in (state, *state.iterdir()) if p.stat().st_mode & 0o077]
            if (state / "checkpoint.safetensors").exists():
                with RunFolder(state, trainer._settings(state), resume=True) as there:
                    assert there.load()[0] <= there.charged == charged
            spent.add(charged)
        assert spent == {0, 1, 2}
    finally:
        torch.set_num_threads(threads)


def test_a_run_never_has_the_receipt_of_a_model_that_spent_less(tmp_path):
    """The folder of a run is written again by each run that goes on with it."""
    pytest.importorskip("torch")
    from discreet.training.user_entity import settings
    from discreet.training.user_entity.build import KIND, MODEL
    from discreet.training.user_entity.run import UserEntityRun

    row = {"user": "u", "tokens": ["tea", "of", "it"], "tags": ["O", "O", "B-LOC"]}
    (tmp_path / "notes.jsonl").write_text(
        "".join(json.dumps(row | {"user": f"u{number}"}) + "\n" for number in range(6))
    )
    (tmp_path / "words.txt").write_text("tea\nof\ncup\n")

    def run(steps):
        return UserEntityRun(
            str(tmp_path / "notes.jsonl"),
            tmp_path / "run",
            rules=settings.RuleOptions(noise=20.0, user_rate=0.5, population=6),
            records=settings.Records(tokens="tokens", tags="tags"),
            network=settings.NetworkSettings(
                vocabulary=tmp_path / "words.txt", embedding=4, hidden=5
            ),
            run=settings.RunSettings(steps=steps, resume=steps > 1),
        )

    _, first = run(1).train()
    then = run(3)
    outcome = then.trainer.run(3)
    receipt = then._receipt(outcome)
    spent = (first.statement.epsilon, receipt.statement.epsilon)
    assert spent[0] < spent[1]

    def write(at):
        then._output = at
        entry = Mock(id="entry", dataset="d", commit=(at / "state" / "committed").write_text)
        then._write(outcome, receipt, (entry, Mock(statement=receipt.statement)))

    seen = set()
    for _, place in crashes(tmp_path / "run", write):
        seen.add(agree(place, spent))
        held = load_tensors(place / MODEL, KIND)[1]["statement"]["epsilon"]
        assert agree(place, spent) in (None, held)
        committed = (place / "state" / "committed").exists()
        assert committed or held == spent[0], "no model before the ledger has it in writing"
        assert not readable(place)
    assert seen == {spent[0], None, spent[1]}


def test_a_receipt_that_is_written_first_is_caught(tmp_path):
    """The order that was: the receipt in its place, and then the output."""
    folder = tmp_path / "run"
    folder.mkdir()

    def write(at, epsilon):
        (at / "new").write_text(str(epsilon))
        (at / "new.json").write_text(labelled(epsilon).to_json())
        os.replace(at / "new.json", receipt_path(at / "out"))
        os.replace(at / "new", at / "out")

    write(folder, LOUD)
    false = 0
    for _, place in crashes(folder, lambda at: write(at, QUIET)):
        said = Receipt.read(receipt_path(place / "out")).statement.epsilon
        false += str(said) != (place / "out").read_text()
        with pytest.raises(DiscreetError):  # no digest: refused, whichever it is
            Receipt.beside(place / "out")
    assert false == 1
