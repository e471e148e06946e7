"""Labels in stages: what a model of earlier releases says of a row is the prior of its label.

The paper's remedy where labels are many (Ghazi et al., NeurIPS 2021, as used by Du et al., WWW
2023). Each label is released once, so it keeps its epsilon however many stages there are.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from discreet import check
from discreet.arrays import Floats, Generator, Ids
from discreet.errors import InvalidValue
from discreet.mechanisms.label import PriorPerExample
from discreet.models.task import TaskModel
from discreet.release.vectors import VectorSet
from discreet.statement import PrivacyStatement
from discreet.training.vectors.settings import TaskSettings
from discreet.training.vectors.task import TaskTarget, train_on_release


@dataclass(frozen=True)
class LabelStages:
    """What :func:`train_in_label_stages` gives.

    Attributes:
        model: Trained on the releases of all stages.
        released: The released class of each row.
        statement: For each label alone; the vectors have a statement of their own.
    """

    model: TaskModel
    released: Ids = field(repr=False)
    statement: PrivacyStatement


def train_in_label_stages(
    vectors: VectorSet,
    labels: tuple[str, ...],
    codes: ArrayLike,
    *,
    epsilon: float,
    stages: int,
    rng: Generator,
    settings: TaskSettings | None = None,
) -> LabelStages:
    """Release PROTECTED labels part by part, each with the prior that a model has learnt by then.

    The first part has a uniform prior, which is plain randomised response. After each part a model
    is trained on all releases so far, corrected by the law of each; what it says of the RELEASED
    vectors of the next part are the priors of its labels.

    Privacy: unit label, pure notion, epsilon for each label, in however many stages: a prior is a
    function of releases, among them the row's own vector. With that vector's statement the pair of
    both is protected by the sum of the two.

    Args:
        vectors: Released vectors; never raw ones.
        labels: The possible labels, known in advance.
        codes: The class index of each row: PROTECTED.
        epsilon: Loss allowed for each label.
        stages: Into how many parts, in a random order, the rows are divided.
        rng: The randomness of the releases and of the division.
        settings: How the models are trained.
    """
    stages = check.whole(stages, "stages", at_least=1)
    truth, classes = np.asarray(codes, dtype=np.int64), len(labels)
    if len(truth) != len(vectors) or len(truth) < stages:
        raise InvalidValue(
            f"{len(vectors)} vectors need as many labels, and a row for each of {stages} stages; "
            f"got {len(truth)} labels"
        )
    released = np.full(len(truth), -1, dtype=np.int64)
    laws: Floats = np.zeros((len(truth), classes, classes))
    model: TaskModel | None = None
    behind: Ids = np.empty(0, dtype=np.int64)
    for part in np.array_split(rng.permutation(len(truth)), stages):
        if model is None:
            priors: Floats = np.full((len(part), classes), 1 / classes)
        else:
            priors = model.probabilities(VectorSet(vectors.vectors[part]))
        law = PriorPerExample(priors, epsilon)
        released[part], laws[part] = law.release(truth[part], rng), law.transitions
        behind = np.concatenate([behind, part])
        target = TaskTarget(labels, released[behind], laws[behind])
        model = train_on_release(VectorSet(vectors.vectors[behind]), target, settings=settings)
    if model is None:
        raise InvalidValue("there are no rows")
    return LabelStages(model, released, law.statement)
