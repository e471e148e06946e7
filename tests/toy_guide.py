"""A guide that anybody can follow: what may come next is looked up by the last released word."""

import numpy as np


class ToyGuide:
    """Scores are a table of numbers at random, a row for each last word and one for none."""

    name = "toy"
    documents = 4096

    def __init__(self, words: int, spread: float = 3.0, seed: int = 0) -> None:
        self.table = spread * np.random.default_rng(seed).standard_normal((words + 1, words))
        self.fingerprint = f"toy-{words}-{spread}-{seed}"

    def begin(self, documents):
        return np.full(documents, -1)

    def scores(self, state, rows, candidates):
        return self.table[state[rows][:, None], candidates]

    def extend(self, state, rows, released):
        state[rows] = released
