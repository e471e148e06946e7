"""``discreet audit training``: canaries in user and entity training."""

import json
from typing import Annotated, Any

import typer

from discreet.cli import _options as options
from discreet.cli._terminal import counted, progress_bar
from discreet.errors import MissingExtra, VerificationFailed

# Where faults show: the code is the same at every setting, so it is audited where it is loud. The
# published algorithms are audited at the paper's own constants.
_CERTIFIED = {
    "user_rate": 0.2,
    "entity_rate": 0.5,
    "noise": 1.0,
    "steps": 20,
    "canaries": 300,
    "runs": 1,
}
_PUBLISHED = {
    "user_rate": 0.05,
    "entity_rate": 0.5,
    "noise": 2.0,
    "steps": 50,
    "canaries": 1,
    "runs": 60,
}


def audit_training(
    algorithm: Annotated[
        str,
        typer.Option(
            "--algorithm", help="certified, user-level, published or published-optimized."
        ),
    ] = "certified",
    user_rate: Annotated[
        float | None,
        typer.Option("--user-rate", help="Chance of a user in a step (0.2; published: 0.05)."),
    ] = None,
    entity_rate: Annotated[
        float | None, typer.Option("--entity-rate", help="Chance of an entity in a step (0.5).")
    ] = None,
    noise: Annotated[
        float | None,
        typer.Option(
            "--noise", help="Noise, in units of the user's clipping norm (1; published: 2)."
        ),
    ] = None,
    steps: Annotated[
        int | None, typer.Option("--steps", help="Steps of a run (20; published: 50).")
    ] = None,
    holders: Annotated[
        int, typer.Option("--holders", help="certified: an entity occurs with so many users.")
    ] = 4,
    cell_ratio: Annotated[
        float,
        typer.Option("--cell-ratio", help="certified: norm of a cell over that of a user."),
    ] = 0.5,
    population: Annotated[
        int, typer.Option("--population", help="published: how many users there are.")
    ] = 60,
    delta: Annotated[float, typer.Option("--delta", help="Failure probability claimed.")] = 1e-5,
    canaries: Annotated[
        int | None,
        typer.Option("--canaries", help="Canaries in a run (300; published: 1)."),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option("--runs", help="Runs, each with its own canaries (1; published: 60)."),
    ] = None,
    confidence: Annotated[
        float, typer.Option("--confidence", help="Of each lower bound shown.")
    ] = 0.95,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Repeat an audit with the same draws.", min=0)
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Show how much user and entity training certainly gives away: canaries in one run.

    Users, entities, or pairs of both are put into training by a coin each, and the coins are
    guessed from the weights that training releases. Many right guesses refute an epsilon. The model
    and the data are constructed, so that each canary's gradient is known; draws, clipping and noise
    are those of 'discreet train user-entity'. Exits with 4 if a claim is contradicted, which
    happens to true claims at most once in a thousand audits. Reads no protected text.

    Example: discreet audit training --algorithm published
    """
    try:
        from discreet.audit.training import audit_training as audit
        from discreet.randomness import SEEDED_CAVEAT
        from discreet.training.user_entity.trainer import Rules
    except ImportError as error:
        raise MissingExtra("an audit of training", "train") from error

    published = algorithm.startswith("published")
    default: dict[str, Any] = _PUBLISHED if published else _CERTIFIED
    rules = Rules(
        algorithm=algorithm,
        user_rate=default["user_rate"] if user_rate is None else user_rate,
        entity_rate=default["entity_rate"] if entity_rate is None else entity_rate,
        noise=default["noise"] if noise is None else noise,
        cell_clip=cell_ratio,
        holders=holders,
        delta=delta,
        population=population,
        user_cap=1,
        entity_cap=1,
        sentence_cap=1,
    )
    steps = default["steps"] if steps is None else steps
    with progress_bar("training with canaries") as show:
        found = audit(
            rules,
            steps=steps,
            canaries=default["canaries"] if canaries is None else canaries,
            runs=default["runs"] if runs is None else runs,
            confidence=confidence,
            seed=seed,
            progress=show,
        )
    broken = [name for name, one in found.items() if one.broken]
    if as_json:
        statement = rules.statement(steps)
        if seed is not None:
            statement = statement.with_caveats(SEEDED_CAVEAT)
        values = {
            "algorithm": algorithm,
            "steps": steps,
            "passed": not broken,
            "seed": seed,
            "statement": statement.to_dict(),
            "findings": {name: one.to_dict() for name, one in found.items()},
        }
        typer.echo(json.dumps(values, indent=2))
    else:
        typer.echo(f"Audit of {algorithm} training, {counted(steps, 'step')}, delta {delta:.3g}")
        for name, one in found.items():
            typer.echo(
                f"  {'FAIL' if one.broken else 'PASS'}  {name:<22}  epsilon {one.claimed:.4g} "
                f"claimed, at least {one.lower:.4g} shown ({one.correct} of "
                f"{one.guesses} guesses right, "
                f"{one.canaries} canaries, {counted(one.runs, 'run')}; p-value {one.p_value:.2g})"
            )
        typer.echo(
            f"Each bound holds with confidence {confidence:.3g}. A bound below the claim proves "
            "nothing; true claims are contradicted at most once in 1,000 audits."
        )
    if broken:
        raise VerificationFailed(
            f"{algorithm} training does not keep its claim; contradicted for: {', '.join(broken)}"
        )
