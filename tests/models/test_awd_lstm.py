"""AWD-LSTM against PyTorch's own LSTM, and gradients in factors against one backward pass each."""

import math

import pytest
import torch
from torch.nn import functional

from discreet.errors import InvalidValue
from discreet.models.awd_lstm import AwdLstm, AwdLstmShape
from discreet.models.factors import (
    Factor,
    Masks,
    SentenceBatch,
    group_norms,
    sentence_gradients,
    weighted_gradient,
)

SENTENCES = [[3, 1, 4], [1], [5, 9, 2, 6, 5], [3, 5], [8, 9, 7, 9]]
LABELS = [0, 2, 1, 1, 0]


def batch(sentences=SENTENCES, labels=LABELS):
    return SentenceBatch(
        torch.tensor([word for sentence in sentences for word in sentence]),
        torch.tensor([len(sentence) for sentence in sentences]),
        torch.tensor(labels),
    )


def network(**options):
    shape = AwdLstmShape(words=10, boundary=0, embedding=4, hidden=6, **options)
    model = AwdLstm(shape, seed=3)
    random = torch.Generator().manual_seed(0)
    for value in model.trainable().values():
        value += 0.3 * torch.randn(value.shape, generator=random)
    return model


def slow_losses(model, weights, sentence, label):
    """The losses of a sentence's predictions by PyTorch's LSTM, with these weights."""
    shape = model.shape
    words = [0, *sentence] if shape.classes is None else sentence
    x = weights["embedding"][torch.tensor(words)][None]
    for layer in range(shape.layers):
        inputs, units = shape.widths(layer)
        lstm = torch.nn.LSTM(inputs, units, batch_first=True)

        def theirs(value):  # their order of gates: write, keep, new, show
            keep, write, show, new = value.chunk(4)
            return torch.cat([write, keep, new, show])

        named = {
            "weight_ih_l0": theirs(weights[f"lstm.{layer}.input"]),
            "weight_hh_l0": theirs(weights[f"lstm.{layer}.recurrent"]),
            "bias_ih_l0": theirs(weights[f"lstm.{layer}.bias"]),
            "bias_hh_l0": torch.zeros(4 * units),
        }
        x = torch.func.functional_call(lstm, named, (x,))[0]
    out = weights["embedding" if shape.shares_matrix else "output.weight"]
    if shape.classes is not None:
        logits, target = x[0, -1:] @ out.T + weights["output.bias"], torch.tensor([label])
    else:
        logits, target = x[0] @ out.T + weights["output.bias"], torch.tensor([*sentence, 0])
    return functional.cross_entropy(logits, target, reduction="none")


def slow_gradient(model, sentence, label):
    weights = {n: p.clone().requires_grad_() for n, p in model.trainable().items()}
    loss = slow_losses(model, weights, sentence, label).sum()
    return dict(zip(weights, torch.autograd.grad(loss, list(weights.values())), strict=True))


KINDS = {
    "tied": {},
    "untied, two layers": {"tied": False, "layers": 2},
    "tied, three layers": {"layers": 3},
    "classes": {"classes": 3, "layers": 2},
}


@pytest.mark.parametrize("options", KINDS.values(), ids=KINDS)
def test_losses_and_gradients_are_those_of_pytorchs_lstm(options):
    model = network(**options)
    predicted = model.predicted(batch())
    assert len(predicted.losses) == model.predictions(batch())
    first = 0
    found = sentence_gradients(model.factors(batch(), None), model.trainable(), len(SENTENCES))
    for place, (sentence, label) in enumerate(zip(SENTENCES, LABELS, strict=True)):
        with torch.no_grad():
            slow = slow_losses(model, model.trainable(), sentence, label)
        torch.testing.assert_close(predicted.losses[first : first + len(slow)], slow)
        first += len(slow)
        for name, value in slow_gradient(model, sentence, label).items():
            torch.testing.assert_close(found[name][place], value, rtol=1e-4, atol=1e-5)


def test_a_prediction_is_wrong_if_another_is_likelier():
    model = network()
    for value in model.trainable().values():
        value.zero_()
    model.weights()["output.bias"][7] = 1.0
    wrong = model.predicted(batch()).wrong.tolist()
    assert wrong == [word != 7 for sentence in SENTENCES for word in (*sentence, 0)]


@pytest.mark.parametrize("parts", [["output"], ["lstm", "output"], ["embedding"]])
def test_some_parts_are_trained_as_they_would_be_with_all(parts):
    whole, some = network(), AwdLstm(network().shape, seed=3, trained=parts)
    for name, value in some.weights().items():
        value.copy_(whole.weights()[name])
    names = [name for name in whole.trainable() if name.partition(".")[0] in parts]
    assert list(some.trainable()) == names
    assert list(some.weights()) == list(whole.weights())
    expected = sentence_gradients(whole.factors(batch(), None), whole.trainable(), len(SENTENCES))
    found = sentence_gradients(some.factors(batch(), None), some.trainable(), len(SENTENCES))
    assert {name: value.tolist() for name, value in found.items()} == {
        name: expected[name].tolist() for name in names
    }
    norms = group_norms(some.factors(batch(), None), torch.arange(len(SENTENCES)), len(SENTENCES))
    squares = sum(value.flatten(1).double().pow(2).sum(dim=1) for value in found.values())
    # The norm covers the trained parts and no others.
    torch.testing.assert_close(norms, squares.sqrt(), rtol=1e-5, atol=1e-7)


def test_a_network_begins_with_given_weights_and_says_so():
    whole = network()
    arrays = {name: value.numpy() for name, value in whole.weights().items()}
    again = AwdLstm(whole.shape, start=arrays)
    assert again.predicted(batch()).losses.tolist() == whole.predicted(batch()).losses.tolist()
    assert again.description != AwdLstm(whole.shape).description
    again.trainable()["output.bias"] += 1.0  # the weights it was given stay as they are
    assert again.weights()["output.bias"].tolist() != whole.weights()["output.bias"].tolist()
    for wrong in (
        {name: value for name, value in arrays.items() if name != "output.bias"},
        arrays | {"output.bias": arrays["output.bias"][1:]},
    ):
        with pytest.raises(InvalidValue, match="another shape"):
            AwdLstm(whole.shape, start=wrong)


@pytest.mark.parametrize("parts", [[], ["lstm.0"], ["everything"]])
def test_parts_that_are_not_there_are_refused(parts):
    with pytest.raises(InvalidValue, match="trained part"):
        AwdLstm(network().shape, trained=parts)


@pytest.mark.parametrize("options", KINDS.values(), ids=KINDS)
def test_norms_of_groups_need_no_gradients(options):
    model = network(**options)
    group = torch.tensor([1, -1, 0, 1, 0])
    found = group_norms(model.factors(batch(), None), group, 3)
    for which in (0, 1):
        members = [i for i in range(len(SENTENCES)) if group[i] == which]
        parts = [slow_gradient(model, SENTENCES[i], LABELS[i]) for i in members]
        norms = {n: float(sum(part[n] for part in parts).norm()) for n in parts[0]}
        exact = math.hypot(*norms.values())
        assert found[which] == pytest.approx(exact, rel=1e-5)
    assert found[2] == 0


def test_a_parameter_of_two_layouts_or_masks_has_at_least_its_norm():
    """What two parts say of each other is not known then: their norms are added."""
    rng = torch.Generator().manual_seed(0)
    errors, inputs = torch.randn(4, 3, generator=rng), torch.randn(4, 2, generator=rng)
    rows, mask = torch.tensor([0, 0, 1, 1]), torch.tensor([[2.0, 0.0]] * 3)
    one = Factor("w", errors, rows, inputs)
    elsewhere = Factor("w", -errors, rows.clone(), inputs)
    masked = Factor("w", errors, rows, inputs, mask, largest=2.0)
    opposite = Factor("w", -errors, rows, inputs)

    def norms(*factors):
        return group_norms(factors, torch.arange(2), 2).tolist()

    assert norms(one, elsewhere) == pytest.approx([2 * norm for norm in norms(one)])
    assert norms(one, masked) == pytest.approx([3 * norm for norm in norms(one)])
    assert norms(one, opposite) == pytest.approx([0.0, 0.0], abs=1e-6)


def test_a_weighted_sum_is_the_sum_of_weighted_gradients():
    model = network(layers=2)
    weights = torch.tensor([0.5, 2.0, 0.0, -1.0, 1.0])
    factors = model.factors(batch(), None)
    rows = {id(factor.sentence): slice(None) for factor in factors}
    found = weighted_gradient(factors, model.trainable(), rows, weights)
    each = sentence_gradients(factors, model.trainable(), len(SENTENCES))
    for name, value in found.items():
        slow = torch.tensordot(weights, each[name], dims=1)
        torch.testing.assert_close(value, slow, rtol=1e-4, atol=1e-5)


DROPS = {
    "embedding_drop": 0.4,
    "input_drop": 0.3,
    "hidden_drop": 0.4,
    "output_drop": 0.5,
    "weight_drop": 0.5,
}


def masks(rows=(0, 1, 2, 3, 4)):
    return Masks(7, [(11, 2), (12, 3)], torch.tensor(rows))


def test_gradients_with_dropout_are_those_of_the_masked_network():
    """Nudging a weight changes the masked loss as the gradient says."""
    model = network(layers=2, tied=False, **DROPS)
    for value in model.trainable().values():
        value.data = value.data.double()
    before = model.factors(batch(), masks())
    # The output layer's errors hold the loss: softmax minus one at the target.
    found = sentence_gradients_double(before, model)

    def loss():
        errors = next(f for f in model.factors(batch(), masks()) if f.name == "output.bias").errors
        return -torch.log(1 + errors.min(dim=1).values).sum()

    for name, value in model.trainable().items():
        places = torch.nonzero(found[name].abs() > 1e-3)[:3].tolist()
        for place in places:
            at = tuple(place)
            value[at] += 1e-6
            up = loss()
            value[at] -= 2e-6
            down = loss()
            value[at] += 1e-6
            assert float(up - down) / 2e-6 == pytest.approx(float(found[name][at]), rel=1e-4)


def sentence_gradients_double(factors, model):
    rows = {id(factor.sentence): slice(None) for factor in factors}
    ones = torch.ones(len(SENTENCES), dtype=torch.float64)
    return weighted_gradient(factors, model.trainable(), rows, ones)


@pytest.mark.parametrize("tied", [True, False])
def test_norms_with_weight_drop_are_never_too_small(tied):
    model = network(layers=2, tied=tied, **DROPS)
    factors = model.factors(batch(), masks())
    group = torch.arange(len(SENTENCES))
    found = group_norms(factors, group, len(SENTENCES))
    each = sentence_gradients(factors, model.trainable(), len(SENTENCES))
    for place in range(len(SENTENCES)):
        exact = math.hypot(*[float(value[place].norm()) for value in each.values()])
        assert exact <= found[place] * (1 + 1e-6)
        assert found[place] <= 2 * exact


def test_a_mask_belongs_to_a_sentence_whichever_others_take_part():
    model = network(**DROPS)
    like = model.trainable()
    all_of_them = sentence_gradients(model.factors(batch(), masks()), like, 5)
    some = batch([SENTENCES[1], SENTENCES[4]], [LABELS[1], LABELS[4]])
    few = Masks(7, [(11, 1), (12, 1)], torch.tensor([1, 4]))
    fewer = sentence_gradients(model.factors(some, few), like, 2)
    for name in like:
        torch.testing.assert_close(fewer[name][0], all_of_them[name][1])
        torch.testing.assert_close(fewer[name][1], all_of_them[name][4])


def test_dropout_leaves_out_the_share_it_should():
    model = network(embedding_drop=0.4)
    factors = model.factors(batch(), None)
    dropped = model.factors(batch(), masks())
    assert not torch.equal(factors[0].errors, dropped[0].errors)
    shape = AwdLstmShape(words=4000, boundary=0, embedding=1, hidden=1, embedding_drop=0.4)
    many = SentenceBatch(torch.arange(1, 4000), torch.ones(3999, dtype=torch.int64))
    whole = AwdLstm(shape)
    whole.trainable()["embedding"].fill_(1.0)
    owners = Masks(5, [(1, 3999)], torch.arange(3999))
    inputs = next(f for f in whole.factors(many, owners) if f.name == "lstm.0.input").inputs
    values = inputs[:, 0].unique()
    assert values.tolist() == pytest.approx([0.0, 1 / 0.6])
    # 4,000 words: five standard deviations of the share are 0.04.
    second = inputs[3999:, 0]
    assert float((second == 0).float().mean()) == pytest.approx(0.4, abs=0.04)


@pytest.mark.parametrize(
    "options",
    [
        {"words": 0},
        {"boundary": 10},
        {"hidden": 0},
        {"layers": 0},
        {"weight_drop": 1.0},
        {"classes": 1},
    ],
)
def test_bad_shapes_are_refused(options):
    with pytest.raises(InvalidValue):
        AwdLstmShape(**({"words": 10, "boundary": 0} | options))
