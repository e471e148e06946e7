"""A profile made ready to release texts: many requests in one call, each with what is its own.

The noise of every word is drawn for that word, so releasing the texts of several requests together
changes nothing of the law. What is counted and what is mapped is kept apart by request.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import numpy as np

from discreet.arrays import Generator, Progress
from discreet.errors import InvalidValue
from discreet.ledger import Charge
from discreet.mechanisms.registry import default_space
from discreet.protocols import WordMechanism
from discreet.randomness import secure_generator
from discreet.receipt import Receipt
from discreet.release.choice import chosen_mechanism
from discreet.release.strength import refuse_weak_words
from discreet.release.text import READABLE, Sanitizer, about_sanitizer
from discreet.release.whole import DELTA, Copies, Wholes
from discreet.service.policy import Profile
from discreet.spaces import EmbeddingSpace, load_space
from discreet.statement import PrivacyStatement
from discreet.text.identifiers import Identifiers, SurrogateMapping
from discreet.text.identifiers.replace import Cut

Entry = tuple[int, str, Any]
"""The number of a document, a surrogate in it, and the value, or where in the text it stands."""


Replaced = tuple[dict[str, int], list[Entry]]
"""How many identifiers of each type a request had, and what was replaced."""

_VARYING = ("identifiers", "counts", "whole", "written", "output")
"""Sections of a receipt that differ from request to request."""


@dataclass(frozen=True, eq=False)
class Job:
    """The texts of one request."""

    texts: Sequence[str] = field(repr=False)
    scope: Any = field(default=None, repr=False)
    """What surrogates of each text are consistent within, such as conversations."""
    account: str | None = None
    """Whom the ledger is to charge, if anybody."""
    command: str = "serve"
    persons: Sequence[str] | None = field(default=None, repr=False)
    """Whose each text is, for the ledger."""
    together: bool = False
    """Whether its texts count as one document."""
    mapped: bool = False
    """Whether what was replaced is given back to whoever asked."""


class IdentifierCutter:
    """What a sanitizer asks for identifiers, answered for the requests whose texts it has."""

    public: tuple[str, ...]
    caveats: tuple[str, ...]
    about: dict[str, Any]
    jobs: Sequence[Job] = ()
    """The requests of this moment."""
    replaced: Sequence[Replaced] = ()
    """What was replaced in each of them."""

    def cut(self, texts: Sequence[str], rng: Generator) -> Cut:  # noqa: ARG002
        """All texts of the requests without their identifiers."""
        cut, self.replaced = self.cut_jobs(self.jobs, rng)
        return cut

    def cut_jobs(self, jobs: Sequence[Job], rng: Generator) -> tuple[Cut, list[Replaced]]:
        """All their texts without their identifiers, and what was replaced in each request."""
        raise NotImplementedError


class _Collector(SurrogateMapping):
    """Holds what was replaced for the time of one call, and is then empty again."""

    def add(self, documents: int, entries: Iterable[Entry]) -> None:  # noqa: ARG002
        self.taken = list(entries)


class RequestCutter(IdentifierCutter):
    """Surrogates as ``discreet sanitize`` makes them: nothing is shared but within a document."""

    def __init__(self, profile: Profile) -> None:
        self._collector = _Collector()
        self._identifiers = Identifiers(
            profile.identifiers or "rules", consistent=profile.consistent, mapping=self._collector
        )
        self.public = self._identifiers.public
        self.caveats = self._identifiers.caveats
        self.about = self._identifiers.about | {"mapping_kept": False}

    def cut_jobs(self, jobs: Sequence[Job], rng: Generator) -> tuple[Cut, list[Replaced]]:
        """All their texts without their identifiers, and what was replaced in each request."""
        try:
            cut = self._identifiers.cut([text for job in jobs for text in job.texts], rng)
            taken = self._collector.taken
        finally:
            self._collector.taken = []
        replaced: list[Replaced] = [({}, []) for _ in jobs]
        if taken:
            owners = [
                (replaced[number], place)
                for number, job in enumerate(jobs)
                for place in range(len(job.texts))
            ]
            for (document, surrogate, value), kind in zip(taken, cut.types, strict=True):
                (counts, entries), place = owners[document]
                counts[kind] = counts.get(kind, 0) + 1
                entries.append((place, surrogate, value))
        return cut, replaced


@dataclass(frozen=True, eq=False)
class JobRelease:
    """What was released for one request."""

    texts: list[str] = field(repr=False)
    draws: list[int] = field(repr=False)
    """How many words of each text were drawn."""
    identifiers: Mapping[str, int]
    entries: list[Entry] = field(repr=False)
    """Protected: they go to whoever sent the texts, or are forgotten."""
    documents: str = field(repr=False)
    """The texts as JSON."""
    receipt: str
    """As JSON. Its SHA-256 is in the ledger."""

    @property
    def words(self) -> int:
        """How many words were drawn."""
        return sum(self.draws)


class Vocabularies:
    """Spaces by name, each read once."""

    def __init__(self) -> None:
        self._spaces: dict[tuple[str, int | None], EmbeddingSpace] = {}

    def of(self, profile: Profile, progress: Progress | None = None) -> EmbeddingSpace:
        """The space of a profile."""
        key = (profile.space or default_space(profile.mechanism), profile.max_words)
        if key not in self._spaces:
            self._spaces[key] = load_space(key[0], max_words=key[1], progress=progress)
        return self._spaces[key]


class TextReleaser:
    """A profile with everything it needs in memory.

    Args:
        profile: of the policy.
        vocabularies: where spaces are kept.
        cutter: what replaces identifiers; the profile's own unless given.
        progress: of certifying a space.

    Raises:
        InvalidValue: the setting is weak, and the profile does not accept that.
    """

    def __init__(
        self,
        profile: Profile,
        vocabularies: Vocabularies | None = None,
        *,
        cutter: IdentifierCutter | None = None,
        mechanism: WordMechanism | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.profile = profile
        space = (vocabularies or Vocabularies()).of(profile, progress)
        if cutter is None and profile.identifiers is not None:
            cutter = RequestCutter(profile)
        self._cutter = cutter
        shown: Mapping[str, Any] = READABLE
        if not profile.readable:
            shown = {
                "layout": profile.layout, "public": profile.public, "polish": profile.polish,
            }  # fmt: skip
        self.sanitizer = Sanitizer(
            mechanism
            or chosen_mechanism(
                profile.mechanism,
                space,
                profile.settings,
                readable=profile.readable,
                public=shown["public"],
                progress=progress,
            ),
            identifiers=cutter,  # type: ignore[arg-type]
            repeat=profile.repeat,
            **shown,
        )
        self.mechanism: WordMechanism = self.sanitizer.mechanism
        if not profile.accept_weak:
            refuse_weak_words(self.sanitizer, "set accept_weak in the profile")
        self.statement: PrivacyStatement = self.sanitizer.statement
        self._about = about_sanitizer(self.sanitizer, {})
        fixed = {name: each for name, each in self._about.items() if name not in _VARYING}
        self._fixed_json = json.dumps(Receipt(self.statement, fixed).to_dict())
        self.statement_json = json.dumps(self.statement.to_dict())
        self._rng = secure_generator()
        self.whole = lru_cache(4096)(self._tell_whole)
        self._found = lru_cache(4096)(self._tell_found)
        self._lifted = lru_cache(4096)(self._lift)
        self.release([Job([""])])  # whatever is made on first use is made now

    def release(self, jobs: Sequence[Job]) -> list[JobRelease]:
        """Release the texts of some requests, in one call; from one thread at a time."""
        texts = [text for job in jobs for text in job.texts]
        replaced: Sequence[Replaced] = [({}, [])] * len(jobs)
        try:
            if self._cutter is None:
                release = self.sanitizer.sanitize(texts, self._rng)
            else:
                self._cutter.jobs = jobs
                release = self.sanitizer.sanitize(texts, self._rng)
                replaced = self._cutter.replaced
        finally:
            self.sanitizer.forget()
            if self._cutter is not None:
                self._cutter.jobs = self._cutter.replaced = ()
        if release.draws is None:
            raise InvalidValue("this mechanism does not say how many draws a text took")
        draws, start = release.draws.tolist(), 0
        written = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
        outcomes = []
        for job, (counts, entries) in zip(jobs, replaced, strict=True):
            own = slice(start, start := start + len(job.texts))
            documents = json.dumps(release.values[own])
            receipt = self._receipt(documents, draws[own], counts, job.mapped, written)
            outcomes.append(
                JobRelease(release.values[own], draws[own], counts, entries, documents, receipt)
            )
        return outcomes

    def _receipt(
        self, documents: str, draws: list[int], types: dict[str, int], mapped: bool, written: str
    ) -> str:
        """What is said of it, as JSON; what was written before is not written anew."""
        raw = documents.encode()
        parts = [self._fixed_json[1:-1], self.whole(max(draws, default=0))]
        if "identifiers" in self._about:
            parts.append(self._found(tuple(sorted(types.items())), mapped))
        parts.append(
            f'"counts": {{"documents": {len(draws)}, "words": {sum(draws)}}}, '
            f'"written": "{written}", '
            f'"output": {{"sha256": "{hashlib.sha256(raw).hexdigest()}", "bytes": {len(raw)}}}'
        )
        return "{" + ", ".join(parts) + "}"

    def charge(self, job: Job, outcome: JobRelease, dataset: str) -> Charge:
        """What a ledger books for it, all replaced.

        That is the text with most draws, copies of it added up, or each person's texts.
        """
        if job.persons is not None:
            lifted = self._lift(outcome.draws, job.persons)
        elif job.together or len(job.texts) == 1:
            lifted = self._lifted(outcome.words)
        else:
            copies = Copies()
            copies.add((job.texts, outcome.draws))
            lifted = self._lifted(copies.most)
        return replace(lifted, dataset=dataset, command=job.command, units=outcome.words)

    def _lift(self, draws: Sequence[int] | int, persons: Sequence[str] | None = None) -> Charge:
        return Charge.of_draws(
            self.statement,
            draws,
            dataset="any",
            command="serve",
            persons=persons,
            law=getattr(self.mechanism, "unit_loss", None),
            mechanism=self.profile.mechanism,
        )

    def _tell_whole(self, draws: int) -> str:
        wholes = Wholes()
        wholes.add(np.array([draws]))
        counted = "words" + ", repetitions not counted" * (self.profile.repeat == "once")
        told = wholes.told(self.statement, self.mechanism, DELTA, counted)
        return json.dumps({"whole": told})[1:-1]

    def _tell_found(self, types: tuple[tuple[str, int], ...], mapped: bool) -> str:
        own = {"types": dict(types), "mapping_kept": mapped}
        return json.dumps({"identifiers": self._about["identifiers"] | own})[1:-1]
