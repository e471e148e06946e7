"""Public language models that say which words may follow a released text."""

from discreet.errors import NotFound
from discreet.guides.ngram import NGramGuide
from discreet.spaces.space import EmbeddingSpace

NAMES = (NGramGuide.name,)


def load_guide(name: str, space: EmbeddingSpace) -> NGramGuide:
    """The guide of that name, for the words of a space.

    Args:
        name: ``"ngram"``.
        space: its words are what the guide is asked about.
    """
    if name == NGramGuide.name:
        return NGramGuide(space)
    raise NotFound(f"there is no guide of that name; known are {', '.join(NAMES)} and none")
