"""What becomes of first names, and of unknown words, in tickets: the tables of the pages.

    pip install faker
    python scripts/measure_names.py FILE --tickets 200 --part survival
    python scripts/measure_names.py FILE --tickets 200 --part origins

FILE is JSON by line (plain or gzip) with public text, such as posts of 20 Newsgroups. The first 100
words of a post become a ticket in which a first name is planted three times. Names are those that
Faker lists for a country, in Latin letters, drawn uniformly.
"""

import argparse
import gzip
import json
import re
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import numpy as np

from discreet import EmbeddingSpace, Sanitizer, load_space, mechanism
from discreet.attacks.bayes import best_guesses, guesses_from, log_likelihoods
from discreet.protocols import WordMechanism
from discreet.spaces.prior import rank_prior
from discreet.text.identifiers.finder import finder_of
from discreet.text.tokens import tokenizer_for

ORIGINS = {
    "United States": ("en_US", "first_names"),
    "Germany": ("de_DE", "first_names"),
    "France": ("fr_FR", "first_names"),
    "Italy": ("it_IT", "first_names"),
    "Mexico": ("es_MX", "first_names"),
    "Poland": ("pl_PL", "first_names"),
    "Turkey": ("tr_TR", "first_names"),
    "Pakistan": ("en_PK", "first_names"),
    "India": ("en_IN", "first_names"),
    "Indonesia": ("id_ID", "first_names"),
    "Japan, romanised": ("ja_JP", "first_romanized_names"),
    "Yoruba": ("yo_NG", "first_names"),
    "Zulu": ("zu_ZA", "first_names"),
}
READABLE: dict[str, object] = {"outputs": 4096, "near": 2}
SETTINGS: dict[str, tuple[str, dict[str, object]]] = {
    "santext, starter, epsilon 8": ("starter", {"name": "santext", "epsilon": 8}),
    "near-words, english, epsilon 8": ("english", {"name": "near-words", "epsilon": 8}),
    "near-words, english, epsilon 12": ("english", {"name": "near-words", "epsilon": 12}),
    "near-words, english, epsilon 12, 2 of 4,096": (
        "english",
        {"name": "near-words", "epsilon": 12, **READABLE},
    ),
}
FINDERS = (None, "rules", "spacy")


def posts(path: Path, least: int = 60, most: int = 100) -> list[str]:
    """The first words of each post, without what it quotes."""
    data = path.read_bytes()
    plain = gzip.decompress(data) if path.suffix == ".gz" else data
    found = []
    for line in plain.splitlines():
        text = json.loads(line)["text"]
        kept = " ".join(each for each in text.splitlines() if not re.match(r"\s*\S{0,3}>", each))
        words = kept.split()
        if len(words) >= least:
            found.append(" ".join(words[:most]))
    return found


def names_of(origin: str) -> list[str]:
    """The different names that Faker lists, those of one word in Latin letters."""
    locale, attribute = ORIGINS[origin]
    listed = getattr(import_module(f"faker.providers.person.{locale}").Provider, attribute)
    return sorted({name for name in listed if re.fullmatch(r"[A-Z][a-zÀ-ɏ]+", name)})


def ticket(post: str, name: str, *, signed: bool = True) -> str:
    """A ticket in which a name stands three times, once as a signature or never."""
    end = f"Regards, {name}" if signed else f"Yesterday {name} lost a day over it."
    return f"It is {name} who found this. {post} Could somebody call {name} back? {end}"


def comes_out(texts: Sequence[str], names: Sequence[str]) -> np.ndarray:
    """Whether each text holds its name, whatever its capitals."""
    return np.array(
        [
            re.search(rf"(?<!\w){re.escape(name.lower())}(?!\w)", text.lower()) is not None
            for text, name in zip(texts, names, strict=True)
        ]
    )


def known(space: EmbeddingSpace, names: Sequence[str]) -> np.ndarray:
    """Whether each name is a word of the vocabulary."""
    words = set(space.words)
    return np.array([name.lower() in words for name in names])


def survival(texts: list[str], names: list[str], seed: int) -> None:
    """For each setting: what an attacker names, and how often a name comes out."""
    print("| setting | finder | words guessed | known name comes out | any name | another's |")
    print("|---" * 6 + "|")
    spaces = {each: load_space(each) for each in ("starter", "english")}
    for title, (where, given) in SETTINGS.items():
        space, settings = spaces[where], dict(given)
        built = mechanism(str(settings.pop("name")), space=space, **settings)
        knows, guessed = known(space, names), guess_rate(built, texts, seed)
        for finder in FINDERS:
            rng = np.random.default_rng(seed)
            out = Sanitizer(built, identifiers=finder).sanitize(texts, rng).values
            own, other = comes_out(out, names), comes_out(out, names[1:] + names[:1])
            print(
                f"| {title} | {finder or 'none'} | {guessed:.2f} | {own[knows].mean():.2f} | "
                f"{own.mean():.2f} | {other.mean():.3f} |",
                flush=True,
            )
        thrice(built, [name.lower() for name, ok in zip(names, knows, strict=True) if ok], seed)


def guess_rate(built: WordMechanism, texts: list[str], seed: int, words: int = 4000) -> float:
    """How often the best guess by public frequencies is right, on words of the tickets."""
    space = built.space
    cut = tokenizer_for(space.words, space.unknown, space.subwords)
    rng = np.random.default_rng(seed)
    ids = rng.permutation(cut.encode(texts).ids)[:words]
    released = built.release(ids, rng)
    return float((best_guesses(built, released, rank_prior(space)) == ids).mean())


def thrice(built: WordMechanism, names: list[str], seed: int) -> None:
    """How often a known name is named from one and from three draws of it."""
    space, rng = built.space, np.random.default_rng(seed)
    place = {word: i for i, word in enumerate(space.words)}
    ids = np.array([place[name] for name in names])
    draws = built.release(np.repeat(ids, 3), rng)
    prior = np.zeros(len(space))
    listed = {name.lower() for origin in ORIGINS for name in names_of(origin)}
    for name in listed & place.keys():
        prior[place[name]] = rank_prior(space)[place[name]]
    for who, weights in (("any word", rank_prior(space)), ("a first name", prior)):
        rows, logs = log_likelihoods(built, draws, weights)
        once = guesses_from(rows, logs, weights).reshape(-1, 3)[:, 0]
        together = np.array([logs[three].sum(axis=0) for three in rows.reshape(-1, 3)])
        with np.errstate(divide="ignore"):
            best = (together + np.log(weights / weights.sum())).argmax(axis=1)
        print(
            f"  <!-- knows that it is {who}: one draw {(once == ids).mean():.2f}, "
            f"three {(best == ids).mean():.2f} of {len(ids)} known names -->",
            flush=True,
        )


def origins(posts_: list[str], count: int, seed: int) -> None:
    """For each origin: how many names are words, are found, and come out."""
    rng = np.random.default_rng(seed)
    spaces = {each: load_space(each) for each in ("starter", "english")}
    built = mechanism("santext", space=spaces["starter"], epsilon=8)
    finders = {each: finder_of(each) for each in FINDERS if each}
    found = [f"{how}, by {each}" for how in ("signed", "not signed") for each in finders]
    out = [f"comes out, {each or 'no finder'}" for each in FINDERS]
    print("| origin | names | in starter | in english | " + " | ".join([*found, *out]) + " |")
    print("|---" * (4 + len(found) + len(out)) + "|")
    for origin in ORIGINS:
        listed = names_of(origin)
        row = [f"{known(space, listed).mean():.2f}" for space in spaces.values()]
        names = [str(each) for each in rng.choice(listed, count)]
        texts = [str(each) for each in rng.choice(posts_, count)]
        tickets = {
            signed: [ticket(t, n, signed=signed) for t, n in zip(texts, names, strict=True)]
            for signed in (True, False)
        }
        for made in tickets.values():
            row += [f"{hidden(finder, made, names).mean():.2f}" for finder in finders.values()]
        half = [tickets[i % 2 == 0][i] for i in range(count)]
        for each in FINDERS:
            released = Sanitizer(built, identifiers=each).sanitize(half, rng).values
            row.append(f"{comes_out(released, names).mean():.2f}")
        print(f"| {origin} | {len(listed)} | " + " | ".join(row) + " |", flush=True)


def hidden(finder: object, texts: list[str], names: list[str]) -> np.ndarray:
    """The share of a ticket's three mentions that lie inside something found."""
    shares = []
    for text, name, spans in zip(texts, names, finder.find(texts), strict=True):
        places = [m.start() for m in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text)]
        inside = [any(s.start <= p and p + len(name) <= s.end for s in spans) for p in places]
        shares.append(sum(inside) / len(places))
    return np.array(shares)


def unknown(texts: list[str]) -> None:
    """The share of words that are outside the vocabulary of each space."""
    for name in ("starter", "english"):
        space = load_space(name)
        cut = tokenizer_for(space.words, space.unknown, space.subwords)
        batch = cut.encode(texts)
        missing = batch.ids == space.unknown
        numbers = np.diff(batch.offsets)
        print(
            f"{name}: {len(space):,} words; {batch.tokens / len(texts):.0f} tokens a ticket, "
            f"{missing.mean():.3f} unknown; median ticket "
            f"{np.median(np.add.reduceat(missing, batch.offsets[:-1]) / numbers):.3f}"
        )


def main() -> None:
    """Print a part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--tickets", type=int, default=200, help="for each origin")
    parser.add_argument("--part", choices=("survival", "origins", "unknown"), required=True)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    rng, found = np.random.default_rng(given.seed), posts(given.file)
    if given.part == "origins":
        origins(found, given.tickets, given.seed)
        return
    if given.part == "unknown":
        unknown(found)
        return
    every = [rng.choice(names_of(origin), given.tickets) for origin in ORIGINS]
    names = [str(name) for drawn in every for name in drawn]
    chosen = rng.choice(found, len(names))
    texts = [
        ticket(post, name, signed=i % 2 == 0)
        for i, (post, name) in enumerate(zip(chosen, names, strict=True))
    ]
    words = np.mean([len(text.split()) for text in texts])
    print(f"{len(texts):,} tickets, {words:.0f} words each; half of them are signed")
    survival(texts, names, given.seed)


if __name__ == "__main__":
    main()
