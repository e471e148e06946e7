"""Batches of texts: random, and little is spent on padding."""

import numpy as np

from discreet.arrays import Ids, row_blocks
from discreet.training.loop import epoch_order

_BATCHES_OF_POOL = 50


def batches_of_like_length(lengths: Ids, batch: int, seed: int, epoch: int) -> list[Ids]:
    """Random batches of texts of like length: sorted within pools of a random order."""
    order = epoch_order(len(lengths), seed, epoch)
    batches = []
    for part in row_blocks(len(order), numbers=batch * _BATCHES_OF_POOL):
        some = order[part][np.argsort(lengths[order[part]], kind="stable")]
        batches += [some[rows] for rows in row_blocks(len(some), numbers=batch)]
    again = np.random.default_rng([seed, epoch, 1]).permutation(len(batches))
    return [batches[number] for number in again]
