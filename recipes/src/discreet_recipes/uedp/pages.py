"""Tables, plots and claims of the UeDP recipe, from its figures."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from discreet.report.plots import Curve
from discreet.report.tables import Cell
from discreet_recipes.record import Record, verdict
from discreet_recipes.repeats import plus_minus
from discreet_recipes.uedp.accounting import DELTA

TARGET = 8.0


@dataclass(frozen=True)
class ResultRow:
    """One setting: how it predicts, what it claims and what holds."""

    algorithm: str
    category: str
    words: int = 0
    """Of the vocabulary."""
    sentence_rate: float = 1.0
    noise: float | None = None
    perplexity: Sequence[float] = ()
    """Of each seed; empty where only figures were computed."""
    error_rate: Sequence[float] = ()
    entities: Sequence[float] = ()
    """Perplexity of words of entities alone,"""
    others: Sequence[float] = ()
    """and of all others; empty where they are not told apart."""
    user: float | None = None
    entity: float | None = None
    joint: float | None = None
    claimed: float | None = None
    at_least: float | None = None
    sensitive: float | None = None
    dropped: float | None = None
    moved: float | None = None
    """Distance of the weights from where they began, of the first seed."""

    @property
    def mean(self) -> float:
        """Perplexity over seeds."""
        return fmean(self.perplexity)

    @property
    def wrong(self) -> float:
        """Error rate over seeds."""
        return fmean(self.error_rate)


def add_data_set(record: Record, key: str, name: str, rows: Sequence[ResultRow]) -> None:
    """Tables and plots of one data set."""
    _by_epsilon(record, key, name, _every(rows))
    _by_sentence_rate(record, key, name, rows)
    _by_category(record, key, name, rows)


def _every(rows: Sequence[ResultRow]) -> list[ResultRow]:
    """What was trained on all categories and all sentences."""
    return [r for r in rows if r.perplexity and r.category == "all" and r.sentence_rate == 1.0]


def _first(rows: Sequence[ResultRow], algorithm: str) -> ResultRow:
    return next(row for row in rows if row.algorithm == algorithm)


def _by_epsilon(record: Record, key: str, name: str, rows: Sequence[ResultRow]) -> None:
    record.add_table(
        f"{key}-epsilon",
        f"{name}: perplexity and error rate of every algorithm",
        [
            {
                "algorithm": row.algorithm,
                "noise": row.noise,
                "claimed epsilon": row.claimed,
                "holds: user": row.user,
                "holds: entity": row.entity,
                "holds: user and entity": row.joint
                if row.at_least is None
                else f"at least {row.at_least:.3g}",
                **_perplexities(row),
                "error rate": plus_minus(row.error_rate, 4),
            }
            for row in rows
        ],
        f"Delta {DELTA:g}. Claimed: what the paper's accounting gives. Of the published algorithms "
        "what holds is at least the figure shown, which counts one of five faults; no upper bound "
        "is known. Of several seeds: mean and standard deviation. Error rate: share of next words "
        "that are not the likeliest one. Noise is in "
        "units of the clipping norm; the published algorithms multiply theirs by the expected "
        "number of users in a step.",
    )
    for what, axis, figure in (
        ("perplexity", "perplexity", "mean"),
        ("error", "error rate", "wrong"),
    ):
        curves = []
        for algorithm, label, held in (
            ("certified", "certified (user and entity)", "joint"),
            ("user-level", "user-level (user alone)", "user"),
            ("published", "published, as claimed", "claimed"),
            ("published-optimized", "published-optimized, as claimed", "claimed"),
        ):
            own = sorted(
                (getattr(r, held), getattr(r, figure)) for r in rows if r.algorithm == algorithm
            )
            curves.append(Curve(label, tuple(x for x, _ in own), tuple(y for _, y in own)))
        at = tuple(sorted({x for curve in curves for x in curve.x}))
        noiseless = getattr(_first(rows, "noiseless"), figure)
        curves.append(Curve("noiseless", at, (noiseless,) * len(at)))
        record.add_plot(
            f"{key}-{what}",
            f"{name}: {axis} against epsilon",
            ("epsilon that holds (published: that is claimed)", axis),
            curves,
            f"{axis.capitalize()} on {name} against epsilon, a curve for each algorithm.",
            log_x=True,
            level=("de-identified, no guarantee", getattr(_first(rows, "de-identified"), figure)),
        )


def _perplexities(row: ResultRow) -> dict[str, Cell]:
    return {
        "perplexity": plus_minus(row.perplexity, 1),
        "of entities": plus_minus(row.entities, 1),
        "of other words": plus_minus(row.others, 1),
    }


def _certified_by_rate(rows: Sequence[ResultRow], noise: float | None) -> list[ResultRow]:
    """Certified training at one noise, by the rate of sentences without an entity."""
    own = [r for r in rows if (r.algorithm, r.category, r.noise) == ("certified", "all", noise)]
    return sorted(own, key=lambda row: row.sentence_rate)


def _by_sentence_rate(record: Record, key: str, name: str, rows: Sequence[ResultRow]) -> None:
    some = _certified_by_rate(rows, _first(rows, "certified").noise)
    record.add_table(
        f"{key}-sentence-rate",
        f"{name}: certified, by the rate of sentences without an entity",
        [
            {
                "q_s": row.sentence_rate,
                "user and entity": row.joint,
                "perplexity": plus_minus(row.perplexity, 1),
                "error rate": plus_minus(row.error_rate, 4),
            }
            for row in some
        ],
        "Epsilon does not depend on this rate.",
    )
    curve = Curve("certified", tuple(r.sentence_rate for r in some), tuple(r.mean for r in some))
    record.add_plot(
        f"{key}-sentence-rate",
        f"{name}: perplexity against the rate of sentences without an entity",
        ("rate q_s", "perplexity"),
        [curve],
        "Perplexity of certified training against the rate of sentences without an entity.",
    )


def _by_category(record: Record, key: str, name: str, rows: Sequence[ResultRow]) -> None:
    lines: list[dict[str, Cell]] = []
    for category in dict.fromkeys(row.category for row in rows):
        own = [r for r in rows if r.category == category and r.sentence_rate == 1.0]
        certified, masked = _first(own, "certified"), _first(own, "de-identified")
        published = _first(own, "published-optimized")
        lines.append(
            {
                "category": category,
                "sensitive sentences": _percent(certified.sensitive),
                "dropped by the bounds": _percent(certified.dropped),
                "published-optimized claims": published.claimed,
                "published-optimized holds": f"at least {published.at_least:.3g}",
                "certified holds": certified.joint,
                "certified perplexity": plus_minus(certified.perplexity, 1),
                "certified error rate": plus_minus(certified.error_rate, 4),
                "de-identified perplexity": plus_minus(masked.perplexity, 1),
            }
        )
    record.add_table(
        f"{key}-categories",
        f"{name}: by category of sensitive entities",
        lines,
        "What is dropped is a share of all sentences.",
    )


def add_topics(record: Record, rows: Sequence[ResultRow]) -> None:
    """AG News by topic: the paper's Figures 4 and 10."""
    record.add_table(
        "topics",
        "AG News: error rate of topics",
        [
            {
                "algorithm": row.algorithm,
                "noise": row.noise,
                "claimed epsilon": row.claimed,
                "holds": row.joint or row.user
                if row.at_least is None
                else f"at least {row.at_least:.3g}",
                "error rate": plus_minus(row.error_rate, 4),
            }
            for row in rows
        ],
        "Four topics, as many texts of each: guessing is wrong in 0.75. The network is the one for "
        "next words with a layer for topics on its last state; it begins with public vectors and "
        "has seen no text. user-level protects users alone. Texts without an entity are drawn at "
        f"rate {min(row.sentence_rate for row in rows):g}.",
    )
    by = {row.algorithm: row.wrong for row in rows}
    gained = by["public start"] - by["noiseless"]
    published = min(by["published"], by["published-optimized"])
    record.add_claim(
        "AG News, topics: UeDP-Alg comes near training without noise",
        "error rates near the noiseless model's (Figures 4 and 10)",
        f"{published:.3f} as published, {by['noiseless']:.3f} without noise, "
        f"{by['de-identified']:.3f} de-identified, {by['certified']:.3f} certified",
        verdict(by["public start"] - published > 0.8 * gained > 0),
    )


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{100 * share:.0f} %"


def add_vocabularies(record: Record, rows: Sequence[ResultRow]) -> None:
    """Certified and de-identified training by how many names the vocabulary knows."""
    record.add_table(
        "conll2003-vocabularies",
        "CoNLL-2003: which is better depends on how many names the vocabulary knows",
        [
            {
                "words": row.words,
                "algorithm": row.algorithm,
                "user and entity": row.joint,
                **_perplexities(row),
            }
            for row in rows
        ],
        "Names that the vocabulary does not know are the unknown word, which is what "
        "de-identification makes of all of them: there it costs nothing. Names that it knows are "
        "unlearned by de-identified training. Perplexities of different vocabularies do not "
        "compare.",
    )
    sizes = tuple(float(words) for words in dict.fromkeys(row.words for row in rows))
    curves = []
    for algorithm in dict.fromkeys(row.algorithm for row in rows):
        own = [row for row in rows if row.algorithm == algorithm]
        entities, others = [fmean(r.entities) for r in own], [fmean(r.others) for r in own]
        curves.append(Curve(f"{algorithm}: entities", sizes, tuple(entities)))
        curves.append(Curve(f"{algorithm}: other words", sizes, tuple(others)))
    record.add_plot(
        "conll2003-vocabularies",
        "CoNLL-2003: perplexity of entities and of other words",
        ("words of the vocabulary", "perplexity"),
        curves,
        "Perplexity of words of entities and of other words against the vocabulary's size, "
        "for the public start, certified and de-identified training.",
        log_x=True,
    )


def add_claims(record: Record, rows: Sequence[ResultRow], steps: int) -> None:
    """The claims on quality, and ours."""
    every = _every(rows)
    masked, noiseless, start = (
        _first(every, name) for name in ("de-identified", "noiseless", "public start")
    )
    within = [r for r in every if r.algorithm == "certified" and (r.joint or 0.0) <= TARGET]
    if within:
        best = min(within, key=lambda row: row.mean)
        record.add_claim(
            f"certified training with a joint epsilon of at most {TARGET:g} is better than "
            "de-identification after as many passes over the text",
            "claimed for the published algorithm at epsilon 2 and more",
            f"perplexity {best.mean:.1f} at epsilon {best.joint:.2f}; de-identified "
            f"{masked.mean:.1f}, noiseless {noiseless.mean:.1f}, public start {start.mean:.1f}",
            verdict(best.mean < masked.mean),
            _why(best, masked),
            main=True,
        )
        record.add_key_figure(
            "utility",
            f"CoNLL-2003, next word, users and entities protected at epsilon {best.joint:.2f}, "
            f"{steps} steps",
            f"perplexity {best.mean:.1f} certified; {masked.mean:.1f} de-identified, without a "
            f"guarantee; {noiseless.mean:.1f} noiseless, {start.mean:.1f} public start",
        )
    published = min(
        (r for r in every if r.algorithm.startswith("published")), key=lambda row: row.mean
    )
    record.add_claim(
        "UeDP-Alg comes near training without noise",
        "perplexity near the noiseless model's",
        f"{published.mean:.1f} ({published.algorithm}, noise {published.noise:g}); public "
        f"start {start.mean:.1f}, noiseless {noiseless.mean:.1f}",
        # At least most of what training without noise gains.
        verdict(start.mean - published.mean > 0.8 * (start.mean - noiseless.mean) > 0),
        "with the noise that its own lemmas ask for, which grows with the number of users, "
        "divided by weights of all entities; with the paper's norm and user rate, and a learning "
        "rate that was not tuned",
    )
    same_noise = _certified_by_rate(rows, within[0].noise) if within else []
    rates = {row.sentence_rate: row.mean for row in same_noise}
    if 0.0 in rates:
        record.add_claim(
            "sentences without an entity help",
            "much lower perplexity than without them",
            f"certified: {rates[0.0]:.0f} without, {rates[1.0]:.0f} with all of them",
            verdict(rates[1.0] < rates[0.0]),
        )


def _why(certified: ResultRow, masked: ResultRow) -> str:
    if not certified.entities or not masked.entities:
        return ""
    return (
        f"words of entities: {fmean(certified.entities):.0f} certified, "
        f"{fmean(masked.entities):.0f} de-identified; other words: "
        f"{fmean(certified.others):.0f} and {fmean(masked.others):.0f}"
    )


def add_attack(record: Record, rows: Sequence[Sequence[Any]]) -> None:
    """A lower bound on epsilon from canaries, beside what is claimed."""
    record.add_table(
        "attack",
        "What canaries show of epsilon, and what is claimed",
        [
            {
                "algorithm": algorithm,
                "canaries are": what,
                "steps": steps,
                "claimed": claimed,
                "shown at least": lower,
                "right": f"{correct:,} of {guesses:,} guesses",
                "contradicted": "yes" if broken else "no",
            }
            for algorithm, what, steps, claimed, lower, correct, guesses, broken in rows
        ],
        "Published: the paper's rates 0.05 and 0.5, noise 2, delta 1e-5, 60 users who all hold "
        "the canary. The lower bound has confidence 95 %; a claim counts as contradicted if the "
        "guesses have a probability below 0.001 under it.",
    )
    for algorithm, _, steps, claimed, lower, _, _, broken in rows[:2]:
        record.add_claim(
            f"the epsilon of {algorithm} training after {steps} steps, against canaries",
            f"{claimed:.2f}",
            f"at least {lower:.2f}",
            "does not hold" if broken else "not settled",
            "weights of a trained model tell which entities were in the data better than the "
            "claim allows",
            main=algorithm == "published",
        )
    algorithm, _, steps, claimed, lower, *_ = rows[0]
    strongest = max((row for row in rows if row[0] == "certified"), key=lambda row: row[4])
    record.add_key_figure(
        "attack",
        f"canaries against {algorithm} training, {steps} steps at the paper's constants",
        f"epsilon is at least {lower:.2f} where {claimed:.2f} is claimed; certified training "
        f"stays below its figure ({strongest[4]:.2f} shown, {strongest[3]:.2f} proven)",
    )
