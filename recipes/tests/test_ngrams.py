"""Scores against the libraries they come from, and a language model against a slow one."""

import math
from collections import Counter

import numpy as np
import pytest

from discreet.errors import InvalidValue, NotFound
from discreet.text.tokens import WordTokenizer
from discreet.training.scores import class_scores, number_scores
from discreet_recipes import ngrams as utility
from discreet_recipes.similarity import bert_score, bleu, rouge1, unchanged_words

WORDS = ["<unk>", "a", "b", "c", "d"]
TOKENIZER = WordTokenizer(WORDS, unknown=0)
PUBLIC = ["a b c", "a b d", "b c", "a", "c c c a", ""]
ORIGINALS = ["we had hot green tea at home", "the film was not good", "a b"]
TEXTS = ["we had hot black tea at home", "the car was very good", "c d"]


def slow_probability(word, context, order=3, discount=0.75):
    """Kneser and Ney's formula by counting lists; ``context`` is the words before, in order."""
    streams = [["<s>"] * (order - 1) + t.split() + ["</s>"] for t in PUBLIC]
    grams = {
        n: Counter(tuple(s[i - n + 1 : i + 1]) for s in streams for i in range(order - 1, len(s)))
        for n in range(1, order + 1)
    }

    def counts(n):
        if n == order:
            return grams[n]
        return Counter(g[1:] for g in grams[n + 1])  # different words in front

    def probability(n, before):
        if n == 0:
            return 1 / (len(WORDS) + 1)
        table = counts(n)
        history = tuple(before[len(before) - n + 1 :])
        after = {g: c for g, c in table.items() if g[:-1] == history}
        lower = probability(n - 1, before)
        if not after:
            return lower
        total = sum(after.values())
        kept = max(after.get((*history, word), 0) - discount, 0)
        return (kept + discount * len(after) * lower) / total

    return probability(order, context)


@pytest.mark.parametrize("text", ["a b c", "d d", "c c a b", ""])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_the_language_model_is_kneser_and_neys(text, order):
    model = utility.fit_ngrams(PUBLIC, TOKENIZER, order=order)
    found = model.log_probabilities(TOKENIZER.encode([text]))
    stream = ["<s>"] * (order - 1) + text.split() + ["</s>"]
    expected = [
        math.log(slow_probability(stream[i], stream[:i][-order:], order))
        for i in range(order - 1, len(stream))
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_its_probabilities_sum_to_one_after_any_context():
    for context in (["a", "b"], ["d", "d"], ["c", "c"], ["<s>", "<s>"]):
        total = sum(slow_probability(w, context) for w in [*WORDS, "</s>"])
        assert total == pytest.approx(1.0)


def test_fluent_text_costs_less_and_perplexity_is_its_exponential():
    model = utility.fit_ngrams(PUBLIC, TOKENIZER)
    assert utility.cross_entropy(model, ["a b c"]) < utility.cross_entropy(model, ["c a d"])
    assert utility.perplexity(model, PUBLIC) == math.exp(utility.cross_entropy(model, PUBLIC))


def test_scores_of_predictions_against_scikit_learn_and_scipy():
    from scipy.stats import pearsonr
    from sklearn.metrics import accuracy_score, f1_score

    rng = np.random.default_rng(0)
    truth, guess = (list(map(str, rng.integers(0, 4, 200))) for _ in range(2))
    found = class_scores(truth, guess)
    assert found["accuracy"] == pytest.approx(accuracy_score(truth, guess))
    assert found["macro_f1"] == pytest.approx(f1_score(truth, guess, average="macro"))
    a, b = rng.standard_normal((2, 50))
    assert number_scores(a, b)["pearson"] == pytest.approx(pearsonr(a, b).statistic)


def test_rouge_and_bleu_against_their_libraries_and_by_hand():
    import sacrebleu
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(["rouge1"])
    each = [scorer.score(a, b)["rouge1"].fmeasure for a, b in zip(ORIGINALS, TEXTS, strict=True)]
    assert rouge1(ORIGINALS, TEXTS) == pytest.approx(np.mean(each))
    assert rouge1(["hot green tea"], ["tea"]) == pytest.approx(0.5)  # precision 1, recall 1/3
    expected = sacrebleu.corpus_bleu(TEXTS, [ORIGINALS]).score
    assert bleu(ORIGINALS, TEXTS) == pytest.approx(expected)
    assert bleu(ORIGINALS, ORIGINALS) == pytest.approx(100)
    longer = [text + " and more" for text in TEXTS]
    expected = sacrebleu.corpus_bleu(longer, [ORIGINALS]).score  # which is the reference matters
    assert bleu(ORIGINALS, longer) == pytest.approx(expected)
    assert expected != pytest.approx(bleu(longer, ORIGINALS))


def test_unchanged_words():
    assert unchanged_words(ORIGINALS, TEXTS) == pytest.approx((6 + 3 + 0) / (7 + 5 + 2))
    assert unchanged_words(["a b c"], ["a b"]) == pytest.approx(2 / 3)
    assert unchanged_words(["a"], ["b a"]) == 0
    assert unchanged_words([""], ["a"]) == 0


@pytest.mark.encoder
def test_bert_score_against_a_slow_one():
    """Greedy matching of the last layer's states, written out."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    from discreet.encoders.encoder import DEFAULT, locate_model

    directory, _ = locate_model(DEFAULT)
    tokenizer, model = (k.from_pretrained(directory) for k in (AutoTokenizer, AutoModel))

    def states(text):
        with torch.inference_mode():
            out = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0]
        return torch.nn.functional.normalize(out, dim=-1)[1:-1]

    scores = []
    for original, text in zip(ORIGINALS, TEXTS, strict=True):
        alike = states(text) @ states(original).T
        precision, recall = alike.max(dim=1).values.mean(), alike.max(dim=0).values.mean()
        scores.append(float(2 * precision * recall / (precision + recall)))
    assert bert_score(ORIGINALS, TEXTS) == pytest.approx(np.mean(scores), abs=1e-4)
    assert bert_score([*ORIGINALS, "", "a"], [*TEXTS, " ", ""]) == pytest.approx(
        (sum(scores) + 1) / 5, abs=1e-4
    )
    with pytest.raises(InvalidValue, match="from 1 to 6"):
        bert_score(ORIGINALS, TEXTS, layer=7)


@pytest.mark.parametrize("score", [unchanged_words, rouge1, bleu, bert_score])
def test_texts_that_cannot_be_compared(score):
    with pytest.raises(InvalidValue, match="2 originals and 1 texts"):
        score(["a", "b"], ["a"])
    with pytest.raises(InvalidValue, match="0 originals"):
        score([], [])


def test_a_language_model_needs_text():
    with pytest.raises(InvalidValue, match="at least 1 word"):
        utility.fit_ngrams(["", " "], TOKENIZER)
    with pytest.raises(InvalidValue, match="1, 2 or 3"):
        utility.fit_ngrams(PUBLIC, TOKENIZER, order=4)
    with pytest.raises(InvalidValue, match="at least 1 text"):
        utility.cross_entropy(utility.fit_ngrams(PUBLIC, TOKENIZER), [])


def test_a_model_that_is_not_there():
    with pytest.raises(NotFound, match="check the path"):
        bert_score(["a"], ["b"], model="./nowhere")
