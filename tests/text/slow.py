"""The tokenisers and the public layout once more: one character at a time, with no cleverness."""

import unicodedata
from collections.abc import Callable, Iterator, Mapping

INNER = "'’‐‑-"
PLAIN = {"’": "'", "‘": "'", "ʼ": "'", "‐": "-", "‑": "-", "–": "-", "—": "-"} | dict.fromkeys(
    "“”„", '"'
)
TAILS = ("n't", "'s", "'re", "'ve", "'ll", "'d", "'m")


def is_mark(c: str) -> bool:
    return unicodedata.category(c).startswith("M")


def is_invisible(c: str) -> bool:
    return unicodedata.category(c) in ("Cc", "Cf") and not c.isspace()


def is_word(c: str) -> bool:
    return unicodedata.category(c)[0] in "LMN" or is_invisible(c)


def is_public(c: str) -> bool:
    category = unicodedata.category(c)
    return c.isspace() or category[0] == "P" or category == "Sm" or c in "^`¨¯´¸"


def signs(text: str) -> Iterator[str]:
    """Words, white space and other characters in order; nothing is left out."""
    i = 0
    while i < len(text):
        j = i + 1
        if is_word(text[i]):
            while j < len(text):
                inner = j + 1 < len(text) and is_word(text[j + 1])
                digits = inner and text[j - 1].isdecimal() and text[j + 1].isdecimal()
                joins = (inner and text[j] in INNER) or (digits and text[j] in ".,")
                if not is_word(text[j]) and not joins:
                    break
                j += 1
        elif not text[i].isspace():
            while j < len(text) and is_mark(text[j]):
                j += 1
        yield text[i:j]
        i = j


def find(form: str, ids: Mapping[str, int]) -> int | None:
    visible = "".join(c for c in form if not is_invisible(c))
    composed = unicodedata.normalize("NFC", visible)
    plain = "".join(PLAIN.get(c, c) for c in composed)
    bare = "".join(
        c
        for c in unicodedata.normalize("NFKD", plain)
        if unicodedata.combining(c) in (0, 7, 8, 9) and not 0xFE00 <= ord(c) <= 0xFE0F
    )
    bare = unicodedata.normalize("NFC", bare)
    for variant in (
        form, composed, plain, plain.lower(), plain.casefold(), bare, bare.casefold()
    ):  # fmt: skip
        if variant in ids:
            return ids[variant]
    return None


def words(text: str, ids: Mapping[str, int], unknown: int) -> list[int]:
    """What WordTokenizer does with a text; ``ids`` without bracketed entries."""
    numbers: list[int] = []
    for chunk in text.split():
        whole = find(chunk, ids)
        numbers += [whole] if whole is not None else []
        if whole is None:
            for sign in signs(chunk):
                numbers += one_sign(sign, ids, unknown)
    return numbers


def one_sign(sign: str, ids: Mapping[str, int], unknown: int) -> list[int]:
    whole = find(sign, ids)
    if whole is not None:
        return [whole]
    if all(map(is_invisible, sign)):
        return []
    if len(sign) == 1 or not any(c in INNER for c in sign):
        return [unknown]
    plain = "".join(PLAIN.get(c, c) for c in sign)
    for tail in TAILS:
        if plain.lower().endswith(tail):
            both = [find(plain[: -len(tail)], ids), find(tail, ids)]
            if None not in both:
                return [number for number in both if number is not None]
    numbers: list[int] = []
    part = ""
    for c in sign:
        if c in INNER:
            numbers += one_sign(part, ids, unknown)
            numbers += [] if find(c, ids) is None else one_sign(c, ids, unknown)
            part = ""
        else:
            part += c
    return numbers + one_sign(part, ids, unknown)


def public_units(text: str, tokens: Callable[[str], list[int]]) -> Iterator[tuple[bool, str]]:
    """Whether it is protected, and what: the parts of a text in the public layout."""
    for sign in signs(text):
        if not is_word(sign[0]):
            yield not (len(sign) == 1 and is_public(sign)), sign
        elif not any(c in INNER for c in sign) or len(tokens(sign)) == 1:
            yield True, sign
        else:
            part = ""
            for c in sign:
                if c in INNER:
                    yield True, part
                    yield False, c
                    part = ""
                else:
                    part += c
            yield True, part


def begins_and_all(word: str) -> tuple[bool, bool]:
    """Whether a word begins with a capital letter, and whether all of its several letters are."""
    cased = [c for c in word if c.isupper() or c.islower() or unicodedata.category(c) == "Lt"]
    capital = [not c.islower() for c in cased]
    return capital[:1] == [True], len(cased) > 1 and False not in capital


def capitalised(word: str, like: str, first: bool) -> str:
    if word[:1] + word[-1:] in ("[]", "<>"):
        return word
    begins, every = begins_and_all(like)
    if every:
        return word.upper()
    return word.capitalize() if begins and first else word.lower()


def public_part(text: str, tokens: Callable[[str], list[int]]) -> list[object]:
    """What the statement of the public layout names: nothing else of a text may be seen."""
    parts: list[object] = []
    for protected, part in public_units(text, tokens):
        if not protected:
            parts += part
        elif tokens(part):
            parts.append((len(tokens(part)), *begins_and_all(part)))
    return parts


def public_join(text: str, tokens: Callable[[str], list[int]], released: list[str]) -> str:
    """What PublicLayout writes for a text whose released words are these, in order."""
    written, after_word = "", False
    left = list(released)
    for protected, part in public_units(text, tokens):
        if not protected:
            written, after_word = written + part, False
            continue
        for position in range(len(tokens(part))):
            word = left.pop(0)
            continues = word.startswith("##") and len(word) > 2
            if after_word and not (continues and position):
                written += " "
            written += capitalised(word[2:] if continues else word, part, position == 0)
            after_word = True
    assert not left
    return written
