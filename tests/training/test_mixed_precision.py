"""Layers may compute in 16 bits where nothing is bounded or noised, and only while they learn."""

from contextlib import contextmanager
from dataclasses import fields

import numpy as np
import pytest
import torch

from discreet.errors import InvalidValue
from discreet.mechanisms.word import SanText
from discreet.models.bert import load_masked_model
from discreet.spaces.space import EmbeddingSpace
from discreet.text.labelled import Labelled
from discreet.training.loop import layers_in_16_bits
from discreet.training.texts.classifier import fine_tune
from discreet.training.texts.masked_lm import pretrain
from discreet.training.texts.rewriting import train_rewriter
from discreet.training.texts.settings import FineTuning, Pretraining, RewriterTraining
from discreet.training.user_entity import settings as private
from discreet.training.vectors import settings as noisy
from tiny_bert import bert_space, sentences, write_bert


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return write_bert(tmp_path_factory.mktemp("bert") / "model")


@contextmanager
def layers_seen():
    """What layers gave while networks were trained, and while they were only read."""
    seen = {True: set(), False: set()}

    def look(layer, _given, made):
        if isinstance(layer, torch.nn.Linear):
            seen[layer.training and torch.is_grad_enabled()].add(made.dtype)

    hook = torch.nn.modules.module.register_module_forward_hook(look)
    try:
        yield seen
    finally:
        hook.remove()


def classified(bert, mixed):
    texts, labels = sentences(60)
    settings = FineTuning(epochs=3, batch=16, learning_rate=3e-3, mixed=mixed)
    model = fine_tune(load_masked_model(bert), Labelled(texts, None, labels), settings)
    right = np.mean([a == b for a, b in zip(model.predict(texts), labels, strict=True)])
    assert right > 0.9
    return model.network, model.head.weight


def pretrained(bert, mixed):
    model = load_masked_model(bert)
    settings = Pretraining(
        steps=60, head_steps=0, batch=16, window=8, learning_rate=3e-3, mixed=mixed
    )
    made = pretrain(model, sentences(80)[0], bert_space(bert), None, settings, source={})
    assert made.about["settings"]["mixed"] is mixed
    assert made.losses[-5:].mean() < 0.8 * made.losses[:5].mean()
    return model.network, made.losses


def rewritten(bert, mixed):
    space = EmbeddingSpace.from_arrays(["<unk>", "good", "bad", "tea", "cup"], np.eye(5))
    settings = RewriterTraining(body="masked", model=str(bert), epochs=2, mixed=mixed)
    texts = ["tea cup good bad tea", "cup good", "bad tea"] * 20
    made = train_rewriter(SanText(space, epsilon=2.0), texts, settings)
    assert made.about["training"]["mixed"] is mixed
    return made.network, np.array(list(made.about["held out"].values()))


@pytest.mark.parametrize("trained", [classified, pretrained, rewritten])
def test_layers_round_while_they_learn_and_nowhere_else(bert, trained):
    _, exact = trained(bert, mixed=False)
    with layers_seen() as seen:
        network, rounded = trained(bert, mixed=True)
    assert torch.bfloat16 in seen[True]
    assert seen[False] <= {torch.float32}
    assert {weight.dtype for weight in network.parameters()} == {torch.float32}
    assert rounded.dtype == exact.dtype
    assert np.isfinite(rounded).all()
    assert not np.array_equal(rounded, exact)


def test_nothing_that_bounds_or_adds_noise_can_be_told_to():
    able = {
        kind.__name__
        for room in (private, noisy)
        for kind in vars(room).values()
        if isinstance(kind, type) and hasattr(kind, "__dataclass_fields__")
        for each in fields(kind)
        if each.name == "mixed"
    }
    assert able == set()


def test_a_gpu_that_cannot_is_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: False)
    with pytest.raises(InvalidValue, match="leave --mixed out"), layers_in_16_bits("cuda", True):
        raise AssertionError
    with layers_in_16_bits("cuda", False):
        pass
