"""Training: on what was released, and on raw text with a guarantee for those who wrote it."""
