"""``discreet account``: what a guarantee becomes when releases are put together."""

import json
from typing import Annotated

import typer

from discreet.cli import _options as options
from discreet.errors import InvalidValue

account = typer.Typer(
    help="Say what releases guarantee together.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@account.callback()
def _account() -> None:
    """Say what releases guarantee together."""


@account.command()
def shuffle(
    n: Annotated[int, typer.Option("--n", help="How many people release, one unit each.")],
    delta: Annotated[
        float, typer.Option("--delta", help="Probability with which the loss may be larger.")
    ],
    epsilon0: Annotated[
        float | None,
        typer.Option("--epsilon0", help="Pure local epsilon of every single release."),
    ] = None,
    target: Annotated[
        float | None,
        typer.Option("--target", help="Find the largest --epsilon0 that is shuffled down to this."),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Say what n private releases guarantee once they were shuffled.

    Holds towards whoever sees the releases only after a trusted shuffle, for any pure local
    mechanism that everybody uses with the same epsilon0. Computed numerically by the clones
    reduction; the closed form of the paper is shown beside it.

    Example: discreet account shuffle --epsilon0 2 --n 10000 --delta 1e-6
    """
    from discreet.accounting.calibrate import local_epsilon
    from discreet.accounting.shuffle import shuffle_closed_form, shuffle_epsilon
    from discreet.statement import odds

    if (epsilon0 is None) == (target is None):
        raise InvalidValue("give --epsilon0 or --target, one of the two")
    local = local_epsilon(target, n, delta) if target is not None else epsilon0
    assert local is not None
    epsilon = shuffle_epsilon(local, n, delta)
    closed = shuffle_closed_form(local, n, delta)
    if as_json:
        values = {
            "epsilon0": local,
            "n": n,
            "delta": delta,
            "epsilon": epsilon,
            "closed_form": closed,
        }
        typer.echo(json.dumps(values, indent=2))
        return
    typer.echo(
        f"Shuffled among {n:,}, releases of epsilon0 = {local:.6g} have epsilon = {epsilon:.6g} "
        f"at delta = {delta:.3g}."
    )
    typer.echo(
        f"  before the shuffle: odds change by at most {odds(local)}; after it: {odds(epsilon)}, "
        f"except with probability {delta:.3g}"
    )
    published = "does not reach here" if closed is None else f"gives {closed:.6g}"
    typer.echo(f"  the closed form of the paper {published}")
