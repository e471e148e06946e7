"""HTTP: a page to try settings on, served on this machine."""
