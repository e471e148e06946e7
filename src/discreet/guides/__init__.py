"""Public language models that say which words may follow a released text."""

from discreet.errors import NotFound
from discreet.protocols import Guide
from discreet.spaces.space import EmbeddingSpace


def load_guide(name: str, space: EmbeddingSpace) -> Guide:
    """The guide of that name or in that file, for the words of a space."""
    raise NotFound(f"there is no guide of that name for the space {space.name}: {name}")
