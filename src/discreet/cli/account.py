"""``discreet account``: what a guarantee becomes when releases are put together."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from discreet.accounting.calibrate import local_epsilon
from discreet.accounting.receipts import add_receipts, together_lines
from discreet.accounting.shuffle import ShuffledReleases
from discreet.accounting.user_entity import UserEntityTraining, published_figures
from discreet.cli import _options as options
from discreet.cli._groups import command_group
from discreet.cli._settings import argument
from discreet.cli._terminal import say, show
from discreet.errors import InvalidValue
from discreet.receipt import receipt_of
from discreet.report.accounting import cost_plot
from discreet.report.plots import check_plot, draw
from discreet.settings import Setting

account = command_group("Say what releases guarantee together.")

Delta = Annotated[float, Setting("Probability with which the loss may be larger.")]


@account.command(short_help="What n private releases guarantee once they were shuffled.")
def shuffle(
    n: Annotated[int, Setting("How many people release, one unit each.")],
    delta: Delta,
    epsilon0: Annotated[
        float | None, Setting("Pure local epsilon of every single release.")
    ] = None,
    target: Annotated[
        float | None, Setting("Find the largest --epsilon0 that is shuffled down to this.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Say what n private releases guarantee once they were shuffled.

    Holds towards whoever sees the releases only after a trusted shuffle, for any pure local
    mechanism that everybody uses with the same epsilon0. Computed numerically by the clones
    reduction; the closed form of the paper is shown beside it.

    Example: discreet account shuffle --epsilon0 2 --n 10000 --delta 1e-6
    """
    if epsilon0 is not None and target is None:
        local = epsilon0
    elif target is not None and epsilon0 is None:
        local = local_epsilon(target, n, delta)
    else:
        raise InvalidValue("give --epsilon0 or --target, one of the two")
    releases = ShuffledReleases.of(local, n, delta)
    show(asdict(releases), releases.lines(), as_json=as_json)


@account.command(
    "user-entity", short_help="What training costs for a user, for an entity, and for both."
)
def user_entity(
    run: UserEntityTraining,
    delta: Delta,
    published: Annotated[
        str | None,
        Setting(
            "Show the paper's figure too: simple or optimized estimator.",
            choices=("simple", "optimized"),
        ),
    ] = None,
    sensitive_share: Annotated[
        float | None, Setting("Share of sensitive sentences (optimized).")
    ] = None,
    plot: Annotated[
        Path | None, Setting("Draw epsilon over steps into this PNG, SVG or PDF file.")
    ] = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Say what training costs for a user, for an entity, and for both together.

    Holds for training that draws users and entities independently in every step, uses a sensitive
    sentence only if all its entities are drawn, clips cells and users, and enforces the bounds
    given here. The figures that the paper prints do not hold; --published shows them beside.

    Example: discreet account user-entity --user-rate .05 --entity-rate .5 --noise 2.5 --steps 500
    --delta 1e-5 --holders 10 --cell-ratio .1
    """
    if plot is not None:
        check_plot(plot, force=force)
    if (published == "optimized") != (sensitive_share is not None):
        raise InvalidValue(
            "--published optimized needs --sensitive-share, and nothing else takes it"
        )
    loss = run.loss(delta)
    values = asdict(loss)
    lines = [f"Epsilon after {run.steps:,} steps, at delta = {delta:.3g}:", *loss.lines()]
    if published is not None:
        share = 1.0 if sensitive_share is None else sensitive_share
        paper = published_figures(run, delta, sensitive_share=share)
        values["published"] = asdict(paper)
        lines += paper.lines()
    if plot is not None:
        draw(cost_plot(run, delta), plot)
        say(f"Written: {plot}")
    show(values, lines, as_json=as_json)


@account.command(short_help="What releases about the same people guarantee together.")
def receipts(
    paths: Annotated[
        list[Path],
        argument("RECEIPT...", "Receipts (OUT.privacy.json), or the outputs that they lie beside."),
    ],
    delta: Annotated[
        float,
        Setting(
            "Delta to trade for a smaller epsilon, on top of the receipts' own. It does not "
            "help metric guarantees."
        ),
    ] = 0.0,
    as_json: options.Json = False,
) -> None:
    """Add up what releases about the same people guarantee, from their receipts.

    Pure and approximate guarantees of the same unit are added, and metric ones of the same metric.
    All others are shown side by side, because their epsilons bound different things. Releases
    about different people do not add up: leave those out. A receipt of seeded noise is refused.

    Example: discreet account receipts first.csv.privacy.json second.csv.privacy.json --delta 1e-6
    """
    if len(set(paths)) < len(paths):
        raise InvalidValue("a receipt is given twice, and a release costs once; give it once")
    groups = add_receipts({str(path): receipt_of(path) for path in paths}, delta=delta)
    values = {"delta": delta, "groups": [group.to_dict() for group in groups]}
    show(values, together_lines(groups, len(paths)), as_json=as_json)
