"""Releases carry their statement; post-processing sees the release alone."""

import numpy as np

from discreet import secure_generator
from discreet.mechanisms.word import SanText
from discreet.protocols import PostProcessed, Release
from discreet.randomness import SEEDED_CAVEAT
from small_spaces import random_space


def test_post_processing_keeps_the_statement_and_gets_only_the_release():
    mechanism = SanText(random_space(), epsilon=1.0)
    received = []

    def collect(*arguments):
        received.append(arguments)
        return arguments[0] + 1000

    both = PostProcessed(mechanism, collect)
    out = both.release(np.array([1, 2, 3]), np.random.default_rng(5))
    expected = mechanism.release(np.array([1, 2, 3]), np.random.default_rng(5))
    assert both.statement == mechanism.statement
    assert len(received) == 1
    assert len(received[0]) == 1
    assert (received[0][0] == expected).all()
    assert (out == expected + 1000).all()


def test_a_seeded_release_says_so():
    statement = SanText(random_space(), epsilon=1.0).statement
    assert Release.of([], statement, 0, secure_generator()).statement == statement
    for rng in (np.random.default_rng(1), np.random.Generator(np.random.Philox(1))):
        assert SEEDED_CAVEAT in Release.of([], statement, 0, rng).statement.caveats
