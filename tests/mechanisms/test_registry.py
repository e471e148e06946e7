"""The one door to every mechanism: what it asks for, in words that say what to write."""

import re

import pytest

from discreet import mechanism
from discreet.errors import InvalidValue


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("near-words", 'needs space, such as space=load_space("english")'),
        ("randomized-response", 'needs labels, such as labels=["yes", "no"]'),
        ("sentence-votes", "needs store, such as store=CandidateStore.load"),
        ("purkayastha", "needs dimension; dimension 16 will do to begin with"),
    ],
)
def test_what_is_missing_is_asked_for_as_it_is_written(name, said):
    with pytest.raises(InvalidValue, match=re.escape(said)):
        mechanism(name, epsilon=1.0)
