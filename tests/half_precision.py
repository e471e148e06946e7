"""Models whose weights were saved in 16 bits, as many of those that are handed on are."""

import json

import torch
from safetensors.torch import load_file, save_file


def halved(folder):
    """The same model, from now on in 16 bits."""
    weights = {
        name: value.half() for name, value in load_file(folder / "model.safetensors").items()
    }
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"dtype": "float16"}))
    return folder


def kinds_of(network):
    """The kinds of numbers that a network is made of."""
    return {value.dtype for value in network.state_dict().values() if value.is_floating_point()}


WIDE = {torch.float32}
