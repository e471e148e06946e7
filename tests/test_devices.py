"""Devices: found by name or refused, and nothing is left behind on the way to one.

There need be no GPU here: ``second_device`` computes with real numbers behind a wall. Whatever runs
on PyTorch is run on both sides of it and must agree; and if arrays are no longer moved, every one
of these runs must fail.
"""

import os
import sys
from operator import attrgetter

import numpy as np
import pytest
import torch

from command import called
from discreet import devices
from discreet.attacks import attributes
from discreet.attacks.attributes import attribute_attack
from discreet.attacks.mask_inference import Target, infer_masked
from discreet.devices import VARIABLE, find_device, in_halves, moved, room_for
from discreet.encoders.encoder import load_encoder
from discreet.encoders.settings import EncoderSettings
from discreet.errors import InputError, InvalidValue, NotFound
from discreet.guides.language_model import LanguageModelGuide, load_language_model
from discreet.mechanisms.word import SanText
from discreet.models.awd_lstm import AwdLstm, AwdLstmShape
from discreet.models.bert import load_masked_model
from discreet.models.factors import SentenceBatch
from discreet.models.generation import TextWriter
from discreet.models.language import AdaptedLanguageModel
from discreet.models.rewriter import Rewriter
from discreet.release.vectors import VectorSet
from discreet.spaces.space import EmbeddingSpace
from discreet.text.labelled import Labelled
from discreet.training.documents.recoder import train_recoder
from discreet.training.documents.settings import StoreSettings
from discreet.training.kept_state import kept_arrays, restore_kept
from discreet.training.texts.alignment import piece_table
from discreet.training.texts.classifier import TextClassifier, fine_tune
from discreet.training.texts.masked_lm import pretrain
from discreet.training.texts.rewriting import train_rewriter
from discreet.training.texts.settings import FineTuning, Pretraining, RewriterTraining
from discreet.training.user_entity._gradients import norm_of
from discreet.training.user_entity.build import built_network
from discreet.training.user_entity.rules import Rules
from discreet.training.user_entity.settings import NetworkSettings
from discreet.training.user_entity.trainer import UserEntityTrainer, quality
from discreet.training.user_entity.users import Sentence, gather
from discreet.training.vectors import _bottleneck
from discreet.training.vectors.maps import MapTrainer
from discreet.training.vectors.settings import MapTrainingSettings, TaskSettings
from discreet.training.vectors.task import TaskTarget, train_published
from second_device import LeftBehind, TooWide, second_device, without_it
from tiny_bert import bert_space, sentences, write_bert
from tiny_causal import save_model

WORKSPACE = "CUBLAS_WORKSPACE_CONFIG"
SPACE = EmbeddingSpace.from_arrays(
    ["<unk>", "tea", "cup", "good", "bad"], [[9.0, 0], [1.0, 0], [2.0, 1], [5.0, 0], [6.0, 2]]
)


@pytest.fixture
def found(monkeypatch):
    monkeypatch.setattr(devices, "_may_have_one", lambda: True)
    monkeypatch.setattr(devices, "_present", lambda: ("meta",))


@pytest.fixture
def there(found):  # noqa: ARG001
    """A machine with a second device, which ``auto`` finds."""
    with second_device():
        yield


@pytest.fixture
def narrow(found):  # noqa: ARG001
    """The same where the second device has no 64-bit numbers."""
    with second_device(doubles=False):
        yield


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    """What is set where cuda is chosen goes with the test."""
    for name in (WORKSPACE, devices._TF32):
        monkeypatch.setenv(name, "before")
        monkeypatch.delenv(name)
    yield
    devices.keep_32_bits()


@pytest.fixture(autouse=True)
def few_steps(monkeypatch):
    monkeypatch.setattr(_bottleneck, "_FEWEST_STEPS", 2)
    monkeypatch.setattr(attributes, "_EPOCHS", 3)


def test_a_device_by_name(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(devices, "_may_have_one", lambda: True)
    for present, auto, doubles in (
        ((), "cpu", "cpu"),
        (("cuda",), "cuda", "cuda"),
        (("mps",), "mps", "cpu"),
        (("cuda", "mps"), "cuda", "cuda"),
    ):
        monkeypatch.setattr(devices, "_present", lambda present=present: present)
        assert (find_device(), find_device(doubles=True)) == (auto, doubles)
        assert find_device("cpu") == "cpu"
        assert all(find_device(name) == name for name in present)
    with pytest.raises(InvalidValue, match="no 64-bit numbers"):
        find_device("mps", doubles=True)


def test_the_environment_says_what_auto_means(monkeypatch):
    monkeypatch.setattr(devices, "_may_have_one", lambda: True)
    monkeypatch.setattr(devices, "_present", lambda: ("cuda", "mps"))
    monkeypatch.setenv(VARIABLE, "mps")
    assert (find_device(), find_device("cpu"), find_device("cuda")) == ("mps", "cpu", "cuda")
    # A wish that cannot be met where contributions are bounded is none.
    assert find_device(doubles=True) == "cuda"
    monkeypatch.setattr(devices, "_present", lambda: ("mps",))
    assert find_device(doubles=True) == "cpu"
    with pytest.raises(InvalidValue, match="no 64-bit numbers"):
        find_device("mps", doubles=True)
    monkeypatch.setenv(VARIABLE, "gpu")
    with pytest.raises(InvalidValue, match=f"{VARIABLE} must be one of auto, cpu, cuda, mps"):
        find_device()


def test_without_a_driver_pytorch_is_not_even_asked(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(devices, "_may_have_one", lambda: False)
    monkeypatch.setattr(devices, "_present", lambda: pytest.fail("was asked"))
    assert find_device() == "cpu"


def none_there(monkeypatch):
    monkeypatch.setattr(devices, "_present", lambda: ())


def test_no_gpu_is_asked_for_by_a_command_that_may_never_need_one(monkeypatch):
    monkeypatch.setattr(devices, "_may_have_one", lambda: True)
    monkeypatch.setattr(devices, "_present", lambda: pytest.fail("was asked"))
    monkeypatch.delenv(devices.VARIABLE, raising=False)
    devices.prefer_device("auto")
    assert devices.VARIABLE not in os.environ


@pytest.mark.parametrize("kind", [EncoderSettings, FineTuning, Pretraining, RewriterTraining])
def test_a_device_that_is_not_there_is_refused_with_the_settings(kind, monkeypatch):
    none_there(monkeypatch)
    with pytest.raises(NotFound, match="cuda was asked for and this machine has none: use"):
        kind(device="cuda")
    with pytest.raises(InvalidValue, match="one of auto, cpu, cuda, mps; got 'gpu'"):
        kind(device="gpu")


@pytest.mark.parametrize(
    "command",
    [
        "embed IN -o OUT -e 8",
        "sanitize IN -o OUT -e 8",
        "rewrite IN -o OUT -r IN",
        "predict IN --model IN -o OUT.csv",
        "train classify IN -o OUT",
        "train pretrain IN -o OUT --plain",
        "train rewriter IN -o OUT -e 8",
        "train map IN -o OUT -e 8",
        "train embeddings IN -o OUT",
        "train candidates IN -o OUT",
        "train user-entity IN -o OUT -e 8 --gazetteer IN",
        "generate IN",
        "attack mask-inference IN -e 8",
        "attack attributes IN --attribute-field a -e 8",
        "attack inversion IN -e 8",
    ],
)
def test_commands_refuse_it_before_any_work(command, tmp_path, monkeypatch):
    """The input does not exist, and nobody has looked yet."""
    none_there(monkeypatch)
    words = command.replace("IN", str(tmp_path / "in.txt")).replace("OUT", str(tmp_path / "out"))
    done = called(*words.split(), "--device", "cuda", cache=tmp_path)
    assert done.code == 2
    assert "cuda was asked for and this machine has none: use" in " ".join(done.err.split())
    assert not list(tmp_path.iterdir())


# -- precision -------------------------------------------------------------------------------------

NEWER = [name for name in devices._PRODUCTS if hasattr(torch.backends, "fp32_precision")]
FEWER_BITS = {
    "environment": lambda: setattr(torch.backends.cuda.matmul, "allow_tf32", True),
    "default": lambda: setattr(torch.backends.cudnn, "allow_tf32", True),
    "medium": lambda: torch.set_float32_matmul_precision("medium"),
} | {
    name: lambda name=name: setattr(attrgetter(name)(torch.backends), "fp32_precision", "tf32")
    for name in NEWER
}


def linear(users=None, **changes):
    """A trainer of a network of few weights."""
    shape = AwdLstmShape(words=7, boundary=0, embedding=4, hidden=5)
    rules = Rules(**{"user_rate": 0.9, "population": 4, "noise": 0.1} | changes)
    return UserEntityTrainer(rules, users or people(), AwdLstm(shape), seed=1)


@pytest.mark.parametrize("allow", FEWER_BITS.values(), ids=FEWER_BITS)
def test_products_keep_32_bits_on_cuda_and_wherever_contributions_are_bounded(allow, monkeypatch):
    monkeypatch.setattr(devices, "_present", lambda: ("cuda",))
    trainer = linear()
    for ask in (lambda: find_device("cuda"), lambda: trainer.step(0)):
        allow()
        assert not devices._keeps_32_bits()
        ask()
        assert devices._keeps_32_bits()
        assert not torch.backends.cuda.matmul.allow_tf32
        assert not torch.backends.cudnn.allow_tf32
        assert torch.get_float32_matmul_precision() == "highest"


def test_where_they_cannot_be_kept_no_step_is_made(monkeypatch):
    trainer = linear()
    before = {name: value.tolist() for name, value in trainer.model.trainable().items()}
    monkeypatch.setattr(devices, "keep_32_bits", lambda: None)
    torch.backends.cudnn.allow_tf32 = True
    with pytest.raises(InvalidValue, match="cannot be kept from rounding products"):
        trainer.step(0)
    assert {n: value.tolist() for n, value in trainer.model.trainable().items()} == before


def test_what_no_flag_can_undo_is_refused_where_contributions_are_bounded(monkeypatch):
    monkeypatch.setattr(devices, "_present", lambda: ("cuda",))
    monkeypatch.setenv(devices._TF32, "1")
    assert find_device("cuda") == "cuda"
    assert find_device("cpu", doubles=True) == "cpu"
    with pytest.raises(InvalidValue, match=f"{devices._TF32} lets the GPU round .*: unset it"):
        find_device("cuda", doubles=True)
    with pytest.raises(InvalidValue, match="unset it"), devices.exactly(torch.device("cuda")):
        pass
    monkeypatch.setenv(devices._TF32, "0")
    assert find_device("cuda", doubles=True) == "cuda"


@pytest.mark.parametrize("algorithm", ["certified", "sample-level", "noiseless"])
def test_every_step_for_users_is_exact_on_its_device(algorithm, monkeypatch):
    """Also one that nobody's loop is around, as in the recipes."""
    around, inside = [], []
    whole = devices.own_chance

    def seen(device):
        around.append(str(device))
        return whole()

    trainer = linear(algorithm=algorithm, sentence_rate=0.9)
    monkeypatch.setattr(devices, "own_chance", seen)
    factors = trainer.model.factors
    trainer.model.factors = lambda *given: inside.append(len(around)) or factors(*given)
    state = torch.random.get_rng_state()
    trainer.step(0)
    assert around == ["cpu"]
    assert set(inside) == {1}
    assert torch.equal(torch.random.get_rng_state(), state)


def test_sums_can_be_repeated_before_cuda_is_used_for_the_first_time(monkeypatch):
    find_device("cpu")
    assert WORKSPACE not in os.environ
    monkeypatch.setattr(devices, "_present", lambda: ("cuda",))
    find_device("cuda")
    assert os.environ[WORKSPACE] == ":4096:8"


def test_gradients_of_16_bits_are_not_clipped():
    """Whatever made them: a network that was saved so, or autocast around a step."""
    trainer = linear()
    with (
        torch.autocast("cpu", dtype=torch.bfloat16),
        pytest.raises(InvalidValue, match="fewer than 32 bits cannot be clipped"),
    ):
        trainer.step(0)
    with pytest.raises(InvalidValue, match="fewer than 32 bits cannot be clipped"):
        norm_of({"weights": torch.ones(3).half()})


# -- memory ----------------------------------------------------------------------------------------


class Narrow:
    """Has room for so many rows at once."""

    said = "CUDA out of memory. Tried to allocate 2.00 GiB"

    def __init__(self, room, error=torch.OutOfMemoryError, said=said):
        self.room, self.error, self.said, self.sizes = room, error, said, []

    def __call__(self, rows):
        self.sizes.append(len(rows))
        if len(rows) > self.room:
            raise self.error(self.said)
        return rows * 2


@pytest.mark.parametrize("error", [torch.OutOfMemoryError, RuntimeError])
def test_fewer_rows_at_a_time_where_memory_is_short(error):
    rows = np.arange(13)
    work = Narrow(3, error)
    assert np.concatenate(in_halves(work, rows, "a text")).tolist() == (rows * 2).tolist()
    assert max(work.sizes[-2:]) <= 3
    with pytest.raises(InvalidValue, match=r"not enough memory for a text, even one at a time"):
        in_halves(Narrow(0, error), rows, "a text")


@pytest.mark.parametrize(
    "said",
    [
        "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        "cuDNN error: CUDNN_STATUS_ALLOC_FAILED",
        "MPS backend out of memory (MPS allocated: 9.05 GB, other allocations: 1 MB)",
        "DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes. Error code 12",
    ],
)
def test_every_library_has_its_own_words_for_it(said):
    rows = np.arange(5)
    work = Narrow(2, RuntimeError, said)
    assert np.concatenate(in_halves(work, rows, "a text")).tolist() == (rows * 2).tolist()


def test_another_error_is_not_taken_for_it():
    def work(_rows):
        raise RuntimeError("shapes cannot be multiplied")

    with pytest.raises(RuntimeError, match="shapes"):
        in_halves(work, np.arange(4), "a text")
    with pytest.raises(RuntimeError, match="shapes"), room_for("a step", "use less"):
        work(None)
    short = pytest.raises(InvalidValue, match="not enough memory for a step; use less")
    with short, room_for("a step", "use less"):
        Narrow(0)([1])


def test_predictions_are_the_same_with_little_memory(bert, monkeypatch):
    """The network has room for two texts at once; training has room for none."""
    texts, labels = sentences(24)
    model = load_masked_model(bert, device="cpu")
    settings = FineTuning(frozen=True, device="cpu")
    trained = fine_tune(model, Labelled(texts, None, labels), settings)
    expected = trained.predict(texts)
    forward, sizes = type(trained.network).forward, []

    def narrow(self, input_ids=None, **rest):
        sizes.append(len(input_ids))
        if len(input_ids) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return forward(self, input_ids=input_ids, **rest)

    monkeypatch.setattr(type(trained.network), "forward", narrow)
    assert trained.predict(texts) == expected
    assert sorted(set(sizes)) == [1, 2, 3, 6, 12, 24]
    with pytest.raises(
        InvalidValue, match="not enough memory for step 1 of 3; use a smaller batch"
    ):
        fine_tune(model, Labelled(texts, None, labels), FineTuning(epochs=1, batch=8, device="cpu"))


def test_a_model_too_large_for_the_device_is_one_sentence(bert, tmp_path, monkeypatch):
    folder = save_model(tmp_path / "causal", ["the", "good"])
    rewritten(bert)
    (tmp_path / "words.txt").write_text("the\ngood\n")
    small = NetworkSettings(vocabulary=tmp_path / "words.txt", embedding=4, hidden=5)

    def full(*_given, **_named):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(torch.nn.Module, "to", full)
    monkeypatch.setattr(AwdLstm, "__init__", full)
    monkeypatch.setattr("discreet.models.generation.verified", lambda _folder: (None, None))
    for load in (
        lambda: load_masked_model(bert, device="cpu"),
        lambda: AdaptedLanguageModel.load(folder, rank=2),
        lambda: AdaptedLanguageModel.load(folder, adapters="all"),
        lambda: TextWriter.load(folder, device="cpu"),
        lambda: Rewriter.load(bert.parent / "bilstm.safetensors", device="cpu"),
        lambda: built_network(small),
    ):
        with pytest.raises(InvalidValue, match=r"not enough memory for the .*; use .*--device cpu"):
            load()


def test_the_quality_of_a_model_is_the_same_with_little_memory(monkeypatch):
    model, texts = linear().model, people()
    expected = quality(model, texts)
    predicted, sizes = model.predicted, []

    def little(batch):
        sizes.append(len(batch))
        if len(batch) > 3:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return predicted(batch)

    monkeypatch.setattr(model, "predicted", little)
    found = quality(model, texts)
    assert found.perplexity == pytest.approx(expected.perplexity, rel=1e-6)
    assert found.error_rate == expected.error_rate
    assert sizes[:3] == [16, 8, 4]
    assert min(sizes) == 2


def test_a_model_without_a_tokeniser_is_named(tmp_path):
    for device in ("cpu", "auto"):
        folder = write_bert(tmp_path / device, head=False)
        (folder / "vocab.txt").unlink()
        with pytest.raises(InputError, match="has no tokeniser"):
            load_encoder(str(folder), device=device)
        with pytest.raises(InputError, match="has no tokeniser"):
            load_language_model(str(folder), SPACE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("devices")


@pytest.fixture(scope="module")
def bert(folder):
    return write_bert(folder / "bert")


# -- what runs on PyTorch, each as a function of a folder with a tiny model ------------------------


def encoded(bert):
    other = bert.parent / "relu"
    if not other.exists():  # which is left to its library
        write_bert(other, head=False, hidden_act="relu")
    return load_encoder(str(other)).encode(["tea is good", "a cup was very cold", "bad"])


def classified(bert):
    texts, labels = sentences(24)
    settings = FineTuning(epochs=1, batch=8, learning_rate=3e-3, max_tokens=16)
    model = fine_tune(load_masked_model(bert), Labelled(texts, texts[::-1], labels), settings)
    path = bert.parent / "model.safetensors"
    model.save(path, force=True)
    assert model.predict(texts, texts[::-1]) == TextClassifier.load(path).predict(
        texts, texts[::-1]
    )
    return model.head.weight


def pretrained(bert):
    settings = Pretraining(steps=3, head_steps=1, batch=8, window=8)
    model = load_masked_model(bert)
    losses = pretrain(model, sentences(20)[0], bert_space(bert), None, settings, source={}).losses
    ids = np.random.default_rng(0).integers(5, 17, 20)
    target = Target(ids, ids, np.array([0, 12, 20]))
    guess, _ = infer_masked(model, target, np.arange(20), piece_table(bert_space(bert), model))
    return np.concatenate([losses, guess])


def rewritten(bert, body="bilstm"):
    texts = ["tea cup good bad tea", "cup good", "bad tea"] * 20
    settings = RewriterTraining(body=body, hidden=4, epochs=1, model=str(bert))
    made = train_rewriter(SanText(SPACE, epsilon=2.0), texts, settings)
    path = bert.parent / f"{body}.safetensors"
    made.save(path, force=True)
    if body == "masked":  # the second device cannot make an LSTM of which only sizes are wanted
        Rewriter.load(path)
    return np.array(list(made.about["held out"].values()))


def rewritten_by_layers(bert):
    return rewritten(bert, "masked")


def mapped(_bert):
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((60, 6)).astype(np.float32)
    labels = np.where(rows[:, 0] > 0, "a", "b").tolist()
    settings = MapTrainingSettings(epsilon=20.0, dimensions=(5,), hidden=6, epochs=1)
    trained = MapTrainer(rows, labels, encoder="0", source="a test").train(settings)
    return trained.weights[0]


def learnt(_bert):
    rng = np.random.default_rng(0)
    rows = VectorSet(*rng.standard_normal((2, 60, 6)).astype(np.float32))
    labels = np.where(rows.vectors[:, 0] > 0, "a", "b").tolist()
    target = TaskTarget.classes(labels, ("a", "b"), [[0.9, 0.1], [0.2, 0.8]])
    return train_published(
        rows,
        target,
        epsilon=20.0,
        dimension=3,
        encoder="0",
        settings=TaskSettings(hidden=8, epochs=2),
        rng=np.random.default_rng(1),
    ).model.probabilities(VectorSet(*rng.standard_normal((2, 5, 3)).astype(np.float32)))


def recoded(_bert):
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((60, 4)).astype(np.float32)
    settings = StoreSettings(epochs=2)
    trained = train_recoder(vectors, np.arange(0, 61, 3), np.arange(20) % 2, settings)
    return trained.layers[-1][0]


def attacked(_bert):
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((80, 4))
    names = np.where(rows[:, 0] > 0, "a", "b").tolist()
    [outcome] = attribute_attack(rows[:40], names[:40], rows[40:], names[40:])
    return np.array([outcome.success.value])


class Pieces:
    """A tokenizer that knows every word of the space but the first."""

    bos_token_id, eos_token_id = 0, 1

    def __call__(self, texts, **_how):
        words = SPACE.words
        return {"input_ids": [[1 + words.index(text.strip())] for text in texts]}


def causal():
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=8,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        initializer_range=0.5,
    )
    with devices.own_chance():
        torch.manual_seed(0)
        return LlamaForCausalLM(config)


def pretrained_with_a_new_head(bert):
    other = bert.parent / "headless"
    with without_it():  # transformers loads a new head by way of ``meta``
        if not other.exists():
            write_bert(other, head=False, dropout=0.0)
        model = load_masked_model(other, device="cpu")
    settings = Pretraining(steps=4, head_steps=2, batch=8, window=8)
    losses = pretrain(model, sentences(20)[0], bert_space(other), None, settings, source={}).losses
    head = np.concatenate([devices.array_of(p).ravel() for p in model.head_parameters()])
    return np.concatenate([losses, head])


def guided(_bert):
    model = causal().to(find_device())
    guide = LanguageModelGuide(SPACE, model, Pieces(), name="tiny", fingerprint="0" * 64)
    state, both = guide.begin(3), np.arange(3)
    asked = np.tile(np.arange(1, 5), (3, 1))
    first = guide.scores(state, both, asked)
    guide.extend(state, both, np.array([1, 2, 3]))
    guide.extend(state, both[:2], np.array([2, 2]))
    later = guide.scores(state, both[:2], asked[:2])
    whole = guide.text_scores(np.array([1, 2, 3, 4, 1]), np.array([0, 2, 5]))
    return np.concatenate([first.ravel(), later.ravel(), whole])


def people():
    rng = np.random.default_rng(0)
    return gather(
        [
            Sentence(
                f"u{n % 4}",
                rng.integers(1, 7, 2 + n % 5).tolist(),
                frozenset({f"e{n % 3}"}),
                label=n % 2,
            )
            for n in range(16)
        ]
    )


def trained_for_users(_bert, model=None, **changes):
    if model is None:
        shape = AwdLstmShape(
            words=7, boundary=0, embedding=4, hidden=5, layers=2, weight_drop=0.5, input_drop=0.3
        )
        model = AwdLstm(shape, device=find_device(doubles=True))
    given = {"user_rate": 0.9, "holders": 4, "cells": 4, "population": 4, "noise": 0.1}
    trainer = UserEntityTrainer(Rules(**given | changes), people(), model, seed=1)
    norms = [trainer.step(number) for number in range(2)]
    return np.array([*norms, quality(model, people()).perplexity])


def trained_sentence_by_sentence(bert):
    return trained_for_users(bert, algorithm="sample-level", sentence_rate=0.5)


def trained_by_adapters(bert, **how):
    how = {"rank": 2} | how
    return trained_for_users(bert, AdaptedLanguageModel(causal(), device=find_device(), **how))


def trained_by_all_weights(bert):
    return trained_by_adapters(bert, adapters="all")


def trained_in_the_last_block(bert):
    kinds = [{"adapters": "lora"}, {"adapters": "core"}, {"adapters": "all"}]
    return np.concatenate([trained_by_adapters(bert, last_blocks=1, **kind) for kind in kinds])


def classifier(_bert):
    shape = AwdLstmShape(words=7, boundary=0, embedding=4, hidden=5, classes=2)
    return AwdLstm(shape, device=find_device())


def adapted_classifier(bert, **how):
    from transformers import BertConfig, BertForSequenceClassification

    config = BertConfig.from_pretrained(bert, num_hidden_layers=2, num_labels=2)
    with devices.own_chance():
        torch.manual_seed(0)
        network = BertForSequenceClassification(config)
    how = {"classes": 2, "marks": ((2,), (3,)), "rank": 2, "last_blocks": 1} | how
    return AdaptedLanguageModel(network, device=find_device(), **how)


def class_scores(model):
    batch = SentenceBatch(torch.tensor([3, 1, 4, 2]), torch.tensor([1, 3]))
    return devices.array_of(model.class_scores(batch)).ravel()


def classified_for_users(bert):
    model = classifier(bert)
    return np.concatenate([trained_for_users(bert, model), class_scores(model)])


def classified_by_adapters(bert):
    model = adapted_classifier(bert)
    return np.concatenate([trained_for_users(bert, model), class_scores(model)])


def asked(bert):
    """What was trained for users, without training."""
    models = [classifier(bert), adapted_classifier(bert), adapted_classifier(bert, adapters="all")]
    told = [[*class_scores(model), quality(model, people()).perplexity] for model in models]
    return np.concatenate(told)


class Words(Pieces):
    """The same for whole texts, and back."""

    chat_template = None

    def __call__(self, text, **_how):
        return {"input_ids": [1 + SPACE.words.index(word) for word in text.split()]}

    def decode(self, ids, **_how):
        return " ".join(map(str, ids))


def written(_bert):
    writer = TextWriter(causal().to(find_device()), Words(), None)
    texts = [
        writer.text("tea good", tokens=6, temperature=heat, seed=3) for heat in (0.0, 0.0, 2.0)
    ]
    assert texts[0] == texts[1]
    return np.array([int(number) for text in texts for number in text.split()])


@pytest.mark.parametrize("algorithm", ["certified", "user-level", "sample-level"])
def test_noise_for_users_is_drawn_by_the_secure_generator(algorithm, monkeypatch):
    """On every device: nothing else is asked for the noise of a step."""
    drawn = []

    class Counted(np.random.Generator):
        def standard_normal(self, *size, **how):
            drawn.append(size)
            return super().standard_normal(*size, **how)

    shape = AwdLstmShape(words=7, boundary=0, embedding=4, hidden=5)
    monkeypatch.setattr(devices, "_may_have_one", lambda: True)
    monkeypatch.setattr(devices, "_present", lambda: ("meta",))
    for device in ("cpu", "auto"):
        drawn.clear()
        with second_device():
            model = AwdLstm(shape, device=find_device(device))
            rules = Rules(algorithm=algorithm, user_rate=0.9, sentence_rate=0.9, population=4)
            trainer = UserEntityTrainer(rules, people(), model)
            trainer._rng = Counted(trainer._rng.bit_generator)
            trainer.step(0)
        assert drawn == [(tuple(p.shape),) for p in model.trainable().values()]


def resumed(_bert):
    """A step, everything through arrays, and another step."""
    arrays = None
    for _ in range(2):
        with devices.own_chance():
            torch.manual_seed(0)
            network = torch.nn.Linear(3, 2).to(find_device())
        named = dict(network.named_parameters())
        optimizer = torch.optim.AdamW(named.values(), lr=0.1, foreach=False)
        if arrays is not None:
            restore_kept(arrays, named, optimizer)
        rows = moved(np.eye(3, dtype=np.float32), devices.device_of(network))
        network(rows).pow(2).sum().backward()
        optimizer.step()
        arrays = kept_arrays(named, optimizer)
    return np.concatenate([array.ravel() for array in arrays.values()])


BOUNDED = [
    trained_for_users,
    trained_sentence_by_sentence,
    trained_by_adapters,
    trained_by_all_weights,
    trained_in_the_last_block,
    classified_for_users,
    classified_by_adapters,
]
RUNS = [
    encoded,
    asked,
    classified,
    pretrained,
    pretrained_with_a_new_head,
    rewritten,
    rewritten_by_layers,
    mapped,
    learnt,
    recoded,
    attacked,
    guided,
    resumed,
    written,
    *BOUNDED,
]


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.__name__)
def test_the_second_device_has_all_and_gives_the_same(run, bert, request, monkeypatch):
    monkeypatch.setenv(VARIABLE, "cpu")
    here = run(bert)
    monkeypatch.delenv(VARIABLE)
    request.getfixturevalue("there")
    np.testing.assert_allclose(run(bert), here, atol=2e-5)


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.__name__)
def test_64_bits_are_needed_only_where_contributions_are_bounded(run, bert):
    """So all others run on mps."""
    if run in BOUNDED:
        with pytest.raises(TooWide):
            run(bert)
    else:
        run(bert)


# The first two read texts that come as tensors, or are made into some elsewhere.
@pytest.mark.usefixtures("there")
@pytest.mark.parametrize("run", RUNS[2:], ids=lambda run: run.__name__)
def test_arrays_that_are_not_moved_are_found(run, bert, monkeypatch):
    """The mutant: what is made of arrays stays on the processor."""

    def left(array, _device):
        return torch.from_numpy(array)

    for name, module in list(sys.modules.items()):
        if name.startswith("discreet.") and getattr(module, "moved", None) is moved:
            monkeypatch.setattr(module, "moved", left)
    with pytest.raises(LeftBehind):
        run(bert)
