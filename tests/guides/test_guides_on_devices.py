"""Guides compute where they are asked to, in 32 bits, and the commands hand on what --device says.

There need be no GPU here: ``second_device`` computes with real numbers behind a wall.
"""

import numpy as np
import pytest
import torch

from command import WORDS, called, write_space
from discreet import devices
from discreet.devices import VARIABLE, device_of, find_device
from discreet.encoders.settings import EncoderSettings
from discreet.errors import InvalidValue
from discreet.guides import load_guide
from discreet.guides.language_model import load_language_model
from discreet.mechanisms.word import near_words
from discreet.spaces.space import EmbeddingSpace
from second_device import NAME, second_device
from tiny_bert import WORDS as KNOWN
from tiny_bert import write_bert
from tiny_causal import llama, save_model

SPACE = EmbeddingSpace.from_arrays(["<unk>", "tea", "cup", "sea"], [[9.0], [1.0], [2.0], [5.0]])
TEXT, OFFSETS = np.array([1, 2, 3, 1, 2]), np.array([0, 3, 5])


@pytest.fixture
def saved(tmp_path):
    """A language model of four words in 16 bits, which is what its configuration says too."""
    return save_model(tmp_path / "model", SPACE.words[1:], llama(5).half())


@pytest.fixture
def there(monkeypatch):
    """A machine with a second device, which ``auto`` finds."""
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(devices, "_may_have_one", lambda: True)
    monkeypatch.setattr(devices, "_present", lambda: (NAME,))
    with second_device():
        yield


@pytest.mark.usefixtures("there")
def test_a_guide_is_where_it_is_asked_to_be(saved):
    here, away = load_guide(str(saved), SPACE, device="cpu"), load_guide(str(saved), SPACE)
    assert [device_of(guide._model).type for guide in (here, away)] == ["cpu", NAME]
    np.testing.assert_allclose(
        here.text_scores(TEXT, OFFSETS), away.text_scores(TEXT, OFFSETS), atol=1e-6
    )


def test_a_model_that_was_saved_in_16_bits_computes_in_32(saved):
    guide = load_language_model(str(saved), SPACE, device="cpu")
    assert {weights.dtype for weights in guide._model.parameters()} == {torch.float32}
    ids = torch.tensor([[0, 2, 3]])
    with torch.inference_mode():
        # The same weights, rounded to 16 bits once and not again in every layer.
        logs = llama(5).half().float()(input_ids=ids).logits[0].log_softmax(dim=1)
    after = [float(logs[place, token]) for place, token in enumerate((2, 3, 4))]
    np.testing.assert_allclose(guide.text_scores(TEXT, OFFSETS)[:3], after, atol=1e-6)


def test_memory_that_runs_out_while_texts_go_on_is_said(saved, monkeypatch):
    """When a text ends, what was read of the others is copied, which takes memory too."""
    guide, candidates = load_language_model(str(saved), SPACE, device="cpu"), np.array([[1], [2]])
    state, both = guide.begin(2), np.arange(2)
    guide.scores(state, both, candidates)
    guide.extend(state, both, np.array([1, 2]))
    guide.scores(state, both, candidates)

    def full(*_given):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(type(state.cache), "batch_select_indices", full)
    guide.extend(state, both, np.array([3, 3]))
    with pytest.raises(InvalidValue, match="not enough memory for a guide of so many texts; use"):
        guide.extend(state, both[:1], np.array([1]))


# -- commands --------------------------------------------------------------------------------------

ONES = ("explain", "evaluate", "audit", "serve", "advise IN", "compare IN --public IN -o OUT")
GUIDED = (
    *ONES[:4],
    "train pretrain IN -o OUT --model BERT",
    "train rewriter IN -o OUT",
)


@pytest.mark.parametrize("command", ONES)
def test_a_device_that_is_not_there_is_refused_before_any_work(command, tmp_path, monkeypatch):
    monkeypatch.setattr(devices, "_present", lambda: ())
    words = command.replace("IN", str(tmp_path / "in.txt")).replace("OUT", str(tmp_path / "out"))
    done = called(*words.split(), "--device", "cuda", cache=tmp_path)
    assert done.code == 2
    assert "cuda was asked for and this machine has none: use" in " ".join(done.err.split())
    assert not list(tmp_path.iterdir())


class Enough(Exception):
    """What was to be seen was seen."""


@pytest.fixture
def places(monkeypatch):
    """Where guides and encoders would be loaded, on a machine that has cuda; then work ends."""
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(devices, "_may_have_one", lambda: True)
    monkeypatch.setattr(devices, "_present", lambda: ("cuda",))
    seen = []

    def look(*_given):
        seen.append(find_device())
        raise Enough

    monkeypatch.setattr(near_words, "load_guide", look)
    monkeypatch.setattr(EncoderSettings, "load", look)
    return seen


@pytest.mark.parametrize("command", GUIDED)
def test_the_guide_of_a_command_is_on_its_device(command, tmp_path, places):
    space = write_space(tmp_path / "space.txt", ["<unk>", *KNOWN])
    (tmp_path / "in.txt").write_text("the tea is good\n" * 40)
    if "BERT" in command:
        command = command.replace("BERT", str(write_bert(tmp_path / "bert")))
    words = command.replace("IN", str(tmp_path / "in.txt")).replace("OUT", str(tmp_path / "out"))
    how = ("-m", "near-words", "-e", "8", "--guide", "smollm2", "--space", space)
    called(*words.split(), *how, "--device", "cpu", cache=tmp_path / "cache")
    assert places == ["cpu"]


@pytest.mark.parametrize(
    "command",
    [
        "advise IN --purpose search",
        "compare IN --public PUBLIC --label-field label -o OUT --mechanisms uniform --quick "
        "--workers 1 --space SPACE",
    ],
)
def test_the_encoder_of_a_command_is_on_its_device(command, tmp_path, places):
    for name, after in (("IN", 9), ("PUBLIC", 10)):
        path = tmp_path / f"{name}.jsonl"
        pairs = [(WORDS[n % 9], WORDS[after + n % 7], n % 2) for n in range(80)]
        path.write_text("".join(f'{{"text": "{a} {b}", "label": "{c}"}}\n' for a, b, c in pairs))
        command = command.replace(f" {name} ", f" {path} ")
    command = command.replace("SPACE", str(write_space(tmp_path / "space.txt")))
    command = command.replace("OUT", str(tmp_path / "out"))
    called(*command.split(), "--device", "cpu", cache=tmp_path / "cache")
    assert places
    assert set(places) == {"cpu"}
