"""Derive the starter space from the token matrix of all-MiniLM-L6-v2 and public word frequencies.

    python scripts/build_starter.py            writes src/discreet/data/starter.safetensors
    python scripts/build_starter.py --check    says whether the file there is what would be written

Needs the encoder on this machine (see docs/background/spaces.md) and the package wordfreq. The map,
in order:

1. the rows of whole English words, numbers and marks; their mean is taken off, because the common
   part of all vectors says nothing about any word;
2. every row is scaled to length 1: raw lengths follow frequency (0.5 to 1.7), and under a law
   exp(-kappa d) the short vectors would be kept far less often than the long ones;
3. the leading principal directions are kept, and rows scaled to length 1 again;
4. rounding to whole multiples of 1/256, which float32 holds exactly.

[UNK] lies on the same sphere, in the direction of the mean. At the mean itself, the centre of the
sphere, it would be nearer to every word than words are to each other; its normaliser would stand
out and cost every certified law about a third of its sharpness.
"""

import argparse
import importlib.metadata
import re
import sys
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from wordfreq import zipf_frequency

from discreet.errors import DiscreetError, InputError
from discreet.spaces.encoder_space import MODEL, WEIGHTS_SHA256, encoder_space, file_sha256
from discreet.spaces.saved_files import write_saved
from discreet.spaces.space import EmbeddingSpace

TARGET = Path(__file__).parent.parent / "src" / "discreet" / "data" / "starter.safetensors"
WORDS = 20_000
"""With [UNK]."""
DIMENSION = 80
STEP = 2.0**-8

# wordfreq counts no punctuation. By convention here: what ends or joins sentences is as common as
# the commonest words, any other mark as a word of everyday speech.
SENTENCE_MARKS = ".,'\"-?!:;()’‘“”–—…"
OTHER_MARKS = "#$%&*+/<=>@[\\]^_`{|}~£€¥¢°•·§©®™×½¼«»¿¡"
SENTENCE_ZIPF, OTHER_ZIPF = 6.0, 4.0


def public_frequency(piece: str) -> float:
    """Zipf frequency of a piece in English, or 0 if it is not to be in the starter."""
    if len(piece) == 1 and piece in SENTENCE_MARKS:
        return SENTENCE_ZIPF
    if len(piece) == 1 and piece in OTHER_MARKS:
        return OTHER_ZIPF
    if re.fullmatch("00+", piece):
        # wordfreq keeps one count for all numbers of a length, under zeros: far too much for "00".
        piece = "1" + piece[1:]
    if re.fullmatch("[a-z0-9]+", piece):
        # "isn" comes from "isn't", which wordfreq counts as one word.
        forms = [piece, piece + "'t"] if piece.endswith("n") else [piece]
        return max(float(zipf_frequency(form, "en", wordlist="large")) for form in forms)
    return 0.0


def choose(space: EmbeddingSpace) -> tuple[list[str], NDArray[np.int16]]:
    """The most frequent whole words, most frequent first, with hundredths of Zipf frequency."""
    counted = [(round(100 * public_frequency(piece)), piece) for piece in space.words]
    counted = sorted(
        (pair for pair in counted if pair[0] > 0), key=lambda pair: (-pair[0], pair[1])
    )
    chosen = counted[: WORDS - 1]
    return [piece for _, piece in chosen], np.array([zipf for zipf, _ in chosen], dtype=np.int16)


def reduce(rows: NDArray[np.floating]) -> NDArray[np.int8]:
    """The map described above, and one row more for [UNK]."""
    exact = rows.astype(np.float64)
    sphere = _unit(exact - exact.mean(axis=0))
    sphere -= sphere.mean(axis=0)
    _, directions = np.linalg.eigh(sphere.T @ sphere)
    leading = directions[:, ::-1][:, :DIMENSION]
    # The sign of a direction is arbitrary; fixed here so that every machine gives the same file.
    peaks = np.abs(leading).argmax(axis=0)
    leading = leading * np.sign(leading[peaks, np.arange(DIMENSION)])
    points = _unit(sphere @ leading)
    unknown = _unit(points.mean(axis=0, keepdims=True))
    steps = np.rint(np.vstack([points, unknown]) / STEP)
    return np.clip(steps, -127, 127).astype(np.int8)


def build(target: Path) -> None:
    """Write the starter to ``target``."""
    space = encoder_space()
    if WEIGHTS_SHA256 not in space.provenance:
        raise InputError(
            f"the encoder found is not {MODEL} as published (SHA-256 {WEIGHTS_SHA256})"
        )
    words, zipf = choose(space)
    vectors = reduce(space.vectors[space.ids_of(words)])
    version = importlib.metadata.version("wordfreq")
    about = {
        "name": "starter",
        "provenance": (
            f"{WORDS} English words and marks; vectors from the token matrix of {MODEL} "
            f"(model.safetensors SHA-256 {WEIGHTS_SHA256}, Apache-2.0): centred, rows of length 1, "
            f"{DIMENSION} principal directions, rows of length 1, multiples of 1/256, [UNK] on the "
            f"sphere at the mean direction; Zipf frequencies of wordfreq {version} (CC BY-SA 4.0), "
            f"marks by convention; made by scripts/build_starter.py"
        ),
        "unknown": "[UNK]",
        "subwords": False,
        "scale": STEP,
        "frequency_scale": 0.01,
    }
    write_saved(target, (*words, "[UNK]"), vectors, np.append(zipf, np.int16(0)), about)


def _unit(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def main() -> int:
    """Build, or check what was built."""
    parser = argparse.ArgumentParser(description="Derive the starter space.")
    parser.add_argument("--check", action="store_true", help="compare with the file that is there")
    if not parser.parse_args().check:
        build(TARGET)
        TARGET.chmod(0o644)  # it ships: everyone reads it
        print(f"{TARGET.name}: {TARGET.stat().st_size:,} bytes, SHA-256 {file_sha256(TARGET)}")
        return 0
    with tempfile.TemporaryDirectory() as directory:
        fresh = Path(directory) / TARGET.name
        build(fresh)
        same = fresh.read_bytes() == TARGET.read_bytes()
    print("the starter is what this script makes" if same else "the starter differs")
    return 0 if same else 4


if __name__ == "__main__":
    try:
        sys.exit(main())
    except DiscreetError as error:
        sys.exit(f"error: {error}")
