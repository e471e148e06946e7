"""Attacks on a second device give what they give on the processor, also with little memory."""

import numpy as np
import pytest
import torch

from both_devices import agree, full, left_behind, narrow
from discreet.attacks import attributes, white_box
from discreet.attacks.attributes import attribute_attack
from discreet.attacks.white_box import SearchEffort, white_box_inversion
from discreet.errors import InvalidValue
from discreet.models.bert import load_masked_model
from discreet.training.vectors.reading import SentenceReader, joint_tokens
from second_device import LeftBehind
from tiny_bert import WORDS, write_bert


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return write_bert(tmp_path_factory.mktemp("bert") / "model", head=False, layers=2)


@pytest.fixture(autouse=True)
def few_steps(monkeypatch):
    monkeypatch.setattr(attributes, "_EPOCHS", 3)


def searched(bert):
    """What the search gets right, on whichever device there is."""
    model, rng = load_masked_model(bert), np.random.default_rng(0)
    public, hidden = ([" ".join(rng.choice(WORDS, 3, False)) for _ in range(n)] for n in (60, 9))
    reader = SentenceReader(model, 16)
    seen, under = (reader.units(joint_tokens(model, some)) for some in (public, hidden))
    outcomes = white_box_inversion(model, seen, public, under, hidden, effort=SearchEffort(1, 1, 4))
    return [outcome.success.value for outcome in outcomes]


def named(rows=40):
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((rows + 20, 4))
    names = np.where(vectors[:, 0] > 0, "a", "b").tolist()
    [outcome] = attribute_attack(vectors[:rows], names[:rows], vectors[rows:], names[rows:])
    return outcome.success.value


def test_the_search_is_the_same_on_a_second_device(bert, monkeypatch):
    agree(lambda: searched(bert), monkeypatch)


def test_a_search_that_leaves_arrays_behind_is_found(bert, monkeypatch):
    with left_behind(white_box, monkeypatch), pytest.raises(LeftBehind):
        searched(bert)


def test_the_search_is_the_same_with_little_memory(bert, monkeypatch):
    expected, sizes = searched(bert), []
    real = white_box._off
    monkeypatch.setattr(white_box, "_off", narrow(real, 12, sizes))  # 4 proposals and what is there
    assert searched(bert) == expected
    assert max(sizes) > 12
    monkeypatch.setattr(white_box, "_off", full)
    with pytest.raises(InvalidValue, match="memory for a search for words, even one at a time"):
        searched(bert)


def test_attributes_are_the_same_with_little_memory(monkeypatch):
    expected, real, sizes = named(), torch.nn.Sequential.forward, []

    def only_read(network, rows):
        """While it learns there is room; else for the 8 that are held out."""
        bounded = narrow(real, 8, sizes)
        return bounded(network, rows) if rows.is_inference() else real(network, rows)

    monkeypatch.setattr(torch.nn.Sequential, "forward", only_read)
    assert named() == expected
    assert sizes[-7:] == [20, 10, 5, 5, 10, 5, 5]


def test_an_attack_on_attributes_without_memory_says_so(monkeypatch):
    for place, work in ((torch.nn.Sequential, "forward"), (attributes, "moved")):
        with monkeypatch.context() as patch:
            patch.setattr(place, work, full)
            with pytest.raises(InvalidValue, match="memory for an attribute attack on so many"):
                named()
