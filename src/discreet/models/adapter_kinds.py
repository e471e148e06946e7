"""The kinds of adapters by name, for settings that are read without torch."""

ADAPTERS = ("lora", "half", "core")
"""See :mod:`discreet.models.adapters`."""
ALL = "all"
"""No adapters: the weights themselves, see :mod:`discreet.models.whole_network`."""
TRAINED = (*ADAPTERS, ALL)
"""What of a transformers model may be trained."""
