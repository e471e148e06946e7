"""``discreet train user-entity``: a language model on raw text, private for users and entities."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from discreet import check
from discreet.cli import _options as options
from discreet.cli._ledger_settings import LedgerSettings
from discreet.cli._settings import argument
from discreet.cli._terminal import counted, echo, in_lines, progress_bar, say
from discreet.errors import InvalidValue
from discreet.settings import Setting
from discreet.training.learnt import perplexity_says_nothing
from discreet.training.user_entity.settings import (
    NetworkSettings,
    Records,
    RuleOptions,
    RunSettings,
)

if TYPE_CHECKING:
    from discreet.receipt import Receipt
    from discreet.training.user_entity.trainer import TrainingOutcome, UserEntityTrainer


def user_entity(
    source: Annotated[str, argument("INPUT", "JSON lines, a sentence a line; also .gz.")],
    output: Annotated[Path, Setting("Folder for the model.", short="-o")],
    rules: RuleOptions,
    records: Records,
    network: NetworkSettings,
    run: RunSettings,
    booking: LedgerSettings,
    plot: Annotated[Path | None, Setting("Draw perplexity over steps into this PNG file.")] = None,
    seed: options.Seed = None,
    as_json: options.Json = False,
) -> None:
    """Train a language model (or a classifier) on raw text, private for users and entities.

    OUTPUT gets model.safetensors, vocabulary.txt, curve.json and the receipt privacy.json, which
    may be released, and a folder state/ with the spent budget and checkpoints, which may not. The
    budget is written before each step, so that a crash never hides what was spent. Nothing measured
    on INPUT is written; give --evaluate a public file. With --model, a causal language model that
    is here already, OUTPUT is also a folder that peft and transformers open, with a model card, and
    'discreet generate OUTPUT' prints text. A second run on the same users needs --again.

    Example: discreet train user-entity notes.jsonl -o model --tokens-field tokens
    --tags-field tags --steps 200 --epsilon 8 --population 900

    Example: discreet train user-entity tickets.jsonl -o model --model smollm2 --algorithm
    user-level --user-rate .2 --steps 20 --epsilon 8 --population 2000
    """
    if plot is not None:
        _require_plot(plot, run)
    from discreet.training.user_entity.run import UserEntityRun

    prepared = UserEntityRun(
        source, output, rules=rules, records=records, network=network, run=run, seed=seed
    )
    if rules.epsilon is not None:
        say(
            f"Noise {prepared.trainer.rules.noise:.4g} keeps {run.steps:,} steps within epsilon = "
            f"{rules.epsilon:g}."
        )
    _say_dropped(prepared.trainer)
    with booking.opened("train user-entity") as ledger, progress_bar("training") as show:
        outcome, receipt = prepared.train(show, ledger)
    if plot is not None:
        _draw_curve(plot, outcome, rules.algorithm)
    if as_json:
        echo(*in_lines(receipt.to_json()))
    if outcome.stopped_by_budget:
        say(f"Stopped after {counted(outcome.charged, 'step')}: one more would exceed the budget.")
    say(*_in_words(receipt, outcome), f"Written: {output}")


def _require_plot(plot: Path, run: RunSettings) -> None:
    from discreet.files import refuse_existing

    if run.evaluate is None:
        raise InvalidValue("--plot draws perplexity over steps and needs --evaluate")
    check.one_of(plot.suffix, (".png",), "the ending of a plot's name")
    refuse_existing(plot, force=run.resume)


def _say_dropped(trainer: "UserEntityTrainer") -> None:
    """Tell whoever runs the training what the bounds cost."""
    dropped, rules = trainer.dropped, trainer.rules
    if not dropped.sentences:
        return
    why = [
        f"{counted(dropped.entities_over_holders, 'time')} an entity had more than "
        f"{counted(rules.holders, 'holder')}",
        f"{counted(dropped.users_over_one_cell, 'user')} had more than one cell"
        if rules.one_cell
        else f"{counted(dropped.entities_over_cells, 'time')} it was in more than "
        f"{counted(rules.cells, 'cell')} of a user",
    ]
    say(
        f"Dropped {counted(dropped.sentences, 'sentence')} of "
        f"{dropped.sentences + sum(map(len, trainer.users)):,} to keep the bounds: "
        f"{', '.join(why)}; {counted(dropped.users_emptied, 'user')} of {len(trainer.users):,} "
        "have nothing left. (For you: these numbers are not protected.)"
    )


def _draw_curve(path: Path, outcome: "TrainingOutcome", algorithm: str) -> None:
    """Perplexity on public text over steps."""
    from discreet.report.plots import Curve, Plot, draw

    points = [point for point in outcome.curve if "perplexity" in point]
    x = tuple(float(point["step"]) for point in points)
    y = tuple(float(point["perplexity"]) for point in points)
    title = f"Perplexity on public text, {algorithm}"
    draw(
        Plot("curve", title, "steps", "perplexity", (Curve(algorithm, x, y),), alternative=title),
        path,
    )


def _outcomes(receipt: "Receipt") -> int | None:
    """How many words, or classes, a prediction chooses from; None where the receipt is silent."""
    for part in receipt.about["model"].values():
        shape = part.get("shape") if isinstance(part, dict) else None
        if shape is not None:
            return int(shape["classes"] or shape["words"])
    return None


def _in_words(receipt: "Receipt", outcome: "TrainingOutcome") -> list[str]:
    """The receipt for people."""
    lines = [f"Trained {counted(outcome.steps, 'step')}, {outcome.charged:,} charged."]
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
            nothing = perplexity_says_nothing(measured["perplexity"], outcomes)
            lines += [] if nothing is None else [nothing]
    return lines
