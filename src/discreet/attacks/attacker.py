"""What an attacker is: what it knows, what it guesses, and what it can never exceed.

An attacker is only worth its figure if it is known to work. Each is therefore also tried where it
must succeed, on text that was not protected; one that does not beat chance there is *broken*, and
its failure on a release says nothing about the release.
"""

from dataclasses import dataclass

from discreet.attacks.outcome import Estimate


@dataclass(frozen=True)
class Attacker:
    """One attacker, in words.

    Attributes:
        name: A short name, for tables.
        knows: What it has beside the release.
        guesses: What it names, and when it is right.
        bound: What its success cannot exceed.
    """

    name: str
    knows: str
    guesses: str
    bound: str


EXACT = Attacker(
    "exact best guess",
    "the mechanism's law and how frequent words are in public text",
    "the original of each released word, looking at that word alone",
    "the sum over outputs of the largest prior(x) P(y|x), which it reaches where words are as "
    "frequent as it believes",
)
CONTEXTUAL = Attacker(
    "contextual",
    "the same, and which words follow each other in public text",
    "the original of each released word, looking at the whole released text",
    "the posterior given the whole text, which it reaches where words follow each other as it "
    "believes",
)
WATCHING = Attacker(
    "watching",
    "public text of its own, which it releases with the same mechanism as often as it likes",
    "for each released word the original that most often became it, or the word itself",
    "the exact best guess under the same prior",
)
STATIC = Attacker(
    "authorship, static",
    "other texts of every author, as they were written",
    "who wrote each released text",
    "1",
)
ADAPTIVE = Attacker(
    "authorship, adaptive",
    "other texts of every author, released by the same mechanism",
    "who wrote each released text",
    "1",
)
VERBATIM = Attacker(
    "identifiers verbatim",
    "nothing: it reads",
    "addresses, numbers and names of the original that stand in the release as they were",
    "the share of identifiers that the finder finds",
)
MEMBERSHIP = Attacker(
    "membership",
    "texts with their labels, the mechanism, and a model that learnt 300 released texts by heart",
    "which texts are among the 300, by how sure the model is of releases of them; as often right "
    "for these as for others",
    "1; 0.5 is chance",
)
ROOM = (EXACT, CONTEXTUAL, WATCHING, STATIC, ADAPTIVE, VERBATIM, MEMBERSHIP)


def is_broken(unprotected: Estimate, chance: float) -> bool:
    """Whether an attacker does not even beat chance on text that was not protected.

    >>> is_broken(Estimate(0.52, 0.48, 0.56), 0.5), is_broken(Estimate(0.9, 0.8, 0.95), 0.5)
    (True, False)
    """
    return not unprotected.low > chance
