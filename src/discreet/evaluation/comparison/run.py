"""A comparison from beginning to end: every mechanism at every setting, on one bench.

Nothing is measured before everything that was asked for could be made: a wrong name, a missing
setting or a text that says nothing is an error in the first seconds. Parts that are done are kept,
so that a run that was stopped goes on.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from time import monotonic
from types import MappingProxyType
from typing import Any

import numpy as np

from discreet.attacks.attacker import is_broken
from discreet.attacks.outcome import Estimate
from discreet.encoders.settings import EncoderSettings
from discreet.errors import InvalidValue
from discreet.evaluation.comparison.bench import Bench
from discreet.evaluation.comparison.contenders import Contender
from discreet.evaluation.comparison.documents import DocumentRow, document_rows, documents_of
from discreet.evaluation.comparison.parts import Job, Parts, finished
from discreet.evaluation.comparison.turned import epsilon_at
from discreet.evaluation.comparison.vectors import VectorRow, different_texts, vector_rows
from discreet.protocols import WordMechanism
from discreet.release.whole import DELTA, Wholes
from discreet.statement import PrivacyStatement

_SENTENCES, _DOCUMENTS = "sentence vectors", "document vectors"
WORD_ATTACKERS = ("exact", "contextual", "watching")
"""Those whose success is a share of words; the best of them counts."""


@dataclass(frozen=True)
class ComparisonRow:
    """What was measured of one mechanism at one setting.

    Attributes:
        label: The mechanism with its settings.
        epsilon: None if it has none.
        utility: By name, the figure with its interval.
        attackers: By name, the success with its interval.
        authorship: By name, the success with its interval.
        statement: What is guaranteed for a word, shortly; empty if nothing is.
        document: What is guaranteed for a text of the typical length.
        speed: Words per second; None where nothing is drawn.
        bound: What no attacker on single words can exceed, where that is known.
        samples: The first texts as released.
        words: How many words were attacked.
        note: What there is to say beside the figures.
        peer: Whether it is another package's.
        space: The vocabulary that it worked in.
    """

    label: str
    epsilon: float | None
    utility: Mapping[str, Estimate]
    attackers: Mapping[str, Estimate]
    authorship: Mapping[str, Estimate] = field(default_factory=dict)
    statement: str = ""
    document: str = ""
    speed: float | None = None
    bound: float | None = None
    samples: Sequence[str] = field(default=(), repr=False)
    words: int = 0
    note: str = ""
    peer: bool = False
    space: str = ""

    @property
    def setting(self) -> str:
        """The mechanism and its epsilon."""
        return self.label if self.epsilon is None else f"{self.label}, epsilon {self.epsilon:.4g}"

    @property
    def best_attacker(self) -> tuple[str, Estimate] | None:
        """Who names most words."""
        tried = {name: each for name, each in self.attackers.items() if name in WORD_ATTACKERS}
        return max(tried.items(), key=lambda one: one[1].value) if tried else None

    def worth(self, measure: str) -> Estimate | None:
        """A figure of utility, if it was measured."""
        return self.utility.get(measure)

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "ComparisonRow":
        """From what was kept."""
        estimates: dict[str, Any] = {
            name: {key: Estimate(*each) for key, each in values.get(name, {}).items()}
            for name in ("utility", "attackers", "authorship")
        }
        plain = {
            name: values[name]
            for name in cls.__dataclass_fields__
            if name in values and name not in estimates
        }
        return cls(**plain, **estimates)


@dataclass(frozen=True)
class Comparison:
    """All rows, and what they are read against.

    Attributes:
        rows: Mechanisms at their settings, in the order that was asked for.
        raw: The texts without protection.
        chance: Words that are named without a look at the release.
        texts: How many texts were used.
        words: How many words they have.
        attacked: How many words were attacked.
        classes: How many labels there are; 0 without.
        commonest: The share of the commonest label.
        authors: How many authors there are; 0 without.
        measure: The figure of utility that decides.
        at: The attackers' success that settings were chosen for, if that was asked.
        space: The name of the vocabulary, of the texts without protection and of most rows.
        broken: Attackers that do not beat chance on the texts as they are.
        vectors: What sentence vectors are worth for search, if that was asked.
        documents: What document vectors are worth, if that was asked and the texts are documents.
    """

    rows: tuple[ComparisonRow, ...]
    raw: ComparisonRow
    chance: float
    texts: int
    words: int
    attacked: int
    classes: int
    commonest: float
    authors: int
    measure: str
    at: float | None
    space: str
    broken: tuple[str, ...] = ()
    vectors: tuple[VectorRow, ...] = ()
    documents: tuple[DocumentRow, ...] = ()

    @property
    def guessing(self) -> float:
        """What the measure is for who always names the commonest label; 0 where it needs none."""
        if self.measure == "similarity":
            return 0.0
        if self.measure == "accuracy":
            return self.commonest
        return 2 * self.commonest / (1 + self.commonest) / max(1, self.classes)

    @property
    def nothing_learnt(self) -> bool:
        """Whether the texts themselves do not tell their labels: then no release can."""
        bare = self.raw.worth(self.measure)
        return bare is not None and not bare.low > self.guessing

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; without the texts."""
        values = asdict(self)
        for row in (*values["rows"], values["raw"]):
            row.pop("samples")
        return values


Say = Callable[[str], None]


def compared(
    bench: Bench,
    entries: Sequence[Contender],
    folder: Path,
    *,
    elsewhere: Mapping[str, Bench] = MappingProxyType({}),
    measure: str = "accuracy",
    at: float | None = None,
    peers: Sequence[tuple[str, Callable[[], Mapping[str, Any]]]] = (),
    vectors: bool = False,
    workers: int = 1,
    say: Say = lambda _line: None,
    progress: Callable[[int, int], None] | None = None,
) -> Comparison:
    """Measure everything that is not in the folder yet.

    Args:
        bench: Where.
        entries: What.
        folder: Where finished parts are kept.
        elsewhere: For mechanisms by name, the bench of another vocabulary with the same texts.
        measure: The figure of utility that decides; ``similarity`` where there are no labels.
        at: Instead of the epsilons of the mechanisms, the one at which the best attacker names this
            share of words.
        peers: Other packages: a name, and what measures it at all its settings.
        vectors: Whether vectors of sentences and documents are measured too; needs the encoder.
        workers: How many parts are measured at a time, each by a process.
        say: Called with a line for people after every part.
        progress: Called with (parts done, of how many).
    """
    if bench.task.labels is None:
        measure = "similarity"
    parts = _parts(bench, folder)
    search = _search(bench, parts) if vectors else []
    others: list[Job] = [(f"peer {name}", parts, job) for name, job in peers]
    own = [
        job
        for entry in entries
        for job in _jobs(elsewhere.get(entry.name, bench), entry, folder, at)
    ]
    plain: Job = ("without protection", parts, partial(_raw, bench))
    jobs = [*search, plain, *others, *own]
    benches = {id(each): each for each in (bench, *elsewhere.values())}.values()
    start, made = monotonic(), 0
    done_parts = finished(jobs, workers, [each.prepare for each in benches])
    for done, (name, known) in enumerate(done_parts, 1):
        made += not known
        left = (monotonic() - start) / max(made, 1) * (len(jobs) - done) / 60
        soon = f"; about {left:.0f} min left" if left >= 1 else ""
        say(f"{done} of {len(jobs)}: {name}{', kept from before' if known else soon}")
        if progress is not None:
            progress(done, len(jobs))

    def kept(some: Sequence[Job]) -> list[dict[str, Any]]:
        return [where.get(name, compute) for name, where, compute in some]

    raw = ComparisonRow.of(kept([plain])[0])
    rows = [ComparisonRow.of(each) for each in kept(own)]
    rows += [ComparisonRow.of(each) for peer in kept(others) for each in peer["rows"]]
    search_rows = {job[0]: each["rows"] for job, each in zip(search, kept(search), strict=True)}
    labels = bench.task.labels
    commonest = 0.0 if labels is None else float(np.bincount(labels).max() / len(labels))
    authors = 0 if bench.task.authors is None else int(bench.task.authors.max()) + 1
    return Comparison(
        tuple(rows),
        raw,
        bench.attack.chance,
        len(bench.batch),
        bench.batch.tokens,
        raw.words,
        bench.task.classes,
        commonest,
        authors,
        measure,
        at,
        bench.space.name + (", function words pass" if bench.function_words else ""),
        (*_broken(raw, bench.attack.chance, authors), *_above_bound(rows)),
        tuple(VectorRow(**each) for each in search_rows.get(_SENTENCES, ())),
        tuple(DocumentRow.of(each) for each in search_rows.get(_DOCUMENTS, ())),
    )


def _broken(raw: ComparisonRow, chance: float, authors: int) -> tuple[str, ...]:
    """Attackers that do not beat chance where nothing is protected."""
    levels = dict.fromkeys(WORD_ATTACKERS, chance) | {"membership": 0.5}
    tried = [(name, raw.attackers[name], levels[name]) for name in levels if name in raw.attackers]
    tried += [
        (f"authorship, {name}", each, (5 if "top" in name else 1) / authors)
        for name, each in raw.authorship.items()
        if "top" not in name or authors > 5  # among five, everybody is among the top five
    ]
    return tuple(name for name, each, level in tried if is_broken(each, level))


def _above_bound(rows: Sequence[ComparisonRow]) -> tuple[str, ...]:
    """The attacker on single words, if it names more than any could: then it was told too much."""
    above = any(
        row.bound is not None
        and "exact" in row.attackers
        and row.attackers["exact"].low > row.bound
        for row in rows
    )
    return ("exact, above its bound",) if above else ()


def _parts(bench: Bench, folder: Path) -> Parts:
    """What is done of everything that is measured on a bench."""
    settings = {
        "effort": asdict(bench.effort),
        "task": bench.task.fingerprint,
        "space": bench.space.name,
        "words": len(bench.space),
        "encoder": bench.encoder,
        "judges": list(bench.judges),
        "function words": bench.function_words,
    }
    return Parts(folder, settings)


def _jobs(bench: Bench, entry: Contender, folder: Path, at: float | None) -> list[Job]:
    """What is to be measured, each under its name; all that is missing was made once already."""
    parts = _parts(bench, folder)
    if at is not None:
        if not 0 < at < 1:
            raise InvalidValue("--at attacker=SHARE must be between 0 and 1")
        return [(f"{entry.label} at {at:g}", parts, partial(_turned, bench, entry, at))]
    jobs: list[Job] = []
    for epsilon in entry.epsilons:
        name = entry.label if epsilon is None else f"{entry.label} epsilon {epsilon:g}"
        built = None if parts.has(name) else bench.built(entry, epsilon)
        jobs.append((name, parts, partial(_at, bench, entry, epsilon, built)))
    return jobs


def _search(bench: Bench, parts: Parts) -> list[Job]:
    """A missing encoder and too few texts show here, before anything is measured."""
    texts = different_texts(bench.task.texts[: bench.effort.searched])
    model, read = bench.reading.model or EncoderSettings().load(), documents_of(bench.reading)
    sentences = partial(_table, vector_rows, model.encode, texts)
    jobs: list[Job] = [(_SENTENCES, parts, sentences)]
    if read is not None:
        documents = partial(_table, document_rows, model, bench.reading, read)
        jobs.append((_DOCUMENTS, parts, documents))
    return jobs


def _table(measure: Callable[..., Sequence[Any]], *what: Any) -> dict[str, Any]:
    return {"rows": [asdict(row) for row in measure(*what)]}


def _raw(bench: Bench) -> dict[str, Any]:
    return {"label": "no protection", "epsilon": None, **bench.measured(None)}


def _at(
    bench: Bench, entry: Contender, epsilon: float | None, built: WordMechanism | None
) -> dict[str, Any]:
    made = bench.built(entry, epsilon) if built is None else built
    return _of(bench, entry.label, epsilon, made)


def _of(
    bench: Bench, label: str, epsilon: float | None, mechanism: WordMechanism, note: str = ""
) -> dict[str, Any]:
    return {
        "label": label,
        "epsilon": epsilon,
        "statement": shortly(mechanism.statement),
        "document": _document(mechanism, bench.typical),
        "note": note,
        "space": bench.space.name,
        **bench.measured(mechanism),
    }


def _turned(bench: Bench, entry: Contender, at: float) -> dict[str, Any]:
    if entry.epsilons == (None,):
        return _of(bench, entry.label, None, bench.built(entry, None), "has no epsilon")
    nearest = epsilon_at(
        lambda epsilon: bench.success(bench.built(entry, epsilon)), at, entry.epsilons
    )
    note = "" if nearest.reached else f"{at:g} is not reached: the nearest is shown"
    return _of(bench, entry.label, nearest.epsilon, bench.built(entry, nearest.epsilon), note)


def shortly(statement: PrivacyStatement) -> str:
    """A guarantee in a few words, for a table."""
    if statement.notion == "none":
        return "none"
    if statement.metric is None:
        delta = f", delta {statement.delta:.2g}" if statement.delta else ""
        return f"any two words: {statement.epsilon:.3g}{delta}"
    slack = statement.slack
    nearest = statement.metric.nearest
    far = statement.epsilon * statement.metric.farthest + slack
    near = "" if nearest is None else f"; nearest two {statement.epsilon * nearest + slack:.3g}"
    only = "sensitive words only, " if "utility" in statement.notion else ""
    return f"{only}by distance: any two at most {far:.3g}{near}"


def _document(mechanism: WordMechanism, words: int) -> str:
    wholes = Wholes()
    wholes.add(np.array([max(1, words)]))
    told = wholes.told(mechanism.statement, mechanism, DELTA, "words")["document"]["statement"]
    if told is None or not math.isfinite(told["epsilon"]):
        return f"{words} words: nothing"
    delta = f", delta {told['delta']:.0e}" if told.get("delta") else ""
    return f"{words} words: {told['epsilon']:.3g}{delta}"
