"""A text tried with a mechanism: every word beside what it became, in the order of the text.

The same steps as :class:`discreet.release.text.Sanitizer` takes, chunk by chunk between white
space, so that both sides can be shown aligned. Nothing of a text is kept.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Generator, Ids, Progress
from discreet.attacks.bayes import best_guesses, says_its_law
from discreet.attacks.inverted import originals
from discreet.evaluation.privacy import likely_outputs
from discreet.mechanisms.word.near_words import NearWords
from discreet.protocols import release_texts
from discreet.randomness import secure_generator
from discreet.release.whole import DELTA, Wholes
from discreet.service._playground_mechanisms import PageSetting, Workshop
from discreet.text.identifiers import Identifiers
from discreet.text.identifiers.finder import RuleFinder
from discreet.text.identifiers.replace import side_by_side
from discreet.text.layout import TokensLayout

SHOWN = 6
"""How many likely outputs of a word are told."""
_DRAWS = 400
_CHUNKS = re.compile(r"(\s+)")


@dataclass(frozen=True, eq=False, repr=False)
class Tried:
    """What became of a text; it holds the text, so it is shown to nobody but who sent it."""

    pieces: list[dict[str, Any]]
    ids: Ids
    released: Ids
    passed: NDArray[np.bool_]
    identifiers: Mapping[str, int]
    text: str
    """The whole as it would be released."""


def tried(shop: Workshop, setting: PageSetting, text: str, rng: Generator | None = None) -> Tried:
    """Draw once for every word of a text.

    Args:
        shop: makes the mechanism.
        setting: what was chosen.
        text: whatever somebody typed.
        rng: secure unless given.
    """
    rng = secure_generator() if rng is None else rng
    segments, surrogates, counts = [text], list[str](), dict[str, int]()
    spans = list[tuple[str, str]]()
    if setting.identifiers:
        finder = _Noted()
        cut = Identifiers(finder).cut([text], rng)
        segments, surrogates, counts = cut.segments, cut.surrogates, dict(cut.counts)
        spans = finder.noted
    parts = [_CHUNKS.split(segment) for segment in segments]
    chunks = [chunk for part in parts for chunk in part[::2] if chunk]
    mechanism, layout = shop.prepared(setting).mechanism, shop.layout(setting)
    try:
        batch, template = layout.divided(chunks)
        # The same words, but with the white space between chunks, where a sentence may begin.
        in_place = layout.divided(segments)
    finally:
        layout.forget()
    passed = np.zeros(len(batch.ids), np.bool_)
    if setting.public_words:
        passed = shop.passing(setting.variant).places(*in_place, np.zeros(1, np.int64))
    bounds = np.array([0, len(batch.ids)])
    released = release_texts(mechanism, batch.ids, rng, bounds, passed, template.capitals)
    written = iter(
        zip(layout.write(template, released), np.diff(batch.offsets).tolist(), strict=True)
    )
    pieces = list[dict[str, Any]]()
    place = 0
    for number, part in enumerate(parts):
        if number:
            kind, value = spans[number - 1]
            pieces.append({"kind": kind, "text": value, "out": surrogates[number - 1]})
        for position, chunk in enumerate(part):
            if position % 2:
                pieces.append({"space": chunk})
            elif chunk:
                out, count = next(written)
                pieces.append({"text": chunk, "out": out, "first": place, "tokens": count})
                place += count
    if isinstance(layout, TokensLayout):
        whole = " ".join(piece["out"] for piece in pieces if piece.get("out"))
    else:
        whole = side_by_side([piece.get("space", piece.get("out", "")) for piece in pieces])
    return Tried(pieces, batch.ids.astype(np.int64), released, passed, counts, whole)


class _Noted:
    """Finds by rules, and notes what it found for the page that shows it."""

    name = "rules"

    def __init__(self) -> None:
        self.noted: list[tuple[str, str]] = []

    def find(self, texts: Any) -> Any:
        spans_by_text = RuleFinder().find(texts)
        self.noted += [
            (span.type, text[span.start : span.end])
            for text, spans in zip(texts, spans_by_text, strict=True)
            for span in spans
        ]
        return spans_by_text


def told(shop: Workshop, setting: PageSetting, draws: int) -> dict[str, Any]:
    """The guarantee in plain words, for a word and for a text that took so many draws."""
    prepared = shop.prepared(setting)
    statement = prepared.statement

    def made() -> dict[str, Any]:
        return Wholes(document=draws).told(statement, prepared.mechanism, DELTA, "words")

    whole = shop.kept(("whole", setting, draws), made)
    return {
        "word": statement.to_dict(),
        "in_words": statement.lines(),
        "whole": whole["document"]["statement"],
        "whole_in_words": whole["in_words"],
        "weak": shop.weakness(setting),
    }


def outcomes(shop: Workshop, setting: PageSetting, word: int, released: Ids) -> dict[str, Any]:
    """What a word could have become after the words that were released before it."""
    mechanism = shop.prepared(setting).mechanism
    space = mechanism.space
    if says_its_law(mechanism):
        contextual = getattr(mechanism, "contextual", False)
        law = np.exp(mechanism.log_probabilities([word], *([released] if contextual else [])))[0]
        shown = min(SHOWN, getattr(mechanism, "near", SHOWN))
        best = np.argsort(-law, kind="stable")[:shown]
        likely = [(int(each), float(law[each])) for each in best]
        others = int((law > 0).sum()) - len(likely)
    else:
        likely = likely_outputs(mechanism, word, SHOWN, runs=_DRAWS)
        others = len(space) - len(likely)
    return {
        "likely": [{"word": space.words[each], "chance": chance} for each, chance in likely],
        "other": max(0.0, 1.0 - sum(chance for _, chance in likely)),
        "others": others,
        "draws": None if says_its_law(mechanism) else _DRAWS,
    }


def guesses(
    shop: Workshop,
    setting: PageSetting,
    released: Ids,
    passed: NDArray[np.bool_],
    progress: Progress | None,
) -> Ids:
    """The best guess at each word by who knows the mechanism, public frequencies and the output."""
    mechanism = shop.prepared(setting).mechanism
    prior = shop.prior(setting)
    if isinstance(mechanism, NearWords):
        whole = np.array([0, len(released)])
        return originals(mechanism, released, whole, prior, passed=passed, keep=1).best()
    guess = released.copy()
    if not setting.variant.epsilon:
        guess[~passed] = prior.argmax()
        return guess
    guess[~passed] = best_guesses(mechanism, released[~passed], prior, progress=progress)
    return guess
