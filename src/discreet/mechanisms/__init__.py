"""Mechanisms, by what they release."""
