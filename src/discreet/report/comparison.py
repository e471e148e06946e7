"""A comparison of mechanisms as a page: the frontier, what to choose and why, all figures."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from discreet.attacks.attacker import (
    ADAPTIVE,
    CONTEXTUAL,
    EXACT,
    MEMBERSHIP,
    STATIC,
    VERBATIM,
    WATCHING,
)
from discreet.attacks.outcome import Estimate
from discreet.evaluation.comparison.frontier import (
    Recommendation,
    beaten_by,
    clearly,
    recommendations,
)
from discreet.evaluation.comparison.run import WORD_ATTACKERS, Comparison, ComparisonRow
from discreet.report.frontier import against, equal_bars, frontier_plot
from discreet.report.page import Section
from discreet.report.plots import Bars, Plot
from discreet.report.search import documents_section, search_section
from discreet.report.tables import Cell, Table

_ATTACKERS = {
    "exact": EXACT,
    "contextual": CONTEXTUAL,
    "watching": WATCHING,
    "static": STATIC,
    "adaptive": ADAPTIVE,
    "identifiers": VERBATIM,
    "membership": MEMBERSHIP,
}


def page_of(
    comparison: Comparison, originals: Sequence[str]
) -> tuple[str, list[str], list[Section]]:
    """Title, introduction and sections.

    Args:
        comparison: What was measured.
        originals: The first texts, as they are.
    """
    introduction = [
        f"{comparison.texts:,} texts ({comparison.words:,} words, {_vocabularies(comparison)}) "
        "were released by each mechanism at each setting. To the right: what attackers get who "
        "know the mechanism. Upwards: what is left of the use. Epsilons of different mechanisms "
        "bound different things and cannot be compared; these two can.",
        "This page quotes texts and was measured on them: keep it as the texts are kept.",
    ]
    sections = [_decision(comparison), _figures(comparison), _who(comparison)]
    if comparison.authors:
        sections.insert(2, _authorship(comparison))
    if comparison.vectors:
        sections.append(search_section(comparison.vectors))
    if comparison.documents:
        sections.append(documents_section(comparison.documents))
    sections.append(_samples(comparison, originals))
    return "Mechanisms compared", introduction, sections


def lines(comparison: Comparison) -> list[str]:
    """The outcome in a few sentences."""
    if comparison.nothing_learnt:
        return [_nothing_learnt(comparison), *_broken(comparison)]
    same = groupby(recommendations(comparison), key=lambda each: (id(each.row), id(each.next)))
    sentences = [_sentence(comparison, list(some)) for _, some in same]
    return [*sentences, *_broken(comparison), *_not_on_it(comparison)]


def _vocabularies(comparison: Comparison) -> str:
    """Which vocabulary is whose, if they differ."""
    used: dict[str, dict[str, None]] = {}
    for row in comparison.rows:
        if row.space:
            used.setdefault(row.space, {})[row.label.partition(":")[0]] = None
    if len(used) < 2:
        return f"vocabulary {comparison.space}"
    told = (f"{space} for {', '.join(names)}" for space, names in used.items())
    return f"vocabularies as 'sanitize' takes them: {' and '.join(told)}"


# -- sections --------------------------------------------------------------------------------------


def _decision(comparison: Comparison) -> Section:
    plots: list[Plot | Bars] = [frontier_plot(comparison)]
    if comparison.at is not None:
        plots = [equal_bars(comparison)]
    paragraphs = lines(comparison)
    if comparison.measure != "similarity" and comparison.at is None:
        plots.append(frontier_plot(comparison, "similarity"))
    if any(row.peer and row.best_attacker for row in comparison.rows):
        paragraphs.append(
            "Other packages are compared by similarity, on the beginnings of some of the texts. "
            "What is named of their words is a lower bound: who attacks them does not know their "
            "laws."
        )
    return Section(
        "What to choose",
        paragraphs=tuple(paragraphs),
        plots=tuple(plots),
        tables=(_frontier_table(comparison),),
    )


def _sentence(comparison: Comparison, same: Sequence[Recommendation]) -> str:
    """What to take at limits at which that is the same."""
    *first, last = (f"{100 * choice.limit:.0f}" for choice in same)
    limits = f"{', '.join(first)} or {last}" if first else last
    wish = f"If the best attacker may name at most {limits} of 100 words: "
    if comparison.at is not None:
        wish = f"Set so that the best attacker names about {100 * comparison.at:.0f} of 100 words: "
    choice = same[0]
    row = choice.row
    use = None if row is None else row.worth(comparison.measure)
    attack = None if row is None else row.best_attacker
    if row is None or use is None or attack is None:
        return f"{wish}nothing that was tried keeps below that and is still of use."
    raw = comparison.raw.worth(comparison.measure)
    beside = "" if raw is None else f"; {raw.value:.2f} on the texts themselves"
    if comparison.guessing:
        beside += f", {comparison.guessing:.2f} by the commonest label"
    said = (
        f"{wish}{row.setting}, because of all settings that keep to it this one is worth most: "
        f"{comparison.measure} {use.value:.2f} ({use.low:.2f} to {use.high:.2f}{beside}), and "
        f"{100 * attack[1].value:.0f} of 100 words are named ({_name(attack[0])})."
    )
    other = choice.next
    theirs = None if other is None else other.worth(comparison.measure)
    if other is not None and theirs is not None:
        close = " That is within what chance allows." if theirs.high >= use.low else ""
        said += f" Next comes {other.setting} with {theirs.value:.2f}.{close}"
    return said


def _nothing_learnt(comparison: Comparison) -> str:
    bare, measure = comparison.raw.utility[comparison.measure], comparison.measure
    return (
        f"The {measure} says nothing here: even from the texts themselves a model does not learn "
        f"these labels ({bare.value:.2f}, {bare.low:.2f} to {bare.high:.2f}; always the commonest "
        f"label gives {comparison.guessing:.2f}). Compare by --measure similarity, or on texts "
        "that tell their labels."
    )


def _broken(comparison: Comparison) -> Iterator[str]:
    bound = [name for name in comparison.broken if name.endswith("bound")]
    if bound:
        yield "The exact best guess names more than its law allows: a figure here is wrong."
    names = "; ".join(_name(name) for name in comparison.broken if name not in bound)
    if names:
        yield (
            f"Broken attackers, which do not beat chance even on the texts themselves: {names}. "
            "That they fail on a release says nothing."
        )


def _not_on_it(comparison: Comparison) -> Iterator[str]:
    """Who is beaten everywhere, and by whom."""
    rows = comparison.rows
    for label in dict.fromkeys(row.label for row in rows):
        own = [row for row in rows if row.label == label and row.worth(comparison.measure)]
        own = [row for row in own if row.best_attacker is not None]
        beaten = [(row, beaten_by(row, rows, comparison.measure)) for row in own]
        by = [(row, other) for row, other in beaten if other is not None]
        if own and len(by) == len(own):
            surely = sum(clearly(row, other, comparison.measure) for row, other in by)
            names = ", ".join(dict.fromkeys(other.label for _, other in by))
            where = "not on the frontier"
            if len(own) > 1:
                where = f"on the frontier at none of its {len(own)} settings"
            yield (
                f"{label} is {where}: {names} "
                f"{'is' if len(names.split(', ')) == 1 else 'are'} worth more while less is named"
                + (
                    f" ({surely} of {len(own)} times in both beyond what chance allows)."
                    if surely
                    else ", as measured, but chance may explain it."
                )
            )


def _frontier_table(comparison: Comparison) -> Table:
    rows = []
    ordered = sorted(  # those without figures come last
        comparison.rows, key=lambda r: 2.0 if r.best_attacker is None else r.best_attacker[1].value
    )
    for row in ordered:
        attack, use = row.best_attacker, row.worth(comparison.measure)
        other = beaten_by(row, comparison.rows, comparison.measure)
        place: Cell = row.note or "not measured"
        if attack is not None:
            place = "yes" if other is None else f"no: {other.setting}"
            place = place if use is not None else "compared by similarity alone"
        rows.append(
            (
                row.setting,
                _cell(use),
                _cell(None if attack is None else attack[1]),
                "" if attack is None else _name(attack[0]),
                place,
            )
        )
    columns = ("mechanism", comparison.measure, "words named", "by", "on the frontier")
    return Table(
        "frontier",
        "The frontier: settings that no other beats in both",
        columns,
        tuple(rows),
        "95 % intervals, by drawing texts anew. A setting is not on the frontier if another one is "
        "worth at least as much while no more words are named; differences may be chance.",
    )


def _figures(comparison: Comparison) -> Section:
    everything = (comparison.raw, *comparison.rows)
    measured = dict.fromkeys(name for row in everything for name in row.utility)
    uses = tuple(sorted(measured, key=lambda name: name != comparison.measure))
    tried = {name for row in everything for name in row.attackers}
    attacks = tuple(
        name for name in (*WORD_ATTACKERS, "identifiers", "membership") if name in tried
    )
    utility = Table(
        "utility",
        "What is left of the use",
        ("mechanism", *uses),
        tuple(_line(row, row.utility, uses) for row in everything),
        "Accuracy and macro-F1 of a model of words that learnt from released texts and is tested "
        "on others. Similarity: cosine with the original, by the encoder where it is installed. "
        "Perplexity per word, lower reads better; empty under the model that was the guide.",
    )
    attacked = Table(
        "attackers",
        "What attackers get",
        ("mechanism", *(_name(name) for name in attacks), "bound on single words"),
        tuple((*_line(row, row.attackers, attacks), row.bound) for row in everything),
        f"Shares of {comparison.attacked:,} words, of identifiers, and of texts (chance 0.5). By "
        f"the commonest word: {comparison.chance:.3f}. Without protection the contextual attacker "
        "is tried on the words around alone. The bound is for words exactly as frequent as in "
        "these texts.",
    )
    promised = Table(
        "statements",
        "What is guaranteed, and how fast",
        ("mechanism", "loss of a word", "loss of a text", "words per second", "note"),
        tuple(
            (row.setting, row.statement, row.document, row.speed, row.note)
            for row in comparison.rows
        ),
        "The loss is the exponent by which odds may change; of a text, where all its words are "
        "replaced. In clear: unchanged at an epsilon of 0.001. Who attacks another package only "
        "watches, which is a lower bound.",
    )
    return Section("All figures", tables=(utility, attacked, promised))


def _authorship(comparison: Comparison) -> Section:
    everything = [row for row in (comparison.raw, *comparison.rows) if row.authorship]
    names = tuple(dict.fromkeys(name for row in everything for name in row.authorship))
    table = Table(
        "authorship",
        "Who wrote it?",
        ("mechanism", *names),
        tuple(_line(row, row.authorship, names) for row in everything),
        f"{comparison.authors} authors; guessing gives {1 / comparison.authors:.3f}, and "
        f"{min(1.0, 5 / comparison.authors):.3f} among the top 5. Static: learnt from texts as "
        "they were written; adaptive: from released ones.",
    )
    plot = against(
        comparison,
        "authorship",
        f"What is left of the use, against how often the author is found ({comparison.measure})",
        "macro-F1 of the better of the two attackers on authorship",
        lambda row: max(
            (each for name, each in row.authorship.items() if name.endswith("F1")),
            key=lambda each: each.value,
            default=None,
        ),
    )
    return Section("Authorship", plots=(plot,), tables=(table,))


def _who(comparison: Comparison) -> Section:
    used = [name for name in _ATTACKERS if comparison.authors or name not in ("static", "adaptive")]
    rows = tuple(
        (each.name, each.knows, each.guesses, each.bound, _state(comparison, name))
        for name, each in ((name, _ATTACKERS[name]) for name in used)
    )
    columns = ("attacker", "knows", "guesses", "cannot exceed", "on unprotected text")
    return Section("The attackers", tables=(Table("room", "Who attacks", columns, rows),))


def _state(comparison: Comparison, name: str) -> str:
    if name in ("static", "adaptive"):
        key = f"{name}, macro-F1"
        success, level = comparison.raw.authorship.get(key), 1 / max(1, comparison.authors)
        broken = f"authorship, {key}" in comparison.broken
    else:
        success = comparison.raw.attackers.get(name)
        level = 0.5 if name == "membership" else comparison.chance
        broken = name in comparison.broken
    if success is None:
        missing = {"identifiers": "no identifiers in these texts", "membership": "needs labels"}
        return missing.get(name, "needs a release")
    if name == "identifiers":
        return f"finds {success.value:.2f} in texts cut into words of the vocabulary"
    return f"{'BROKEN: ' if broken else ''}{success.value:.2f}, chance {level:.3f}"


def _samples(comparison: Comparison, originals: Sequence[str]) -> Section:
    """Each mechanism at the setting whose attacker comes nearest to 30 of 100 words."""
    wanted = 0.3 if comparison.at is None else comparison.at
    shown: dict[str, tuple[float, float, ComparisonRow]] = {}
    for row in comparison.rows:
        if row.best_attacker is None or not row.samples:
            continue
        named = row.best_attacker[1].value
        off = abs(named - wanted)
        if row.label not in shown or off < shown[row.label][0]:
            shown[row.label] = (off, named, row)
    tables = tuple(
        Table(
            f"sample-{number}",
            f"Text {number}",
            ("mechanism", "text"),
            (
                ("as it is", text),
                *(
                    (f"{row.setting} ({named:.2f} named)", row.samples[number - 1])
                    for _, named, row in shown.values()
                    if number <= len(row.samples)
                ),
            ),
        )
        for number, text in enumerate(originals, 1)
    )
    return Section(
        "Samples",
        paragraphs=(
            f"The first {len(originals)} texts of the sample, all of them, by each mechanism at "
            f"the setting at which the best attacker comes nearest to {100 * wanted:.0f} of 100 "
            "words.",
        ),
        tables=tables,
    )


# -- words -----------------------------------------------------------------------------------------


def _name(attacker: str) -> str:
    return _ATTACKERS[attacker].name if attacker in _ATTACKERS else attacker


def _line(
    row: ComparisonRow, figures: Mapping[str, Estimate], names: Sequence[str]
) -> tuple[Cell, ...]:
    return (row.setting, *(_cell(figures.get(name)) for name in names))


def _cell(each: Estimate | None) -> Cell:
    if each is None:
        return None
    form = ",.0f" if max(abs(each.value), abs(each.high)) >= 10 else ".3f"
    value, low, high = (format(number, form) for number in (each.value, each.low, each.high))
    return f"{value} ({low}\N{NO-BREAK SPACE}to\N{NO-BREAK SPACE}{high})"  # a column has two lines
