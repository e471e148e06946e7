"""Attacks that measure what a release still tells; each against chance and without protection."""
