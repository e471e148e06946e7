"""``discreet attack membership``: was a row in the training set of a model?"""

from pathlib import Path
from typing import Annotated

from discreet.attacks.membership import LabelledPredictions, membership_attack
from discreet.cli import _options as options
from discreet.cli.attack._public import show_outcomes
from discreet.errors import InvalidValue
from discreet.settings import Setting


def membership(
    model: Annotated[Path, Setting("From 'discreet train embeddings', with labels.")],
    members: Annotated[Path, Setting("Labelled vectors (.parquet, .npz) of its training rows.")],
    others: Annotated[Path, Setting("Labelled vectors of rows that it was not trained on.")],
    unprotected_model: Annotated[
        Path | None, Setting("For comparison: trained without noise.")
    ] = None,
    unprotected_members: Annotated[Path | None, Setting("Its training rows.")] = None,
    unprotected_others: Annotated[Path | None, Setting("Rows that it was not trained on.")] = None,
    seed: Annotated[int, Setting("Chooses the halves.", at_least=0)] = 0,
    as_json: options.Json = False,
) -> None:
    """Try to tell the training rows of a model from others by how sure the model is of them.

    Three scores (entropy, entropy that knows the label, confidence), each with a threshold that is
    set on one half of the rows and measured on the other half. 0.5 is chance. The attacker of the
    paper knows the sentences, not what was released of them: give vectors that were released anew,
    with fresh noise, for members and others alike.

    Example: discreet attack membership --model model.safetensors --members train-again.parquet
    --others other.parquet
    """
    base = None
    if unprotected_model and unprotected_members and unprotected_others:
        base = LabelledPredictions.pair(unprotected_model, unprotected_members, unprotected_others)
    elif unprotected_model or unprotected_members or unprotected_others:
        raise InvalidValue(
            "--unprotected-model, --unprotected-members and --unprotected-others belong together; "
            "give all three or none"
        )
    outcomes = membership_attack(
        *LabelledPredictions.pair(model, members, others), unprotected=base, seed=seed
    )
    show_outcomes(outcomes, {}, as_json=as_json)
