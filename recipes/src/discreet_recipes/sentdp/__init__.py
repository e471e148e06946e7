"""Meehan et al. (2022): SentDP and DeepCandidate."""
