"""What the word mechanisms share: the wording of their statements."""

CALIBRATIONS = ("certified", "published")
SCOPE = "every word is replaced by a draw from the vocabulary, independent of the others"
PUBLIC = ("the vocabulary and its vectors", "the number of tokens of each document")
