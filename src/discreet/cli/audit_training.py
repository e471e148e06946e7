"""``discreet audit training``: canaries in user and entity training."""

from discreet.cli import _options as options
from discreet.cli._terminal import counted, echo, echo_json, progress_bar
from discreet.errors import MissingExtra, VerificationFailed
from discreet.training.user_entity.audit_settings import TrainingAuditSettings


def audit_training(settings: TrainingAuditSettings, as_json: options.Json = False) -> None:
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
    except ImportError as error:
        raise MissingExtra("an audit of training", "train") from error
    from discreet.randomness import SEEDED_CAVEAT

    rules, steps = settings.rules(), settings.chosen("steps")
    with progress_bar("training with canaries") as show:
        audits = audit(
            rules,
            steps=steps,
            canaries=settings.chosen("canaries"),
            runs=settings.chosen("runs"),
            confidence=settings.confidence,
            seed=settings.seed,
            progress=show,
        )
    broken = [name for name, one in audits.items() if one.broken]
    algorithm = settings.algorithm
    if as_json:
        statement = rules.statement(steps)
        if settings.seed is not None:
            statement = statement.with_caveats(SEEDED_CAVEAT)
        values = {
            "algorithm": algorithm,
            "steps": steps,
            "passed": not broken,
            "seed": settings.seed,
            "statement": statement.to_dict(),
            "findings": {name: one.to_dict() for name, one in audits.items()},
        }
        echo_json(values)
    else:
        echo(f"Audit of {algorithm} training, {counted(steps, 'step')}, delta {settings.delta:.3g}")
        for name, one in audits.items():
            echo(
                f"  {'FAIL' if one.broken else 'PASS'}  {name:<22}  epsilon {one.claimed:.4g} "
                f"claimed, at least {one.lower:.4g} shown ({one.correct} of "
                f"{one.guesses} guesses right, "
                f"{one.canaries} canaries, {counted(one.runs, 'run')}; p-value {one.p_value:.2g})"
            )
        echo(
            f"Each bound holds with confidence {settings.confidence:.3g}. A bound below the claim "
            "proves nothing; true claims are contradicted at most once in 1,000 audits."
        )
    if broken:
        raise VerificationFailed(
            f"{algorithm} training does not keep its claim; contradicted for: {', '.join(broken)}"
        )
