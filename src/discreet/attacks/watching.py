"""The attacker who needs no formula: it runs the mechanism on its own text and watches.

Of every released word it remembers which original became it most often. A word that it never saw
come out it takes as it stands. This needs nothing of a mechanism but that it runs, so it also
attacks programs whose law nobody has written down.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue


@dataclass(frozen=True)
class Watcher:
    """What was seen: for each released word its commonest original.

    >>> watcher = Watcher.of([["hot", "tea"], ["hot", "sea"]], [["warm", "pot"], ["warm", "pot"]])
    >>> watcher.guesses(["warm", "other"])
    ['hot', 'other']
    """

    commonest: Mapping[str, str] = field(repr=False)

    @classmethod
    def of(cls, originals: Sequence[Sequence[str]], released: Sequence[Sequence[str]]) -> "Watcher":
        """Learn from texts of one's own, word by word beside what became of them.

        Texts whose release has another number of words cannot be laid side by side; they are
        skipped.
        """
        if len(originals) != len(released):
            raise InvalidValue("a watching attacker needs a release of each of its own texts")
        seen: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for before, after in zip(originals, released, strict=True):
            if len(before) == len(after):
                for word, came_out in zip(before, after, strict=True):
                    seen[came_out][word] += 1
        return cls({out: counts.most_common(1)[0][0] for out, counts in seen.items()})

    def guesses(self, released: Sequence[str]) -> list[str]:
        """The original behind each word of a release."""
        return [self.commonest.get(word, word) for word in released]

    def hits(
        self, originals: Sequence[Sequence[str]], released: Sequence[Sequence[str]]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Words that were named and words in all, of each text that can be laid side by side."""
        named, total = [], []
        for before, after in zip(originals, released, strict=True):
            if len(before) == len(after):
                guessed = self.guesses(after)
                named.append(sum(a == b for a, b in zip(guessed, before, strict=True)))
                total.append(len(before))
        return np.array(named, np.int64), np.array(total, np.int64)
