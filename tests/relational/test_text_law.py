"""``discreet sanitize``: the law of the bytes that are written, for texts that are neighbours.

Each file holds many copies of a few texts; for any two that agree in what the statement names as
public, what comes out must be as close as the statement says of the words that differ.
"""

import io
import json
import sys
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.audit.subject import subject_of
from discreet.mechanisms.registry import entries
from discreet.mechanisms.word import SanText
from discreet.release.text import LAYOUTS, Sanitizer
from discreet.release.text_files import sanitize_file
from discreet.statement import Notion
from discreet.text.tokens import tokenizer_for
from mechanism_examples import examples
from relational.evidence import Claim, contradictions, text_events
from relational.worlds import cased_space
from text import slow
from text.old_layout import OldLayout, with_the_old_rule

COPIES = 400
PAIRS = [
    ("{a} 4711337 {b}", "{a} zqxword {b}"),
    ("{a} 🙂 {b}", "{a} zqxword {b}"),
    ("{a} 日本 {b}", "{a} zqXword {b}"),
    ("{a} zq\u00adx {b}", "{a} 3.14 {b}"),
    ("{a} zqxzqxzqxzqxzqxzqxzqx {b}", "{a} zq {b}"),
    ("{a} McZq {b}", "{a} Zqx {b}"),
    ("{a} NASA {b}", "{a} ZQ {b}"),
    ("{a}-12 {b}", "{a}-zq {b}"),
    ("2024 {a} {b}", "{b} {a} {b}"),
    ("{a} {b} zqx", "{a} {b} {a}"),
]
FORMATS = ("txt", "csv", "jsonl", "parquet", "stream")
_CLAIMS = {}
_SEEN = {}


def write(texts, format):
    """A file with many copies of these texts."""
    if format == "csv":
        return b"id,text\n" + "".join(f'x,"{text}"\n' for text in texts).encode() * COPIES
    if format == "jsonl":
        return "".join(json.dumps({"id": 1, "text": t}) + "\n" for t in texts).encode() * COPIES
    if format == "parquet":
        out = io.BytesIO()
        pq.write_table(pa.table({"text": list(texts) * COPIES}), out)
        return out.getvalue()
    return "".join(f"{text}\n" for text in texts).encode() * COPIES


def released_rows(texts, format, made, folder, monkeypatch):
    """The raw bytes of each row that is written for many copies of these texts."""
    rng, data = np.random.default_rng(20261116), write(texts, format)
    if format == "stream":
        out = io.TextIOWrapper(io.BytesIO())
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        monkeypatch.setattr(sys, "stdout", out)
        sanitize_file("-", "-", made, accept_weak=True, rng=rng)
        return out.buffer.getvalue().split(b"\n")[:-1]
    source, output = folder / f"in.{format}", folder / f"out.{format}"
    source.write_bytes(data)
    # Also where a setting is weak its statement must hold.
    sanitize_file(source, output, made, others="keep", accept_weak=True, rng=rng, force=True)
    if format == "parquet":
        return [text.encode() for text in pq.read_table(output).column("text").to_pylist()]
    return output.read_bytes().split(b"\n")[format == "csv" : -1]


def claims_of(made, layout, pairs):
    """What the statement says of each pair, checked to agree in what it names as public."""
    space, statement = made.mechanism.space, made.statement
    tokenizer = tokenizer_for(space.words, space.unknown, space.subwords)
    subject = subject_of(made.mechanism)

    def tokens(text):
        return tokenizer.encode([text]).ids.tolist()

    for number, pair in enumerate(pairs):
        if layout == "public":
            parts = [slow.public_part(text, tokens) for text in pair]
            assert parts[0] == parts[1]
            batch, _ = LAYOUTS["public"](tokenizer).divided(pair)
            one, two = np.split(batch.ids, 2)
        else:
            one, two = (np.array(tokens(text)) for text in pair)
        assert len(one) == len(two)
        differ = one != two
        if not differ.any():
            yield Claim(2 * number, 2 * number + 1)
        elif statement.notion is not Notion.UTILITY_OPTIMISED:  # whose outputs are not all covered
            assert differ.sum() == 1
            loss = subject.allowed(one[differ], two[differ])
            yield Claim(2 * number, 2 * number + 1, float(loss[0]), statement.delta)


def broken(made, layout, format, folder, monkeypatch):
    """What the rows that are written contradict."""
    words = made.mechanism.space.words
    pairs = [[text.format(a=words[1], b=words[2]) for text in pair] for pair in PAIRS]
    if (made.mechanism, layout) not in _CLAIMS:  # the same for all formats
        _CLAIMS[made.mechanism, layout] = list(claims_of(made, layout, pairs))
    claims = _CLAIMS[made.mechanism, layout]
    texts = [text for pair in pairs for text in pair]
    rows = released_rows(texts, format, made, folder, monkeypatch)
    assert len(rows) == len(texts) * COPIES
    # Some formats write the very same rows: these contradict what they contradicted before.
    before, found = _SEEN.get((made.mechanism, layout), (None, None))
    if rows != before:
        draws = [rows[number :: len(texts)] for number in range(len(texts))]
        found = contradictions(draws, claims, text_events)
        _SEEN[made.mechanism, layout] = rows, found
    return found


@cache
def extremes(entry):
    """The examples of least and of most noise: one shows most of the law, one of what is copied."""
    made = [make() for make in examples(entry).values()]
    made = [each for each in made if each.space.unknown is not None and len(each.space) > 10]
    by_epsilon = sorted(made, key=lambda each: each.statement.epsilon)
    return by_epsilon[0], by_epsilon[-1]


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("entry", entries("word"), ids=lambda entry: entry.name)
def test_neighbouring_texts_are_as_close_as_stated(entry, layout, format, tmp_path, monkeypatch):
    for mechanism in extremes(entry):
        made = Sanitizer(mechanism, layout=layout)
        assert not broken(made, layout, format, tmp_path, monkeypatch)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("epsilon", [0.001, 8.0])
def test_neighbours_in_a_cased_space(layout, epsilon, tmp_path, monkeypatch):
    made = Sanitizer(SanText(cased_space(), epsilon=epsilon), layout=layout)
    assert not broken(made, layout, "txt", tmp_path, monkeypatch)


@pytest.mark.parametrize("epsilon", [0.001, 8.0])
def test_the_old_rule_for_capitals_is_caught(epsilon, tmp_path, monkeypatch):
    """A number was written as released, a word of small letters in small letters."""
    made = Sanitizer(SanText(cased_space(), epsilon=epsilon), layout="public")
    made._layout = OldLayout(made._layout.tokenizer)
    with_the_old_rule(monkeypatch)
    found = broken(made, "tokens", "txt", tmp_path, monkeypatch)
    assert Claim(0, 1) in [claim for claim, _ in found]


@pytest.mark.parametrize("format", FORMATS)
def test_a_writer_that_shows_the_length_of_its_input_is_caught(format, tmp_path, monkeypatch):
    class LengthShown(Sanitizer):
        def sanitize(self, texts, rng=None):
            release = super().sanitize(texts, rng)
            pairs = zip(release.values, texts, strict=True)
            release.values[:] = [out + " " * (len(text) % 2) for out, text in pairs]
            return release

    made = LengthShown(SanText(cased_space(), epsilon=1.0))
    assert broken(made, "tokens", format, tmp_path, monkeypatch)
