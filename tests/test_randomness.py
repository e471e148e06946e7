"""Secure generators: really AES, never copied, different in every process."""

import copy
import multiprocessing
import os
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from randomgen import AESCounter
from scipy import stats

from discreet import secure_generator
from discreet.errors import InvalidValue
from discreet.randomness import bernoulli_exp, generator, is_secure
from goodness import LEVEL


def _numbers(rng):
    return tuple(rng.integers(0, 2**63, 4).tolist())


def test_the_bit_generator_is_aes_128():
    # FIPS 197, appendix C.1.
    key, block = bytes(range(16)), bytes.fromhex("00112233445566778899aabbccddeeff")
    bits = AESCounter(key=int.from_bytes(key, "little"), counter=int.from_bytes(block, "little"))
    found = bits.random_raw(2).astype("<u8").tobytes()
    assert found.hex() == "69c4e0d86a7b0430d8cdb78070b4c55a"
    assert isinstance(secure_generator().bit_generator, AESCounter)


def test_every_generator_is_different():
    assert len({_numbers(secure_generator()) for _ in range(100)}) == 100


def test_copies_and_pickles_are_fresh():
    rng = secure_generator()
    others = [copy.copy(rng), copy.deepcopy(rng), pickle.loads(pickle.dumps(rng))]
    assert all(is_secure(other) for other in others)
    assert len({_numbers(each) for each in [rng, *others]}) == 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forked_workers_differ_from_each_other_and_from_the_parent():
    rng = secure_generator()
    rng.random(5)
    seen = []
    for _ in range(4):
        out, into = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(into, repr(_numbers(rng)).encode())
            os._exit(0)
        os.waitpid(child, 0)
        os.close(into)
        seen.append(os.read(out, 1000))
        os.close(out)
    seen.append(repr(_numbers(rng)).encode())
    assert len(set(seen)) == 5


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_pool_workers_differ():
    rng = secure_generator()
    with multiprocessing.get_context("fork").Pool(2) as pool:
        drawn = pool.map(_numbers, [rng] * 8, chunksize=1)
    assert len(set(drawn)) == 8


def test_a_shared_state_would_be_noticed():
    # The mutant of the tests above: an ordinary generator does repeat itself.
    rng = np.random.default_rng(1)
    assert _numbers(copy.deepcopy(rng)) == _numbers(rng)


def test_seeds_are_repeatable_and_not_secure():
    assert _numbers(generator(3)) == _numbers(generator(3))
    assert not is_secure(generator(3))
    assert is_secure(generator())
    with pytest.raises(InvalidValue, match="seed"):
        generator(-1)


@pytest.mark.parametrize("exponent", [0.0, 0.5, 3.9, 4.0, 4.1, 9.0])
def test_bernoulli_exp_has_the_right_probability(exponent):
    n = 2_000_000
    hits = int(bernoulli_exp(np.full(n, exponent), np.random.default_rng(7)).sum())
    assert stats.binomtest(hits, n, np.exp(-exponent)).pvalue > LEVEL
    if exponent:
        assert stats.binomtest(hits, n, np.exp(-1.1 * exponent)).pvalue < LEVEL


@settings(deadline=None)
@given(st.lists(st.floats(-5, 1e6), max_size=40))
def test_bernoulli_exp_is_certain_at_or_below_zero(exponents):
    exponents = np.array(exponents)
    drawn = bernoulli_exp(exponents, np.random.default_rng(0))
    assert drawn.shape == exponents.shape
    assert drawn[exponents <= 0].all()
    assert not drawn[exponents > 1e4].any()
