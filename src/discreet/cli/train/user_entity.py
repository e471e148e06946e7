"""``discreet train user-entity``: a language model on raw text, private for users and entities."""

from pathlib import Path
from typing import Annotated

from discreet.cli import _options as options
from discreet.cli._settings import argument
from discreet.cli._terminal import echo, in_lines, progress_bar, say
from discreet.errors import InvalidValue
from discreet.ledger.settings import LedgerSettings
from discreet.report.plots import check_plot
from discreet.report.training import draw_curve, prepared_lines, user_entity_lines
from discreet.settings import Setting
from discreet.training.user_entity.settings import (
    NetworkSettings,
    Records,
    RuleOptions,
    RunSettings,
)


def user_entity(
    source: Annotated[str, argument("INPUT", "JSON lines, a sentence a line; also .gz.")],
    output: Annotated[Path, Setting("Folder for the model.", short="-o")],
    rules: RuleOptions,
    records: Records,
    network: NetworkSettings,
    run: RunSettings,
    booking: LedgerSettings,
    plot: Annotated[
        Path | None, Setting("Draw perplexity over steps into this PNG, SVG or PDF file.")
    ] = None,
    seed: options.Seed = None,
    as_json: options.Json = False,
) -> None:
    """Train a language model (or a classifier) on raw text, private for users and entities.

    OUTPUT gets model.safetensors, vocabulary.txt, curve.json and the receipt privacy.json, which
    may be released, and a folder state/ with the spent budget and checkpoints, which may not. The
    budget is written before each step, so that a crash never hides what was spent. Nothing measured
    on INPUT is written; give --evaluate a public file. With --model, a transformers model that is
    here already, OUTPUT is also a folder that peft (with --adapters all: transformers) opens, with
    a model card, and 'discreet generate OUTPUT' prints text. A second run on the same users needs
    --again.

    Example: discreet train user-entity notes.jsonl -o model --tokens-field tokens
    --tags-field tags --steps 200 --epsilon 8 --population 900

    Example: discreet train user-entity tickets.jsonl -o model --model smollm2 --algorithm
    user-level --user-rate .2 --steps 20 --epsilon 8 --population 2000
    """
    if plot is not None and run.evaluate is None:
        raise InvalidValue("--plot draws perplexity over steps and needs --evaluate")
    if plot is not None:
        check_plot(plot, force=run.resume)
    from discreet.training.user_entity.run import UserEntityRun

    prepared = UserEntityRun(
        source, output, rules=rules, records=records, network=network, run=run, seed=seed
    )
    say(*prepared_lines(prepared.trainer, rules.epsilon, run.steps))
    with booking.opened("train user-entity") as ledger, progress_bar("training") as show:
        outcome, receipt = prepared.train(show, ledger)
    if plot is not None:
        draw_curve(plot, outcome, rules.algorithm)
    if as_json:
        echo(*in_lines(receipt.to_json()))
    say(*user_entity_lines(receipt, outcome), f"Written: {output}")
