"""A small space for all adapters, of words that are in no English text."""

import numpy as np
import pytest

from command import UNKNOWN, WORDS
from discreet import Sanitizer
from discreet.mechanisms.word import SanText
from discreet.spaces.loaders import save_space
from discreet.spaces.space import EmbeddingSpace


@pytest.fixture(scope="session")
def space():
    vectors = np.random.default_rng(0).standard_normal((len(WORDS) + 1, 4))
    return EmbeddingSpace.from_arrays([UNKNOWN, *WORDS], vectors, "test", name="test")


@pytest.fixture(scope="session")
def space_file(space, tmp_path_factory):
    return str(save_space(space, tmp_path_factory.mktemp("space") / "test.safetensors"))


@pytest.fixture(scope="session")
def sanitizer(space):
    return Sanitizer(SanText(space, epsilon=1.0))


@pytest.fixture
def settings(space_file):
    """What adapters take that are set up by plain values."""
    return {"mechanism": "santext", "space": space_file, "epsilon": 1.0}


@pytest.fixture(scope="session")
def is_released():
    """Whether a text is made of public words alone, and of so many."""

    def check(text, words):
        assert len(text.split()) == words, text
        assert set(text.split()) <= {UNKNOWN, *WORDS}
        return True

    return check
