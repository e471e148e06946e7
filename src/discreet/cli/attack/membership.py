"""``discreet attack membership``: was a row in the training set of a model?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import _options as options
from discreet.cli.attack._public import show_outcomes
from discreet.errors import InvalidValue

if TYPE_CHECKING:
    from discreet.attacks.membership import Predictions
    from discreet.models.task import TaskModel


def membership(
    model: Annotated[
        Path, typer.Option("--model", help="From 'discreet train embeddings', with labels.")
    ],
    members: Annotated[
        Path,
        typer.Option("--members", help="Labelled vectors (.parquet, .npz) of its training rows."),
    ],
    others: Annotated[
        Path,
        typer.Option("--others", help="Labelled vectors of rows that it was not trained on."),
    ],
    unprotected_model: Annotated[
        Path | None,
        typer.Option("--unprotected-model", help="For comparison: trained without noise."),
    ] = None,
    unprotected_members: Annotated[
        Path | None, typer.Option("--unprotected-members", help="Its training rows.")
    ] = None,
    unprotected_others: Annotated[
        Path | None, typer.Option("--unprotected-others", help="Rows that it was not trained on.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Chooses the halves.", min=0)] = 0,
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
    from discreet.attacks.membership import membership_attack
    from discreet.models.task import TaskModel

    extra = (unprotected_model, unprotected_members, unprotected_others)
    base = None
    if any(extra):
        if unprotected_model is None or unprotected_members is None or unprotected_others is None:
            raise InvalidValue(
                "--unprotected-model, --unprotected-members and --unprotected-others belong "
                "together; give all three or none"
            )
        bare = TaskModel.load(unprotected_model)
        base = (_predicted(bare, unprotected_members), _predicted(bare, unprotected_others))
    trained = TaskModel.load(model)
    outcomes = membership_attack(
        _predicted(trained, members), _predicted(trained, others), unprotected=base, seed=seed
    )
    show_outcomes(outcomes, {}, as_json=as_json)


def _predicted(model: "TaskModel", path: Path) -> "Predictions":
    import numpy as np

    from discreet.attacks.membership import Predictions
    from discreet.release.vectors import read_vectors

    found = read_vectors(path)
    if found.labels is None:
        raise InvalidValue(f"{path} has no labels; a membership attack needs that of each row")
    places = {label: index for index, label in enumerate(model.labels or ())}
    wrong = [row for row, label in enumerate(found.labels, 1) if label not in places]
    law = model.probabilities(found)
    if wrong:
        raise InvalidValue(
            f"the labels of {path} must be those that the model knows; {len(wrong)} are not, the "
            f"first in row {wrong[0]}"
        )
    return Predictions(law, np.array([places[label] for label in found.labels], dtype=np.int64))
