"""The kinds of adapters by name, for settings that are read without torch."""

ADAPTERS = ("lora", "half", "core")
"""See :mod:`discreet.models.adapters`."""
