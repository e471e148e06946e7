"""What private vectors of sentences and of documents are worth, as sections of a page."""

from collections.abc import Sequence

from discreet.evaluation.comparison.documents import UNPROTECTED, DocumentRow
from discreet.evaluation.comparison.vectors import VectorRow
from discreet.mechanisms.registry import entries
from discreet.report.page import Section
from discreet.report.plots import Curve, Plot
from discreet.report.tables import Table

_WORKS = 0.8
_SHOWN, _FEW = 64, 12


def search_section(rows: Sequence[VectorRow]) -> Section:
    """At which setting a search works, or that none does; and all figures."""
    works = [row for row in rows if row.recall >= _WORKS]
    if works:
        least = min(works, key=lambda row: row.any_two)
        answer = (
            f"A search finds at least {_WORKS:.0%} of the 10 nearest neighbours from "
            f"{least.mechanism} at epsilon {least.epsilon:g} in {least.dimension} dimensions on: "
            f"between any two texts that is a loss of {least.any_two:,.0f}, and whoever has the "
            f"list of texts says of {100 * least.recognised:.0f} of 100 vectors which text it is."
        )
    else:
        most = max(rows, key=lambda row: row.recall)
        answer = (
            "Search among private vectors does not work here. "
            f"No setting that was tried finds {_WORKS:.0%} of the 10 nearest neighbours. "
            f"The most is {most.recall:.0%}, of {most.mechanism} at epsilon {most.epsilon:g} in "
            f"{most.dimension} dimensions, and there whoever has the list of texts says of "
            f"{100 * most.recognised:.0f} of 100 vectors which text it is."
        )
    table = Table(
        "vectors",
        "Sentence vectors: neighbours that a search still finds",
        (
            *("mechanism", "epsilon", "dimensions", "loss between any two"),
            *("recall of 10 nearest", "without noise", "recognised"),
        ),
        tuple(
            (
                *(row.mechanism, row.epsilon, row.dimension, row.any_two),
                *(row.recall, row.without_noise, row.recognised),
            )
            for row in rows
        ),
        f"Among {rows[0].texts:,} texts, where chance finds {10 / (rows[0].texts - 1):.3f}. "
        "Recognised: how often the nearest of these texts is the very one. Of sphere-gaussian "
        "delta is 1e-6.",
    )
    names = list(dict.fromkeys(row.mechanism for row in rows))
    points: dict[str, list[tuple[float, float]]] = {}
    for row in sorted(rows, key=lambda row: names.index(row.mechanism)):
        if row.dimension == _SHOWN or len(rows) < _FEW:
            label = f"{row.mechanism}, {row.dimension} dimensions"
            points.setdefault(label, []).append((row.any_two, row.recall))
    curves = tuple(Curve.through(label, some) for label, some in points.items())
    plot = Plot(
        "vectors",
        "Neighbours that a search still finds",
        "largest loss between any two texts",
        "recall of the 10 nearest",
        curves,
        f"Recall against the loss between any two texts, {_SHOWN} dimensions. {answer}",
        log_x=True,
    )
    return Section("Sentence vectors", (answer,), tables=(table,), plots=(plot,) if curves else ())


def documents_section(rows: Sequence[DocumentRow]) -> Section:
    """What is left of documents each sentence of which is protected; the best first."""
    bare = next(row for row in rows if row.mechanism == UNPROTECTED)
    labelled = bare.accuracy is not None
    epsilons = sorted({row.epsilon for row in rows if row.epsilon is not None})
    best = [
        (epsilon, max((row for row in rows if row.epsilon == epsilon), key=_worth))
        for epsilon in epsilons
    ]
    told = [f"at {epsilon:g} {row.mechanism} ({_worth(row):.2f})" for epsilon, row in best]
    what = (
        "accuracy of a model that learns from released vectors"
        if labelled
        else "recall of the 10 nearest neighbours"
    )
    answer = (
        f"By {what}, {_worth(bare):.2f} without protection, the best at an epsilon for any "
        f"sentence are: {', '.join(told)}."
    )
    columns = ("accuracy",) if labelled else ()
    table = Table(
        "documents",
        "Document vectors: what is left, and who is recognised",
        ("mechanism", "epsilon", *columns, "recall of 10 nearest", "recognised"),
        tuple(
            (
                row.mechanism,
                "" if row.epsilon is None else row.epsilon,
                *((str(row.accuracy),) if labelled else ()),
                *(row.recall, str(row.recognised)),
            )
            for row in rows
        ),
        f"{bare.documents:,} documents of at least 2 sentences, {bare.sentences:g} at the "
        "median. One vector is released for each, and epsilon is for any sentence: a whole of k "
        "sentences has k times as much. Recognised: how often somebody who has the list and knows "
        "the law says which document a vector is of; for truncation and vote-histogram the "
        f"nearest is taken, which is a lower bound. Chance finds {1 / bare.documents:.3f}. In "
        f"brackets: exact intervals of 95 %.{_left_out(rows)}",
    )
    return Section("Document vectors", (answer,), tables=(table,))


def _left_out(rows: Sequence[DocumentRow]) -> str:
    measured = {row.mechanism for row in rows}
    names = [entry.name for entry in entries("document") if entry.name not in measured]
    return f" Not measured, as more than public text is needed: {', '.join(names)}." * bool(names)


def _worth(row: DocumentRow) -> float:
    return row.recall if row.accuracy is None else row.accuracy.value
