"""Sentence encoders, public maps after them, and stores of public candidates."""
