"""All weights of small transformers models: gradients against one backward pass for each sentence.

A parameter that is trained and does not count in the norm would break the guarantee, so every way
in which one could be left out is tried here and must be noticed.
"""

import copy
import json
import math
import sys

import pytest
import torch

from discreet.errors import InvalidValue
from discreet.models import language, trained_layers
from discreet.models.factors import SentenceBatch, group_norms, sentence_gradients
from discreet.models.language import AdaptedLanguageModel
from tiny_causal import gpt2, llama

SENTENCES = [[3, 1, 4], [1], [5, 9, 2, 6, 5], [3, 5]]
LABELS = [0, 2, 1, 1]
AROUND = ((2,), (7,))


def bert():
    import transformers

    config = transformers.BertConfig(
        vocab_size=12,
        hidden_size=8,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=12,
        max_position_embeddings=16,
        num_labels=3,
    )
    torch.manual_seed(1)
    return transformers.BertForSequenceClassification(config)


def untied():
    import transformers

    config = llama().config
    config.tie_word_embeddings = False
    torch.manual_seed(1)
    return transformers.LlamaForCausalLM(config)


def causal_classifier():
    """Its padding token is another than the boundary that sentences are padded with here."""
    import transformers

    config = llama().config
    config.num_labels, config.pad_token_id = 3, 7
    torch.manual_seed(1)
    return transformers.LlamaForSequenceClassification(config)


def normed_heads():
    """Norms that have several rows a token, one for each head."""
    import transformers

    config = transformers.Qwen3Config(
        vocab_size=12,
        hidden_size=8,
        intermediate_size=12,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=4,
        max_position_embeddings=64,
    )
    torch.manual_seed(1)
    return transformers.Qwen3ForCausalLM(config)


MODELS = {
    "gpt2": (gpt2, {}),
    "llama": (llama, {}),
    "untied": (untied, {}),
    "normed heads": (normed_heads, {}),
    "bert": (bert, {"classes": 3}),
    "bert with marks": (bert, {"classes": 3, "marks": AROUND}),
    "causal classifier": (causal_classifier, {"classes": 3}),
    "gpt2, last block": (gpt2, {"last_blocks": 1}),
    "llama, last block": (llama, {"last_blocks": 1}),
    "bert, last block": (bert, {"classes": 3, "marks": AROUND, "last_blocks": 1}),
}


def whole(network, **options):
    """Every weight is trained; they are shaken, for some begin at zero or one."""
    made = AdaptedLanguageModel(network, adapters="all", **options)
    random = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for value in made.trainable().values():
            value += 0.2 * torch.randn(value.shape, generator=random)
    return made


@pytest.fixture(params=MODELS)
def model(request, monkeypatch):
    monkeypatch.setattr(language, "_SCORES_TOGETHER", 12 * 9)  # several passes
    network, options = MODELS[request.param]
    return whole(network(), **options)


def batch(which=range(4)):
    chosen = [SENTENCES[i] for i in which]
    return SentenceBatch(
        torch.tensor([word for sentence in chosen for word in sentence]),
        torch.tensor([len(sentence) for sentence in chosen]),
        torch.tensor([LABELS[i] for i in which]),
    )


def slow_gradients(model, which):
    """Of the sum of some sentences' losses, each of which goes through the whole network alone."""
    like = model.trainable()
    lower, model._lower = model._lower, None
    try:
        with torch.enable_grad():
            loss = sum(model._losses(batch([place]))[0].sum() for place in which)
    finally:
        model._lower = lower
    return dict(zip(like, torch.autograd.grad(loss, list(like.values())), strict=True))


def size(gradients):
    return math.hypot(*[float(value.norm()) for value in gradients.values()])


def test_gradients_are_those_of_each_sentence_alone(model):
    like = model.trainable()
    found = sentence_gradients(model.factors(batch(), None), like, 4)
    assert set(found) == set(like)
    for place in range(4):
        slow = slow_gradients(model, [place])
        for name in like:
            torch.testing.assert_close(found[name][place], slow[name], rtol=1e-3, atol=1e-5)


GROUPS = {"sentences": [0, 1, 2, 3], "two groups": [0, 1, 0, 1], "one is left out": [0, -1, 0, 0]}


@pytest.mark.parametrize("group", GROUPS.values(), ids=GROUPS)
def test_norms_are_those_of_each_group(model, group):
    norms = group_norms(model.factors(batch(), None), torch.tensor(group), 4)
    for number in {*group} - {-1}:
        true = size(slow_gradients(model, [i for i, own in enumerate(group) if own == number]))
        assert float(norms[number]) == pytest.approx(true, rel=1e-4)


def test_other_sentences_change_no_gradient(model):
    like = model.trainable()
    together = sentence_gradients(model.factors(batch(), None), like, 4)
    for place in range(4):
        alone = sentence_gradients(model.factors(batch([place]), None), like, 1)
        for name in like:
            torch.testing.assert_close(together[name][place], alone[name][0], rtol=1e-3, atol=1e-5)


def test_a_parameter_that_is_left_out_makes_a_norm_too_small(model):
    """Whichever of them it is, but for those whose gradient is nothing."""
    factors, group = model.factors(batch(), None), torch.arange(4)
    true = [slow_gradients(model, [place]) for place in range(4)]
    noticed = 0
    for name in model.trainable():
        own = max(float(gradients[name].norm()) / size(gradients) for gradients in true)
        norms = group_norms([f for f in factors if f.name != name], group, 4)
        below = max(1 - float(norms[i]) / size(true[i]) for i in range(4))
        assert below == pytest.approx(1 - math.sqrt(1 - own**2), rel=0.05, abs=1e-5)
        noticed += below > 1e-4
    assert noticed > len(model.trainable()) / 2


def test_every_weight_is_trained():
    for network, options in ((gpt2, {}), (llama, {}), (bert, {"classes": 3})):
        made = network()
        count = sum(value.numel() for value in made.parameters())
        model = AdaptedLanguageModel(made, adapters="all", **options)
        assert sum(value.numel() for value in model.trainable().values()) == count
        about = json.loads(model.description)["adapters"]
        assert (about["kind"], about["trained"]) == ("all", count)
        assert "rank" not in about


def test_last_blocks_and_a_new_head_alone_are_trained():
    names = set(AdaptedLanguageModel(bert(), adapters="all", last_blocks=1, classes=3).trainable())
    assert {name for name in names if ".layer.1." not in name} == {
        "classifier.weight",
        "classifier.bias",
    }
    names = set(AdaptedLanguageModel(gpt2(), adapters="all", last_blocks=1).trainable())
    assert all(".h.1." in name for name in names)


def test_a_loss_falls_without_peft(monkeypatch):
    monkeypatch.setitem(sys.modules, "peft", None)
    model = AdaptedLanguageModel(bert(), adapters="all", classes=3)
    first = float(model.predicted(batch()).losses.sum())
    for _ in range(20):
        gradients = sentence_gradients(model.factors(batch(), None), model.trainable(), 4)
        with torch.no_grad():
            for name, value in model.trainable().items():
                value -= 0.1 * gradients[name].sum(dim=0)
    assert float(model.predicted(batch()).losses.sum()) < first - 0.5


# -- what is refused before anything is trained --------------------------------------------------


class Scale(torch.nn.Module):
    """No rule covers it."""

    def __init__(self):
        super().__init__()
        self.size = torch.nn.Parameter(torch.ones(8))

    def forward(self, values):
        return values * self.size


class MeanOfAll(torch.nn.Linear):
    """A linear layer by its name; what it gives a sentence depends on all sentences."""

    def forward(self, values):
        return super().forward(values - values.mean(dim=0, keepdim=True))


class OddRMSNorm(torch.nn.Module):
    """By its name a norm that has a rule, and it is none."""

    def __init__(self):
        super().__init__()
        self.weight, self.eps = torch.nn.Parameter(torch.ones(8)), 1e-6

    def forward(self, values):
        return self.weight * values


def with_unknown_layer():
    network = gpt2()
    network.transformer.ln_f = torch.nn.Sequential(network.transformer.ln_f, Scale())
    return network


def with_own_kind_of_linear():
    network = llama()
    network.model.layers[0].mlp.up_proj = MeanOfAll(8, 12, bias=False)
    return network


def with_odd_norm():
    network = llama()
    network.model.norm = OddRMSNorm()
    return network


def with_layer_twice():
    network = llama()
    network.model.layers[1] = network.model.layers[0]
    return network


def with_unused_layer():
    network = gpt2()
    network.transformer.drop = torch.nn.Sequential(torch.nn.Identity())
    network.beside = torch.nn.Linear(8, 8)
    return network


def with_lengths_of_rows():
    network = gpt2()
    network.transformer.wte.max_norm = 1.0
    return network


def with_weights_of_another(network=None):
    """The matrix is a layer's, and used by another that goes round it."""
    network = llama()
    down = network.model.layers[0].mlp.down_proj
    up = network.model.layers[0].mlp.up_proj
    plain = down.forward
    down.forward = lambda values: (
        plain(values) + 0.5 * torch.nn.functional.linear(values, up.weight.T)
    )
    return network


REFUSED = {
    "a kind without a rule": (with_unknown_layer, "Scale"),
    "a kind of its own": (with_own_kind_of_linear, "MeanOfAll"),
    "a norm that is none": (with_odd_norm, "cannot be told apart"),
    "a layer that is used twice": (with_layer_twice, "used twice"),
    "a layer that is not used": (with_unused_layer, "takes no part"),
    "an embedding that reading changes": (with_lengths_of_rows, "Embedding"),
    "a matrix that is used elsewhere": (with_weights_of_another, "cannot be told apart"),
}


@pytest.mark.parametrize(("network", "said"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_bounded_is_refused(network, said):
    with pytest.raises(InvalidValue, match=said):
        AdaptedLanguageModel(network(), adapters="all")


MUTANTS = {
    "a norm of what is not normal": (
        "_layer_norm",
        lambda _, x, e: {"weight": (e * x, None), "bias": (e, None)},
    ),
    "a matrix the wrong way round": (
        "_conv1d",
        lambda _, x, e: {"weight": (x, e * 0.9), "bias": (e, None)},
    ),
    "a bias without its errors": (
        "_linear",
        lambda _, x, e: {"weight": (e, x), "bias": (0 * e, None)},
    ),
    "an embedding with one row": ("_embedding", lambda _, x, e: {"weight": (e, 0 * x.reshape(-1))}),
}


@pytest.mark.parametrize(("rule", "wrong"), MUTANTS.values(), ids=MUTANTS)
def test_a_wrong_rule_is_noticed_before_training(rule, wrong, monkeypatch):
    network, options = (bert, {"classes": 3}) if rule == "_linear" else (gpt2, {})
    AdaptedLanguageModel(network(), adapters="all", **options)
    monkeypatch.setattr(trained_layers, rule, wrong)
    with pytest.raises(InvalidValue, match="cannot be told apart"):
        AdaptedLanguageModel(network(), adapters="all", **options)


# -- what is written ----------------------------------------------------------------------------


@pytest.mark.parametrize("network", [gpt2, llama])
def test_transformers_opens_what_was_saved(tmp_path, network):
    import transformers

    model = whole(network())
    model.save_model(tmp_path)
    opened = transformers.AutoModelForCausalLM.from_pretrained(tmp_path).eval()
    ids = torch.tensor([[0, *SENTENCES[2]]])
    losses = torch.nn.functional.cross_entropy(
        opened(input_ids=ids).logits.detach()[0],
        torch.tensor([*SENTENCES[2], 0]),
        reduction="none",
    )
    torch.testing.assert_close(losses, model.predicted(batch([2])).losses, rtol=1e-4, atol=1e-5)


def test_a_classifier_is_opened_with_the_names_of_its_classes(tmp_path):
    import transformers

    model = whole(bert(), classes=3, marks=AROUND)
    model.save_model(tmp_path, ("one", "two", "three"))
    opened = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path).eval()
    assert opened.config.id2label == {0: "one", 1: "two", 2: "three"}
    ids = torch.tensor([[2, *SENTENCES[2], 7]])
    torch.testing.assert_close(
        opened(input_ids=ids).logits.detach(), model.class_scores(batch([2])), rtol=1e-4, atol=1e-5
    )


def test_weights_go_out_and_come_back():
    model, other = whole(llama()), AdaptedLanguageModel(llama(), adapters="all")
    kept = {name: copy.deepcopy(value.detach().numpy()) for name, value in model.weights().items()}
    other.put(kept)
    torch.testing.assert_close(other.predicted(batch()).losses, model.predicted(batch()).losses)
