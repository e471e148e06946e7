"""Encoders: pooling against a hand computation, texts that cannot be encoded, models not found."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from discreet.encoders.bert import BertEncoder, bert_encoder
from discreet.encoders.encoder import Encoder, encoded_once, load_encoder
from discreet.encoders.library import PooledEncoder, SentenceTransformerEncoder
from discreet.errors import DiscreetError, InputError, InvalidValue, NotFound
from discreet.files import SealedFiles
from discreet.spaces.encoder_space import find_encoder
from half_precision import halved
from tiny_bert import MARKS, PIECES, write_bert

TEXTS = ["the tea was very good", "bad", "a cup is cold not warm", "walks the the runner", "good"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_bert(tmp_path_factory.mktemp("models") / "tiny", head=False)


def states(directory: Path, text: str) -> np.ndarray:
    """The last layer for one text alone, where nothing is padded: slow and obvious."""
    import torch
    from transformers import BertModel

    pieces = (directory / "vocab.txt").read_text().split()
    ids = [pieces.index("[CLS]")]
    for word in text.split():
        stem = next(word[:end] for end in range(len(word), 0, -1) if word[:end] in pieces)
        ids.append(pieces.index(stem))
        if stem != word:
            ids.append(pieces.index("##" + word.removeprefix(stem)))
    ids.append(pieces.index("[SEP]"))
    with torch.inference_mode():
        network = BertModel.from_pretrained(directory).eval()
        return network(input_ids=torch.tensor([ids])).last_hidden_state[0].numpy()


@pytest.mark.parametrize("pooling", ["mean", "cls", None])
def test_pooling_is_what_its_name_says(model, pooling):
    encoder = load_encoder(str(model), pooling=pooling)
    texts = [*TEXTS[:3], "good"]
    expected = [states(model, text) for text in texts]
    expected = [s[0] if pooling == "cls" else s.mean(axis=0) for s in expected]
    got = encoder.encode(texts)
    assert got.shape == (4, encoder.dimension) == (4, 16)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, expected, atol=2e-5)
    # The two are told apart by this comparison.
    other = load_encoder(str(model), pooling="mean" if pooling == "cls" else "cls").encode(texts)
    assert np.abs(other - expected).max() > 0.01


def test_a_vector_does_not_depend_on_its_company(model):
    """Not even in the last bit; more ways are in tests/relational."""
    encoder = load_encoder(str(model))
    alone = np.concatenate([encoder.encode([text]) for text in TEXTS])
    assert encoder.encode(TEXTS * 30).tobytes() == np.tile(alone, (30, 1)).tobytes()


def test_progress_reaches_the_total(model):
    seen = []
    load_encoder(str(model)).encode(TEXTS * 60, progress=lambda *done: seen.append(done))
    assert len(seen) > 1
    assert seen[-1] == (300, 300)
    assert seen == sorted(seen)


def test_long_texts_are_cut(model):
    short = load_encoder(str(model), max_tokens=5)
    longer = load_encoder(str(model))
    assert "at most 5 tokens" in short.provenance
    np.testing.assert_allclose(  # [CLS] the tea was [SEP]
        short.encode(["the tea was good cup cup"]), longer.encode(["the tea was"]), atol=2e-5
    )
    longer.encode(["tea " * 500])  # more than the model has positions for


def test_the_fingerprint_is_of_all_that_vectors_depend_on(model, tmp_path):
    prints = {
        load_encoder(str(model)).fingerprint,
        load_encoder(str(model), pooling="cls").fingerprint,
        load_encoder(str(model), max_tokens=5).fingerprint,
        load_encoder(
            str(write_bert(tmp_path / "other", head=False, pieces=[*PIECES, "zebra"]))
        ).fingerprint,
    }
    assert len(prints) == 4
    assert load_encoder(str(model)).fingerprint in prints


@pytest.mark.parametrize("blank", ["", " ", "\n\t", "\u2003"])
def test_blank_texts_are_named_by_their_place(model, blank):
    with pytest.raises(InvalidValue, match="text 2 of 3 is empty"):
        load_encoder(str(model)).encode(["zanzibar", blank, "zanzibar"])


def test_a_vector_that_is_not_finite_is_an_error():
    class Broken:
        def encode(self, texts):
            return np.array([[np.nan if text == "zanzibar" else 1.0] * 2 for text in texts])

    encoder = Encoder("broken", "0" * 64, 2, "a test", Broken())
    with pytest.raises(InvalidValue, match="no finite vector for text 2") as caught:
        encoder.encode(["tea", "zanzibar", "tea"])
    assert "zanzibar" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("DIR/nowhere", NotFound, "not a directory with a model"),
        ("./nowhere", NotFound, "not a directory with a model"),
        ("nobody/nothing", NotFound, "hf download nobody/nothing"),
        ("DIR/file", NotFound, "not a directory with a model"),
        ("DIR/empty", InputError, "holds no encoder"),
    ],
)
def test_a_model_that_is_not_there(tmp_path, name, kind, message):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("x")
    with pytest.raises(kind, match=message):
        load_encoder(name.replace("DIR", str(tmp_path)))


@pytest.mark.parametrize(
    "wrong", [{"pooling": "max"}, {"max_tokens": 0}, {"max_tokens": 1.5}], ids=str
)
def test_settings_that_do_not_exist(model, wrong):
    with pytest.raises(DiscreetError, match="must be"):
        load_encoder(str(model), **wrong)


def test_public_texts_are_encoded_once(model, tmp_path):
    encoder = load_encoder(str(model))
    first = encoded_once(encoder, TEXTS, tmp_path / "kept")
    (kept,) = (tmp_path / "kept").glob("*.npy")
    with SealedFiles(kept.with_suffix(""), (".npy",)).written() as (path,), path.open("wb") as file:
        np.save(file, first + 1)  # what comes back now was read, not computed
    np.testing.assert_array_equal(encoded_once(encoder, TEXTS, tmp_path / "kept"), first + 1)
    other = load_encoder(str(model), pooling="cls")
    for again in (
        encoded_once(encoder, TEXTS[::-1], tmp_path / "kept")[::-1],
        encoded_once(encoder, ["good", "bad"], tmp_path / "kept"),
        encoded_once(other, TEXTS, tmp_path / "kept"),
    ):
        assert not np.allclose(again[0], first[0] + 1)
    assert len(list((tmp_path / "kept").glob("*.npy"))) == 4
    np.save(kept, first + 2)  # a file that was altered is not believed
    np.testing.assert_allclose(encoded_once(encoder, TEXTS, tmp_path / "kept"), first, atol=1e-6)


@pytest.mark.encoder
def test_the_packaged_encoder():
    encoder = load_encoder()
    vectors = encoder.encode(["The tea is hot.", "A warm cup of tea.", "Stocks fell sharply."])
    assert vectors.shape == (3, 384)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    near, far = vectors[0] @ vectors[1], vectors[0] @ vectors[2]
    assert near > 0.5 > 0.2 > far
    # Its own pooling is the mean, made unit: the plain way gives the same.
    plain = load_encoder(pooling="mean").encode(["The tea is hot."])[0]
    np.testing.assert_allclose(plain / np.linalg.norm(plain), vectors[0], atol=1e-5)


@pytest.mark.encoder
def test_the_packaged_encoder_as_its_own_library_has_it():
    texts = ["The tea is hot.", "Naïve Äpfel & 3.14 — 日本!", "stocks fell " * 400]
    own = SentenceTransformerEncoder(find_encoder().directory, "cpu")
    encoder = load_encoder()
    assert isinstance(encoder._model, BertEncoder)
    assert (encoder.dimension, encoder._model.max_seq_length) == (own.dimension, own.max_seq_length)
    np.testing.assert_allclose(encoder.encode(texts), own.encode(texts), atol=2e-6)


def described(directory, modules, **pooling):
    """With the files that sentence-transformers writes beside a model."""
    listed = [
        {"idx": n, "name": str(n), "path": "" if n == 0 else f"{n}_{kind}", "type": f"st.{kind}"}
        for n, kind in enumerate(modules)
    ]
    (directory / "modules.json").write_text(json.dumps(listed))
    (directory / "1_Pooling").mkdir(exist_ok=True)
    (directory / "1_Pooling" / "config.json").write_text(json.dumps(pooling))


@pytest.mark.parametrize(
    ("modules", "pooling", "ours"),
    [
        (["Transformer", "Pooling"], {"pooling_mode_cls_token": True}, "cls"),
        (["Transformer", "Pooling", "Normalize"], {"pooling_mode_mean_tokens": True}, "mean"),
        (["Transformer", "Pooling"], {"pooling_mode_max_tokens": True}, None),
        (["Transformer", "Pooling", "Dense"], {"pooling_mode_mean_tokens": True}, None),
        (
            ["Transformer", "Pooling"],
            {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": True},
            None,
        ),
    ],
)
def test_only_what_is_known_to_the_last_word_is_run_here(tmp_path, modules, pooling, ours):
    directory = write_bert(tmp_path / "tiny", head=False)
    described(directory, modules, **pooling)
    found = bert_encoder(directory, None)
    assert (found is None) == (ours is None)
    if found is not None:
        expected = states(directory, TEXTS[0])
        expected = expected[0] if ours == "cls" else expected.mean(axis=0)
        if "Normalize" in modules:
            expected /= np.linalg.norm(expected)
        np.testing.assert_allclose(found.encode(TEXTS[:1])[0], expected, atol=2e-5)


@pytest.mark.parametrize(
    "change",
    [
        {"hidden_act": "relu"},
        {"is_decoder": True},
        {"position_embedding_type": "relative_key"},
        {"model_type": "roberta"},
    ],
    ids=str,
)
def test_another_kind_of_model_is_left_to_its_library(model, tmp_path, change):
    directory = shutil.copytree(model, tmp_path / "other")
    config = json.loads((directory / "config.json").read_text())
    (directory / "config.json").write_text(json.dumps(config | change))
    assert bert_encoder(directory, "mean") is None


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("model.safetensors", b"\x08\0\0\0\0\0\0\0{}      "),
        ("model.safetensors", b"nothing"),
        ("config.json", b"[]"),
        ("config.json", b"{"),
        ("config.json", b'{"model_type": "bert", "hidden_size": 16, "num_hidden_layers": 1}'),
        ("tokenizer.json", b"{}"),
        ("vocab.txt", b""),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_damaged_model_is_one_sentence(model, tmp_path, name, content):
    directory = shutil.copytree(model, tmp_path / "other")
    (directory / name).write_bytes(content)
    with pytest.raises(InputError):
        load_encoder(str(directory))


def test_weights_that_were_saved_in_16_bits_give_the_same_vectors_everywhere(tmp_path):
    directory = halved(write_bert(tmp_path / "tiny", head=False))
    ours = bert_encoder(directory, "mean").encode(TEXTS)
    pooled = PooledEncoder(directory, "mean", "cpu")
    described(directory, ["Transformer", "Pooling"], pooling_mode_mean_tokens=True)
    modules = json.loads((directory / "modules.json").read_text())
    for module in modules:
        module["type"] = module["type"].replace("st.", "sentence_transformers.models.")
    (directory / "modules.json").write_text(json.dumps(modules))
    shape = {"word_embedding_dimension": 16, "pooling_mode_mean_tokens": True}
    (directory / "1_Pooling" / "config.json").write_text(json.dumps(shape))
    for other in (pooled, SentenceTransformerEncoder(directory, "cpu")):
        np.testing.assert_allclose(other.encode(TEXTS), ours, atol=2e-6)


# Without words these tokenisers take every text for unknown words, or for none.
@pytest.mark.parametrize("kind", ["BertTokenizer", "T5Tokenizer", "RobertaTokenizer", None])
@pytest.mark.parametrize("act", ["gelu", "relu"])
def test_a_tokeniser_without_a_vocabulary_is_refused(tmp_path, kind, act):
    directory = write_bert(tmp_path / "tiny", head=False, hidden_act=act)
    (directory / "vocab.txt").unlink()
    if kind is not None:
        (directory / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": kind}))
    (directory / "model.safetensors").unlink()  # nobody has looked yet
    with pytest.raises(InputError, match=r"the model in .*tiny has no tokeniser with a vocab"):
        load_encoder(str(directory), device="cpu")


def test_one_that_reads_bytes_needs_none(tmp_path):
    directory = write_bert(
        tmp_path / "tiny", head=False, hidden_act="relu", pieces=[*MARKS, *map(str, range(300))]
    )
    (directory / "vocab.txt").unlink()
    (directory / "tokenizer_config.json").write_text('{"tokenizer_class": "ByT5Tokenizer"}')
    one, other = load_encoder(str(directory), device="cpu").encode(["good tea", "cold tea"])
    assert np.abs(one - other).max() > 1e-3
    (directory / "tokenizer_config.json").write_text("[")
    with pytest.raises(InputError, match="cannot be read"):
        load_encoder(str(directory), device="cpu")


@pytest.mark.parametrize("words", [[], ["zebra", "quagga"]])
@pytest.mark.parametrize("act", ["gelu", "relu"])
def test_a_vocabulary_without_ordinary_words_is_refused(tmp_path, words, act):
    """To such a model all texts of as many words would be the same one."""
    directory = write_bert(tmp_path / "tiny", head=False, hidden_act=act, pieces=[*MARKS, *words])
    with pytest.raises(InputError, match=r"tokeniser in .*tiny does not know ordinary English"):
        load_encoder(str(directory), device="cpu")


def test_too_little_memory_is_not_taken_for_a_damaged_model(model, monkeypatch):
    def full(*_):
        raise MemoryError

    monkeypatch.setattr("discreet.encoders.encoder.bert_encoder", full)
    with pytest.raises(InvalidValue, match="not enough memory for the encoder tiny"):
        load_encoder(str(model), device="cpu")


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_the_number_of_threads_does_not_matter_and_stays_as_it_was(tmp_path, threads):
    import torch

    encoder = load_encoder(str(write_bert(tmp_path / "other", head=False, hidden_act="relu")))
    expected, before = encoder.encode(TEXTS), torch.get_num_threads()
    try:
        torch.set_num_threads(threads)
        assert encoder.encode(TEXTS * 5).tobytes() == expected.tobytes() * 5
        assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
