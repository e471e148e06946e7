"""What is computed from one input is the same, bit for bit, in the company of any others.

The guarantees are for one sentence (or word) that is replaced. Their proofs need everything between
the text and the noise to depend on that one input alone: a last bit of another's vector is enough
to turn its vote. So each step is tried on the same inputs alone, in batches of several sizes, in
several orders, and beside one that was replaced.
"""

from functools import partial
from itertools import pairwise

import numpy as np
import pytest

from discreet.encoders.bert import BertEncoder
from discreet.encoders.candidate_store import CandidateStore, Voters
from discreet.encoders.encoder import load_encoder
from discreet.encoders.library import PooledEncoder
from discreet.encoders.maps import PublicMap
from discreet.exact import rounded
from discreet.mechanisms.document import LearnedVotes, SoftVotes
from discreet.mechanisms.registry import entries, mechanism
from discreet.mechanisms.sentence import Purkayastha, unit_rows
from discreet.release.sentences import SentenceEmbedder
from discreet.spaces.encoder_space import find_encoder
from discreet.text.sentences import split_sentences
from discreet.text.tokens import WordPieceTokenizer, WordTokenizer
from tiny_bert import PIECES, WORDS, write_bert

SEED = 20261117
LONG = "the warm cup was not very cold is a good tea the runner walks badly " * 3


def numbers(*shape, seed=SEED):
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


def some_texts(count, seed=SEED):
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, 1 + n % 11)) for n in range(count)]


def companies(items, other):
    """The same items in other orders, sizes and places, and beside another one."""
    rng = np.random.default_rng(SEED)
    yield from (items, items[::-1], items + items[:5])
    yield [items[n] for n in rng.permutation(len(items))]
    yield from (items[: len(items) // 2], items[len(items) // 2 :], items[:3])
    for place in (0, len(items) // 2, len(items) - 1):
        yield [*items[:place], other, *items[place + 1 :]]


def key(item):
    return item if isinstance(item, str) else item.tobytes()


def moved(function, items, other):
    """How often an item's result was not what it is alone; ``function`` takes and gives lists."""
    alone = {key(item): function([item])[0].tobytes() for item in items}
    return sum(
        row.tobytes() != alone[key(item)]
        for batch in companies(items, other)
        for item, row in zip(batch, function(batch), strict=True)
        if key(item) in alone
    )


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return write_bert(tmp_path_factory.mktemp("models") / "tiny", head=False)


@pytest.mark.parametrize("act", ["gelu", "relu"])
@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_encoded_texts(tiny, pooling, act, tmp_path):
    """By our own arithmetic, and by PyTorch's where a model is made otherwise."""
    if act != "gelu":
        tiny = write_bert(tmp_path / "other", head=False, hidden_act=act)
    encoder = load_encoder(str(tiny), pooling=pooling)
    assert isinstance(encoder._model, BertEncoder) == (act == "gelu")
    assert moved(encoder.encode, some_texts(40), LONG) == 0


@pytest.mark.encoder
def test_texts_of_the_packaged_encoder():
    assert moved(load_encoder().encode, some_texts(10), LONG) == 0


def test_a_batch_that_is_padded_would_be_seen(tiny):
    """The mutant: vectors that know, in the last bits, how long the longest of their batch is."""
    encoder = load_encoder(str(tiny))

    def padded(texts):
        return encoder.encode(texts) + np.float32(1e-7) * max(map(len, texts))

    assert moved(padded, some_texts(10), LONG) > 10


def one_layer():
    return PublicMap.random(48, 7)


def three_layers():
    sizes = [(48, 48), (48, 33), (33, 5)]
    return PublicMap(
        tuple(numbers(*size, seed=n) / np.float32(7) for n, size in enumerate(sizes)),
        tuple(numbers(size[1], seed=9 + n) for n, size in enumerate(sizes)),
        None,
        {},
    )


@pytest.mark.parametrize("public", [one_layer, three_layers])
@pytest.mark.parametrize("unit", [False, True])
def test_mapped_vectors(public, unit):
    def mapped(rows):
        out = public().apply(np.stack(rows))
        return unit_rows(out) if unit else out

    assert moved(mapped, list(numbers(301, 48)), numbers(48, seed=1)) == 0


@pytest.mark.parametrize("public", [one_layer, three_layers])
def test_mapped_vectors_in_any_layout(public):
    rows, mapped = numbers(50, 48), public()
    shifted = np.empty(rows.size + 1, np.float32)[1:].reshape(rows.shape)
    shifted[:] = rows
    for other in (np.asfortranarray(rows), shifted, rows.astype(np.float64)):
        assert mapped.apply(other).tobytes() == mapped.apply(rows).tobytes()


def test_directions_that_a_sentence_mechanism_takes(tiny):
    encoder = load_encoder(str(tiny))
    embedder = SentenceEmbedder(encoder, PublicMap.random(16, 5), Purkayastha(5, epsilon=3.0))
    assert moved(embedder.units, some_texts(20), LONG) == 0


@pytest.mark.parametrize(
    "tokenizer", [partial(WordTokenizer, WORDS, 0), partial(WordPieceTokenizer, PIECES, 1)]
)
def test_ids_of_words(tokenizer):
    made = tokenizer()

    def ids(texts):
        batch = made.encode(texts)
        return np.split(batch.ids, batch.offsets[1:-1])

    assert moved(ids, some_texts(60), LONG) == 0


def cut(texts):
    sentences, offsets = split_sentences(texts)
    return [np.array(sentences[a:b]) for a, b in pairwise(offsets)]


def documents(count=12):
    return [
        ". ".join(text.capitalize() for text in some_texts(2 + n % 7, seed=n)) + "."
        for n in range(count)
    ]


def test_sentences_of_documents():
    assert moved(cut, documents(), LONG.capitalize() + ". Good. Bad.") == 0


def store(encoder):
    size, inner = encoder.dimension, 6
    recoder = PublicMap(
        (numbers(size, size, seed=1), numbers(size, inner, seed=2)),
        (numbers(size, seed=3), numbers(inner, seed=4)),
        encoder.fingerprint,
        {},
    )
    voters = Voters(numbers(5, size, seed=5), numbers(5, size, seed=6), numbers(5, seed=7))
    return CandidateStore(
        candidates=numbers(60, inner, seed=8),
        texts=tuple(f"public {n}" for n in range(60)),
        clusters=np.zeros(60, np.int64),
        projections=numbers(8, inner, seed=9),
        centroids={5: numbers(5, size, seed=10)},
        voters={5: voters},
        soft_voters={1.0: voters},
        box=np.stack([np.full(size, -1.0), np.full(size, 1.0)]).astype(np.float32),
        recoder=recoder,
        encoder=encoder.fingerprint,
        best_projections={1.0: 8},
        best_centroids={1.0: 5},
        best_voters={1.0: 5},
        about={},
    )


@pytest.mark.parametrize("name", [entry.name for entry in entries("document")])
def test_documents_from_text_to_what_noise_is_added_to(tiny, name):
    encoder = load_encoder(str(tiny))
    public = store(encoder)
    made = mechanism(name, store=public, epsilon=1.0)
    measured = next(getattr(made, n) for n in ("votes", "scores", "statistic") if hasattr(made, n))

    def statistic(texts):
        sentences, offsets = split_sentences(texts)
        vectors = encoder.encode(sentences)
        return measured(public.recoded(vectors) if made.recoded else vectors, offsets)

    assert moved(statistic, documents(), LONG.capitalize() + ". Good. Bad.") == 0


def attack(before, after):
    """Weights that tell the vectors of seven sentences from what they are beside another one."""
    rows = [whole * scales[:, None] for whole, scales in (rounded(before), rounded(after))]
    sides = np.repeat([-1.0, 1.0], len(before))
    weight = np.linalg.lstsq(np.concatenate(rows), sides, rcond=None)[0]
    return np.stack([-weight, weight])


def votes_before_and_after(encode, kind, weights=None):
    """Of eight sentences, the last of which becomes a long one."""
    texts = some_texts(8)
    before, after = (encode([*texts[:-1], last]) for last in (texts[-1], LONG))
    if weights is None:
        weights = attack(before[:-1], after[:-1])
    made = kind(np.eye(2), weights, np.zeros(2), epsilon=1.0)
    return (made.votes(before)[0] / made.unit, made.votes(after)[0] / made.unit), weights


def in_one_batch():
    """How vectors were made before: all texts in one padded batch."""
    import torch

    made = PooledEncoder(find_encoder().directory, "mean", "cpu")

    def encode(texts):
        tokens = made._tokenizer(list(texts), padding=True, return_tensors="pt", truncation=True,
                                 max_length=made.max_seq_length)  # fmt: skip
        with torch.inference_mode():
            states = made._model(**tokens).last_hidden_state
        mask = tokens["attention_mask"][:, :, None]
        return ((states * mask).sum(dim=1) / mask.sum(dim=1)).numpy()

    return encode


@pytest.mark.encoder
@pytest.mark.parametrize("kind", [LearnedVotes, SoftVotes])
def test_weights_made_for_the_change_move_one_vote(kind):
    """The attack that was: votes of all sentences turned when one was replaced."""
    encoder = load_encoder(pooling="mean")
    _, weights = votes_before_and_after(in_one_batch(), kind)
    for made_for_it in (weights, None):
        (before, after), _ = votes_before_and_after(encoder.encode, kind, made_for_it)
        assert np.abs(after - before).max() <= 1


def test_the_attack_turns_all_votes_where_a_vector_knows_its_batch():
    clean, change = numbers(300, 48), numbers(300, 48, seed=1)

    def knows(texts):
        own = [len(text) for text in texts]
        return clean[own] + np.float32(1e-6) * max(own) * change[own]

    (before, after), _ = votes_before_and_after(knows, LearnedVotes)
    assert np.abs(after - before).max() >= 7
