"""Lai et al. (2022): user-entity privacy."""
