"""What mechanisms are compared on: texts with labels or authors, and public text beside them."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from discreet.arrays import Ids
from discreet.attacks.authorship import authors_of
from discreet.errors import InputError, InvalidValue
from discreet.settings import Setting, Settings
from discreet.text.labelled import read_labelled

FEWEST = 20
"""Texts without which no figure says anything."""


@dataclass(frozen=True, kw_only=True)
class Effort(Settings):
    """How much is measured; every figure says how sure it is."""

    texts: int = Setting("Texts of INPUT to use, drawn at random.", at_least=1).default(5000)
    longest: int = Setting("Words of a text to use: the first so many.", at_least=1).default(200)
    attacked: int = Setting("Words to attack, in whole texts; about so many.", at_least=1).default(
        6000
    )
    encoded: int = Setting(
        "Texts of usual length for the encoder; fewer of long ones.", at_least=1
    ).default(200)
    judged: int = Setting(
        "Words whose fluency language models judge, in whole texts.", at_least=1
    ).default(1000)
    asked: int = Setting(
        "Words that another package is asked to release at a setting.", at_least=60
    ).default(600)
    searched: int = Setting("Texts among which a search is tried.", at_least=50).default(1000)
    seeds: int = Setting("Releases of each setting.", at_least=1).default(1)
    folds: int = Setting(
        "Parts of the texts; each is tested by what learnt from others.", at_least=2
    ).default(5)
    seed: int = Setting("Chooses texts, folds and noise.", at_least=0).default(0)


QUICK = Effort(
    texts=800, longest=100, attacked=1200, encoded=80, judged=200, asked=120, searched=300
)
"""A few minutes for the standard mechanisms."""


@dataclass(frozen=True)
class Task:
    """The texts, what is known of each, and public text.

    Attributes:
        texts: Of INPUT, a sample in their order.
        labels: Of each as a number; None if none were named.
        authors: Of each as a number; None if none were named.
        folds: Which fold each is in.
        public: Public texts, which attackers know.
        classes: How many labels there are.
        fingerprint: Of all of it.
    """

    texts: list[str] = field(repr=False)
    labels: Ids | None = field(repr=False)
    authors: Ids | None = field(repr=False)
    folds: Ids = field(repr=False)
    public: list[str] = field(repr=False)
    classes: int
    fingerprint: str

    @classmethod
    def read(
        cls,
        source: str,
        public: str,
        effort: Effort,
        *,
        text_field: str = "text",
        label_field: str | None = None,
        author_field: str | None = None,
    ) -> "Task":
        """Read both files and choose a sample; refuses what could not be measured."""
        if Path(source).exists() and Path(public).exists() and Path(source).samefile(public):
            raise InputError(
                "INPUT and --public are the same file; attackers must not know the texts they "
                "attack"
            )
        texts = read_labelled(source, text_field=text_field, label_field=label_field)
        authors = None
        if author_field is not None:
            authors = read_labelled(source, text_field=text_field, label_field=author_field).labels
        known = read_labelled(public, text_field=text_field, label_field=None).texts
        return cls.of(texts.texts, texts.labels, authors, known, effort)

    @classmethod
    def of(
        cls,
        texts: Sequence[str],
        labels: Sequence[str] | None,
        authors: Sequence[str] | None,
        public: Sequence[str],
        effort: Effort,
    ) -> "Task":
        """A sample of texts that are in memory."""
        whole = [row for row, text in enumerate(texts) if text.strip()]
        fewest = max(FEWEST, 2 * effort.folds)
        known = [text for text in public if text.strip()]
        for count, what in ((len(whole), "INPUT"), (len(known), "--public")):
            if count < fewest:
                raise InvalidValue(
                    f"{what} must have at least {fewest} texts that are not empty, for "
                    f"{effort.folds} folds; it has {count}"
                )
        groups = authors if authors is not None else labels
        rows = _drawn(np.array(whole), groups, effort)
        classes, numbers, writers = 0, None, None
        if labels is not None:
            numbers, classes = _classes([labels[row] for row in rows], effort.folds)
        if authors is not None:
            writers, _ = authors_of([authors[row] for row in rows], effort.folds)
        chosen = [texts[row] for row in rows]
        rng = np.random.default_rng(effort.seed)
        groups_of = writers if writers is not None else numbers
        folds = _folds(len(rows), groups_of, effort.folds, rng)
        digest = hashlib.sha256()
        for part in (chosen, known):
            for text in part:
                encoded = text.encode("utf-8", "surrogatepass")
                digest.update(len(encoded).to_bytes(8, "little") + encoded)
        for known_of in (numbers, writers):
            digest.update(b"-" if known_of is None else np.ascontiguousarray(known_of).tobytes())
        return cls(chosen, numbers, writers, folds, known, classes, digest.hexdigest())


def _classes(labels: Sequence[str], folds: int) -> tuple[Ids, int]:
    names, numbers, counts = np.unique(np.asarray(labels), return_inverse=True, return_counts=True)
    if len(names) < 2:
        raise InvalidValue(
            "the texts all have one label, and nothing can be learnt from that; a comparison needs "
            "at least 2 different labels"
        )
    if counts.min() < folds:
        raise InvalidValue(
            f"every label needs at least {folds} texts, one for each fold; the rarest of "
            f"{len(names)} labels has {counts.min()} in the sample. Use more texts, "
            "fewer folds, or drop rare labels"
        )
    return numbers.astype(np.int64), len(names)


def _drawn(rows: Ids, groups: Sequence[str] | None, effort: Effort) -> Ids:
    """Rows at random, as many of each group as of any other as far as there are; in their order."""
    if len(rows) <= effort.texts:
        return rows
    rng = np.random.default_rng(effort.seed)
    mixed = rng.permutation(rows)
    if groups is None:
        return np.sort(mixed[: effort.texts])
    _, group = np.unique(np.asarray([groups[row] for row in mixed]), return_inverse=True)
    order = np.argsort(_number_within(group), kind="stable")
    return np.sort(mixed[order[: effort.texts]])


def _folds(count: int, groups: Ids | None, folds: int, rng: np.random.Generator) -> Ids:
    """Folds of about one size, in each of which all groups have their share."""
    mixed = rng.permutation(count)
    if groups is not None:  # one group after the other, dealt like cards
        mixed = mixed[np.argsort(groups[mixed], kind="stable")]
    out = np.empty(count, dtype=np.int64)
    out[mixed] = np.arange(count) % folds
    return out


def _number_within(group: Ids) -> Ids:
    """For each entry how many of its group stand before it."""
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], group[order])
    out = np.empty(len(group), dtype=np.int64)
    out[order] = np.arange(len(group)) - starts
    return out
