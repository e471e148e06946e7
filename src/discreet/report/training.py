"""What was trained, for people: lines and a curve."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.receipt import Receipt
from discreet.report.plots import Curve, Plot, draw
from discreet.training.scores import perplexity_says_nothing, scores_say_nothing
from discreet.wording import counted

if TYPE_CHECKING:
    from discreet.encoders.candidate_store import CandidateStore
    from discreet.encoders.maps import PublicMap
    from discreet.models.rewriter import Rewriter
    from discreet.models.task import TaskModel
    from discreet.training.user_entity.proposal import Proposal
    from discreet.training.user_entity.settings import BoundsSettings
    from discreet.training.user_entity.trainer import TrainingOutcome, UserEntityTrainer

_SHOWN = 6


def map_lines(trained: "PublicMap") -> list[str]:
    """What a public map was trained for and how good it is, dimension by dimension."""
    about = trained.about
    settings, table = about["settings"], about["validation"]
    measure = next(key for key in table[0] if key != "dimension")
    lines = [
        f"Trained on {counted(about['rows'], 'public text')} for {settings['mechanism']} at "
        f"epsilon {settings['epsilon']:g}.",
        f"Objective: {about['objective']}.",
        f"Validation ({about['validated on']}):",
        *(f"  {row['dimension']:>4} dimensions: {measure} {row[measure]:.3f}" for row in table),
    ]
    if "clean accuracy" in about:
        lines.append(f"  without map and noise: accuracy {about['clean accuracy']:.3f}")
    return [*lines, f"Kept: {trained.dimension} dimensions."]


def store_lines(store: "CandidateStore", left_out: int) -> list[str]:
    """What a store of candidates was made from, and the best choices by epsilon."""
    about = store.about
    short = f"Left out {counted(left_out, 'document')} with fewer than 2 sentences."
    return [
        *([short] if left_out else []),
        f"{counted(len(store.candidates), 'candidate')} from "
        f"{counted(about['public_documents'], 'document')}; "
        f"choices made on {about['validation_documents']} others:",
        f"{'epsilon':>8} {'projections':>12} {'centroids':>10} {'learned votes':>14}",
        *(
            f"{epsilon:>8g} {store.best_projections[epsilon]:>12} "
            f"{store.best_centroids[epsilon]:>10} {store.best_voters[epsilon]:>14}"
            for epsilon in store.best_projections
        ),
    ]


def rewriter_lines(trained: "Rewriter") -> list[str]:
    """What a rewriter was trained on, and how many words it restores."""
    counts, held = trained.about["counts"], trained.about.get("held out")
    lines = [
        f"Trained on {counted(counts['words'], 'word')} of "
        f"{counted(counts['documents'], 'public document')}; it can write "
        f"{counted(counts['written'], 'different word')}."
    ]
    if held is not None:
        lines.append(
            f"On public text that it had not seen: {held['kept']:.1%} of the words leave the "
            f"mechanism as they were, {held['restored']:.1%} are right after rewriting."
        )
    return lines


def task_lines(model: "TaskModel") -> list[str]:
    """What a model of vectors was trained on, and what that cost."""
    about = model.about
    rows, epochs = counted(about["rows"], "row"), counted(about["settings"]["epochs"], "epoch")
    if (claimed := about.get("epsilon that the paper claims")) is not None:
        return [f"Trained on {rows} in {epochs}, which the paper claims to cost {claimed:g}."]
    what = "scores" if model.labels is None else f"{len(model.labels)} classes"
    corrected = about["corrected for randomised labels"]
    return [
        f"Trained on {rows}: {what}"
        + (", corrected for the law of their release." if corrected else "."),
        f"{epochs} over vectors that were released once: nothing was added to their privacy loss.",
    ]


def text_model_lines(
    model: str, about: Mapping[str, Any], tested: int
) -> tuple[list[str], list[str]]:
    """What a model of texts was trained on; and its scores, with a warning if they say nothing."""
    receipt, scores = about["receipt"], about["test"]
    whose = "sanitised text (its labels are not protected):"
    if receipt is None:
        whose = "which no receipt covers: unprotected text."
    said = [] if receipt is None else receipt.get("in_words", [])[:1]
    trained = [f"Trained {model} on {counted(about['rows'], 'row')}, {whose}", *said]
    if scores is None:
        return trained, []
    shown = ", ".join(f"{k.replace('_', ' ')} {v:.4f}" for k, v in scores.items())
    nothing = scores_say_nothing(scores, tested)
    on_test = f"On {counted(tested, 'test row')}: {shown}"
    return trained, [on_test] if nothing is None else [on_test, nothing]


def score_lines(scores: Mapping[str, float], rows: int, *, advise: bool = True) -> list[str]:
    """Scores on so many rows, and a warning if they are those of a model that learnt nothing.

    Without the warning where another reason for low scores is known (``advise``).
    """
    nothing = scores_say_nothing(scores, rows) if advise else None
    lines = [f"  {name.replace('_', ' ')}: {value:.4f}" for name, value in scores.items()]
    return lines if nothing is None else [*lines, nothing]


def proposal_lines(
    proposals: Sequence["Proposal"], asked: "BoundsSettings", users: int
) -> list[str]:
    """The bounds on entities in which a step says most for its noise, as a table."""
    best = proposals[0]
    cells = "--one-cell" if best.one_cell else f"--cells {best.cells}"
    return [
        f"For epsilon = {asked.epsilon:g} over {asked.steps:,} steps, by {users:,} public users:",
        "",
        "  holders  cells       cell-ratio   noise  sentences kept  signal",
        *(
            f"  {one.holders:>7}  {'one a user' if one.one_cell else one.cells:<10}  "
            f"{one.cell_ratio:>10g}  {one.noise:>6.2f}  {one.kept:>14.1%}  {one.signal:>6.2f}"
            for one in proposals[:_SHOWN]
        ),
        "",
        "Signal: what a step says of the text for its noise; 1 is training for users alone.",
        f"To train: --holders {best.holders} {cells} --cell-ratio {best.cell_ratio:g}",
    ]


def prepared_lines(trainer: "UserEntityTrainer", epsilon: float | None, steps: int) -> list[str]:
    """The noise that an epsilon asks for, and what the bounds on entities cost.

    For whoever runs the training: the counts are not protected.
    """
    dropped, rules = trainer.dropped, trainer.rules
    lines = []
    if epsilon is not None:
        lines.append(f"Noise {rules.noise:.4g} keeps {steps:,} steps within epsilon = {epsilon:g}.")
    if not dropped.sentences:
        return lines
    why = [
        f"{counted(dropped.entities_over_holders, 'time')} an entity had more than "
        f"{counted(rules.holders, 'holder')}",
        f"{counted(dropped.users_over_one_cell, 'user')} had more than one cell"
        if rules.one_cell
        else f"{counted(dropped.entities_over_cells, 'time')} it was in more than "
        f"{counted(rules.cells, 'cell')} of a user",
    ]
    return [
        *lines,
        f"Dropped {counted(dropped.sentences, 'sentence')} of "
        f"{dropped.sentences + sum(map(len, trainer.users)):,} to keep the bounds: "
        f"{', '.join(why)}; {counted(dropped.users_emptied, 'user')} of {len(trainer.users):,} "
        "have nothing left. (For you: these numbers are not protected.)",
    ]


def draw_curve(path: Path, outcome: "TrainingOutcome", algorithm: str) -> None:
    """Perplexity on public text over steps."""
    measured = [point for point in outcome.curve if "perplexity" in point]
    points = [(float(point["step"]), float(point["perplexity"])) for point in measured]
    title, curve = f"Perplexity on public text, {algorithm}", Curve.through(algorithm, points)
    draw(Plot("curve", title, "steps", "perplexity", (curve,), alternative=title), path)


def _outcomes(receipt: Receipt) -> int | None:
    """How many words, or classes, a prediction chooses from; None where the receipt is silent."""
    for part in receipt.about["model"].values():
        shape = part.get("shape") if isinstance(part, dict) else None
        if shape is not None:
            return int(shape["classes"] or shape["words"])
    return None


def user_entity_lines(receipt: Receipt, outcome: "TrainingOutcome") -> list[str]:
    """How long a model was trained, what holds for it, and how good it is on public text."""
    lines = []
    if outcome.stopped_by_budget:
        charged = counted(outcome.charged, "step")
        lines.append(f"Stopped after {charged}: one more would exceed the budget.")
    lines += [f"Trained {counted(outcome.steps, 'step')}, {outcome.charged:,} charged."]
    lines += receipt.statement.lines()
    figures = receipt.about["figures"]
    if figures.get("joint") is not None:
        whose = "Epsilon" if receipt.about["start"] is None else "Of this run alone: epsilon"
        lines.append(
            f"{whose} for one user {figures['user']:.4g}, for one entity {figures['entity']:.4g}, "
            f"for both together {figures['joint']:.4g}."
        )
    if "published" in figures:
        paper = figures["published"]
        lines.append(
            f"The paper claims epsilon = {paper['claimed']:.4g}; its sampling alone costs at least "
            f"{paper['at_least']:.4g}."
        )
    if measured := receipt.about["public_evaluation"]:
        parts = ""
        if "entities" in measured:
            parts = (
                f" ({measured['entities']:.4g} for words of entities, "
                f"{measured['others']:.4g} for all others)"
            )
        lines.append(
            f"On the public text: perplexity {outcome.curve[0]['perplexity']:.4g} before training, "
            f"{measured['perplexity']:.4g} after{parts}; {measured['error_rate']:.1%} of the "
            "predictions wrong."
        )
        if (outcomes := _outcomes(receipt)) is not None:
            figures = measured["perplexity"], measured["error_rate"]
            nothing = perplexity_says_nothing(*figures, outcomes)
            lines += [] if nothing is None else [nothing]
    return lines
