"""Mask-token inference on a model whose predictions are known."""

import json

import numpy as np
import pytest

from command import called, sanitised
from discreet.attacks.mask_inference import Target, attack_words, attacked_positions, infer_masked
from discreet.errors import InvalidValue
from discreet.mechanisms.word import CMP, NearWords, SanText
from discreet.models.bert import load_masked_model
from discreet.spaces.space import EmbeddingSpace
from discreet.text.tokens import TokenBatch
from discreet.training.texts.alignment import piece_table
from discreet.training.texts.masked_lm import pretrain
from discreet.training.texts.settings import Pretraining
from small_spaces import clustered_space
from tiny_bert import bert_space, sentences, write_bert
from toy_guide import ToyGuide


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A model that has learnt the sentences nearly by heart."""
    folder = tmp_path_factory.mktemp("trained")
    bare = write_bert(folder / "bert", head=False, dropout=0.0)
    pretrain(
        load_masked_model(bare),
        sentences(200)[0],
        bert_space(bare),
        None,
        Pretraining(steps=400, head_steps=20, batch=32, window=8, learning_rate=1e-2),
        source={},
        output=folder / "model",
    )
    return folder / "model"


def test_each_word_is_masked_once_in_the_released_text(trained, monkeypatch):
    model = load_masked_model(trained)
    space = bert_space(trained)
    rng = np.random.default_rng(0)
    lengths = np.array([3, 0, 30, 1])
    offsets = np.r_[0, np.cumsum(lengths)]
    original, released = rng.integers(5, len(space), (2, offsets[-1]))
    target = Target(original, released, offsets)
    seen = []

    def record(self, inputs, attention, chosen):
        seen.append((inputs.numpy().copy(), attention.numpy().copy(), chosen.numpy().copy()))
        import torch

        return torch.zeros(int(chosen.sum()), len(self.pieces))

    monkeypatch.setattr("discreet.models.bert.MaskedModel.scores", record)
    positions = np.arange(offsets[-1])
    infer_masked(model, target, positions, piece_table(space, model))
    document = np.repeat(np.arange(4), lengths)
    found = []
    for inputs, attention, chosen in seen:
        assert (chosen.sum(axis=1) == 1).all()
        assert (inputs[chosen] == model.marks.mask).all()
        for row in range(len(inputs)):
            text = inputs[row][attention[row] == 1][1:-1]
            at = int(np.flatnonzero(chosen[row])[0]) - 1
            # The words around the mask are those released around one position of one document.
            fits = [
                p for p in positions
                if p - at >= 0 and p - at + len(text) <= len(released)
                and len(set(document[p - at : p - at + len(text)])) == 1
                and (np.delete(text, at)
                     == np.delete(released[p - at : p - at + len(text)], at)).all()
            ]  # fmt: skip
            found.append(fits)
            assert len(text) <= model.longest - 2
    assert len(found) == offsets[-1]
    assert all(found)
    assert {fits[0] for fits in found if len(fits) == 1} >= set(range(3, 33))


def test_without_noise_a_model_guesses_and_with_noise_it_does_not(trained):
    model, space = load_masked_model(trained), bert_space(trained)
    batch = model.tokenizer.encode(sentences(80, seed=9)[0])
    prior = np.bincount(batch.ids, minlength=len(space)) + 1e-3
    open_, closed = (
        attack_words(
            mechanism,
            Target.of(batch, mechanism.release(batch.ids, np.random.default_rng(0))),
            model=model,
            prior=prior,
            sensitive=[space.ids["good"], space.ids["bad"]],
            most=None,
            rng=np.random.default_rng(0),
        )
        for mechanism in (
            SanText(space, epsilon=1e4, calibration="published"),
            SanText(space, epsilon=1e-3, calibration="published"),
        )
    )
    assert open_.words == batch.tokens
    assert open_.sensitive_words == 160
    assert open_.success["bayes"].value == 1.0
    assert open_.success["informed"].value == 1.0
    assert open_.success["mask"].value == open_.success["unprotected"].value > 0.8
    assert closed.success["mask"].value < open_.success["mask"].value - 0.1
    assert closed.success["bayes"].value == pytest.approx(closed.success["chance"].value)
    assert closed.success["unprotected"].value == open_.success["unprotected"].value
    table = open_.to_dict()
    assert table["defence"]["bayes"]["value"] == 0.0
    assert len(open_.lines()) == 6


def test_a_word_of_several_pieces_is_masked_as_one(trained):
    model = load_masked_model(trained)
    words = ["<unk>", "tea", "walkers", "good"]
    space = EmbeddingSpace.from_arrays(words, np.eye(4))
    target = Target(np.array([1, 2, 3]), np.array([2, 2, 2]), np.array([0, 3]))
    table = piece_table(space, model)
    infer_masked(model, target, np.arange(3), table)
    report = attack_words(
        SanText(space, epsilon=1.0),
        target,
        model=model,
        prior=np.ones(4),
        rng=np.random.default_rng(0),
    )
    assert report.unguessable == 1
    assert "informed" not in report.success
    assert not report.sensitive


def test_positions():
    target = Target(np.array([0, 1, 2, 0, 3]), np.zeros(5, dtype=int), np.array([0, 5]))
    rng = np.random.default_rng(0)
    assert attacked_positions(target, 0, None, rng).tolist() == [1, 2, 4]
    assert len(attacked_positions(target, 0, 2, rng)) == 2
    nothing = Target(np.zeros(2, dtype=int), np.zeros(2, dtype=int), np.array([0, 2]))
    with pytest.raises(InvalidValue, match="nothing to guess"):
        attacked_positions(nothing, 0, None, rng)
    with pytest.raises(InvalidValue, match="not aligned"):
        Target.of(TokenBatch(np.array([1, 2], np.int32), np.array([0, 2])), [1])


def test_nobody_guesses_the_unknown_word():
    # It is common in a public text and never attacked: whoever guesses it is no good attacker.
    space = EmbeddingSpace.from_arrays(["[UNK]", "tea", "cup"], [[0.0], [1.0], [2.0]])
    original = np.tile([1, 1, 2, 0], 200)
    mechanism = SanText(space, 0.5)
    released = mechanism.release(original, np.random.default_rng(0))
    target = Target(original, released, np.array([0, len(original)]))

    def success(prior):
        rng = np.random.default_rng(1)
        found = attack_words(mechanism, target, model=None, prior=prior, most=None, rng=rng)
        return {name: rate.value for name, rate in found.success.items()}

    fair, swamped = success([0, 2, 1]), success([100, 2, 1])
    assert swamped == fair
    assert fair["chance"] == pytest.approx(2 / 3)
    assert fair["bayes"] >= fair["chance"]


def test_an_attacker_is_never_reported_below_a_constant_guess():
    # The prior is wrong about this text: who trusts it does worse than "tea", always.
    space = EmbeddingSpace.from_arrays(["[UNK]", "tea", "cup"], [[0.0], [1.0], [2.0]])
    original = np.tile([1, 1, 1, 2], 100)
    released = np.full(len(original), 2)
    target = Target(original, released, np.array([0, len(original)]))
    found = attack_words(
        SanText(space, 9.0),
        target,
        model=None,
        prior=[0, 1.01, 1],
        sensitive=[2],
        most=None,
        rng=np.random.default_rng(0),
    )
    assert found.success["bayes"] == found.success["chance"]
    assert found.success["bayes"].value == 0.75
    assert found.sensitive["bayes"].value == 1.0  # of these it names all, and that is kept
    assert found.behind == ("bayes",)
    assert "Worse than the commonest word" in found.lines()[-1]
    assert found.to_dict()["behind_chance"] == ["bayes"]


def test_a_mechanism_without_a_formula_is_inverted_all_the_same():
    space = EmbeddingSpace.from_arrays(["[UNK]", "tea", "cup"], [[0.0], [1.0], [2.0]])
    mechanism, rng = CMP(space, 1.0), np.random.default_rng(0)
    original = np.tile([1, 1, 1, 2], 200)
    target = Target(original, mechanism.release(original, rng), np.array([0, len(original)]))
    found = attack_words(mechanism, target, model=None, prior=[0, 3, 1], most=None, rng=rng)
    assert found.simulated
    assert found.success["bayes"].value >= found.success["chance"].value == 0.75
    assert "inverted by simulation" in "\n".join(found.lines())


def test_a_guided_law_is_inverted_by_what_came_before():
    space, rng = clustered_space(40), np.random.default_rng(0)
    mechanism = NearWords(space, 9.0, near=1, outputs=20, guide=ToyGuide(40), pool=9)
    known = np.setdiff1d(np.arange(40), [space.unknown])
    original, offsets = rng.choice(known, 120), np.array([0, 60, 120])
    seen = mechanism.release(original, rng, offsets)
    prior = np.linspace(1.0, 1.1, 40)
    prior[space.unknown] = 0.0
    found = attack_words(
        mechanism,
        Target(original, seen, offsets),
        model=None,
        prior=prior,
        most=None,
        rng=rng,
    )
    told, blind = [], []
    for place in range(120):
        before = seen[60 * (place // 60) : place]
        for guesses, released in ((told, before), (blind, ())):
            law = mechanism.log_probabilities(np.arange(40), released)[:, seen[place]]
            guesses.append((np.exp(law) * prior).argmax())
    right, without = (float((np.array(each) == original).mean()) for each in (told, blind))
    assert found.success["bayes"].value == pytest.approx(right)
    assert right > 1.5 * without  # as if nothing had been released before, it looked safer


def test_a_model_without_a_head_is_refused(tmp_path):
    bare = write_bert(tmp_path / "bare", head=False)
    model, space = load_masked_model(bare), bert_space(bare)
    target = Target(np.array([5, 6]), np.array([5, 6]), np.array([0, 2]))
    with pytest.raises(InvalidValue, match="discreet train pretrain"):
        infer_masked(model, target, np.arange(2), piece_table(space, model))


def test_released_text_is_not_taken_for_the_original(tmp_path):
    text = tmp_path / "text.jsonl"
    text.write_text('{"text": "some words"}\n')
    done = called("attack", "mask-inference", sanitised(text), "-e", 5, cache=tmp_path)
    assert done.code == 2
    assert "give it the original text" in done.err


def test_the_command(trained, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("\n".join(sentences(20)[0]) + "\n")
    common = ("attack", "mask-inference", text, "--space", f"encoder:{trained}", "--epsilon", 5)
    common += ("--mechanism", "santext")
    done = called(*common, "--calibration", "published", "--model", trained, cache=tmp_path)
    assert done.code == 0, done.err
    assert "masked language model, from the words around" in done.out.decode()
    done = called(*common, "--calibration", "published", "--prior", text, "--json", cache=tmp_path)
    assert done.code == 0, done.err
    values = json.loads(done.out)
    assert set(values["defence"]) == {"bayes", "chance"}
    assert 0 <= values["defence"]["bayes"]["low"] <= values["defence"]["bayes"]["value"]
    # A space of another model: one sentence, no table.
    other = write_bert(tmp_path / "other", pieces=[*bert_space(trained).words, "more"])
    done = called(
        "attack", "mask-inference", text, "--space", f"encoder:{other}", "--epsilon", 5,
        "--mechanism", "santext", "--calibration", "published", "--model", trained, cache=tmp_path,
    )  # fmt: skip
    assert done.code == 2
    assert "pieces of another model" in done.err
    assert not done.out
