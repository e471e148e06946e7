"""Public language models that say which words may follow a released text."""

from typing import TYPE_CHECKING

from discreet.devices import AUTO
from discreet.guides.ngram import NGramGuide
from discreet.spaces.space import EmbeddingSpace

if TYPE_CHECKING:
    from discreet.guides.language_model import LanguageModelGuide


def load_guide(
    name: str, space: EmbeddingSpace, *, device: str = AUTO
) -> "NGramGuide | LanguageModelGuide":
    """The guide of that name or in that place, for the words of a space.

    Args:
        name: ``"ngram"``, which ships with the package; ``"smollm2"``, if that package is there; or
            the folder (or GGUF file) of a causal language model.
        space: its words are what the guide is asked about.
        device: where a language model computes, see :func:`discreet.devices.find_device`.
    """
    if name == NGramGuide.name:
        return NGramGuide(space)
    from discreet.guides.language_model import load_language_model

    return load_language_model(name, space, device=device)
