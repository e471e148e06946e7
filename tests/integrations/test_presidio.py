"""The operator of Presidio, in its own engine: what was found is replaced, the rest passes."""

import pytest

from command import MARKER, UNKNOWN, WORDS
from discreet import DiscreetError
from discreet.release.choice import chosen_sanitizer

TEXT = f"Ask {MARKER} Roe about the lamp"


@pytest.fixture(scope="module", autouse=True)
def _library():
    """Loaded for the tests alone, as it takes a second in every process that collects them."""
    global FOUND_ALONE, AnonymizerEngine, InvalidParamError, NearWords, OperatorConfig
    global RecognizerResult, near_words, statement_of
    from presidio_anonymizer import AnonymizerEngine
    from presidio_anonymizer.entities import InvalidParamError, OperatorConfig, RecognizerResult

    from discreet.integrations.presidio import FOUND_ALONE, NearWords, near_words, statement_of


@pytest.fixture
def engine():
    made = AnonymizerEngine()
    made.add_anonymizer(NearWords)
    return made


def found(start, end):
    return [RecognizerResult("PERSON", start, end, 0.9)]


def test_only_what_was_found_is_replaced(engine, sanitizer):
    config = near_words(sanitizer)
    start = TEXT.index(MARKER)
    end = TEXT.index(" about")
    result = engine.anonymize(TEXT, found(start, end), operators={"DEFAULT": config})
    first, *replaced, about, the, lamp = result.text.split()
    assert [first, about, the, lamp] == ["Ask", "about", "the", "lamp"]
    assert len(replaced) == 2
    assert set(replaced) <= {UNKNOWN, *WORDS}
    assert result.items[0].operator == "near_words"
    assert FOUND_ALONE in statement_of(config).caveats
    assert statement_of(config).epsilon == 1.0


def test_it_needs_a_sanitizer(engine, settings):
    with pytest.raises(InvalidParamError, match="near_words\\(epsilon"):
        engine.anonymize(TEXT, found(0, 3), operators={"DEFAULT": OperatorConfig("near_words", {})})
    with pytest.raises(DiscreetError, match="accept_weak"):
        near_words(**settings | {"epsilon": 1000.0})
    weak = chosen_sanitizer(**settings | {"epsilon": 1000.0}, accept_weak=True)
    with pytest.raises(DiscreetError, match="accept_weak"):
        near_words(weak)
    with pytest.raises(DiscreetError, match="not both"):
        near_words(weak, epsilon=1.0)
    assert near_words(weak, accept_weak=True).operator_name == "near_words"
    assert near_words(**settings).operator_name == "near_words"
