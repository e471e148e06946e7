"""Tables, plots and claims of the SentDP recipe, from its figures."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import fmean
from typing import Any

from discreet.report.plots import Curve
from discreet.report.tables import Cell
from discreet_recipes.record import Record, verdict
from discreet_recipes.repeats import curve, plus_minus

Runs = Mapping[str, Mapping[str, Sequence[Mapping[str, float | None]]]]
"""By method and epsilon, the score of each group of documents in each trial."""

RANGES = ((2, 3), (4, 7), (8, 12), (13, 20), (21, 30), (31, 60))
AT_LEAST_8, ALL = "at least 8", "at least 2"
WORDS = "cmp on words"
PAPER = "deep-candidate, recoder, exponential (paper)"
PAPER_TABLE_1 = ((3, 55, 5), (6, 25, 3), (10, 5, 2), (23, 1, 1))
"""The paper's rows: epsilon, candidates that are needed, their depth."""
_GROUPS = {f"{a} to {b}": (a + b) / 2 for a, b in RANGES}
"""By number of sentences, and where the middle is."""


def values(runs: Runs, method: str, epsilon: float, group: str = AT_LEAST_8) -> list[float]:
    """The score of every trial, if the group has documents."""
    # Parts that were kept do not know of the longest documents.
    scores = [trial.get(group) for trial in runs.get(method, {}).get(str(epsilon), [])]
    return [value for value in scores if value is not None]


def _were_tried(runs: Runs, epsilon: float, *methods: str) -> bool:
    """Whether there is a score of each: of what was not run nothing is claimed."""
    return all(values(runs, method, epsilon) for method in methods)


def add_data_set(record: Record, name: str, base: Any, runs: Runs) -> None:
    """Tables and plots of one data set, and whether our votes are ahead."""
    documents = base["documents"]
    tried = tuple(sorted({*record.settings["epsilons"], *record.settings["word_epsilons"]}))
    for group, key in ((AT_LEAST_8, "epsilon-8"), (ALL, "epsilon-2")):
        scores = {m: {e: values(runs, m, e, group) for e in tried} for m in runs}
        named = {m: list(map(plus_minus, some.values())) for m, some in scores.items()}
        named["guess by label frequency"] = [f"{base['guess']:.3f}"] * len(tried)
        named["mean, no privacy"] = [f"{base['mean'][group]:.3f}"] * len(tried)
        guess = Curve("guess by label frequency", tried, (base["guess"],) * len(tried))
        record.add_table(
            f"{name}-{key}",
            f"{name}: macro-F1 of private documents of {group} sentences",
            _by_method(named, [f"epsilon {e:g}" for e in tried]),
            f"{documents['public']:,} public, {documents['validation']:,} validation and "
            f"{documents['private']:,} private documents, {documents[AT_LEAST_8]:,} of these with "
            "at least 8 sentences; mean and standard deviation over trials of the noise."
            + (_of_words(record, documents["private"]) if WORDS in runs else ""),
        )
        record.add_plot(
            f"{name}-{key}",
            f"{name}, documents of {group} sentences",
            ("epsilon for a sentence (cmp: for a word, per unit of distance)", "macro-F1"),
            [*(curve(method, some) for method, some in scores.items()), guess],
            f"Macro-F1 of {name} against epsilon, a curve for each method.",
            level=("mean, no privacy", base["mean"][group]),
        )
    _by_sentences(record, name, base, runs)
    _votes_claim(record, name, runs)


def _of_words(record: Record, private: int) -> str:
    """Which documents the word-level baseline reads, and how often."""
    most, trials = record.settings["word_documents"], record.settings["word_trials"]
    which = f"the first {most} private documents only" if most < private else "all of these"
    return f" cmp: {which}, {trials} trial(s)."


def _by_method(
    named: Mapping[str, Sequence[Cell]], columns: Sequence[str]
) -> list[dict[str, Cell]]:
    return [{"method": m, **dict(zip(columns, cells, strict=True))} for m, cells in named.items()]


def _by_sentences(record: Record, name: str, base: Any, runs: Runs) -> None:
    tried = [method for method in runs if "10.0" in runs[method]]
    unprotected = {g: base["mean"][g] for g in _GROUPS if base["mean"].get(g) is not None}
    scores = {m: {_GROUPS[g]: values(runs, m, 10.0, g) for g in unprotected} for m in tried}
    named = {m: list(map(plus_minus, some.values())) for m, some in scores.items()}
    named["mean, no privacy"] = [f"{value:.3f}" for value in unprotected.values()]
    record.add_table(
        f"{name}-sentences",
        f"{name}: macro-F1 at epsilon 10 by number of sentences",
        _by_method(named, [f"{group} sentences" for group in unprotected]),
    )
    record.add_plot(
        f"{name}-sentences",
        f"{name} at epsilon 10",
        ("number of sentences (middle of the range)", "macro-F1"),
        [curve(method, some) for method, some in scores.items()],
        f"Macro-F1 of {name} at epsilon 10 against the number of sentences of a document.",
    )


def _at(runs: Runs, method: str, epsilon: float, group: str = AT_LEAST_8) -> float:
    scores = values(runs, method, epsilon, group)
    return fmean(scores) if scores else float("nan")


def _votes_claim(record: Record, name: str, runs: Runs) -> None:
    """Ours against the paper's, on each data set: a lead on one says nothing of the other."""
    deep, votes = "deep-candidate, recoder", "sentence-votes"
    tried = [e for e in record.settings["epsilons"] if e <= 20 and _were_tried(runs, e, votes)]
    if not tried:
        return
    both = {e: (_at(runs, votes, e), max(_at(runs, deep, e), _at(runs, PAPER, e))) for e in tried}
    won = sum(ours > theirs for ours, theirs in both.values())
    record.add_claim(
        f"{name}: sentence votes (ours) beat DeepCandidate with its recoder up to epsilon 20",
        "not in the paper",
        ", ".join(f"{e:g}: {ours:.3f} against {its:.3f}" for e, (ours, its) in both.items()),
        verdict(won == len(tried), in_part=won > 0),
        main=True,
    )


def add_claims(record: Record, base: Any, runs: Runs) -> None:
    """The paper's claims on 20 Newsgroups, documents of at least 8 sentences."""
    bare = "deep-candidate, no recoder, exponential"
    mean = base["mean"][AT_LEAST_8]
    if _were_tried(runs, 10.0, PAPER, bare, "truncation"):
        _add_claims_at_10(record, runs, bare)
    if _were_tried(runs, 30.0, PAPER):
        gap = mean - _at(runs, PAPER, 30.0)
        record.add_claim(
            "DeepCandidate levels off below the unprotected mean",
            "10 to 15 % below",
            f"{gap:.3f} below {mean:.3f} at epsilon 30",
            verdict(0.10 <= gap <= 0.15, in_part=gap > 0),
        )
    if _were_tried(runs, 3.0, PAPER, "sentence-votes"):
        record.add_key_figure(
            "utility",
            "20 Newsgroups, documents with each sentence protected at epsilon 3",
            f"macro-F1 {_at(runs, 'sentence-votes', 3.0):.2f} by sentence votes, "
            f"{_at(runs, PAPER, 3.0):.2f} by DeepCandidate; {mean:.2f} without privacy",
        )


def _add_claims_at_10(record: Record, runs: Runs, bare: str) -> None:
    at_10, without = _at(runs, PAPER, 10.0), _at(runs, bare, 10.0)
    some = [group for group in _GROUPS if values(runs, PAPER, 10.0, group)]
    by_length = {group: _at(runs, PAPER, 10.0, group) for group in some}
    rises = [low < high for low, high in pairwise(by_length.values())]
    if _were_tried(runs, 10.0, WORDS):
        others = _at(runs, "truncation", 10.0), _at(runs, WORDS, 10.0)
        record.add_claim(
            "DeepCandidate is above truncation and word-level privacy at epsilon 10",
            "far above both",
            f"{at_10:.3f}; truncation {others[0]:.3f}, cmp {others[1]:.3f}",
            verdict(at_10 > max(others) + 0.05),
            main=True,
        )
    record.add_claim(
        "the recoder improves DeepCandidate",
        "no figure given",
        f"{without:.3f} without, {at_10:.3f} with it at epsilon 10",
        verdict(at_10 > without),
    )
    record.add_claim(
        "more sentences give better embeddings at epsilon 10",
        "high quality from 10 to 15 sentences on",
        ", ".join(f"{group}: {score:.3f}" for group, score in by_length.items()),
        verdict(all(rises), in_part=any(rises)),
    )


def add_table_1(record: Record, needed: Mapping[str, Sequence[int]]) -> None:
    """The paper's conditions for deep candidates beside those of each rule, from the law."""
    record.add_table(
        "table-1",
        "How many of 5,000 candidates must be deep for one of them to come out with 95 %",
        [
            {
                "epsilon": epsilon,
                "depth": depth,
                "published": published,
                **{rule: ours[number] for rule, ours in needed.items()},
            }
            for number, (epsilon, published, depth) in enumerate(PAPER_TABLE_1)
        ],
        "All other candidates have depth 0. Computed from the law.",
    )
    published = [row[1] for row in PAPER_TABLE_1]
    enough = zip(needed["exponential"], published, strict=True)
    record.add_claim(
        "conditions for deep candidates (Table 1)",
        ", ".join(map(str, published)),
        "; ".join(f"{rule} {', '.join(map(str, ours))}" for rule, ours in needed.items()),
        verdict(all(ours <= theirs for ours, theirs in enough)),
        "the published numbers are enough; fewer are needed where ours are smaller",
    )
