"""Public vectors for words: what distances between words are measured in."""

from discreet.spaces.loaders import load_space
from discreet.spaces.space import EmbeddingSpace

__all__ = ["EmbeddingSpace", "load_space"]
