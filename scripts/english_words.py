"""Which words the space ``english`` has, how frequent each is, and what we say of some by hand.

The lists here are our own: words that grammar books list, and numbers. Everything else is decided
by public frequency.
"""

import re
from collections.abc import Callable, Iterable, Mapping

import numpy as np
from wordfreq import iter_wordlist, zipf_frequency

SENTENCE_MARKS = ".,'\"-?!:;()’‘“”–—…"
OTHER_MARKS = "#$%&*+/<=>@[\\]^_`{|}~£€¥¢°•·§©®™×½¼«»¿¡"
SENTENCE_ZIPF, OTHER_ZIPF = 6.0, 4.0

CLOSED: dict[str, str] = {
    "subject": "i he she we they",
    "object": "me him us them",
    "person": "you it one",
    "reflexive": "myself yourself himself herself itself ourselves yourselves themselves oneself",
    "owner": "my your his her its our their",
    "owned": "mine yours hers ours theirs",
    "article": "the a an",
    "pointer": "this that these those",
    "quantity": "some any all both each every either neither no another such many much few several "
    "more most less least enough half plenty",
    "someone": "someone somebody anyone anybody everyone everybody nobody none something anything "
    "everything nothing",
    "and": "and or nor but yet plus",
    "preposition": "of in on at by for with from to into onto upon about against between among "
    "amongst through throughout during before after above below beneath under underneath over "
    "across along around behind beside besides beyond near off out outside inside up down toward "
    "towards within without via per despite since until till like unlike except concerning "
    "regarding amid amidst past as than",
    "subordinator": "if because although though while whereas unless whether since until when "
    "whenever once lest wherever whilst",
    "question": "who whom whose which what where when why how whoever whatever whichever",
    "modal": "can could will would shall should may might must ought cannot",
    "be-base": "be been being",
    "be-present": "am is are",
    "be-past": "was were",
    "have": "have has had having",
    "do": "do does did done doing",
    "negation": "not never n't",
    "there": "there here",
    "degree": "very too so quite rather really extremely fairly pretty almost nearly just only "
    "even still already also somewhat highly totally completely absolutely",
    "linking": "however therefore moreover furthermore nevertheless nonetheless thus hence "
    "otherwise instead meanwhile consequently accordingly likewise similarly",
    "exclamation": "oh ah wow hey hi hello yes yeah yep no nope okay ok ugh oops alas hmm um uh "
    "huh",
    "clitic": "'s 're 've 'll 'd 'm s' '",
    "weekday": "monday tuesday wednesday thursday friday saturday sunday mon tue wed thu fri sat",
    "month": "january february march april may june july august september october november "
    "december jan feb mar apr jun jul aug sep sept oct nov dec",
    "number-word": "zero one two three four five six seven eight nine ten eleven twelve thirteen "
    "fourteen fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy "
    "eighty ninety",
    "large-number": "hundred thousand million billion trillion dozen",
    "numbers-plural": "hundreds thousands millions billions trillions dozens",
    "ordinal": "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth "
    "thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth",
    "title": "mr mrs ms miss dr prof sir madam mr. mrs. ms. dr. prof. st. jr. sr.",
    "abbreviation": "e.g. i.e. etc. etc vs. vs ie eg inc. co. corp. ltd. no. a.m. p.m. am pm",
    "country-short": "u.s. u.k. u.n. e.u. usa uk eu u.s.a.",
}
"""Words of kinds that cannot grow; a word may be of several."""

SHARES: dict[str, Mapping[str, float]] = {
    "her": {"owner": 0.6, "object": 0.4},
    "his": {"owner": 0.9, "owned": 0.1},
    "that": {"pointer": 0.35, "subordinator": 0.35, "question": 0.3},
    "one": {"number-word": 0.7, "person": 0.3},
    "no": {"quantity": 0.8, "exclamation": 0.2},
    "when": {"subordinator": 0.6, "question": 0.4},
    "since": {"preposition": 0.5, "subordinator": 0.5},
    "until": {"preposition": 0.5, "subordinator": 0.5},
    "may": {"modal": 0.8, "month": 0.2},
    "am": {"be-present": 0.9, "abbreviation": 0.1},
}
"""Where the kinds of a word are not equally likely."""

GROUPS = {
    "pronoun": "subject object person reflexive owned someone",
    "determiner": "article pointer quantity owner",
    "joint": "preposition subordinator and linking",
    "helper": "modal be-base be-present be-past have do helper-not",
    "number": "number-word large-number digits decimal round-number year ordinal digit-ordinal "
    "decade numbers-plural",
    "name": "female male surname place country organisation other-name country-short title",
    "adverb": "RB degree negation there",
    "mark": "mark-end mark-pause mark-dash mark-quote mark-open mark-close",
    "sign": "mark-money mark-sign emoticon",
    "short": "pronoun's pronoun're pronoun've pronoun'll pronoun'd pronoun'm clitic",
}
"""Kinds that are next best for each other; forms of one word are kept apart."""

MARKS = {
    "end": ".?!…",
    "pause": ",;:",
    "dash": "-–—",
    "quote": "'\"’‘“”`«»",
    "open": "([{<",
    "close": ")]}>",
    "money": "$£€¥¢",
    "sign": "#%&*+/=@\\^_|~°•·§©®™×½¼¿¡",
}

TAILS = {
    "'s": "he she it that what who there here where how let when why",
    "'re": "you we they",
    "'ve": "i you we they",
    "'ll": "i you he she it we they that there",
    "'d": "i you he she it we they that",
    "'m": "i",
}
HELPERS = "do does did is are was were has have had ca could wo would sha should might must need ai"
ABBREVIATIONS = (
    "u.s. u.k. u.n. e.u. u.s.a. mr. mrs. ms. dr. prof. st. jr. sr. e.g. i.e. etc. vs. inc. co. "
    "corp. ltd. no. a.m. p.m."
)
EMOTICONS = ":) :( ;) :d :-) :-( ;-) :/ <3 :p"


def contractions() -> dict[str, str]:
    """Contractions that are one entry each, and their kind."""
    kinds = {f"{word}n't": "helper-not" for word in HELPERS.split()}
    return kinds | {
        word + tail: f"pronoun{tail}" for tail, listed in TAILS.items() for word in listed.split()
    }


def numbers() -> list[str]:
    """Numbers that are entries."""
    found = [str(n) for n in range(1001)] + [f"0{n}" for n in range(10)] + ["00", "000"]
    found += [str(n) for n in range(1500, 2051)]
    found += [
        f"{n},{zeros}" for n in (*range(1, 21), *range(25, 100, 5)) for zeros in ("000", "500")
    ]
    found += [f"{n},000" for n in range(100, 1000, 50)] + ["1,000,000"]
    found += [str(n) for n in range(1000, 10_001, 500)]
    found += [f"{n}.{tenth}" for n in range(10) for tenth in range(10)] + ["0.01", "0.05", "0.25"]
    found += [f"{n}{_ending(n)}" for n in (*range(1, 32), *range(40, 101, 10))]
    found += [f"{n}s" for n in (*range(20, 100, 10), *range(1800, 2030, 10))]
    return list(dict.fromkeys(found))


def number_kind(word: str) -> str | None:
    """What kind of number a word of digits is."""
    if re.fullmatch("1[5-9][0-9][0-9]|20[0-4][0-9]|2050", word):
        return "year"
    if re.fullmatch("[0-9]{2,4}s", word):
        return "decade"
    if re.fullmatch("[0-9]+(st|nd|rd|th)", word):
        return "digit-ordinal"
    if re.fullmatch(r"[0-9]+\.[0-9]+", word):
        return "decimal"
    if re.fullmatch("[0-9]+,[0-9,]+", word):
        return "round-number"
    return "digits" if re.fullmatch("[0-9]+", word) else None


def closed_kinds() -> dict[str, dict[str, float]]:
    """For every word listed here, the share of each of its kinds."""
    kinds: dict[str, dict[str, float]] = {}
    for kind, listed in CLOSED.items():
        for word in listed.split():
            kinds.setdefault(word, {})[kind] = 1.0
    kinds.update({word: dict(shares) for word, shares in SHARES.items()})
    kinds |= {mark: {f"mark-{kind}": 1.0} for kind, marks in MARKS.items() for mark in marks}
    kinds |= {word: {"emoticon": 1.0} for word in EMOTICONS.split()}
    kinds |= {word: {kind: 1.0} for word, kind in contractions().items()}
    kinds |= {word: {kind: 1.0} for word in numbers() if (kind := number_kind(word))}
    return {
        word: {kind: part / sum(shares.values()) for kind, part in shares.items()}
        for word, shares in kinds.items()
    }


def vocabulary(
    ranks: Mapping[str, int], lexicon: Iterable[str], listed: Iterable[str], words: int
) -> dict[str, float]:
    """The words, most frequent first, with their Zipf frequencies.

    Args:
        ranks: the place of words in a list of vectors: words nobody has seen are left out, and
            compounds with hyphens, which wordfreq does not count, get the frequency of the words
            around them.
        lexicon: words that dictionaries and registers have: kept at a lower frequency than others,
            among which are misspellings and words of other languages.
        listed: words that are in it whatever their frequency.
        words: how many.
    """
    known = set(lexicon)
    counted: dict[str, float] = {}
    for word in iter_wordlist("en", "large"):
        if not re.fullmatch("[a-z]+", word) or (word not in ranks and word not in known):
            continue
        zipf = float(zipf_frequency(word, "en", wordlist="large"))
        counted[word] = zipf if word in known else zipf - 0.35
    scale = _frequency_of_rank(ranks)
    compounds = {
        word: scale(rank)
        for word, rank in ranks.items()
        if rank < 40_000 and re.fullmatch("[a-z]{2,}(-[a-z]{2,})+", word)
    }
    needed = {word: max(_listed_zipf(word, ranks, scale), 1.0) for word in listed}
    chosen = compounds | needed
    rest = sorted((word for word in counted if word not in chosen), key=lambda w: -counted[w])
    chosen |= {
        word: float(zipf_frequency(word, "en", wordlist="large"))
        for word in rest[: words - len(chosen)]
    }
    return dict(sorted(chosen.items(), key=lambda pair: (-round(100 * pair[1]), pair[0])))


def _frequency_of_rank(ranks: Mapping[str, int]) -> Callable[[int], float]:
    """Zipf frequency as a line in the logarithm of the rank."""
    pairs = [
        (rank, zipf_frequency(word, "en", wordlist="large"))
        for word, rank in ranks.items()
        if rank < 60_000 and word.isalpha() and word.isascii()
    ]
    places = np.array([np.log10(rank + 1) for rank, _ in pairs])
    slope, start = np.polyfit(places, [zipf for _, zipf in pairs], 1)
    return lambda rank: round(float(start + slope * np.log10(rank + 1)), 2)


def _listed_zipf(word: str, ranks: Mapping[str, int], scale: Callable[[int], float]) -> float:
    if len(word) == 1 and word in SENTENCE_MARKS:
        return SENTENCE_ZIPF
    if len(word) == 1 and word in OTHER_MARKS:
        return OTHER_ZIPF
    if not re.fullmatch("[a-z0-9']+", word):
        return scale(ranks[word]) if word in ranks else 3.0
    if re.fullmatch("00+", word):
        word = "1" + word[1:]
    return float(zipf_frequency(word, "en", wordlist="large"))


def _ending(number: int) -> str:
    if number % 100 in (11, 12, 13):
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
