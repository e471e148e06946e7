"""White-box inversion: it finds the words of bare vectors, and only frequent ones under noise."""

import numpy as np
import pytest

from discreet.attacks import white_box
from discreet.attacks.white_box import SearchEffort, _off, white_box_inversion
from discreet.errors import InvalidValue
from discreet.mechanisms.sentence import Purkayastha, unit_rows
from discreet.models.bert import load_masked_model
from discreet.training.vectors.reading import SentenceReader, joint_tokens
from tiny_bert import PIECES, WORDS, write_bert

torch = pytest.importorskip("torch")

PLAIN = [word for word in PIECES if word.isalpha()]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return load_masked_model(
        write_bert(tmp_path_factory.mktemp("white") / "model", head=False, layers=2)
    )


def _texts(count, seed):
    """Sentences of four different words, any of the vocabulary."""
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(PLAIN, 4, replace=False)) for _ in range(count)]


@pytest.fixture(scope="module")
def halves(model):
    reader = SentenceReader(model, 16)
    public, hidden = _texts(400, 1), _texts(40, 2)
    return (
        public,
        hidden,
        *(reader.units(joint_tokens(reader.model, some)) for some in (public, hidden)),
    )


def _f1(outcomes):
    return next(one for one in outcomes if one.measure == "F1")


def test_words_of_bare_vectors_are_found_and_noise_hides_them(model, halves):
    public, hidden, seen, under = halves
    law, rng = Purkayastha(16, 1.0), np.random.default_rng(0)
    noisy = [law.release(unit_rows(rows), rng) for rows in (seen, under)]
    found = _f1(
        white_box_inversion(model, noisy[0], public, noisy[1], hidden, unprotected=(seen, under))
    )
    assert found.unprotected.low > found.chance + 0.2
    assert found.success.value < found.chance + 0.12


def test_an_exchange_never_makes_it_worse(model, halves, monkeypatch):
    public, hidden, seen, under = halves
    costs = []
    real = white_box._Search._exchanged

    def watched(self, now, place, goal, metric, prices):
        out = real(self, now, place, goal, metric, prices)
        matrix = self.model.network.get_input_embeddings().weight.detach()
        with torch.no_grad():
            both = [
                _off(self._mean(matrix[self._marked(some)]), goal, metric) + prices[some].sum(dim=1)
                for some in (now, out)
            ]
        costs.append((both[1] - both[0]).max().item())
        assert (out.sort(dim=1).values.diff(dim=1) > 0).all(), "a token is guessed once"
        return out

    monkeypatch.setattr(white_box._Search, "_exchanged", watched)
    white_box_inversion(model, seen, public, under[:5], hidden[:5], effort=SearchEffort(1, 1, 4))
    assert costs
    assert max(costs) < 1e-3


def test_lower_means_are_those_of_the_network(model):
    search = white_box._Search(model, SearchEffort(layer=1), _bags(model, ["the tea is good"] * 3))
    wanted = search.means_of(["the tea is good"])
    ids = torch.tensor([[PIECES.index(w) for w in ("the", "tea", "is", "good")]])
    matrix = model.network.get_input_embeddings().weight.detach()
    with torch.no_grad():
        found = search._mean(matrix[search._marked(ids)])
        states = model.network.base_model(
            input_ids=search._marked(ids), output_hidden_states=True
        ).hidden_states
    np.testing.assert_allclose(found.numpy(), wanted, atol=1e-5)
    np.testing.assert_allclose(found.numpy(), states[1].mean(dim=1).numpy(), atol=1e-5)


def _bags(model, texts):
    return white_box.Bags.of(texts, white_box.model_space(model.directory))


def test_bad_input(model, halves):
    public, hidden, seen, under = halves
    assert set(PLAIN) >= set(WORDS)
    for layer, words in ((0, "at least 1 layer"), (3, "has 2 layers; 3 of them")):
        with pytest.raises(InvalidValue, match=words):
            white_box_inversion(
                model, seen, public, under, hidden, effort=SearchEffort(layer=layer)
            )
    with pytest.raises(InvalidValue, match="words"):
        white_box_inversion(model, seen[:10], public, under, hidden)
