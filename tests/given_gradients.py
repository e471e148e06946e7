"""A model whose gradients are whatever a table says: the worst case, without a network."""

import torch

from discreet.models.factors import Factor


class GivenGradients:
    """The gradient of a sentence is the sum of the rows of its words in a table."""

    def __init__(self, table):
        self.table = torch.as_tensor(table, dtype=torch.float32)
        self._parameters = {"weights": torch.zeros(self.table.shape[1])}

    description = "given gradients"

    def trainable(self):
        return self._parameters

    def factors(self, batch, masks):  # noqa: ARG002 - there is no dropout
        sentence = torch.repeat_interleave(torch.arange(len(batch)), batch.lengths)
        return [Factor("weights", self.table[batch.tokens], sentence)]

    def predictions(self, batch):
        return len(batch.tokens)
