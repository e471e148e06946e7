"""Which texts did a model learn from? An attack on a model that learnt released texts by heart.

Few texts, next to no penalty: such a model remembers. The attacker knows a text and its label, and
wants to know whether it was among those that the model learnt from. It asks the model about
releases of its own of the text, by the same mechanism, and takes the mean of what the model says.
Where a mechanism draws the same words again and again, that is as good as the text that was used.
"""

from collections.abc import Callable

import numpy as np

from discreet.arrays import Ids
from discreet.attacks.membership import LabelledPredictions, learnt_by_heart, membership_attack
from discreet.attacks.outcome import Estimate
from discreet.evaluation.bag_of_words import word_counts
from discreet.text.tokens import TokenBatch

_MEMBERS = 300
_QUERIES = 4


def membership(
    texts: TokenBatch,
    released: Ids,
    again: Callable[[TokenBatch], Ids] | None,
    labels: Ids,
    words: int,
    seed: int = 0,
) -> Estimate | None:
    """How often members are told from others, at best of three scores; 0.5 is chance.

    Args:
        texts: The words of the texts as they are.
        released: The words that the model learns from.
        again: Releases some texts once more; None where nothing is protected.
        labels: Of each text, as a number from 0.
        words: How many the vocabulary has.
        seed: Chooses who is a member.

    Returns:
        balanced accuracy; None if the members all have one label.
    """
    rng = np.random.default_rng([seed, 3])
    chosen = rng.permutation(np.flatnonzero(np.diff(texts.offsets) > 0))[: 2 * _MEMBERS]
    members, others = np.sort(chosen[::2]), np.sort(chosen[1::2])
    if len(np.unique(labels[members])) < 2:
        return None
    seen = TokenBatch(released.astype(np.int32), texts.offsets).only(members)
    ask = learnt_by_heart(
        word_counts(seen.ids, seen.offsets, words), labels[members], int(labels.max()) + 1
    )
    said = []
    for rows in (members, others):
        own = texts.only(rows)
        asked = [own.ids]
        if again is not None:
            asked = [again(own).astype(np.int32) for _ in range(_QUERIES)]
        laws = [ask(word_counts(ids, own.offsets, words)) for ids in asked]
        said.append(LabelledPredictions(np.mean(laws, axis=0), labels[rows]))
    outcomes = membership_attack(said[0], said[1], seed=seed)
    return max((each.success for each in outcomes), key=lambda one: one.value)
