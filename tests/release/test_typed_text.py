"""Sanitizer with identifiers: surrogates for what is found, the mechanism for everything else."""

import json
import random
import re
import string

import numpy as np
import pytest

from discreet import Sanitizer
from discreet.errors import InvalidValue
from discreet.mechanisms.word import SanText
from discreet.release.text_files import sanitize_file
from discreet.spaces.space import EmbeddingSpace
from discreet.text.identifiers import Identifiers, SurrogateMapping, restore
from discreet.text.identifiers.surrogates import Surrogates
from small_spaces import random_space

LAYOUTS = ("tokens", "public")
SEED = 20261116
WORDS = ["the", "a", "of", "call", "mail", "me", "at", "my", "card", "is", "on", "now", "see"]


@pytest.fixture(scope="module")
def space():
    """Everyday words and the digits: what a value that is not found could be put together from."""
    words = [
        "[UNK]",
        *WORDS,
        *string.digits,
        *map(str, range(10, 100)),
        "@",
        ".",
        ",",
        "-",
        "smith",
    ]
    vectors = np.random.default_rng(0).standard_normal((len(words), 6))
    return EmbeddingSpace.from_arrays(words, vectors, "test: words", name="words")


@pytest.fixture(scope="module")
def keeps(space):
    """At this epsilon every word of the vocabulary stays as it is."""
    return SanText(space, epsilon=10_000.0)


def sanitized(mechanism, texts, layout, rng=None, **options):
    return Sanitizer(mechanism, layout=layout, **options).sanitize(texts, rng)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_sanitizer_without_identifiers_is_as_it_was(keeps, layout):
    rng = np.random.default_rng(SEED)
    release = sanitized(keeps, ["call me at 12-34"], layout, rng)
    assert release.identifiers == {}
    assert "identifiers" not in Sanitizer(keeps, layout=layout).about


@pytest.mark.parametrize("layout", LAYOUTS)
def test_surrogates_stand_where_identifiers_stood(keeps, layout):
    lists = Surrogates({"email": ["aa@x.example", "bb@x.example"], "phone": ["000", "111"]})
    identifiers = Identifiers(surrogates=lists)
    texts = ["mail me at j@roe.example, now", "", "415-355-2671", "call me"]
    release = sanitized(keeps, texts, layout, identifiers=identifiers)
    email, phone = r"(aa|bb)@x\.example", "(000|111)"
    expected = {"tokens": rf"mail me at {email} , now", "public": rf"mail me at {email}, now"}
    assert re.fullmatch(expected[layout], release.values[0])
    assert re.fullmatch(phone, release.values[2])
    assert (release.values[1], release.values[3]) == ("", "call me")
    assert dict(release.identifiers) == {"email": 1, "phone": 1}
    assert release.units == {"tokens": 7, "public": 6}[layout]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_whole_output_is_the_same_for_other_values_of_the_same_types(layout):
    mechanism = SanText(random_space(60), epsilon=1.0)
    first = ["word1 a@b.example word2, 415-355-2671.", "word3 Mary Smith"]
    second = ["word1 quite.another@mail.house.org word2, +49 170 1234567.", "word3 Hans van Dyk"]
    for consistent in ("none", "document"):
        outputs = [
            sanitized(
                mechanism,
                texts,
                layout,
                np.random.default_rng(SEED),
                identifiers="rules",
                consistent=consistent,
            ).values
            for texts in (first, second)
        ]
        assert outputs[0] == outputs[1]


def test_the_statement_has_two_parts_and_is_the_weaker_one(keeps):
    plain = Sanitizer(keeps).statement
    typed = Sanitizer(keeps, identifiers="rules").statement
    document = Sanitizer(keeps, identifiers="rules", consistent="document").statement
    assert plain < typed < document
    assert typed.epsilon == plain.epsilon
    said = str(typed)
    assert "epsilon = 0 between two values of one type" in said
    assert "what was not found is treated as words" in said
    assert "the number, types and places of the identifiers that rules found" in said


def test_a_mechanism_that_reads_on_is_told_of_documents_not_of_segments(space):
    class Contextual(SanText):
        contextual = True
        told = None

        def release(self, ids, rng, offsets=None, passed=None, capitals=None):  # noqa: ARG002
            Contextual.told = offsets
            return super().release(ids, rng)

    texts = ["mail a@b.example now see", "call me", "", "415-355-2671 see 5 pm"]
    for identifiers, lengths in ((None, None), ("rules", [3, 2, 0, 1])):
        Sanitizer(Contextual(space, epsilon=1.0), identifiers=identifiers).sanitize(texts)
        assert len(Contextual.told) == len(texts) + 1
        if lengths is not None:
            assert np.diff(Contextual.told).tolist() == lengths


# -- planted values --------------------------------------------------------------------------------


def planted(count=150):
    """Tickets with identifiers that are not in the ranges that surrogates come from."""
    rnd = random.Random(SEED)

    def digits(number):
        return "".join(rnd.choice(string.digits) for _ in range(number))

    def luhn(start):
        doubled = [int(d) * (2 - i % 2) for i, d in enumerate(start)]
        return start + str(-sum(d - 9 * (d > 9) for d in doubled) % 10)

    def iban():
        account = digits(18)
        return f"DE{98 - int(account + '131400') % 97:02d}{account}"

    texts, values = [], []
    for _ in range(count):
        card = luhn("51" + digits(13))
        own = [
            rnd.choice([f"jo.{digits(2)}@mail{digits(1)}.de", f"see{digits(3)}_x@call.me"]),
            rnd.choice(
                [f"+49 17{digits(1)} {digits(7)}", f"(6{digits(2)}) 3{digits(2)}-{digits(4)}"]
            ),
            rnd.choice([card, " ".join(card[i : i + 4] for i in range(0, 16, 4))]),
            iban(),
            f"11.{digits(2)}.7.2{rnd.randint(10, 54)}",
            f"https://my{digits(3)}.org/{digits(4)}",
            f"7{digits(2)}-4{digits(1)}-{digits(4)}",
        ]
        rnd.shuffle(own)
        own = own[:4]
        said = [f"{rnd.choice(WORDS)} {rnd.choice(WORDS)} {value}" for value in own]
        texts.append(rnd.choice([", ", "; ", " "]).join(said) + rnd.choice([".", "!", " now"]))
        values.append(own)
    return texts, values


def came_out(written, values):
    """Planted values that stand in the output of their own document, however it is spaced."""
    flat = ["".join(text.split()).lower() for text in written]
    return [
        value
        for text, own in zip(flat, values, strict=True)
        for value in own
        if "".join(value.split()).lower() in text
    ]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("consistent", ["none", "document", "key"])
def test_no_planted_value_comes_out_even_where_every_word_stays(
    keeps, layout, consistent, tmp_path
):
    if consistent == "key":
        (tmp_path / "key").write_bytes(bytes(32))
        (tmp_path / "key").chmod(0o600)
        consistent = f"key:{tmp_path / 'key'}"
    texts, values = planted()
    release = sanitized(keeps, texts, layout, identifiers="rules", consistent=consistent)
    assert came_out(release.values, values) == []
    assert sum(release.identifiers.values()) >= 4 * len(texts)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_no_finder_found_does_not_come_out_either_unless_it_is_made_of_known_words(
    keeps, layout
):
    texts, values = planted()
    release = sanitized(keeps, texts, layout)
    known = set(keeps.space.words)
    odd = [
        [value for value in own if not set(re.findall(r"\w+", value.lower())) <= known]
        for own in values
    ]
    assert sum(map(len, odd)) > 500
    assert came_out(release.values, odd) == []


def test_the_search_for_planted_values_sees_one():
    assert came_out(["call 51 23 now"], [["5123", "99"]]) == ["5123"]


# -- files -----------------------------------------------------------------------------------------


def test_the_receipt_says_what_was_found_and_nothing_of_it(keeps, tmp_path):
    source, output = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("mail a@zanzibar.example or 415-355-2671\ncall Mary Smith\n")
    mapping = SurrogateMapping()
    sanitizer = Sanitizer(keeps, identifiers=Identifiers(mapping=mapping))
    receipt = sanitize_file(source, output, sanitizer, accept_weak=True)
    section = receipt.about["identifiers"]
    assert section["types"] == {"email": 1, "person": 1, "phone": 1}
    assert (section["finder"], section["consistent"]) == ("rules", "none")
    assert receipt.counts == {"documents": 2, "words": 3}
    written = json.dumps(receipt.to_dict())
    assert not any(word in written for word in ("zanzibar", "Mary", "2671"))
    restored = [restore(line, mapping) for line in output.read_text().splitlines()]
    assert restored == ["mail a@zanzibar.example [UNK] 415-355-2671", "call Mary Smith"]


def test_nothing_is_published_if_the_last_step_fails(keeps, tmp_path):
    def full():
        raise OSError("no space")

    source = tmp_path / "in.txt"
    source.write_text("call me\n")
    with pytest.raises(OSError, match="no space"):
        sanitize_file(
            source,
            tmp_path / "out.txt",
            Sanitizer(keeps),
            accept_weak=True,
            before_publishing=full,
        )
    assert list(tmp_path.iterdir()) == [source]


def test_consistency_without_identifiers_is_refused(keeps):
    with pytest.raises(InvalidValue, match="belongs to identifiers"):
        Sanitizer(keeps, consistent="document")
    with pytest.raises(InvalidValue, match="belongs to the Identifiers themselves"):
        Sanitizer(keeps, identifiers=Identifiers(), consistent="document")
