"""``discreet.sanitize``: whatever holds texts in, the same kind of thing out, with its guarantee.

Lists, tables of pandas, polars, Arrow and Hugging Face datasets, and iterators. A column of which
nobody said what becomes of it is an error here as it is for files.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from discreet.arrays import Generator, Ids, Progress
from discreet.bars import progress_bars
from discreet.card import card
from discreet.errors import InvalidValue
from discreet.protocols import Release, WordMechanism, watched
from discreet.randomness import secure_generator
from discreet.receipt import Receipt
from discreet.release._datasets import DatasetKind, is_dataset, released_dataset
from discreet.release._kinds import Kind, kind_of
from discreet.release._plan import Plan, refuse_names
from discreet.release.choice import PYTHON, chosen_sanitizer
from discreet.release.rows import Tally
from discreet.release.streams import SanitizedStream, gathered, released
from discreet.release.strength import refuse_weak_words, share
from discreet.release.text import TextSanitizer
from discreet.release.whole import DELTA, checked_delta
from discreet.spaces import EmbeddingSpace
from discreet.text.fates import ColumnSettings, Fates
from discreet.text.identifiers import Identifiers

Y = TypeVar("Y")


@dataclass(frozen=True, repr=False)
class TableRelease(Release[Y]):
    """A release of a table or a list: ``values`` is of the kind that came in.

    Attributes:
        columns: what became of the columns; of those that were dropped, how many they were.
        receipt: what a file would have beside it; ``receipt.write(path)`` keeps it.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    told: Callable[[], Receipt] | None = field(default=None, compare=False)

    @cached_property
    def receipt(self) -> Receipt:
        """What was done, with which guarantee, for each word and for whole texts."""
        if self.told is None:
            raise InvalidValue("this release has no receipt")
        return self.told()

    def _repr_html_(self) -> str:
        fates = ", ".join(f"{name}: {fate}" for name, fate in self.columns.items())
        facts = self.counted() | ({"columns": fates} if len(self.columns) > 1 else {})
        return card("Release", facts | self._known(), self.statement.lines())

    def _known(self) -> dict[str, str]:
        """What is known of a word from its release, on average."""
        about = self.receipt.about if self.told is not None else {}
        if (guess := about.get("best_guess")) is not None:
            return {"best guess at a word": f"right with probability {share(guess)}"}
        if (keep := about.get("keep")) is not None:
            return {"a word stays": f"with probability {share(keep)}"}
        return {}


def sanitize(
    data: Any,
    columns: str | Sequence[str] | None = None,
    *,
    epsilon: float | None = None,
    mechanism: str | WordMechanism | None = None,
    space: str | Path | EmbeddingSpace | None = None,
    readable: bool = False,
    layout: str = "tokens",
    identifiers: str | Identifiers | None = None,
    consistent: str = "none",
    repeat: str = "each",
    public: str | None = None,
    polish: bool = False,
    sanitizer: TextSanitizer | None = None,
    keep: Sequence[str] = (),
    drop: Sequence[str] = (),
    surrogates: Mapping[str, str] | None = None,
    others: str | None = None,
    accept_weak: bool = False,
    person_field: str | None = None,
    whole_delta: float = DELTA,
    num_proc: int | None = None,
    progress: bool | Progress = False,
    rng: Generator | None = None,
    **settings: Any,
) -> Any:
    """Sanitise whatever holds texts; the same kind of thing comes out, with its guarantee.

    A text that is missing (None, NaN) stays missing, and which ones are is public. In a table every
    column that is not sanitised is kept, dropped or replaced by surrogates, and one of which
    nothing is said is an error; so are the row labels of pandas, under the name of the index
    (``"index"`` if it has none), unless they are 0, 1, 2 and so on.

    Privacy: the ``statement`` of what comes back holds for each word. Whatever is called twice is
    released twice, and the losses add up.

    Args:
        data: a text, a list of texts, a NumPy array of them; a data frame or series of pandas or
            polars; a table, record batch or array of Arrow; a dataset of Hugging Face, or several
            by their names; rows as dictionaries, or columns in one. An iterator of texts, of rows
            or of tables gives a :class:`SanitizedStream`, which reads on as it is read.
        columns: of a table, the columns that hold texts, each of which is sanitised.
        epsilon: the privacy loss allowed.
        mechanism: a word mechanism by its name or made already; that of the command unless given.
        space: the public vocabulary, by its name or made already.
        readable: for text that people read, as ``discreet sanitize --readable``.
        layout: and what follows up to ``polish``: see :class:`discreet.Sanitizer`.
        identifiers: as there.
        consistent: as there.
        repeat: as there.
        public: as there.
        polish: as there.
        sanitizer: a :class:`discreet.Sanitizer` that is made already, in place of all of these.
        keep: columns that come out as they are.
        drop: columns that are left out.
        surrogates: columns whose values are replaced, each with a type such as ``"email"``.
        others: ``"keep"`` or ``"drop"`` for every column that is not named.
        accept_weak: release even if the setting protects next to nothing.
        person_field: column that says whose a text is, for what the receipt says of a person.
        whole_delta: what may be given away for a smaller epsilon of whole texts.
        num_proc: of a dataset, how many processes share the work.
        progress: True shows a bar; a function is called with (done, total).
        rng: leave it out for a release. A seeded generator is for experiments, and the statement
            says that it was used.
        settings: other settings of the mechanism, by the names of its parameters.

    Returns:
        a :class:`discreet.Release` with ``values``, ``statement``, ``units`` and ``receipt``.

    >>> release = sanitize(["The doctor saw me.", None], epsilon=8)
    >>> len(release.values), release.values[1], release.statement.epsilon
    (2, None, 8.0)
    """
    said = ColumnSettings(keep=keep, drop=drop, surrogates=surrogates, others=others)
    delta = checked_delta(whole_delta)
    choice = {
        "epsilon": epsilon,
        "mechanism": mechanism,
        "space": space,
        "readable": readable,
        "layout": layout,
        "identifiers": identifiers,
        "consistent": consistent,
        "repeat": repeat,
        "public": public,
        "polish": polish,
        **settings,
    }
    with _bars(progress) as (rows, words, certified):

        def made() -> TextSanitizer:
            chosen = _made(sanitizer, choice, accept_weak, certified)
            watched(chosen.mechanism, words)
            return chosen

        asked = _Asked(columns, said, person_field, delta, made)
        return _released(data, asked, rng, num_proc, rows)


@dataclass(frozen=True)
class _Asked:
    """What was said of the columns, and what makes the sanitizer."""

    columns: str | Sequence[str] | None
    others: ColumnSettings
    person_field: str | None
    delta: float
    made: Callable[[], TextSanitizer]

    def plan(self, *kinds: Kind) -> Plan:
        """How tables of the same columns are released; a mistake in a name shows first."""
        *_, fates = [self._fates(kind) for kind in kinds]  # each is checked
        return Plan(self.made(), fates, self.person_field, self.delta)

    def _fates(self, kind: Kind) -> Fates:
        """What becomes of each column of this table; one without a fate is refused."""
        if kind.alone is not None:
            if self.columns is not None:
                raise InvalidValue(f"columns are for tables; {kind.what} has none: leave it out")
            texts: str | Sequence[str] = kind.alone
        elif self.columns is None:
            raise InvalidValue(
                f"say which columns of {kind.what} hold texts: columns=['NAME', ...]"
            )
        else:
            texts = self.columns
        fates = replace(self.others, text_field=texts).fates
        refuse_names(kind, fates, self.person_field)
        return fates


def _made(
    sanitizer: TextSanitizer | None,
    choice: Mapping[str, Any],
    accept_weak: bool,
    progress: Progress,
) -> TextSanitizer:
    if sanitizer is None:
        return chosen_sanitizer(**choice, accept_weak=accept_weak, progress=progress)
    usual = chosen_sanitizer.__kwdefaults__ or {}
    for name, value in choice.items():
        if value != usual.get(name):
            raise InvalidValue(f"{name} belongs to the sanitizer that was given; leave it out")
    if not accept_weak:
        refuse_weak_words(sanitizer, PYTHON)
    return sanitizer


def _released(
    data: Any, asked: _Asked, rng: Generator | None, num_proc: int | None, progress: Progress
) -> Any:
    if is_dataset(data):
        return _of_dataset(data, asked, rng, num_proc)
    if num_proc is not None:
        raise InvalidValue("num_proc is for datasets of Hugging Face; leave it out")
    drawn = secure_generator() if rng is None else rng
    if isinstance(data, str):
        alone = _of_table([data], asked, drawn, progress)
        return replace(alone, values=alone.values[0])
    if isinstance(data, Iterator):
        return _of_iterator(data, asked, drawn)
    return _of_table(data, asked, drawn, progress)


def _of_table(data: Any, asked: _Asked, rng: Generator, progress: Progress) -> TableRelease[Any]:
    kind = kind_of(data)
    plan = asked.plan(kind)
    persons = plan.persons(kind)
    block, tally = plan.block(kind, rng, progress), Tally()
    tally.count(block.words, block.identifiers, block.draws, persons)
    values = kind.rebuilt(plan.fates, block.columns)
    return _told(values, plan, tally, block.draws, kind.names, type(data).__name__, rng)


def _of_dataset(
    data: Any, asked: _Asked, rng: Generator | None, num_proc: int | None
) -> TableRelease[Any]:
    splits = data if isinstance(data, Mapping) else {"": data}  # one alone has no name
    kinds = [DatasetKind(split) for split in splits.values()]
    if not kinds:
        raise InvalidValue("there is no dataset in this DatasetDict")
    plan, tally = asked.plan(*kinds), Tally()
    watched(plan.sanitizer.mechanism, _silent)  # its workers have no bar
    released = {
        name: released_dataset(split, plan, tally, rng, num_proc) for name, split in splits.items()
    }
    kind: Any = type(data)
    values = kind(released) if isinstance(data, Mapping) else released[""]
    names = list(dict.fromkeys(name for each in kinds for name in each.names))
    drawn = secure_generator() if rng is None else rng
    return _told(values, plan, tally, None, names, kind.__name__, drawn)


def _told(
    values: Any,
    plan: Plan,
    tally: Tally,
    draws: Ids | None,
    names: Sequence[str],
    kind: str,
    rng: Generator,
) -> TableRelease[Any]:
    statement = plan.statement(names, rng)
    return TableRelease(
        values,
        statement,
        tally.words.total(),
        dict(tally.identifiers),
        draws,
        plan.fates.told(names),
        lambda: plan.receipt(statement, tally, names, kind),
    )


def _of_iterator(data: Iterator[Any], asked: _Asked, rng: Generator) -> SanitizedStream:
    blocks = gathered(data)
    one = next(blocks, None)
    kind = kind_of([] if one is None else one.table)
    plan, tally = asked.plan(kind), Tally()
    watched(plan.sanitizer.mechanism, _silent)  # the bar is gone when the stream is read
    statement = plan.statement(kind.names, rng, more=kind.alone is None)
    read = [] if one is None else [one]
    return SanitizedStream(
        released(chain(read, blocks), plan, tally, rng),
        statement,
        tally,
        lambda: plan.receipt(statement, tally, kind.names, "iterator"),
    )


def _silent(_done: int, _total: int) -> None:
    """Tell nobody."""


@contextmanager
def _bars(progress: bool | Progress) -> Iterator[Sequence[Progress]]:
    """Bars for rows, for the words of a part, and for a space that is certified."""
    if progress is True:
        with progress_bars("sanitising", "words of this part", "certifying the space") as bars:
            yield bars
    else:
        yield (progress or _silent, _silent, _silent)
