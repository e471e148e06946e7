"""The component of spaCy, in a real pipeline."""

import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from command import MARKER
from discreet.errors import InvalidValue

PROJECT = Path(__file__).parent.parent.parent / "pyproject.toml"


@pytest.fixture(scope="module", autouse=True)
def _library():
    """Loaded for the tests alone, as it takes a second in every process that collects them."""
    global SanitizingComponent, make_component, spacy
    import spacy

    from discreet.integrations.spacy import SanitizingComponent, make_component


@pytest.fixture
def pipeline(settings):
    nlp = spacy.blank("en")
    nlp.add_pipe("discreet", config=settings)
    return nlp


def test_a_document_has_its_released_text(pipeline, is_released):
    doc = pipeline(f"{MARKER} came home")
    assert doc.text == f"{MARKER} came home"
    assert is_released(doc._.discreet, 3)
    component = pipeline.get_pipe("discreet")
    assert isinstance(component, SanitizingComponent)
    assert component.statement.epsilon == 1.0


def test_nobody_releases_at_an_epsilon_that_was_not_chosen():
    with pytest.raises(InvalidValue, match="needs epsilon"):
        spacy.blank("en").add_pipe("discreet")


def test_many_documents_in_batches(pipeline, is_released):
    texts = [f"{MARKER} " * length for length in range(7)]
    docs = list(pipeline.pipe(iter(texts), batch_size=3))
    assert all(is_released(doc._.discreet, length) for length, doc in enumerate(docs))
    equal = [doc._.discreet for doc in pipeline.pipe([f"{MARKER} " * 30] * 4)]
    assert len(set(equal)) == 4


def test_a_weak_setting_is_refused(settings):
    with pytest.raises(ValueError, match="accept_weak=True"):
        spacy.blank("en").add_pipe("discreet", config=settings | {"epsilon": 1000.0})


def test_the_entry_point_names_the_factory():
    points = tomllib.loads(PROJECT.read_text())["project"]["entry-points"]["spacy_factories"]
    module, _, name = points["discreet"].partition(":")
    assert getattr(import_module(module), name) is make_component
