"""Noise from a key of the run: a retry repeats its draw, and nothing else does."""

import hashlib
import hmac
import json
import os
import stat
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from randomgen import AESCounter

from discreet import Receipt
from discreet.engines import EngineSettings, noise, sanitize_folder
from discreet.engines.noise import RunKey
from discreet.engines.plan import Part, planned
from discreet.engines.tasks import run_task, target_of
from discreet.errors import InvalidValue, OutputError
from discreet.randomness import is_secure, keyed_generator
from discreet.text.fates import Fates
from part_folders import (
    InThisProcess,
    check_whole,
    embedding,
    sanitizing,
    small_space,
    words_of,
    write,
)


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    fates = Fates(("body",), keep=("id",), surrogates={"who": "email"})
    return sanitizing(small_space(tmp_path_factory.mktemp("space")), fates, keyed=True)


def drawn(work, source, folder, key, number=0):
    """What one attempt at a part of a file writes."""
    (part,), _ = planned(str(source), work.schema_of)
    target = target_of(folder, replace(part, number=number))
    folder.mkdir(exist_ok=True)
    work.release(replace(part, number=number), target, key)
    return pq.read_table(target)


@pytest.mark.parametrize("kind", ["texts", "vectors"])
def test_an_attempt_repeats_its_draw_and_nothing_else_does(tmp_path, work, kind):
    source = write(tmp_path / "in", "parquet", files=1, rows=300)
    does, key = work if kind == "texts" else embedding(keyed=True), RunKey(bytes(range(32)))
    first = drawn(does, source, tmp_path / "1", key)
    assert drawn(does, source, tmp_path / "2", key) == first
    assert drawn(does, source, tmp_path / "3", None) != first
    assert drawn(does, source, tmp_path / "4", RunKey(bytes(32))) != first
    assert drawn(does, source, tmp_path / "5", key, number=1) != first


@pytest.mark.parametrize("changed", ["a word", "the settings", "a library"])
def test_never_the_same_noise_on_something_else(tmp_path, work, monkeypatch, changed):
    # One text of 2,000 equal words: two draws with the same noise would be equal nearly everywhere.
    (tmp_path / "in").mkdir()
    word, other = work.made.mechanism.space.words[1:3]
    path = tmp_path / "in" / "a.parquet"

    def put(last):
        text = " ".join([word] * 2_000 + [last])
        pq.write_table(pa.table({"id": [0], "body": [text], "who": ["x"]}), path)

    put(word)
    key = RunKey(bytes(range(32)))
    first = drawn(work, path, tmp_path / "1", key)
    if changed == "a word":
        put(other)
    elif changed == "the settings":
        work = replace(work, whole_delta=1e-7)
    else:
        monkeypatch.setattr(noise, "_libraries", lambda: "another NumPy")
    second = drawn(work, path, tmp_path / "2", key)
    one, two = (table.column("body")[0].as_py().split()[:2_000] for table in (first, second))
    equal = sum(a == b for a, b in zip(one, two, strict=True)) / 2_000
    chance = float(np.exp(2 * work.made.mechanism.log_probabilities([1])).sum())
    # Six standard deviations of a share of 2,000: a false alarm in 10^8 runs.
    assert abs(equal - chance) < 6 * (chance * (1 - chance) / 2_000) ** 0.5
    assert chance < 0.9
    assert first.column("who") != second.column("who")


def test_the_sampler_is_the_same_and_fed_by_aes_under_a_hash_of_all_that_decides(tmp_path, work):
    source = write(tmp_path / "in", "parquet", files=1, rows=50)
    (part,), _ = planned(str(source), work.schema_of)
    texts = pq.read_table(source).column("body").to_pylist()
    key = os.urandom(32)
    # Once more, in other words than in the source.
    content = ",".join(str(len(text)) for text in texts) + ";" + "".join(texts)
    said = [work.fingerprint, "none", noise._libraries(), "0", "1"]
    said.append(hashlib.sha256(content.encode()).hexdigest())
    framed = b"".join(len(each).to_bytes(8, "little") + each.encode() for each in said)
    secret = hmac.new(key, framed, "sha256").digest()
    bits = AESCounter(
        key=int.from_bytes(secret[:16], "little"), counter=int.from_bytes(secret[16:], "little")
    )
    expected = work.made.sanitize(texts, np.random.Generator(bits)).values
    assert drawn(work, source, tmp_path / "out", RunKey(key)).column("body").to_pylist() == expected
    generator = RunKey(key).noise(part, "")(1, [texts])
    assert is_secure(generator)
    assert "seeded" not in str(work.made.sanitize(texts, generator).statement.caveats)
    with pytest.raises(InvalidValue, match="32 bytes"):
        keyed_generator(b"short")
    assert repr(RunKey(key)) == "RunKey()"


def test_texts_that_end_elsewhere_are_others():
    generator = RunKey(bytes(32)).noise(Part(0, "notes.csv", 1, 1), "x")
    seen = [
        [["ab", "c"]],
        [["a", "bc"]],
        [["ab"], ["c"]],
        [["ab\0c"]],
        [["abc"]],
        [["ab", "c", ""]],
    ]
    assert len({generator(1, texts).random() for texts in seen}) == len(seen)
    assert generator(1, seen[0]).random() != generator(2, seen[0]).random()


def test_the_key_is_there_as_long_as_parts_are_missing_and_no_longer(tmp_path, work):
    source = write(tmp_path / "in", "csv", files=2, rows=20)
    key, seen = tmp_path / "out.unfinished" / "noise.key", []

    class Stopped(InThisProcess):
        def run(self, parts, told, folder):
            for part in parts:
                seen.append((stat.S_IMODE(key.stat().st_mode), key.read_bytes()))
                assert seen[-1][1].hex() not in told
                yield from super().run([part], told, folder)
                if len(seen) == 1:
                    raise KeyboardInterrupt

    def release(**more):
        return sanitize_folder(
            source,
            tmp_path / "out",
            work.made,
            EngineSettings(**more),
            text_field="body",
            keep=["id"],
            others="drop",
        )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(EngineSettings, "start", lambda _: Stopped())
        with pytest.raises(KeyboardInterrupt):
            release(keyed_noise=True)
        with pytest.raises(OutputError, match="other settings"):
            release()
        release(keyed_noise=True)
    assert [mode for mode, _ in seen] == [0o600] * len(seen)
    assert len({secret for _, secret in seen}) == 1  # the run that was stopped kept its key
    assert not key.exists()
    check_whole(tmp_path / "out", 40, 2 * words_of(20))
    receipt = Receipt.beside(tmp_path / "out")
    assert any("restore it from the disk" in each for each in receipt.statement.caveats)
    assert not any("failed" in each for each in receipt.statement.caveats)


def test_a_worker_without_the_key_draws_nothing(tmp_path, work):
    source = write(tmp_path / "in", "parquet", files=1, rows=5)
    (part,), _ = planned(str(source), work.schema_of)
    outcome = run_task(part, work.to_json(), str(tmp_path))
    assert "noise.key" in outcome["error"]
    assert json.loads(work.to_json())["keyed"] is True
    assert not list(tmp_path.rglob("*.attempts"))


def test_whichever_process_draws_it(tmp_path, work, monkeypatch):
    """In one process after another part, or in one of its own: the same draw."""
    monkeypatch.setattr(noise.secrets, "token_bytes", lambda count: bytes(range(count)))
    source = write(tmp_path / "in", "parquet", files=2, rows=500)
    fates = {"text_field": "body", "keep": ["id"], "others": "drop"}
    digests = []
    for workers in (1, 2):
        settings = EngineSettings(workers=workers, keyed_noise=True)
        out = tmp_path / f"out{workers}"
        receipt = sanitize_folder(source, out, work.made, settings, **fates)
        digests.append(receipt.about["output"])
    assert digests[0] == digests[1]
