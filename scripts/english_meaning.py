"""What the words of the space ``english`` mean: vectors from several public sources, as one.

GloVe knows company (which words are used alike), the sentence encoder knows paraphrase; WordNet
then draws synonyms together and pushes antonyms apart, because all vectors of company confuse the
two, and a text about how good something is must not come out as one about how bad it is.
"""

import re
from collections.abc import Mapping, Sequence

import numpy as np
from english_grammar import Lexicon
from english_words import number_kind
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

Matrix = NDArray[np.float64]

ROUNDS = 10
PULL = 0.6
"""Weight of the synonyms of a word against its own vector."""
PULL_LEMMA = 0.35
"""Weight of the other forms of a word."""
GAP = 0.25
"""Largest cosine that antonyms may have."""


def unit(rows: Matrix) -> Matrix:
    """Rows of length 1."""
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def principal(rows: Matrix, count: int) -> Matrix:
    """The leading principal directions, most important first, with a sign of their own."""
    _, directions = np.linalg.eigh(rows.T @ rows)
    leading = directions[:, ::-1][:, :count]
    peaks = np.abs(leading).argmax(axis=0)
    return np.asarray(leading * np.sign(leading[peaks, np.arange(leading.shape[1])]))


def filled(rows: Matrix, others: Matrix) -> Matrix:
    """Rows that are missing (nan), guessed from the words' other vectors by ridge regression."""
    here = ~np.isnan(rows[:, 0])
    if here.all():
        return rows
    known = np.hstack([others, np.ones((len(others), 1))])
    square = known[here].T @ known[here] + 10.0 * np.eye(known.shape[1])
    out = rows.copy()
    out[~here] = known[~here] @ np.linalg.solve(square, known[here].T @ rows[here])
    return out


def cleaned(rows: Matrix, removed: int) -> Matrix:
    """Centred, without the leading directions (which tell frequency, not meaning), of length 1."""
    centred = rows - rows.mean(axis=0)
    if removed:
        top = principal(centred, removed)
        centred = centred - centred @ top @ top.T
    return unit(centred)


def joined(sources: Sequence[tuple[Matrix, int, float]], dimension: int) -> Matrix:
    """One vector per word from cleaned sources: rows, directions to remove, weight."""
    whole = np.hstack(
        [np.sqrt(weight) * cleaned(rows, removed) for rows, removed, weight in sources]
    )
    whole = whole - whole.mean(axis=0)
    return unit(whole @ principal(whole, dimension))


class Relations:
    """Pairs of words that must be near or far, by place in the vocabulary."""

    def __init__(
        self,
        words: Sequence[str],
        lexicon: Lexicon,
        synonyms: Mapping[tuple[str, str], float],
        antonyms: set[tuple[str, str]],
    ) -> None:
        place = {word: i for i, word in enumerate(words)}
        slots: dict[str, dict[str, set[str]]] = {}
        for (lemma, slot), forms in lexicon.forms.items():
            slots.setdefault(lemma, {})[slot] = forms
        near: dict[tuple[int, int], float] = {}
        for (one, other), chance in synonyms.items():
            if chance >= 0.08:
                for a, b in _forms(one, other, slots):
                    if a in place and b in place:
                        near[place[a], place[b]] = max(chance, near.get((place[a], place[b]), 0))
        self.near = _sparse(near, len(words), PULL)
        kin = {
            (place[a], place[b]): 1.0
            for lemma, forms in slots.items()
            for a in set().union(*forms.values())
            for b in set().union(*forms.values())
            if a != b and a in place and b in place
        }
        self.kin = _sparse(kin, len(words), PULL_LEMMA)
        far = {
            (place[a], place[b])
            for one, other in antonyms
            for a, b in _forms(one, other, slots)
            if a in place and b in place and a != b
        }
        far |= {(b, a) for a, b in far}
        self.far = np.array(sorted(far))

    def fitted(self, rows: Matrix) -> Matrix:
        """The vectors after synonyms were drawn together and antonyms pushed apart."""
        pull = self.near + self.kin
        weight = 1 + np.asarray(pull.sum(axis=1)).reshape(-1, 1)
        now = rows
        for _ in range(ROUNDS):
            now = unit((rows + pull @ now) / weight)
            now = self.apart(now)
        return now

    def apart(self, rows: Matrix) -> Matrix:
        """Antonyms moved straight away from each other until their cosine is at most GAP."""
        for _ in range(3):
            one, other = self.far[:, 0], self.far[:, 1]
            cosine = np.einsum("ij,ij->i", rows[one], rows[other])
            excess = np.maximum(cosine - GAP, 0) / 2
            size = len(rows)
            count = np.maximum(np.bincount(one, minlength=size), 1)
            move = coo_array((excess / count[one], (one, other)), shape=(size, size)).tocsr()
            rows = unit(rows - 1.2 * (move @ rows))
        return rows


def _forms(
    one: str, other: str, slots: Mapping[str, Mapping[str, set[str]]]
) -> set[tuple[str, str]]:
    """A pair of lemmas and the pairs of their forms of one kind."""
    pairs = {(one, other)}
    for slot in slots.get(one, {}).keys() & slots.get(other, {}).keys():
        pairs |= {(a, b) for a in slots[one][slot] for b in slots[other][slot] if a != b}
    return pairs


def _sparse(pairs: Mapping[tuple[int, int], float], size: int, weight: float) -> csr_array:
    """A matrix whose rows sum to at most ``weight``."""
    places = np.array(list(pairs))
    values = np.array(list(pairs.values()))
    matrix = coo_array((values, (places[:, 0], places[:, 1])), shape=(size, size)).tocsr()
    sums = np.asarray(matrix.sum(axis=1)).ravel()
    scale = np.where(sums > 0, weight * np.minimum(1, sums * 2) / np.maximum(sums, 1e-9), 0)
    return csr_array(matrix.multiply(scale[:, None]))


def numbered(rows: Matrix, words: Sequence[str]) -> Matrix:
    """Numbers moved to places of our own: one region for each way to write them, near values near.

    Vectors of company know few numbers, and no year after they were made.
    """
    out = rows.copy()
    rng = np.random.default_rng(20)
    kinds: dict[str, list[int]] = {}
    for place, word in enumerate(words):
        kind = number_kind(word)
        if kind:
            kinds.setdefault(kind, []).append(place)
    pitches = 0.1 * 2.3 ** np.arange(7)  # no common period
    waves = np.linalg.qr(rng.standard_normal((rows.shape[1], 2 * len(pitches))))[0].T
    for places in kinds.values():
        centre = unit(rows[places].mean(axis=0, keepdims=True))
        positions = np.array([_position(words[i]) for i in places])
        angles = np.outer(positions, pitches)
        turn = np.hstack([np.cos(angles), np.sin(angles)]) @ waves / np.sqrt(len(pitches))
        out[places] = unit(0.8 * centre + 0.6 * turn)
    return out


def gathered(
    rows: Matrix, words: Sequence[str], closed: Mapping[str, Mapping[str, float]]
) -> Matrix:
    """Words of small closed kinds (pronouns, forms of "to be", ...) moved towards their own kind.

    Such a kind has fewer words than a list of neighbours; what is left must not be chance.
    """
    out = rows.copy()
    sums: dict[str, Matrix] = {}
    listed = {place: closed[word] for place, word in enumerate(words) if word in closed}
    for place, shares in listed.items():
        for kind, share in shares.items():
            sums[kind] = sums.get(kind, 0) + share * rows[place]
    for place, shares in listed.items():
        if not number_kind(words[place]):
            centre = sum(share * unit(sums[kind][None])[0] for kind, share in shares.items())
            out[place] = 0.6 * rows[place] + 0.8 * centre
    return unit(out)


def _position(word: str) -> float:
    """Where a number lies on a line: small numbers apart, large ones with like ones."""
    value = float(re.sub("[^0-9.]", "", word))
    kind = number_kind(word)
    if kind in ("year", "decade", "digit-ordinal"):
        return value / 12
    if kind == "decimal":
        return value
    return float(np.log(value)) if kind == "round-number" else value**0.5


def valence(words: Sequence[str], rows: Matrix, lexicon: Mapping[str, float]) -> Matrix:
    """How good or bad each word is, from -1 to 1: as listed, else half of what its vector says."""
    listed = np.array([lexicon.get(word, np.nan) for word in words]) / 4
    here = ~np.isnan(listed)
    # Words not listed were found neutral or never rated: frequent ones stand for the first.
    neutral = ~here & (np.arange(len(words)) < 6000)
    train = here | neutral
    target = np.where(here, listed, 0.0)[train]
    square = rows[train].T @ rows[train] + 5.0 * np.eye(rows.shape[1])
    guess = rows @ np.linalg.solve(square, rows[train].T @ target)
    return np.clip(np.where(here, listed, 0.5 * guess), -1, 1)
