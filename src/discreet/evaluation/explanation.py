"""What a setting means in a space: odds, how often a word stays, what it may become."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Generator, Ids, Progress
from discreet.attacks.word_attack import WordAttack
from discreet.errors import InvalidValue
from discreet.evaluation import simulated
from discreet.evaluation.privacy import likely_outputs, word_privacy
from discreet.evaluation.reading_along import Named, reading_along
from discreet.mechanisms.certificate import Certificate
from discreet.protocols import WordMechanism, watched
from discreet.randomness import secure_generator
from discreet.release.strength import best_guess
from discreet.release.text import Sanitizer
from discreet.search import smallest_that_holds
from discreet.spaces.space import EmbeddingSpace
from discreet.statement import PrivacyStatement, odds
from discreet.text.function_words import on_the_list
from discreet.text.tokens import tokenizer_for

_FAVOURITES = ("doctor", "london", "terrible")
_SIMULATED_RUNS = 200
_PRECISION, _SIMULATED_PRECISION = 1e-3, 2e-2
_SHOWN = 5
_FEWEST_TEXTS, _ATTACKED = 40, 1500
_A_CODE = 0.9
_STEPS = (6.0, 8.0, 10.0, 12.0)


@dataclass(frozen=True)
class Explanation:
    """What a mechanism does to the words of a space."""

    statement: PrivacyStatement
    keep: float
    """Mean probability that a word comes out as itself."""
    keep_middle: tuple[float, float]
    """The same for the lower and the upper quarter of the words."""
    options: float
    """Median number of words that make up 95 % of a word's outcomes; simulated, at least about."""
    examples: dict[str, list[tuple[str, float]]]
    """Words with their likeliest replacements."""
    exact: bool
    """From the law itself, not from simulated draws."""
    guess: float | None = None
    """How often the best guess at a word is right, by the public frequencies; None if unknown."""
    steps: tuple["Step", ...] = ()
    """What other epsilons mean."""
    again: float | None = None
    """How often two draws of a word in the same place agree; None where that is not known."""
    named: Mapping[str, float] | None = None
    """Shares of the words of a public sample that attackers name; None without a sample."""
    along: Named | None = None
    """The same of the texts that the package was measured on; None where it was not."""
    certificate: Certificate | None = None
    """Why the mechanism may be as sharp as it is, where that is certified for the space."""
    passing: tuple[str, ...] = ()
    """Examples that are not drawn, since they are on the list of what passes unchanged."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "statement": self.statement.to_dict(),
            "in_words": self.statement.lines(),
            "keep": self.keep,
            "keep_quartiles": list(self.keep_middle),
            "options": self.options,
            "examples": {word: [list(pair) for pair in out] for word, out in self.examples.items()},
            "passing": list(self.passing),
            "exact": self.exact,
            "draws": None if self.exact else _SIMULATED_RUNS,
            "guess": self.guess,
            "again": self.again,
            "named": None if self.named is None else dict(self.named),
            "reading_along": None if self.along is None else self.along._asdict(),
            "steps": [asdict(step) for step in self.steps],
        }

    def lines(self) -> list[str]:
        """The explanation in plain words."""
        low, high = self.keep_middle
        middle = f"for the middle half of the words {low:.3g} to {high:.3g}"
        if self.exact and high == 0:
            middle = "at least three words in four never do"
        how = "" if self.exact else f" (simulated: {_SIMULATED_RUNS} draws of each word)"
        some = f"{self.options:,.0f} words share" if self.options > 1 else "1 word has"
        typical = f"Typically {some} 95 % of the outcomes of a word."
        if not self.exact:
            typical = (
                f"In {_SIMULATED_RUNS} simulated draws of a word typically {some} 95 % of the "
                f"outcomes. So few draws show at most {_SIMULATED_RUNS} words: the true number may "
                "be far larger."
            )
        out = [
            *self.statement.lines(),
            f"A word comes out as itself with probability {self.keep:.3g} on average; "
            f"{middle}{how}.",
            typical,
        ]
        for word, replacements in self.examples.items():
            shown = ", ".join(f"{other} {_percent(chance)}" for other, chance in replacements)
            out.append(f"  {word} -> {shown}")
        out += [
            f"  {word} passes unchanged, unless it may be a name or an abbreviation where it stands"
            for word in self.passing
        ]
        if self.guess is not None:
            out.append(
                "The best guess at a word, for somebody who knows this law and how often words "
                f"occur in public, is right with probability {self.guess:.2g}."
            )
        if self.again is not None and self.again > _A_CODE:
            out.append(
                "Two releases of a word in the same place agree with probability "
                f"{self.again:.2g}: more a code that many words share than a draw."
            )
        if self.named is not None:
            out.append(
                "Of 100 words of one half of the sample, somebody who knows the law and the other "
                f"half names {100 * self.named['exact']:.0f} one word at a time, and "
                f"{100 * self.named['contextual']:.0f} by also using which words follow each other."
            )
        elif self.guess is not None:
            more = ""
            if self.along is not None:
                more = f", {self.along.along:.2g} instead of {self.along.single:.2g} of the words "
                more += "of public reviews and news"
            out.append(
                f"Somebody who also knows which words follow each other names more{more}; "
                "--public-sample shows how many, on public text of your kind."
            )
        out += [step.line() for step in self.steps]
        if (made := self.certificate) is not None:
            out.append(
                f"kappa = {made.kappa:.6g}: chances fall as exp(-kappa * d), which costs at "
                f"most {made.rate:.6g} per unit of distance ({made.reason})."
            )
        return out


@dataclass(frozen=True)
class Step:
    """What a mechanism of near words does at some epsilon."""

    epsilon: float
    outputs: int
    near: int
    near_chance: float
    guess: float | None

    @classmethod
    def of(cls, mechanism: Any) -> "Step":
        """Of a mechanism that knows how often a guess is right."""
        return cls(
            mechanism.epsilon,
            mechanism.outputs,
            mechanism.near,
            mechanism.near_chance,
            best_guess(mechanism),
        )

    def line(self) -> str:
        """In plain words."""
        return (
            f"  epsilon {self.epsilon:g}: of {self.outputs:,} words that can come out, those near "
            f"a word ({self.near}) do with probability {self.near_chance:.2g}; the best guess is "
            f"right with {self.guess:.2g}"
        )


def explain(mechanism: WordMechanism, ids: Ids, examples: Sequence[str]) -> Explanation:
    """Measure a mechanism on some words and show what a few of them may become."""
    measured = word_privacy(mechanism, ids, runs=_SIMULATED_RUNS)
    space = mechanism.space
    # Outputs that are not near all have one chance: none of them is worth showing.
    shown = min(_SHOWN, getattr(mechanism, "near", _SHOWN))
    low, high = np.quantile(measured.keep, [0.25, 0.75])
    return Explanation(
        statement=mechanism.statement,
        keep=float(measured.keep.mean()),
        keep_middle=(float(low), float(high)),
        options=float(np.median(measured.options)),
        examples={
            word: [
                (space.words[other], chance)
                for other, chance in likely_outputs(mechanism, space.id_of(word), count=shown)
            ]
            for word in examples
        },
        exact=measured.exact,
        guess=best_guess(mechanism),
        again=_agreement(mechanism),
        along=reading_along(mechanism),
        certificate=getattr(mechanism, "certificate", None),
    )


def _agreement(mechanism: Any) -> float | None:
    """How often two draws of near words agree on a near one; far ones hardly ever do."""
    chance = getattr(mechanism, "near_chance", None)
    return None if chance is None else chance**2 / mechanism.near


def explain_choice(
    make: Callable[[float | None], WordMechanism],
    epsilon: float | None,
    ids: Ids,
    examples: Sequence[str],
    *,
    texts: Sequence[str] = (),
    shown: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> tuple[Explanation, WordMechanism]:
    """The same of a mechanism at an epsilon, with what other epsilons mean where a guess is known.

    Args:
        make: the mechanism at an epsilon; None for one that takes none.
        epsilon: the one to explain.
        ids: the words to measure on, such as :func:`sample_words` gives.
        examples: words to show.
        texts: PUBLIC ones, on which attackers are tried.
        shown: what else a :class:`discreet.Sanitizer` is told, such as which words pass unchanged.
        progress: called with (done, total) by a mechanism that is slow.
    """
    built, listed, passing = make(epsilon), None, tuple[str, ...]()
    if shown and shown.get("public"):  # of what is not drawn no law says what it becomes
        listed = on_the_list(built.space.words)
        passing = tuple(word for word in examples if listed[built.space.id_of(word)])
        examples = [word for word in examples if word not in passing]
    explained = explain(built if progress is None else watched(built, progress), ids, examples)
    if shown:  # what passes unchanged is public, and belongs to the statement
        told = Sanitizer(built, **shown).statement
        explained = replace(explained, statement=told, passing=passing)
    if explained.guess is not None and epsilon is not None:
        others = tuple(Step.of(make(each)) for each in _STEPS if each != epsilon)
        explained = replace(explained, steps=others, named=named_in(built, texts, listed))
    return explained, built


def named_in(
    mechanism: WordMechanism, texts: Sequence[str], listed: NDArray[np.bool_] | None = None
) -> dict[str, float] | None:
    """What attackers name who know the law and half of a PUBLIC sample, of the other half.

    None if the sample is too small to learn from, or the law takes long to invert.

    Args:
        mechanism: At the setting that is explained.
        texts: The sample.
        listed: Which words of the space pass unchanged.
    """
    space = mechanism.space
    if len(texts) < _FEWEST_TEXTS or not hasattr(mechanism, "near_inputs"):
        return None
    batch = tokenizer_for(space.words, space.unknown, space.subwords).encode(texts)
    attack = WordAttack.within(space, batch, _ATTACKED, listed=listed)
    return attack.shares(mechanism, np.random.default_rng(0)) if attack.words else None


def epsilon_table(make: Callable[[float], Any]) -> list[str]:
    """What a few epsilons mean, as lines of a table, from what is known before anything is drawn.

    Args:
        make: near words at an epsilon, settings chosen for it.
    """
    rows = [("epsilon", "odds change by", "best guess right", "near words")]
    for epsilon in _STEPS:
        mechanism = make(epsilon)
        space = mechanism.space
        word = example_words(space)[0]
        others = mechanism.near_outputs(space.id_of(word))[:_SHOWN]
        shown = ", ".join(space.words[other] for other in others)
        guess = best_guess(mechanism) or 0.0
        rows.append((f"{epsilon:g}", odds(epsilon), f"{guess:.2f}", f"{word} -> {shown}"))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            (*(cell.rjust(width) for cell, width in zip(row[:3], widths, strict=False)), row[3])
        )
        for row in rows
    ]


@dataclass(frozen=True)
class FoundEpsilon:
    """An epsilon that fulfils a wish, and how sure that is."""

    epsilon: float
    exact: bool
    """By the law. Otherwise shown by simulated draws, at this confidence."""
    confidence: float = 1.0

    def line(self) -> str:
        """In plain words; nothing to say of what is exact."""
        if self.exact:
            return ""
        return (
            f"Found by simulation: with a confidence of {100 * self.confidence:g} %, this epsilon "
            "gives what you asked for. A smaller one may do so too; so few draws cannot show it."
        )


def find_epsilon(
    make: Callable[[float], WordMechanism],
    ids: Ids,
    *,
    keep: float = 0.0,
    options: float = 0.0,
    rng: Generator | None = None,
    progress: Progress | None = None,
) -> FoundEpsilon:
    """The smallest epsilon at which words stay that often, or may become at most that many words.

    A law that can be said decides exactly. Where draws stand in for it, an estimate decides
    nothing: an epsilon counts only if the draws *prove* the wish at a stated confidence, over all
    epsilons that are tried, so that what comes back may be larger than need be.

    Args:
        make: the mechanism at an epsilon.
        ids: the words to measure on.
        keep: wanted mean probability that a word stays; or
        options: wanted median number of words that share 95 % of the outcomes.
        rng: of the simulation, if there is one.
        progress: called with (epsilons tried, 0): how many it takes is not known.
    """
    if (keep > 0) == (options > 0):
        raise InvalidValue("find_epsilon takes keep or options, one of the two")
    if keep >= 1 or (0 < options < 1):
        raise InvalidValue("keep must be between 0 and 1, both excluded; options at least 1")
    exact = hasattr(make(1.0), "log_probabilities")
    source = secure_generator() if rng is None else rng
    tried = 0

    def reached(epsilon: float) -> bool:
        nonlocal tried
        tried += 1
        if progress is not None:
            progress(tried, 0)
        mechanism = make(epsilon)
        if not exact and keep > 0:
            return simulated.keeps_at_least(mechanism, ids, keep, source)
        if not exact:
            return simulated.options_at_most(mechanism, ids, options, source)
        measured = word_privacy(mechanism, ids)
        if keep > 0:
            return float(measured.keep.mean()) >= keep
        return float(np.median(measured.options)) <= options

    precision = _PRECISION if exact else _SIMULATED_PRECISION
    epsilon = smallest_that_holds(reached, least=1e-6, most=1e9, precision=precision)
    if epsilon is None:
        raise InvalidValue("no epsilon up to 1e9 gives that in this space; ask for less")
    return FoundEpsilon(epsilon, exact, 1.0 if exact else simulated.CONFIDENCE)


def wish_of(text: str) -> dict[str, Any]:
    """What :func:`find_epsilon` is asked for, as it is typed: ``keep=0.5`` or ``options=20``.

    >>> wish_of("keep=0.5")
    {'keep': 0.5}
    """
    name, _, value = text.partition("=")
    try:
        wish = {name: float(value)}
    except ValueError:
        wish = {}
    if not wish or name not in ("keep", "options") or not 0 < wish[name] < math.inf:
        raise InvalidValue("--find must be keep=P with P between 0 and 1, or options=N")
    return wish


def sample_words(
    space: EmbeddingSpace,
    texts: Sequence[str] | None = None,
    count: int = 256,
    *,
    public: object = None,
) -> Ids:
    """Words to measure on: evenly spaced ones of a public text, or of the space.

    In a text, frequent words count as often as they occur. Where function words are public, they
    are left out: they are not drawn.
    """
    if texts is None:
        ids = space.spread_words()
    else:
        words = tokenizer_for(space.words, space.unknown, space.subwords)
        ids = np.asarray(words.encode(texts).ids, np.int64)
    if public:
        ids = ids[~on_the_list(space.words)[ids]]
    if not len(ids):
        left = " but those that pass unchanged" if public else ""
        raise InvalidValue(f"the public sample holds no words{left}; give another file")
    spaced = np.linspace(0, len(ids) - 1, min(count, len(ids))).astype(int)
    return ids if texts is None else ids[spaced]


def example_words(space: EmbeddingSpace) -> list[str]:
    """Three words to show; familiar ones if the space has them."""
    familiar = [word for word in _FAVOURITES if word in space]
    if len(familiar) == len(_FAVOURITES):
        return familiar
    return [space.words[i] for i in np.linspace(0, len(space) - 1, 5).astype(int)[1:4]]


def _percent(chance: float) -> str:
    return f"{100 * chance:.0f} %" if chance >= 0.1 else f"{100 * chance:.2g} %"
