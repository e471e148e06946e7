"""Encoder, M1, M2 and task layers through the noise: what the server gets, what it costs."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from command import called
from discreet.encoders.encoder import load_encoder
from discreet.encoders.maps import PublicMap
from discreet.errors import InvalidValue
from discreet.mechanisms import registry
from discreet.mechanisms.label import RandomizedResponse
from discreet.mechanisms.sentence import unit_rows
from discreet.models.bert import load_masked_model
from discreet.models.task import TaskModel
from discreet.randomness import SEEDED_CAVEAT
from discreet.release.vectors import VectorSet
from discreet.statement import Notion
from discreet.text.labelled import Labelled
from discreet.training.kept_state import RunState
from discreet.training.settings import Resumption
from discreet.training.vectors import end_to_end
from discreet.training.vectors.end_to_end import (
    GRADIENTS_NOT_COVERED,
    NOT_PUBLIC,
    read_texts,
    train_end_to_end,
)
from discreet.training.vectors.reading import SentenceReader, joint_tokens
from discreet.training.vectors.settings import EndToEndSettings
from discreet.training.vectors.task import TaskTarget
from tiny_bert import sentences, write_bert

torch = pytest.importorskip("torch")

SIZE = 3
FAST = EndToEndSettings(
    epsilon=20.0,
    dimension=SIZE,
    epochs=3,
    batch=16,
    learning_rate=3e-3,
    map_rate=1e-2,
    max_tokens=16,
)


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return write_bert(tmp_path_factory.mktemp("bert") / "model", head=False)


@pytest.fixture(scope="module")
def deep(tmp_path_factory):
    return write_bert(tmp_path_factory.mktemp("deep") / "model", head=False, layers=2)


def _single(count=120, seed=0):
    texts, labels = sentences(count, seed)
    return Labelled(texts, None, labels)


def _trained(bert, settings=FAST, examples=None, **more):
    examples = examples or _single()
    reader = SentenceReader(load_masked_model(bert), settings.max_tokens, settings.frozen_layers)
    texts = read_texts(reader, examples)
    target = TaskTarget.classes(examples.labels, ("0", "1"))
    return train_end_to_end(reader, texts, target, settings, **more)


def _accuracy(found, examples, seed=0):
    released = found.release(read_texts(found.reader, examples), np.random.default_rng(seed))
    return np.mean(np.array(found.model.predict(released)) == np.array(examples.labels))


class _Wire:
    """Everything that goes into M2, beside what came out of M1 for it."""

    def __init__(self, size, width):
        self._shapes = {(width, size): "raw", (size, width): "got"}
        self.raw, self.got = [], []

    def __enter__(self):
        register = torch.nn.modules.module.register_module_forward_hook
        self._hook = register(self._see)
        return self

    def _see(self, module, inputs, output):
        if isinstance(module, torch.nn.Linear) and module.bias is None:
            kind = self._shapes[module.in_features, module.out_features]
            seen = output if kind == "raw" else inputs[0]
            getattr(self, kind).append(seen.detach().numpy().copy())

    def __exit__(self, *_):
        self._hook.remove()
        self.raw, self.got = np.concatenate(self.raw), np.concatenate(self.got)


def _check_wire(wire, settings, rows):
    """The server gets each sentence once an epoch, on the sphere, by the law of the mechanism."""
    assert len(wire.got) == settings.epochs * rows
    assert np.abs(np.linalg.norm(wire.got, axis=1) - 1).max() < 1e-5
    seen = np.sum(unit_rows(wire.raw) * wire.got, axis=1)
    assert len(np.unique(seen.round(6))) > 0.95 * len(seen), "noise is used again"
    mechanism = registry.mechanism(
        settings.mechanism, dimension=settings.dimension, epsilon=settings.epsilon
    )
    units = np.tile(np.eye(settings.dimension)[0], (20_000, 1))
    drawn = mechanism.release(units, np.random.default_rng(9))[:, 0]
    assert stats.ks_2samp(seen, drawn, method="asymp").pvalue > 1e-6
    other = registry.mechanism(
        settings.mechanism, dimension=settings.dimension, epsilon=1.3 * settings.epsilon
    )
    wrong = other.release(units, np.random.default_rng(9))[:, 0]
    assert stats.ks_2samp(seen, wrong, method="asymp").pvalue < 1e-6


def _watched(bert, settings):
    with _Wire(SIZE, 16) as wire:
        _trained(bert, settings, noise_seed=3)
    return wire


MANY = replace(FAST, epochs=16, epsilon=10.0, batch=60)


@pytest.mark.parametrize("mechanism", ["purkayastha", "planar-laplace"])
def test_what_the_server_gets_follows_the_law(bert, mechanism):
    settings = replace(MANY, mechanism=mechanism)
    _check_wire(_watched(bert, settings), settings, 120)


@pytest.mark.parametrize(
    ("name", "mutant"),
    [
        ("through_noise", lambda _law, units, _rng: units),
        ("_on_sphere", lambda rows: rows),
        (
            "through_noise",
            lambda law, units, _rng, real=end_to_end.through_noise: real(
                law, units, np.random.default_rng(0)
            ),
        ),
    ],
    ids=["no noise", "no normalisation", "the same noise in every step"],
)
def test_a_mutant_is_seen(bert, monkeypatch, name, mutant):
    monkeypatch.setattr(end_to_end, name, mutant)
    wire = _watched(bert, MANY)
    with pytest.raises(AssertionError):
        _check_wire(wire, MANY, 120)


@pytest.mark.parametrize("mechanism", ["purkayastha", "planar-laplace", None])
def test_it_learns_through_the_noise(bert, mechanism):
    before = {n: p.clone() for n, p in load_masked_model(bert).network.named_parameters()}
    epsilon = None if mechanism is None else 20.0
    found = _trained(bert, replace(FAST, mechanism=mechanism, epsilon=epsilon, epochs=5))
    assert _accuracy(found, _single(200, 5)) > 0.9
    after = dict(found.reader.model.network.named_parameters())
    moved = [n for n in before if not torch.equal(before[n], after[n])]
    assert any("embeddings" in n for n in moved), "the encoder is trained too"


def test_with_nothing_but_noise_nothing_is_learnt(bert):
    drowned = replace(FAST, epsilon=1e-3, epochs=5)
    assert abs(_accuracy(_trained(bert, drowned, noise_seed=0), _single(400, 5)) - 0.5) < 0.15


def test_on_protected_text_nothing_holds_and_the_statement_says_why(bert):
    secure = _trained(bert, replace(FAST, epochs=4))
    assert secure.statement.notion is Notion.NONE
    assert secure.model.about["statement"] == secure.statement.to_dict()
    assert GRADIENTS_NOT_COVERED in secure.statement.caveats
    assert SEEDED_CAVEAT not in secure.statement.caveats
    assert any("80 for 4 epochs is what the paper" in said for said in secure.statement.caveats)
    assert secure.map.caveat == NOT_PUBLIC
    one = replace(FAST, epochs=1)
    assert SEEDED_CAVEAT in _trained(bert, one, noise_seed=0).statement.caveats
    public = _trained(bert, one, public=True)
    assert public.statement is None
    assert public.map.caveat is None
    bare = _trained(bert, replace(one, mechanism=None, epsilon=None))
    assert bare.statement is None
    assert bare.map.caveat == NOT_PUBLIC


def test_frozen_layers_stay_and_give_the_same_vectors(deep):
    examples = _single(30)
    whole = SentenceReader(load_masked_model(deep), 16)
    wanted = whole.units(joint_tokens(whole.model, examples.texts))
    for frozen in (1, 2):
        reader = SentenceReader(load_masked_model(deep), 16, frozen)
        texts = read_texts(reader, examples)
        np.testing.assert_allclose(reader.units(texts.tokens, texts.kept), wanted, atol=1e-5)
    found = _trained(deep, replace(FAST, frozen_layers=1), noise_seed=0)
    before = load_masked_model(deep).network.base_model.state_dict()
    after = found.reader.network.state_dict()
    moved = {name.split(".")[2] for name in before if not torch.equal(before[name], after[name])}
    assert moved == {"1"}


def test_pairs_are_read_as_one_sequence(bert):
    reader = SentenceReader(load_masked_model(bert), 16)
    marks = reader.model.marks
    both = joint_tokens(reader.model, ["the tea", "a"], ["bad", "cup is"])
    pieces = [reader.model.pieces[i] for i in both.ids]
    assert pieces == ["the", "tea", "[SEP]", "bad", "a", "[SEP]", "cup", "is"]
    assert both.offsets.tolist() == [0, 4, 8]
    network = reader.network.eval()
    ids = torch.tensor([[marks.start, *both.ids[:4], marks.end]])
    types = torch.tensor([[0, 0, 0, 0, 1, 1]])
    with torch.no_grad():
        alone = network(input_ids=ids, token_type_ids=types).last_hidden_state.mean(dim=1)
    np.testing.assert_allclose(reader.units(both)[0], unit_rows(alone.numpy())[0], atol=1e-5)
    # A label that neither text has alone: both must be read together.
    one, two = _single(400, 1), _single(400, 2)
    same = [str(int(a == b)) for a, b in zip(one.labels, two.labels, strict=True)]
    pairs = Labelled(one.texts, two.texts, same)
    settings = replace(FAST, epochs=12, batch=32, max_tokens=24, epsilon=40.0)
    found = _trained(bert, settings, pairs)
    assert _accuracy(found, pairs) > 0.8


def test_randomised_labels_are_corrected_for(bert):
    examples = _single(400)
    law = RandomizedResponse(("0", "1"), 1.0)
    codes = law.release(np.array([int(v) for v in examples.labels]), np.random.default_rng(0))
    reader = SentenceReader(load_masked_model(bert), 16)
    target = TaskTarget(("0", "1"), codes, law.transition)
    settings = replace(FAST, epochs=4)
    found = train_end_to_end(reader, read_texts(reader, examples), target, settings, noise_seed=1)
    assert _accuracy(found, _single(200, 5)) > 0.9


def test_a_stopped_run_goes_on_and_gives_the_same(bert, tmp_path):
    whole = _trained(bert, noise_seed=4)

    def state(resume):
        return RunState(tmp_path / "run", Resumption(save_every=5, resume=resume), {"a": 1})

    def stop(done, _total):
        if done == 12:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _trained(bert, noise_seed=4, state=state(False), progress=stop)
    again = _trained(bert, noise_seed=4, state=state(True))
    assert not (tmp_path / "run").exists()
    np.testing.assert_array_equal(whole.map.weights[0], again.map.weights[0])
    for one, two in zip(whole.model.head, again.model.head, strict=True):
        np.testing.assert_array_equal(one[0], two[0])


def test_a_saved_folder_serves_the_commands(bert, tmp_path):
    examples = _single(60, 3)
    found = _trained(bert, public=True, noise_seed=0)
    found.save(tmp_path / "out")
    encoder = load_encoder(str(tmp_path / "out" / "encoder"), pooling="mean")
    mapped = PublicMap.load(tmp_path / "out" / "map.safetensors")
    mapped.require(encoder.fingerprint)
    units = unit_rows(mapped.apply(encoder.encode(examples.texts)))
    np.testing.assert_allclose(units, found.units(read_texts(found.reader, examples)), atol=1e-4)
    model = TaskModel.load(tmp_path / "out" / "model.safetensors")
    assert model.released.map == mapped.fingerprint
    assert (model.released.mechanism, model.released.epsilon) == ("purkayastha", 20.0)
    rows = VectorSet(units)
    np.testing.assert_allclose(model.probabilities(rows), found.model.probabilities(rows))
    # Released once by the command, and predicted from that.
    rows = zip(examples.texts, examples.labels, strict=True)
    lines = [json.dumps({"text": text, "label": label}) + "\n" for text, label in rows]
    (tmp_path / "in.jsonl").write_text("".join(lines))
    out, folder = tmp_path / "out.parquet", tmp_path / "out"
    options = ["--encoder", folder / "encoder", "--pooling", "mean", "--epsilon", 20]
    options += ["--map", f"trained:{folder / 'map.safetensors'}"]
    options += ["--label-field", "label", "--labels", "0,1", "--label-mechanism", "none"]
    done = called("embed", tmp_path / "in.jsonl", "-o", out, *options, cache=tmp_path / "cache")
    assert done.code == 0, done.err
    options = ["--model", folder / "model.safetensors", "-o", tmp_path / "said.csv", "--json"]
    said = called("predict", out, *options, cache=tmp_path / "cache")
    assert said.code == 0, said.err
    assert json.loads(said.out)["metrics"]["accuracy"] > 0.8


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epsilon": None}, "needs a mechanism and its epsilon"),
        ({"mechanism": None}, "needs a mechanism and its epsilon"),
        ({"mechanism": "santext"}, "mechanism"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"dimension": 1}, "dimension"),
        ({"dimension": 17}, "at most that of the encoder, 16; got 17"),
        ({"frozen_layers": 2}, "has 1 layers; 2 of them cannot be frozen"),
    ],
)
def test_bad_settings(bert, change, message):
    with pytest.raises(InvalidValue, match=message):
        _trained(bert, replace(FAST, **change))


def test_bad_input(bert, tmp_path):
    reader = SentenceReader(load_masked_model(bert), 16)
    texts = read_texts(reader, _single(20))
    with pytest.raises(InvalidValue, match="20 texts need as many labels; got 2"):
        train_end_to_end(reader, texts, TaskTarget.classes(["0", "1"]), FAST)
    target = TaskTarget.classes(_single(20).labels)
    with pytest.raises(InvalidValue, match="another number of frozen layers"):
        train_end_to_end(reader, texts, target, replace(FAST, frozen_layers=1))
    state = RunState(tmp_path / "run", Resumption(), {})
    with pytest.raises(InvalidValue, match="secure noise cannot be resumed"):
        train_end_to_end(reader, texts, target, FAST, state=state)
