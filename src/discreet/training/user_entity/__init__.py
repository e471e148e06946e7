"""Training on raw text with a guarantee for users and the entities they mention."""
