"""One readable recipe per paper: what it ran, what we run, where we differ."""
