"""Models of released vectors, and the public maps before them."""
