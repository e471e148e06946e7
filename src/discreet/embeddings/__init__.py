"""Public vectors for words: what distances between words are measured in."""

from discreet.embeddings.loaders import load_space
from discreet.embeddings.space import EmbeddingSpace

__all__ = ["EmbeddingSpace", "load_space"]
