"""The network that every run of the UeDP recipe begins with: trained on public text, once."""

import math
from collections.abc import Sequence
from pathlib import Path

import torch

from discreet.devices import array_of, find_device
from discreet.models.awd_lstm import PARTS, AwdLstm
from discreet.models.awd_lstm_shape import AwdLstmSizes
from discreet.tensors import load_tensors, save_tensors
from discreet.training.user_entity.build import PublicWords
from discreet.training.user_entity.rules import Rules
from discreet.training.user_entity.trainer import UserEntityTrainer
from discreet.training.user_entity.users import UserText
from discreet_recipes.uedp.sizes import UeDPOptions

_KIND = "public start"
# Words that a step goes through, more or less; and the size of a step, which falls by these shares.
_WORDS_OF_STEP = 7000
_LEARNING_RATE = 0.008
_FALLING = (1.0, 1.0, 0.4, 0.15)


def device() -> str:
    """Where the recipe trains, by its option: contributions are added up in 64 bits."""
    return find_device(doubles=True)


def sizes_of(size: UeDPOptions) -> AwdLstmSizes:
    """Of the network."""
    words, recurrent, last = size.dropouts
    return AwdLstmSizes(
        layers=size.layers,
        hidden=size.units,
        embedding_drop=words,
        weight_drop=recurrent,
        output_drop=last,
    )


def first_network(words: PublicWords, sizes: AwdLstmSizes) -> AwdLstm:
    """Before any text: the space's vectors, and as bias of a word Zipf's law of its public rank."""
    model = words.network(sizes, device=device())
    bias = model.weights()["output.bias"]
    ranks = torch.arange(1, len(words.vocabulary) - 1, device=bias.device)
    bias[-len(ranks) :] = math.log(10) - torch.log(ranks + 2.7)
    return model


def trained_on_public(
    path: Path,
    words: PublicWords,
    sizes: AwdLstmSizes,
    texts: Sequence[tuple[Sequence[UserText], int]],
) -> None:
    """Train the first network on public text and keep it in a file.

    Args:
        path: The file.
        words: Vocabulary and first vectors.
        sizes: Of the network.
        texts: Public users and a number of steps, one after the other.
    """
    model = first_network(words, sizes)
    for users, steps in texts:
        size = sum(len(user.tokens) for user in users)
        rules = Rules(
            algorithm="noiseless",
            user_rate=min(1.0, _WORDS_OF_STEP / size),
            learning_rate=_LEARNING_RATE,
            optimizer="adam",
        )
        trainer = UserEntityTrainer(rules, users, model, seed=0)
        for step in range(steps):
            share = _FALLING[step * len(_FALLING) // steps]
            trainer.server.optimizer.param_groups[0]["lr"] = _LEARNING_RATE * share
            trainer.step(step)
    arrays = {name: array_of(value) for name, value in model.weights().items()}
    save_tensors(path, _KIND, arrays, {})


def network(
    path: Path, words: PublicWords, sizes: AwdLstmSizes, trained: Sequence[str] = PARTS
) -> AwdLstm:
    """The network of that file, of which some parts are to be trained."""
    first = load_tensors(path, _KIND)[0]
    return words.network(sizes, start=first, trained=trained, device=device())
