"""The guarantee as a claim: what an exact check finds, and that a false one is seen."""

import numpy as np
import pytest

from discreet.mechanisms.document import DeepCandidate
from discreet.mechanisms.word import SanText
from discreet.spaces.space import EmbeddingSpace
from discreet_recipes.guarantee import add_guarantee, audited, sentences_replaced
from discreet_recipes.record import Record

SPACE = EmbeddingSpace.from_arrays(["tea", "cup", "sea"], [[0.0], [1.0], [5.0]])


def documents(seed):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((40, 6)), np.arange(0, 41, 8)


def deep(epsilon):
    rng = np.random.default_rng(1)
    candidates, projections = rng.standard_normal((30, 6)), rng.standard_normal((8, 6))
    return DeepCandidate(candidates, projections, epsilon, "exponential")


def claimed(folder, checked):
    record = Record(folder, "small", {})
    add_guarantee(record, "claim", "proven", checked)
    (claim,) = record.claims
    return claim


def test_a_sound_law_holds_with_the_figure_of_the_audit(tmp_path):
    checked = audited(SanText(SPACE, 2.0, calibration="published"))
    assert checked["passed"]
    assert checked["claimed"] == 2.0
    assert 1.0 <= checked["found"] <= 2.0
    claim = claimed(tmp_path, checked)
    assert (claim.verdict, claim.main) == ("holds", True)
    assert (
        f"found {checked['found']:.4g} where 2 is stated: all pairs of 3 inputs" in claim.measured
    )


def test_a_law_that_is_too_sharp_does_not_hold(tmp_path):
    sharp = SanText(SPACE, 6.0)
    sharp.statement = SanText(SPACE, 0.5).statement
    checked = audited(sharp)
    assert checked["found"] > checked["claimed"] == 0.5
    assert claimed(tmp_path, checked).verdict == "does not hold"


def test_a_replaced_sentence_changes_the_law_by_epsilon_at_most_and_nearly():
    checked = sentences_replaced(deep(3.0), *documents(0), pairs=60)
    assert checked["passed"]
    assert 2.0 < checked["found"] <= 3.0 * (1 + 1e-9)


def test_replaced_sentences_show_a_law_beyond_its_epsilon():
    class Twice(DeepCandidate):
        def log_probabilities(self, vectors, offsets=None):
            return deep(2 * self.epsilon).log_probabilities(vectors, offsets)

    honest = deep(3.0)
    lying = Twice(honest.candidates, honest.projections, 3.0, "exponential")
    checked = sentences_replaced(lying, *documents(0), pairs=60)
    assert not checked["passed"]
    assert checked["found"] == pytest.approx(6.0, rel=0.4)
