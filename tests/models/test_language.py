"""Adapters on small transformers models: gradients against one backward pass for each sentence."""

import math

import pytest
import torch

from discreet.errors import InputError, NotFound
from discreet.models.factors import SentenceBatch, group_norms, sentence_gradients
from discreet.models.language import AdaptedLanguageModel

transformers = pytest.importorskip("transformers")
pytest.importorskip("peft")

SENTENCES = [[3, 1, 4], [1], [5, 9, 2, 6, 5], [3, 5]]
LABELS = [0, 2, 1, 1]


def gpt2():
    config = transformers.GPT2Config(
        vocab_size=12, n_positions=16, n_embd=8, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0
    )
    torch.manual_seed(1)
    return transformers.GPT2LMHeadModel(config)


def bert(classes=3):
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


@pytest.fixture(params=["causal", "classifier"])
def model(request):
    if request.param == "causal":
        return shaken(AdaptedLanguageModel(gpt2(), rank=2))
    return shaken(AdaptedLanguageModel(bert(), rank=2, classes=3))


def test_gradients_are_those_of_each_sentence_alone(model):
    like = model.trainable()
    factors = model.factors(batch(), None)
    found = sentence_gradients(factors, like, 4)
    assert set(found) == set(like)
    norms = group_norms(factors, torch.arange(4), 4)
    for place in range(4):
        with torch.enable_grad():
            loss = model._token_losses(batch([place]))[0].sum()
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
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    words = {"<s>": 0, "<unk>": 1, **{f"w{i}": i for i in range(2, 12)}}
    plain = Tokenizer(WordLevel(words, unk_token="<unk>"))
    plain.pre_tokenizer = Whitespace()
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=plain, bos_token="<s>", unk_token="<unk>"
    )
    gpt2().save_pretrained(tmp_path)
    fast.save_pretrained(tmp_path)
    model = AdaptedLanguageModel.load(tmp_path, rank=2)
    assert model.encode(["w3", "w1", "other"]) == [3, 1, 1]
    assert model.boundary == 0
    assert len(model.predicted(batch()).losses) == model.predictions(batch())


def test_what_is_no_model_is_refused(tmp_path):
    with pytest.raises(NotFound):
        AdaptedLanguageModel.load(tmp_path, rank=2)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(InputError):
        AdaptedLanguageModel.load(tmp_path, rank=2)
