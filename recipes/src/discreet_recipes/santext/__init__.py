"""Yue et al. (2021): SanText."""
