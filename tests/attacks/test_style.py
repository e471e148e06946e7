"""Words and runs of letters as numbers, and the regression on them, against another package's."""

import numpy as np
import pytest

from discreet.attacks.style import StyleFeatures
from discreet.attacks.wide_logistic import wide_logistic

TEXTS = [
    "the cat sat on a mat",
    "the dog sat  on the cat",
    "a dög , a\tmat , a cat .",
    "on and on the mat the dog sat",
    "",
]


def _of_another(texts, others, **settings):
    from sklearn.feature_extraction.text import TfidfVectorizer

    maker = TfidfVectorizer(sublinear_tf=True, lowercase=False, min_df=2, **settings)
    return maker.fit(texts).transform(others).toarray()


def _inner(table):
    return table @ table.T


def test_features_are_those_of_another_implementation():
    # It counts letters where we count bytes, and the run of a word that is shorter than it once
    # more: so letters of one byte, and words of two letters at least.
    texts = [text.replace("ö", "o") for text in TEXTS]
    texts = [" ".join(word for word in text.split() if len(word) > 1) for text in texts]
    others = ["the cat sat with one rat", "mat mat mat"]
    found, _ = StyleFeatures.learnt(texts)
    words = _of_another(texts, others, token_pattern=r"\S+")
    runs = _of_another(texts, others, analyzer="char_wb", ngram_range=(2, 4))
    theirs = _inner(words) + _inner(runs)  # whatever the order of the columns is
    assert _inner(found.table(others).toarray()) == pytest.approx(theirs, abs=1e-12)


def test_nothing_runs_from_one_text_into_the_next():
    found, _ = StyleFeatures.learnt(["ab", "cd"] * 2)
    assert np.array_equal(found.table(["ab", "cd"]).toarray()[:1], found.table(["ab"]).toarray())
    runs = {run.to_bytes(4, "big").strip(b"\0").decode() for run in found.runs.tolist()}
    assert runs == {
        *(" a", "ab", "b ", " ab", "ab ", " ab "),
        *(" c", "cd", "d ", " cd", "cd ", " cd "),
    }


def test_texts_without_words_are_rows_of_nothing():
    found, _ = StyleFeatures.learnt(["", " "])
    assert found.table(["a cat", ""]).shape == (2, 0)
    assert StyleFeatures.learnt(TEXTS)[0].table([""]).nnz == 0


@pytest.mark.parametrize("classes", [2, 3])
def test_the_regression_is_that_of_another_implementation(classes):
    from scipy.sparse import csr_array
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(classes)
    table = rng.standard_normal((30, 200)) * (rng.random((30, 200)) < 0.2)
    labels = np.arange(30) % classes
    weights = wide_logistic(csr_array(table), labels, classes, 0.05)
    model = LogisticRegression(C=20.0, fit_intercept=False, tol=1e-8, max_iter=10_000)
    said = model.fit(table, labels).predict_proba(table)
    ours = np.exp(table @ weights)
    ours /= ours.sum(axis=1, keepdims=True)
    if classes > 2:  # of two classes it has one set of weights, and another penalty
        assert ours == pytest.approx(said, abs=2e-3)
    assert (ours.argmax(axis=1) == labels).all()
    # At the smallest loss the slope is 0.
    slope = table.T @ (ours - np.eye(classes)[labels]) + 0.05 * weights
    assert np.abs(slope).max() < 5e-3
