"""A gateway in front of language models: what is sent is sanitised, what comes back is restored."""
