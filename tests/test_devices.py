"""Devices: found by name or refused, and nothing is left behind on the way to one.

There need be no GPU here: ``second_device`` computes with real numbers behind a wall. Whatever runs
on PyTorch is run on both sides of it and must agree; and if arrays are no longer moved, every one
of these runs must fail.
"""

import sys

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
from discreet.training.user_entity.rules import Rules
from discreet.training.user_entity.trainer import UserEntityTrainer, quality
from discreet.training.user_entity.users import Sentence, gather
from discreet.training.vectors import _bottleneck
from discreet.training.vectors.maps import MapTrainer
from discreet.training.vectors.settings import MapTrainingSettings, TaskSettings
from discreet.training.vectors.task import TaskTarget, train_published
from second_device import LeftBehind, second_device
from tiny_bert import bert_space, sentences, write_bert

SPACE = EmbeddingSpace.from_arrays(
    ["<unk>", "tea", "cup", "good", "bad"], [[9.0, 0], [1.0, 0], [2.0, 1], [5.0, 0], [6.0, 2]]
)


@pytest.fixture
def there(monkeypatch):
    """A machine with a second device, which ``auto`` finds."""
    monkeypatch.setattr(devices, "_may_have_one", lambda: True)
    monkeypatch.setattr(devices, "_present", lambda: ("meta",))
    with second_device():
        yield


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
    monkeypatch.setattr(devices, "_present", lambda: ("cuda", "mps"))
    monkeypatch.setenv(VARIABLE, "mps")
    assert (find_device(), find_device("cpu"), find_device("cuda")) == ("mps", "cpu", "cuda")
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


class Narrow:
    """Has room for so many rows at once."""

    def __init__(self, room, error=torch.OutOfMemoryError):
        self.room, self.error, self.sizes = room, error, []

    def __call__(self, rows):
        self.sizes.append(len(rows))
        if len(rows) > self.room:
            raise self.error("CUDA out of memory. Tried to allocate 2.00 GiB")
        return rows * 2


@pytest.mark.parametrize("error", [torch.OutOfMemoryError, RuntimeError])
def test_fewer_rows_at_a_time_where_memory_is_short(error):
    rows = np.arange(13)
    work = Narrow(3, error)
    assert np.concatenate(in_halves(work, rows, "a text")).tolist() == (rows * 2).tolist()
    assert max(work.sizes[-2:]) <= 3
    with pytest.raises(InvalidValue, match=r"not enough memory for a text, even one at a time"):
        in_halves(Narrow(0, error), rows, "a text")


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


def users():
    rng = np.random.default_rng(0)
    return gather(
        [
            Sentence(f"u{n % 4}", rng.integers(1, 7, 2 + n % 5).tolist(), frozenset({f"e{n % 3}"}))
            for n in range(16)
        ]
    )


def trained_for_users(_bert, model=None):
    if model is None:
        shape = AwdLstmShape(
            words=7, boundary=0, embedding=4, hidden=5, layers=2, weight_drop=0.5, input_drop=0.3
        )
        model = AwdLstm(shape, device=find_device(doubles=True))
    rules = Rules(user_rate=0.9, holders=4, cells=4, population=4, noise=0.1)
    trainer = UserEntityTrainer(rules, users(), model, seed=1)
    norms = [trainer.step(number) for number in range(2)]
    return np.array([*norms, quality(model, users()).perplexity])


def trained_by_adapters(_bert):
    model = AdaptedLanguageModel(causal(), boundary=0, rank=2, device=find_device())
    return trained_for_users(_bert, model)


def trained_by_all_weights(_bert):
    model = AdaptedLanguageModel(causal(), boundary=0, adapters="all", device=find_device())
    return trained_for_users(_bert, model)


def test_noise_for_users_is_drawn_by_the_secure_generator(monkeypatch):
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
            trainer = UserEntityTrainer(Rules(user_rate=0.9, population=4), users(), model)
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


RUNS = [
    encoded,
    classified,
    pretrained,
    rewritten,
    rewritten_by_layers,
    mapped,
    learnt,
    recoded,
    attacked,
    guided,
    trained_for_users,
    trained_by_adapters,
    trained_by_all_weights,
    resumed,
]


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.__name__)
def test_the_second_device_has_all_and_gives_the_same(run, bert, request, monkeypatch):
    monkeypatch.setenv(VARIABLE, "cpu")
    here = run(bert)
    monkeypatch.delenv(VARIABLE)
    request.getfixturevalue("there")
    np.testing.assert_allclose(run(bert), here, atol=2e-5)


@pytest.mark.usefixtures("there")
@pytest.mark.parametrize("run", RUNS[1:], ids=lambda run: run.__name__)
def test_arrays_that_are_not_moved_are_found(run, bert, monkeypatch):
    """The mutant: what is made of arrays stays on the processor."""

    def left(array, _device):
        return torch.from_numpy(array)

    for name, module in list(sys.modules.items()):
        if name.startswith("discreet.") and getattr(module, "moved", None) is moved:
            monkeypatch.setattr(module, "moved", left)
    with pytest.raises(LeftBehind):
        run(bert)
