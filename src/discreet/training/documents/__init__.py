"""The public side of document mechanisms."""
