"""Vectors are trained on a second device as on the processor, and read with little memory."""

import numpy as np
import pytest
import torch

from both_devices import agree, found, full, left_behind, narrow
from discreet.encoders import encoder
from discreet.errors import InvalidValue
from discreet.mechanisms.sentence import Purkayastha
from discreet.models import sphere_noise
from discreet.models.bert import load_masked_model
from discreet.release.vectors import VectorSet
from discreet.text.labelled import Labelled
from discreet.training.texts import alignment
from discreet.training.vectors import _bottleneck, reading, task
from discreet.training.vectors.end_to_end import read_texts, train_end_to_end
from discreet.training.vectors.maps import MapTrainer
from discreet.training.vectors.reading import SentenceReader, joint_tokens
from discreet.training.vectors.settings import EndToEndSettings, MapTrainingSettings
from discreet.training.vectors.task import TaskTarget, train_on_release
from second_device import LeftBehind
from tiny_bert import sentences, write_bert

TEXTS = ["tea", "the cup is cold", "good", "a very warm tea is not bad", "cup", "not good", "bad"]


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return write_bert(tmp_path_factory.mktemp("bert") / "model", head=False, layers=2)


@pytest.fixture(autouse=True)
def few_steps(monkeypatch):
    monkeypatch.setattr(_bottleneck, "_FEWEST_STEPS", 2)


def end_to_end_of(bert, frozen=0, pairs=False):
    """An encoder that was trained with its model on whichever device there is, and its texts."""
    texts, labels = sentences(24)
    examples = Labelled(texts, texts[::-1] if pairs else None, labels)
    settings = EndToEndSettings(
        epsilon=20.0, dimension=3, epochs=1, batch=8, max_tokens=16, frozen_layers=frozen
    )
    reader = SentenceReader(load_masked_model(bert), settings.max_tokens, frozen)
    read, target = read_texts(reader, examples), TaskTarget.classes(labels, ("0", "1"))
    return train_end_to_end(reader, read, target, settings, noise_seed=1), examples


def trained(bert, frozen=0, pairs=False):
    """What the server then says of the texts."""
    both, examples = end_to_end_of(bert, frozen, pairs)
    again = read_texts(both.reader, examples)
    return both.model.probabilities(VectorSet(both.units(again).astype(np.float32)))


WAYS = [(0, False), (1, False), (1, True), (0, True)]


@pytest.mark.parametrize(("frozen", "pairs"), WAYS)
def test_an_encoder_is_trained_alike_on_a_second_device(bert, frozen, pairs, monkeypatch):
    agree(lambda: trained(bert, frozen, pairs), monkeypatch, atol=1e-4)


@pytest.mark.parametrize(
    ("frozen", "module"),
    [(0, alignment), (0, reading), (0, task), (0, sphere_noise), (1, reading)],
)
def test_arrays_that_are_left_behind_are_found(bert, frozen, module, monkeypatch):
    with left_behind(module, monkeypatch), pytest.raises(LeftBehind):
        trained(bert, frozen)


def test_what_is_saved_is_looked_at_without_a_device(bert, tmp_path, monkeypatch):
    """A second encoder beside the trained one would need as much memory again."""
    places, real = [], encoder.find_device

    def noted(name):
        places.append(real(name))
        return places[-1]

    monkeypatch.setattr(encoder, "find_device", noted)
    with found(monkeypatch):
        end_to_end_of(bert)[0].save(tmp_path / "run")
    assert places == ["cpu"]


@pytest.mark.parametrize("frozen", [0, 1])
def test_texts_are_read_alike_with_little_memory(bert, frozen, monkeypatch):
    """Room for two texts at once; then for none."""
    reader = SentenceReader(load_masked_model(bert, device="cpu"), 16, frozen)
    batch = joint_tokens(reader.model, TEXTS)

    def read():
        kept = reader.lower_states(batch)
        return np.concatenate([kept.states.ravel(), reader.units(batch).ravel()])

    expected, sizes = read(), []
    layer = reader.network.encoder.layer[0]
    real = layer.forward
    monkeypatch.setattr(layer, "forward", narrow(real, 2, sizes))
    np.testing.assert_allclose(read(), expected, atol=1e-6)
    assert set(sizes) == {7, 3, 4, 1, 2}
    monkeypatch.setattr(layer, "forward", full)
    for every in (reader.lower_states, reader.units):
        with pytest.raises(InvalidValue, match="not enough memory for a text, even one at a time"):
            every(batch)


def rows(count=60):
    vectors = np.random.default_rng(0).standard_normal((count, 6)).astype(np.float32)
    return vectors, np.where(vectors[:, 0] > 0, "a", "b").tolist()


def test_no_room_for_vectors_is_said(bert, monkeypatch):
    """Also before the first step, where they are moved, and where a map is tried under noise."""
    vectors, labels = rows()
    maps = MapTrainer(vectors, labels, encoder="0", source="a test")
    settings = MapTrainingSettings(epsilon=20.0, dimensions=(3,), hidden=4, epochs=1)
    target = TaskTarget.classes(labels)

    def learnt():
        train_on_release(VectorSet(vectors), target)

    for place, name, run, words in (
        (_bottleneck, "moved", lambda: maps.train(settings), "training a map on so many rows"),
        (_bottleneck.Bottleneck, "said", lambda: maps.train(settings), "training a map on so"),
        (task, "moved", learnt, "training on so many vectors; use fewer"),
        (torch.nn.ModuleDict, "to", lambda: trained(bert), "training end to end; use a smaller"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(place, name, full)
            with pytest.raises(InvalidValue, match=f"not enough memory for {words}"):
                run()


def test_no_room_for_a_map_under_noise_is_said(monkeypatch):
    from discreet.encoders.layers import affine_network

    both = _bottleneck.Bottleneck(
        affine_network([6, 3]), affine_network([3, 2]), Purkayastha(3, 20.0)
    )
    assert both.said(rows()[0], 2, 0).shape == (120, 2)
    monkeypatch.setattr(_bottleneck, "through_noise", full)
    with pytest.raises(InvalidValue, match="not enough memory for so many rows under noise; use"):
        both.said(rows()[0], 2, 0)
