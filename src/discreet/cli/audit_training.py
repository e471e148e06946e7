"""``discreet audit training``: canaries in user and entity training."""

from discreet.cli import _options as options
from discreet.cli._terminal import progress_bar, show
from discreet.errors import needs_extra
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
    with needs_extra("an audit of training", "train"):
        from discreet.audit.training import TrainingAudit
    with progress_bar("training with canaries") as bar:
        audit = TrainingAudit.of(settings, bar)
    show(audit.to_dict(), audit.lines(), as_json=as_json)
    audit.require()
