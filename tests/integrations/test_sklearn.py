"""The transformer of scikit-learn: in a pipeline, by its rules, without learning anything."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError, SkipTestWarning
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks

from command import MARKER, WORDS
from discreet import DiscreetError
from discreet.integrations.sklearn import SanitizingTransformer
from discreet.randomness import SEEDED_CAVEAT

TEXTS = [f"{MARKER} {WORDS[row % 7]}" for row in range(20)]
# Those that do not ask for arrays of numbers.
CHECKS = (
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_valid_tag_types",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_get_params_invariance",
    "check_set_params",
    "check_mixin_order",
)


@pytest.fixture
def transformer(settings):
    return SanitizingTransformer(**settings)


@pytest.mark.parametrize("check", CHECKS)
def test_it_keeps_the_rules_of_scikit_learn(check, transformer):
    getattr(estimator_checks, check)("SanitizingTransformer", transformer)


def test_it_passes_what_check_estimator_can_ask_of_texts(transformer):
    with pytest.warns(SkipTestWarning, match="requires input"):
        found = estimator_checks.check_estimator(transformer)
    assert {each["status"] for each in found} == {"passed"}


def test_nobody_releases_at_an_epsilon_that_was_not_chosen():
    with pytest.raises(DiscreetError, match="needs epsilon"):
        SanitizingTransformer().fit(TEXTS)


def test_it_works_in_a_pipeline(transformer, is_released):
    labels = [row % 2 for row in range(20)]
    pipeline = make_pipeline(transformer, CountVectorizer(), MultinomialNB())
    pipeline.fit(TEXTS, labels)
    assert len(pipeline.predict(TEXTS)) == 20
    words = pipeline[1].get_feature_names_out()
    assert MARKER not in words
    assert pipeline[0].statement_.epsilon == 1.0
    frame = pd.DataFrame({"body": TEXTS, "stars": range(20)}, index=range(100, 120))
    chosen = ColumnTransformer([("body", transformer, ["body"])]).fit_transform(frame)
    assert all(is_released(text, 2) for text in chosen.ravel())
    assert chosen.shape == (20, 1)


@pytest.mark.parametrize(
    "texts", [TEXTS, tuple(TEXTS), np.array(TEXTS), pd.Series(TEXTS), np.array(TEXTS)[:, None]]
)
def test_texts_come_in_any_array(texts, transformer, is_released):
    out = transformer.fit(texts).transform(texts)
    assert isinstance(out, np.ndarray)
    assert out.shape == np.shape(texts)
    assert all(is_released(text, 2) for text in out.ravel())


def test_fit_looks_at_nothing(transformer):
    """Whatever is fitted, the same law comes out: a mutant that learnt would differ."""
    one = clone(transformer).set_params(random_state=3).fit(TEXTS)
    other = clone(transformer).set_params(random_state=3).fit(["quite", "different"])
    assert one.transform(TEXTS).tolist() == other.transform(TEXTS).tolist()
    assert SEEDED_CAVEAT in one.statement_.caveats
    fresh = transformer.fit()
    assert fresh.transform(TEXTS).tolist() != fresh.transform(TEXTS).tolist()
    assert not fresh.statement_.caveats


def test_what_cannot_be_used(transformer, settings):
    with pytest.raises(NotFittedError):
        transformer.transform(TEXTS)
    fitted = transformer.fit()
    with pytest.raises(DiscreetError, match="one dimension"):
        fitted.transform([[MARKER, MARKER]])
    with pytest.raises(DiscreetError, match=r"row 1 .* of type int") as refused:
        fitted.transform([MARKER, 3])
    assert MARKER not in str(refused.value)
    with pytest.raises(DiscreetError, match="accept_weak=True"):
        SanitizingTransformer(**settings | {"epsilon": 1000.0}).fit()
    with pytest.raises(DiscreetError, match="nonsense is not an option"):
        SanitizingTransformer(**settings, settings={"nonsense": 1}).fit()
