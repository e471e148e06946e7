"""``discreet train``: a module for each thing that is trained."""

from discreet.cli._groups import command_group, commands_in

_COMMANDS = {
    "rewriter": "Learn from public text to undo a mechanism's noise.",
    "pretrain": "Prepare a model for sanitised text, on public text.",
    "classify": "Train a model for texts or pairs of texts.",
    "candidates": "Make the public side of document mechanisms.",
    "map": "Learn a public map to few dimensions, through the noise.",
    "embeddings": "Train on released vectors, at no further cost.",
    "bounds": "Propose bounds on entities for user-entity, by public text.",
    "user-entity": "Train on raw text, private for users and entities.",
}

train = command_group(
    "Train public maps and stores, and models on what was released or on raw text.",
    commands_in(__name__, _COMMANDS),
)
