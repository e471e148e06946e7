"""Adapters on small transformers models: gradients against one backward pass for each sentence."""

import json
import math

import pytest
import torch

from discreet.errors import InputError, InvalidValue, NotFound
from discreet.models import language, lower_blocks
from discreet.models.adapter_kinds import ADAPTERS
from discreet.models.adapters import adapted, as_lora
from discreet.models.factors import SentenceBatch, group_norms, sentence_gradients
from discreet.models.language import AdaptedLanguageModel
from tiny_causal import gpt2, llama, save_model

SENTENCES = [[3, 1, 4], [1], [5, 9, 2, 6, 5], [3, 5]]
LABELS = [0, 2, 1, 1]


@pytest.fixture(autouse=True, scope="module")
def peft():
    pytest.importorskip("peft")


def bert(classes=3):
    import transformers

    config = transformers.BertConfig(
        vocab_size=12,
        hidden_size=8,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=12,
        max_position_embeddings=16,
        num_labels=classes,
    )
    torch.manual_seed(1)
    return transformers.BertForSequenceClassification(config)


def causal_classifier(classes=3):
    """Its padding token is another than the boundary that sentences are padded with here."""
    import transformers

    config = llama().config
    config.num_labels, config.pad_token_id = classes, 7
    torch.manual_seed(1)
    return transformers.LlamaForSequenceClassification(config)


def batch(which=range(4)):
    chosen = [SENTENCES[i] for i in which]
    return SentenceBatch(
        torch.tensor([word for sentence in chosen for word in sentence]),
        torch.tensor([len(sentence) for sentence in chosen]),
        torch.tensor([LABELS[i] for i in which]),
    )


def shaken(model):
    random = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for value in model.trainable().values():  # the second adapter begins at zero
            value += 0.2 * torch.randn(value.shape, generator=random)
    return model


CAUSAL = {
    f"{network.__name__} {kind} {last}": (network, kind, last)
    for network in (gpt2, llama)
    for kind in ADAPTERS
    for last in (None, 1)
}


CLASSIFIERS = {
    "classifier": (bert, "lora"),
    "classifier core": (bert, "core"),
    "causal classifier": (causal_classifier, "core"),
}


@pytest.fixture(params=[*CAUSAL, *CLASSIFIERS])
def model(request, monkeypatch):
    monkeypatch.setattr(language, "_SCORES_TOGETHER", 12 * 9)  # several passes
    if request.param in CAUSAL:
        network, kind, last = CAUSAL[request.param]
        made = AdaptedLanguageModel(network(), rank=2, adapters=kind, last_blocks=last)
        assert (made._lower is None) == (last is None)
        return shaken(made)
    network, kind = CLASSIFIERS[request.param]
    return shaken(AdaptedLanguageModel(network(), rank=2, adapters=kind, classes=3))


def plain_losses(model, which):
    """The loss of one sentence after the whole network, nothing of it kept from before."""
    lower, model._lower = model._lower, None
    try:
        return model._losses(batch(which))[0]
    finally:
        model._lower = lower


def test_gradients_are_those_of_each_sentence_alone(model):
    like = model.trainable()
    factors = model.factors(batch(), None)
    found = sentence_gradients(factors, like, 4)
    assert set(found) == set(like)
    norms = group_norms(factors, torch.arange(4), 4)
    for place in range(4):
        with torch.enable_grad():
            loss = plain_losses(model, [place]).sum()
        slow = dict(zip(like, torch.autograd.grad(loss, list(like.values())), strict=True))
        for name in like:
            torch.testing.assert_close(found[name][place], slow[name], rtol=1e-3, atol=1e-5)
        exact = math.hypot(*[float(value.norm()) for value in slow.values()])
        assert float(norms[place]) == pytest.approx(exact, rel=1e-3)


def test_padding_changes_no_loss(model):
    together = model.predicted(batch())
    alone = [model.predicted(batch([place])) for place in range(4)]
    losses = torch.cat([one.losses for one in alone])
    torch.testing.assert_close(together.losses, losses, rtol=1e-4, atol=1e-5)
    assert together.wrong.tolist() == torch.cat([one.wrong for one in alone]).tolist()
    assert len(together.losses) == model.predictions(batch())


def test_only_adapters_are_trained_and_a_loss_falls():
    network = gpt2()
    before = {n: p.clone() for n, p in network.named_parameters()}
    model = AdaptedLanguageModel(network, rank=2)
    first = float(model.predicted(batch()).losses.sum())
    for _ in range(30):
        factors = model.factors(batch(), None)
        gradients = sentence_gradients(factors, model.trainable(), 4)
        with torch.no_grad():
            for name, value in model.trainable().items():
                value -= 0.05 * gradients[name].sum(dim=0)
    assert float(model.predicted(batch()).losses.sum()) < first - 0.3
    after = dict(network.named_parameters())
    kept = [n for n in before if n in after]
    assert all(torch.equal(before[n], after[n]) for n in kept)
    assert all("lora" in name for name in model.trainable())


def test_a_model_is_loaded_from_a_folder(tmp_path):
    save_model(tmp_path, ["the", *(f"w{i}" for i in range(3, 12))])
    model = AdaptedLanguageModel.load(tmp_path, rank=2)
    assert model.encode(["w3", "w1", "other"]) == [3, 1, 1]
    assert model.boundary == 0
    assert len(model.predicted(batch()).losses) == model.predictions(batch())


def test_sizes():
    """Of GPT-2 with 8 and 12 numbers: four matrices a block, of 8 x 24, 8 x 8, 8 x 32, 32 x 8."""
    outputs, inputs = 24 + 8 + 32 + 8, 8 + 8 + 8 + 32
    wanted = {"lora": 2 * (outputs + inputs), "half": 2 * outputs, "core": 4 * 4}
    for kind, each in wanted.items():
        for last, blocks in ((None, 2), (1, 1)):
            model = AdaptedLanguageModel(gpt2(), rank=2, adapters=kind, last_blocks=last)
            trained = sum(value.numel() for value in model.trainable().values())
            assert trained == each * blocks
            assert json.loads(model.description)["adapters"]["trained"] == trained


@pytest.mark.parametrize("network", [gpt2, llama])
def test_a_core_stands_between_the_main_directions(network):
    plain = network()
    matrices = {
        name: (module.weight if isinstance(module, torch.nn.Linear) else module.weight.T).detach()
        for name, module in plain.named_modules()
        if "head" not in name and name.count(".") > 3 and hasattr(module, "weight")
        if module.weight.dim() == 2
    }
    model = AdaptedLanguageModel(plain, rank=2, adapters="core")
    before = model.predicted(batch()).losses
    for value in model.trainable().values():
        with torch.no_grad():
            value.copy_(torch.eye(2))
    weights = as_lora(model._network)
    assert len(matrices) == len(model.trainable())
    for name, matrix in matrices.items():
        stem = f"base_model.model.{name}.lora_"
        change = weights[f"{stem}B.default.weight"] @ weights[f"{stem}A.default.weight"]
        left, values, right = torch.linalg.svd(matrix)
        best = (left[:, :2] * values[:2]) @ right[:2]
        torch.testing.assert_close(change, best, rtol=1e-3, atol=1e-5)
    assert not torch.allclose(before, model.predicted(batch()).losses)


def fixed_factors(network):
    made = adapted(network, rank=2, kind="core")
    return {n: v for n, v in made.state_dict().items() if "lora_" in n and "core" not in n}


@pytest.mark.parametrize("largest", [(3.0000005, -3.0), (3.0, -3.0000005)])
def test_another_processor_finds_the_same_directions(largest):
    def factors(entries, rounding):
        network, random = llama(), torch.Generator().manual_seed(0)
        with torch.no_grad():
            down = network.model.layers[0].mlp.down_proj.weight
            down *= 0.01
            down[0, :2] = torch.tensor(entries)  # the first vector: of one size, of either sign
            for value in network.parameters():
                value *= 1 + rounding * torch.randn(value.shape, generator=random).clamp(-1, 1)
        return fixed_factors(network)

    here, there = factors((3.0, -3.0), 0.0), factors(largest, 1e-7)
    for name, value in here.items():
        torch.testing.assert_close(there[name], value, rtol=1e-3, atol=1e-4)


def test_directions_that_are_not_unique_are_refused():
    network = llama()
    with torch.no_grad():
        torch.nn.init.orthogonal_(network.model.layers[1].self_attn.q_proj.weight)
    with pytest.raises(InvalidValue, match="two equal singular values"):
        adapted(network, rank=2, kind="core")
    adapted(llama(), rank=2, kind="core")


def test_what_is_below_the_adapters_is_computed_once(monkeypatch):
    model = AdaptedLanguageModel(llama(), rank=2, last_blocks=1)
    ran = []
    run = model._lower._run
    monkeypatch.setattr(model._lower, "_run", lambda *a: ran.append(len(a[0])) or run(*a))
    for which in (range(4), [2, 0], [1, 3]):
        model.factors(batch(which), None)
    assert ran == [4]
    monkeypatch.setattr(lower_blocks, "_NUMBERS", 8 * (5 + 1))  # room for the longest alone
    small = AdaptedLanguageModel(llama(), rank=2, last_blocks=1)
    expected = model.predicted(batch()).losses
    for _ in range(2):
        torch.testing.assert_close(small.predicted(batch()).losses, expected)
    assert len(small._lower._kept) == 1


@pytest.mark.parametrize("kind", ADAPTERS)
@pytest.mark.parametrize("network", [gpt2, llama])
def test_peft_opens_what_was_saved(tmp_path, kind, network):
    from peft import PeftModel

    last = None if kind == "lora" else 1
    model = shaken(AdaptedLanguageModel(network(), rank=2, adapters=kind, last_blocks=last))
    model.save_adapter(tmp_path)
    opened = PeftModel.from_pretrained(network(), tmp_path).eval()
    ids = torch.tensor([[0, *SENTENCES[2]]])
    logits = opened(input_ids=ids).logits.detach()
    losses = torch.nn.functional.cross_entropy(
        logits[0], torch.tensor([*SENTENCES[2], 0]), reduction="none"
    )
    torch.testing.assert_close(losses, model.predicted(batch([2])).losses, rtol=1e-4, atol=1e-5)
    untouched = network()(input_ids=ids).logits.detach()
    assert not torch.allclose(logits, untouched, atol=1e-3)


BAD = {
    "rank": ({"rank": 0}, "rank"),
    "rank of a core": ({"rank": 9, "adapters": "core"}, "at most 8"),
    "kind": ({"adapters": "norms"}, "adapters"),
    "no block": ({"last_blocks": 0}, "between 1 and 2"),
    "blocks": ({"last_blocks": 3}, "between 1 and 2"),
}


@pytest.mark.parametrize(("changes", "said"), BAD.values(), ids=BAD)
def test_bad_adapters(changes, said):
    with pytest.raises(InvalidValue, match=said):
        AdaptedLanguageModel(gpt2(), **({"rank": 2} | changes))


def test_a_tokeniser_that_knows_no_words_is_refused(tmp_path):
    save_model(tmp_path / "zebras", ["zebra", "quagga"])
    with pytest.raises(InputError, match="does not know ordinary English words"):
        AdaptedLanguageModel.load(tmp_path / "zebras", rank=2)
    save_model(tmp_path / "none", ["the"])
    (tmp_path / "none" / "tokenizer.json").unlink()
    with pytest.raises(InputError, match="has no tokeniser with a vocabulary"):
        AdaptedLanguageModel.load(tmp_path / "none", rank=2)


def test_what_is_no_model_is_refused(tmp_path):
    with pytest.raises(NotFound):
        AdaptedLanguageModel.load(tmp_path, rank=2)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(InputError):
        AdaptedLanguageModel.load(tmp_path, rank=2)
