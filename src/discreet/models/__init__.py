"""Models that are trained: small networks, and the file they are kept in."""
