"""What reading along adds, as it was measured on public text."""

import numpy as np
import pytest

from discreet import Sanitizer, load_space
from discreet.evaluation import reading_along as module
from discreet.evaluation.explanation import explain
from discreet.evaluation.reading_along import Named, reading_along, setting_of
from discreet.mechanisms.word import NearWords, Uniform
from small_spaces import random_space


def near(epsilon=2.0, **given):
    return NearWords(random_space(), epsilon, **{"near": 1, "outputs": 30, **given})


def test_the_settings_that_ship_were_measured():
    space = load_space("english")
    for epsilon in (6.0, 8.0, 10.0, 12.0):
        readable = Sanitizer(
            NearWords(space, epsilon, guide="ngram"), public="function-words"
        ).mechanism
        for mechanism in (NearWords(space, epsilon), readable):
            named = reading_along(mechanism)
            assert named is not None, "run scripts/build_reading_along.py"
            assert 0 < named.single < named.along < 1


@pytest.mark.parametrize("other", [{"epsilon": 2.5}, {"near": 2}, {"outputs": 31}])
def test_what_was_measured_holds_for_one_setting(other, monkeypatch):
    measured = {setting_of(near()): {"named": [0.2, 0.3]}}
    monkeypatch.setattr(module, "_measured", lambda: measured)
    assert reading_along(near()) == Named(0.2, 0.3)
    assert reading_along(near(**other)) is None
    assert reading_along(Uniform(random_space())) is None


def test_an_explanation_tells_it(monkeypatch):
    measured = {setting_of(near()): {"named": [0.214, 0.318]}}
    monkeypatch.setattr(module, "_measured", lambda: measured)
    told = explain(near(), np.arange(20), ["word3"])
    assert told.to_dict()["reading_along"] == {"single": 0.214, "along": 0.318}
    assert any("names more, 0.32 instead of 0.21 of the words" in line for line in told.lines())
    other = explain(near(epsilon=3.0), np.arange(20), ["word3"])
    assert other.to_dict()["reading_along"] is None
    assert any("names more; --public-sample" in line for line in other.lines())
