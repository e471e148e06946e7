"""Public language models that say which words may follow a released text."""
