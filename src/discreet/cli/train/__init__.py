"""``discreet train``: a module for each thing that is trained."""

from discreet.cli._groups import command_group
from discreet.cli.train.candidates import candidates
from discreet.cli.train.classify import classify
from discreet.cli.train.embeddings import embeddings
from discreet.cli.train.map import map
from discreet.cli.train.pretrain import pretrain
from discreet.cli.train.rewriter import rewriter
from discreet.cli.train.user_entity import user_entity

train = command_group(
    "Train public maps and stores, and models on what was released or on raw text."
)
train.command("rewriter", short_help="Learn from public text to undo a mechanism's noise.")(
    rewriter
)
train.command("pretrain", short_help="Prepare a model for sanitised text, on public text.")(
    pretrain
)
train.command("classify", short_help="Train a model for texts or pairs of texts.")(classify)
train.command("candidates", short_help="Make the public side of document mechanisms.")(candidates)
train.command("map", short_help="Learn a public map to few dimensions, through the noise.")(map)
train.command("embeddings", short_help="Train on released vectors, at no further cost.")(embeddings)
train.command("user-entity", short_help="Train on raw text, private for users and entities.")(
    user_entity
)
