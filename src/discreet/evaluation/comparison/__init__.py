"""Mechanisms on one scale: what a release is worth against what attackers get out of it."""
