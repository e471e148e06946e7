"""Huang et al. (2024): truncated Laplace noise."""
