"""Identifiers: what the rules find, what surrogates are, and that no value decides one."""

import json
import os
import stat
import sys
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InputError, InvalidValue, MissingExtra, NotFound, OutputError
from discreet.text.identifiers import Identifiers, SurrogateMapping, Surrogates, restore
from discreet.text.identifiers.finder import RecognisingFinder, RuleFinder, finder_of
from discreet.text.identifiers.mapping import restore_file
from discreet.text.identifiers.patterns import TYPES, Span, identifiers_of, is_card, is_iban
from discreet.text.identifiers.surrogates import WORDS, load_surrogates
from goodness import fits

SEED = 20261116
SECRET = "zanzibar"


def found(text):
    return [(text[span.start : span.end], span.type) for span in identifiers_of(text)]


# -- rules -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mail j.roe+x@mail.co.uk, or user@localhost.", "j.roe+x@mail.co.uk|user@localhost"),
        ("see https://a.example/b?c=1. And www.foo.de", "https://a.example/b?c=1|www.foo.de"),
        ("(see shop42.com/x)", "shop42.com/x"),
        (
            "Siggraph.org, SIGGRAPH.ORG or Siggraph.Org/x.",
            "Siggraph.org|SIGGRAPH.ORG|Siggraph.Org/x",
        ),
        ("from 106.31.73.20, 10.0.0.1:8080", "106.31.73.20|10.0.0.1:8080"),
        ("at 2001:db8::1 and abcd::0:1:2", "2001:db8::1|abcd::0:1:2"),
        ("eth 00:1A:2b:3c:4d:5e", "00:1A:2b:3c:4d:5e"),
        ("IBAN DE89 3704 0044 0532 0130 00 THEN", "DE89 3704 0044 0532 0130 00"),
        ("gb82west12345698765432", "gb82west12345698765432"),
        ("card 4111 1111 1111 1111, 378282246310005", "4111 1111 1111 1111|378282246310005"),
        ("my number is 460-89-9847", "460-89-9847"),
        ("on 2000-04-16, 3/4/21 and 12 March 2020", "2000-04-16|3/4/21|12 March 2020"),
        ("since March 3rd, 1999 or Sept 2001", "March 3rd, 1999|Sept 2001"),
        ("at 12:30:45 or 5 pm", "12:30:45|5 pm"),
        ("call (415) 355-2671 or +49 170 1234567", "(415) 355-2671|+49 170 1234567"),
        ("call 780-999-2181, 07700 063 966", "780-999-2181|07700 063 966"),
        ("paid $5 million, 20 EUR and €3.50.", "$5 million|20 EUR|€3.50"),
        ("Dr. Smith met Peter van der Berg", "Smith|Peter van der Berg"),
        ("Mary-Ann Jones's car", "Mary-Ann Jones"),
        ("of Acme Widgets Ltd", "Acme Widgets Ltd"),
        ("12 Baker Street, SW1A 1AA", "12 Baker Street|SW1A 1AA"),
        ("ids F162823540116, 90210-1234 and AB-123456", "F162823540116|90210-1234|AB-123456"),
        ("Dear Mwangi, my name is Aiyana Begay.", "Mwangi|Aiyana Begay"),
        ("Hello, this is Oluwaseun Adeyemi. Help!", "Oluwaseun Adeyemi"),
        ("Hi! This is Dr. Nguyen Thi Lan, from Hanoi.", "Nguyen Thi Lan"),
        ("Hi Dr. Okonkwo! Kind regards\nThandeka", "Okonkwo|Thandeka"),
        ("this is Nguyễn calling. Thanks, Şebnem", "Nguyễn|Şebnem"),
        ("1,000 people in 1977 with 3.5 ٣٤", "1,000|1977|3.5|٣٤"),
    ],
)
def test_the_rules_find(text, expected):
    assert [value for value, _ in found(text)] == expected.split("|")


@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("4111 1111 1111 1112", {"number"}),  # not a card by Luhn's check, but still numbers
        ("4111111111111112", {"code"}),
        ("DE89370400440532013001", {"code"}),
        ("192.168.1.300", {"code"}),
        ("45.67.8901", {"code"}),
    ],
)
def test_what_fails_its_check_is_some_number_and_is_found_all_the_same(text, types):
    assert {kind for _, kind in found(text)} == types
    covered = sum(len(value) for value, _ in found(text))
    assert covered == len(text.replace(" ", ""))


@pytest.mark.parametrize(
    "text",
    [
        *(
            "Dear Team, thank you all",
            "Hello World of cars",
            "this is Windows.",
            "best Buy",
        ),
        *("Thanks, I did", "Hi there, All good"),
        *(
            "",
            "nothing to see here",
            "std::vector",
            "a:b:c ::",
            "e.g. i.e. etc.",
            "the mp3, the 1990s",
        ),
        # Two sentences without a space between them are no address on the web.
        *("the Guardian.At first", "a good movie.It was", "In London.No, and London.No/ too"),
    ],
)
def test_the_rules_leave_words_alone(text):
    assert found(text) == []


def test_checks_of_cards_and_accounts_notice_any_wrong_digit():
    card, iban = "4111111111111111", "DE89370400440532013000"
    assert is_card(card)
    assert is_iban(iban)
    for place in range(len(card)):
        assert not is_card(card[:place] + str((int(card[place]) + 1) % 10) + card[place + 1 :])
    for place in range(4, len(iban)):
        assert not is_iban(iban[:place] + str((int(iban[place]) + 1) % 10) + iban[place + 1 :])


@given(st.text(alphabet=st.sampled_from("aA1 .-@:/+($,é٣\n'_x"), max_size=60))
@settings(max_examples=200, deadline=None)
def test_spans_are_in_order_within_the_text_and_hold_something(text):
    spans = identifiers_of(text)
    ends = [0, *(span.end for span in spans)]
    for before, span in zip(ends, spans, strict=False):
        assert before <= span.start < span.end <= len(text)
        assert any(map(str.isalnum, text[span.start : span.end]))
        assert span.type in TYPES


@pytest.mark.parametrize(
    "part",
    [
        "Hi ",
        "thanks ",
        "my name is A",
        "1 ",
        "a.",
        "a-",
        "A-",
        "1,1",
        "x@",
        "AB12 ",
        "1:",
        "www.",
        "+1 ",
    ],
)
def test_long_odd_texts_take_no_longer_than_their_length(part):
    def took(text):
        start = time.process_time()
        identifiers_of(text)
        return time.process_time() - start

    # Sixteen times the text; a square would take 256 times as long, every time. One good try of
    # several is enough: the machine may be busy with something else.
    tries = ((took(part * 1000), took(part * 16_000)) for _ in range(8))
    assert any(long < 16 * 6 * short for short, long in tries)


def test_a_surname_goes_with_the_name_before_it() -> None:
    text = "this is Sipho Miller. Ask Miller, or Sipho van der Merwe Smith Now. Thanks, Sipho"
    (spans,) = RuleFinder().find([text])
    found = [text[s.start : s.end] for s in spans]
    assert found == ["Sipho Miller", "Miller", "Sipho van der Merwe Smith", "Sipho"]


def test_a_name_that_was_found_is_found_wherever_it_stands():
    text = "Mwangi's disk failed; mwangi and Mwangilo are others. Mark it. Regards, Mwangi Mark"
    (spans,) = RuleFinder().find([text])
    assert [text[s.start : s.end] for s in spans] == ["Mwangi", "Mark", "Mwangi Mark"]
    assert {s.type for s in spans} == {"person"}
    recogniser = RecognisingFinder(Recogniser((0, 6, "PERSON")), {"PERSON": "person"})
    (spans,) = recogniser.find(["Mwangi came. Then Mwangi left by 10.0.0.1"])
    assert [(s.start, s.type) for s in spans] == [(0, "person"), (18, "person"), (33, "ip")]


# -- surrogates ------------------------------------------------------------------------------------


def words(count, seed=SEED):
    return np.random.default_rng(seed).integers(0, 2**64, (count, WORDS), np.uint64)


@pytest.mark.parametrize("kind", TYPES)
def test_a_surrogate_looks_like_its_type(kind):
    made = Surrogates().made(kind, words(300))
    assert len(set(made)) > 150
    if kind not in ("place", "organisation"):  # the rules know few of these
        for surrogate in made:
            assert found(f"see {surrogate} now") == [(surrogate, kind)]


def test_surrogates_pass_the_checks_and_belong_to_nobody():
    made = {kind: Surrogates().made(kind, words(500)) for kind in TYPES}
    assert all(map(is_card, made["card"]))
    assert all(map(is_iban, made["iban"]))
    assert {iban[4:8] for iban in made["iban"]} == {"FAKE", "0000"}
    assert all("555-01" in phone for phone in made["phone"])
    assert all("@example." in email for email in made["email"])
    assert all(url.startswith("https://www.example.com/") for url in made["url"])
    nets = ("192.0.2.", "198.51.100.", "203.0.113.")
    assert all(ip.startswith(nets) for ip in made["ip"])
    assert all(ssn.startswith("9") for ssn in made["ssn"])


def test_surrogates_are_uniform():
    draws = np.array(Surrogates().made("number", words(200_000)), int) - 1
    assert fits(draws, np.full(999, 1 / 999))
    assert not fits(draws, np.linspace(0.9, 1.1, 999) / 999)  # a law that is off by up to a tenth


# -- no value decides a surrogate ------------------------------------------------------------------

VALUES = {
    "email": ("jane@roe.example", "a.very.long.address_99@mail.house.org"),
    "phone": ("(415) 355-2671", "+49 170 1234567"),
    "card": ("4111 1111 1111 1111", "378282246310005"),
    "iban": ("DE89 3704 0044 0532 0130 00", "gb82west12345698765432"),
    "ssn": ("460-89-9847", "514 69 0360"),
    "ip": ("106.31.73.20", "10.0.0.1:8080"),
    "date": ("12 March 2020", "3/4/21"),
    "number": ("7", "1,000"),
    "code": ("F162823540116", "90210-1234"),
    "person": ("Mary Smith", "Peter van der Berg"),
}


def replaced(identifiers, values):
    text = "; ".join(values)
    cut = identifiers.cut([f"say {text} now"], np.random.default_rng(SEED))
    return cut.joined(cut.segments, "")


def looks_at_values(identifiers):
    """Whether another value of the same type, all else equal, changes what comes out."""
    first, second = ([pair[i] for pair in VALUES.values()] for i in (0, 1))
    return replaced(identifiers, first) != replaced(identifiers, second)


class CopiesLastDigits(Identifiers):
    """A mutant: the last four digits are kept, as on receipts of cards."""

    def _made(self, kinds, values, documents, rng):
        made = super()._made(kinds, values, documents, rng)
        return [
            new[:-4] + old[-4:] if old[-4:].isdigit() else new
            for new, old in zip(made, values, strict=True)
        ]


class KeepsLengths(Identifiers):
    """A mutant: a surrogate is cut to the length of what it replaces."""

    def _made(self, kinds, values, documents, rng):
        made = super()._made(kinds, values, documents, rng)
        return [new[: len(old)] for new, old in zip(made, values, strict=True)]


@pytest.mark.parametrize("consistent", ["none", "document"])
def test_the_values_decide_nothing(consistent):
    assert not looks_at_values(Identifiers(consistent=consistent))


@pytest.mark.parametrize("mutant", [CopiesLastDigits, KeepsLengths])
def test_a_surrogate_that_looks_at_its_value_is_noticed(mutant):
    assert looks_at_values(mutant())


def test_within_a_document_surrogates_differ_as_far_as_there_are_enough():
    numbers = " ".join(map(str, range(300)))
    cut = Identifiers().cut([numbers, numbers], np.random.default_rng(SEED))
    assert len(set(cut.surrogates[:300])) == len(set(cut.surrogates[300:])) == 300
    lists = Surrogates({"number": ["1", "2"]})
    few = Identifiers(surrogates=lists).cut([numbers], np.random.default_rng(SEED))
    assert set(few.surrogates) == {"1", "2"}


# -- consistency -----------------------------------------------------------------------------------


@pytest.fixture
def key(tmp_path):
    path = tmp_path / "key"
    path.write_bytes(bytes(range(32)))
    path.chmod(0o600)
    return path


def test_equal_values_get_equal_surrogates_as_far_as_asked(key):
    texts = ["Mary Smith, 415-355-2671, 415 355 2671", "Mary Smith, 415-355-2671"]

    def made(consistent, seed):
        rng = np.random.default_rng(seed)
        return Identifiers(consistent=consistent).cut(texts, rng).surrogates

    none = made("none", 1)
    assert len(set(none)) == 5
    mary, first, same, other_mary, other = made("document", 1)
    assert first == same
    assert len({mary, first, other_mary, other}) == 4
    assert made("document", 2) != made("document", 1)
    mary, first, same, other_mary, other = keyed = made(f"key:{key}", 1)
    assert first == same == other
    assert mary == other_mary
    assert made(f"key:{key}", 2) == keyed  # no chance is left, only the key
    key.write_bytes(bytes(range(1, 33)))
    assert not set(made(f"key:{key}", 1)) & set(keyed)


def test_neither_the_key_nor_its_place_is_shown(key):
    identifiers = Identifiers(consistent=f"key:{key}")
    shown = repr(identifiers._consistency) + json.dumps(identifiers.about)
    shown += "".join(identifiers.public + identifiers.caveats)
    assert str(key) not in shown
    assert key.read_bytes().hex() not in shown


def test_what_is_disclosed_is_said(key):
    none, document, keyed = (
        Identifiers(consistent=name) for name in ("none", "document", f"key:{key}")
    )
    assert any("number, types and places" in public for public in none.public)
    assert any("nothing guarantees that all were found" in caveat for caveat in none.caveats)
    assert any("epsilon = 0" in caveat for caveat in none.caveats)
    assert set(document.public) - set(none.public) == {"which identifiers of a document are equal"}
    assert any("wherever the same key is used" in public for public in keyed.public)
    assert not any("epsilon = 0" in caveat for caveat in keyed.caveats)
    assert any("two values may get one surrogate" in caveat for caveat in keyed.caveats)


@pytest.mark.parametrize(
    ("prepare", "error", "message"),
    [
        (lambda path: path.chmod(0o640), InputError, "others than its owner can open"),
        (lambda path: path.chmod(0o604), InputError, "chmod 600"),
        (lambda path: path.write_bytes(b"x" * 31), InputError, "31 bytes and needs at least 32"),
        (lambda path: path.write_bytes(b""), InputError, "0 bytes"),
        (lambda path: path.unlink(), NotFound, "there is no key file"),
        (lambda path: (path.unlink(), path.mkdir()), InputError, "cannot be read as a key file"),
    ],
    ids=["group", "others", "short", "empty", "missing", "folder"],
)
def test_a_key_that_will_not_do_is_refused(key, prepare, error, message):
    prepare(key)
    with pytest.raises(error, match=message):
        Identifiers(consistent=f"key:{key}")


@pytest.mark.parametrize("choice", ["sometimes", "key", "key:", "document:x", ""])
def test_other_consistencies_are_refused(choice):
    with pytest.raises(InvalidValue, match="consistent must be none, document, or key:"):
        Identifiers(consistent=choice)


# -- lists -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("listed", "message"),
    [
        ({"person": ["Ann Lee"]}, "at least 2 different entries"),
        ({"person": ["Ann Lee", "Ann Lee"]}, "at least 2 different entries"),
        ({"person": []}, "at least 2 different entries"),
        ({"planet": ["Mars", "Venus"]}, "one of the types"),
        ({"person": ["Ann", " "]}, "blank"),
        ({"person": ["Ann", "two\nlines"]}, "blank"),
        ({"person": ["Ann", "x" * 201]}, "longer than 200"),
    ],
)
def test_lists_that_will_not_do_are_refused(listed, message):
    with pytest.raises(InvalidValue, match=message):
        Surrogates(listed)


def test_a_list_from_a_file_takes_the_place_of_a_format(tmp_path):
    path = tmp_path / "list.tsv"
    path.write_text("Ann Lee\tperson\nBob Ray\tperson\n")
    assert set(load_surrogates(path).made("person", words(50))) == {"Ann Lee", "Bob Ray"}
    path.write_text("Ann Lee\tperson\nBob Ray\n")
    with pytest.raises(InputError, match=r"line 2 of .* a tab and its type"):
        load_surrogates(path)


# -- recognisers -----------------------------------------------------------------------------------


class Recogniser:
    name = "a recogniser"

    def __init__(self, *spans):
        self._spans = spans

    def spans(self, texts):
        return [[span for span in self._spans if span[1] <= len(text)] for text in texts]


def test_a_recogniser_adds_to_the_rules_and_nothing_overlaps():
    text = "Yefremova wrote from 10.0.0.1 to 12 people"
    types = {"PERSON": "person", "GPE": "place"}

    def together(*spans):
        finder = RecognisingFinder(Recogniser(*spans), types)
        return [(text[s.start : s.end], s.type) for s in finder.find([text])[0]]

    rules = [("10.0.0.1", "ip"), ("12", "number")]
    assert together() == rules
    assert together((0, 9, "PERSON")) == [("Yefremova", "person"), *rules]
    # A label without a type is left; a sure rule wins, and the recogniser keeps what is left of it.
    assert together((0, 9, "NORP")) == rules
    assert together((10, 29, "GPE")) == [("wrote from", "place"), *rules]
    # What the rules are not sure of gives way.
    assert together((33, 42, "PERSON")) == [("10.0.0.1", "ip"), ("12 people", "person")]
    # Of two that overlap the longer one wins.
    assert together((0, 9, "PERSON"), (0, 15, "GPE"))[0] == ("Yefremova wrote", "place")


def test_what_a_recogniser_says_when_it_fails_is_not_repeated():
    class Fails(Recogniser):
        def spans(self, texts):
            raise RuntimeError(texts[0])

    with pytest.raises(InvalidValue) as caught:
        RecognisingFinder(Fails(), {}).find([SECRET])
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("choice", ["spacy", "presidio"])
def test_without_spacy_the_extra_is_named(monkeypatch, choice):
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(MissingExtra, match="entities"):
        finder_of(choice)


def test_without_presidio_the_extra_is_named(monkeypatch):
    import spacy

    from discreet.text.identifiers import finder

    pipeline = spacy.blank("en")
    pipeline.add_pipe("entity_ruler")
    monkeypatch.setattr(finder.recognisers, "load_pipeline", lambda _name: pipeline)
    monkeypatch.setitem(sys.modules, "presidio_analyzer", None)
    with pytest.raises(MissingExtra, match="Presidio"):
        finder_of("presidio")


@pytest.mark.parametrize("choice", ["spacy", "presidio"])
def test_names_of_a_pipeline_are_typed(monkeypatch, choice):
    import spacy

    from discreet.text.identifiers import finder

    pipeline = spacy.blank("en")
    ruler = pipeline.add_pipe("entity_ruler")
    ruler.add_patterns(
        [
            {"label": "PERSON", "pattern": "Faina Yefremova"},
            {"label": "GPE", "pattern": "Kenosha"},
            {"label": "DATE", "pattern": "yesterday"},
        ]
    )
    monkeypatch.setattr(finder.recognisers, "load_pipeline", lambda _name: pipeline)
    text = "Faina Yefremova of Kenosha wrote yesterday from fy@cuvox.de"
    spans = finder_of(choice).find([text])[0]
    assert [(text[s.start : s.end], s.type) for s in spans] == [
        ("Faina Yefremova", "person"),
        ("Kenosha", "place"),
        ("fy@cuvox.de", "email"),
    ]


@pytest.mark.parametrize("choice", ["magic", "", "rules:x"])
def test_other_finders_are_refused(choice):
    with pytest.raises(InvalidValue, match="identifiers"):
        finder_of(choice)


# -- cutting and joining ---------------------------------------------------------------------------


def test_a_text_is_cut_around_its_identifiers():
    cut = Identifiers().cut(["", "a@b.example", "call 5 pm now"], np.random.default_rng(0))
    assert cut.segments == ["", "", "", "call ", " now"]
    assert cut.bounds.tolist() == [0, 1, 3, 5]
    assert dict(cut.counts) == {"email": 1, "time": 1}
    email, hour = cut.surrogates
    assert cut.joined(cut.segments, "") == ["", email, f"call {hour} now"]
    assert cut.joined(["", "", "", "call", "now"], " ") == ["", email, f"call {hour} now"]
    assert "call" not in repr(cut)


def test_surrogates_do_not_merge_with_the_text_around_them():
    class InsideWords:
        name = "a finder"

        def find(self, texts):
            return [[Span(2, 4, "number"), Span(4, 6, "number")] for _ in texts]

    cut = Identifiers(InsideWords()).cut(["ab12cdef"], np.random.default_rng(0))
    first, second = cut.surrogates
    assert cut.joined(["ab", "", "ef"], "") == [f"ab {first} {second} ef"]
    assert cut.joined(["ab", "", "ef"], " ") == [f"ab {first} {second} ef"]
    assert cut.joined(["(", "", ")"], "") == [f"({first} {second})"]


def test_a_lone_text_is_refused():
    with pytest.raises(InvalidValue, match="a list of texts"):
        Identifiers().cut("a@b.example", np.random.default_rng(0))


# -- mappings --------------------------------------------------------------------------------------


def kept(*texts, **options):
    mapping = SurrogateMapping()
    identifiers = Identifiers(mapping=mapping, **options)
    cut = identifiers.cut(texts, np.random.default_rng(SEED))
    return mapping, cut.joined(cut.segments, "")


def test_what_was_replaced_can_be_put_back():
    texts = ["Mary Smith (m@s.example), 415-355-2671!", "pay $5 to DE89 3704 0044 0532 0130 00"]
    mapping, released = kept(*texts)
    assert all(value not in " ".join(released) for value in ("Mary", "m@s", "2671", "3704"))
    assert [restore(text, mapping) for text in released] == texts
    assert "Mary" not in repr(mapping)
    assert len(mapping) == 5


def test_a_surrogate_inside_something_longer_is_not_touched():
    mapping = SurrogateMapping()
    mapping.add(1, [(0, "41", "7"), (0, "Ann Lee", "Mary"), (0, "(201) 555-0100", "+49 1")])
    assert restore("41 142 x41 41.", mapping) == "7 142 x41 7."
    assert restore("Ann Leeds, Ann Lee's, Ann", mapping) == "Ann Leeds, Mary's, Ann"
    assert restore("call (201) 555-0100.", mapping) == "call +49 1."


def test_a_surrogate_of_different_values_is_left_unless_the_document_is_known():
    mapping = SurrogateMapping()
    mapping.add(2, [(0, "Ann Lee", "Mary"), (1, "Ann Lee", "Susan")])
    assert mapping.restored("Ann Lee") == ("Ann Lee", 0, 1)
    assert mapping.restored("Ann Lee", 0) == ("Mary", 1, 0)
    assert mapping.restored("Ann Lee", 1) == ("Susan", 1, 0)


def test_a_mapping_is_written_for_its_owner_alone_and_never_replaced(tmp_path):
    mapping, released = kept("Mary Smith")
    path = tmp_path / "map"
    before = os.umask(0)
    try:
        mapping.write(path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert SurrogateMapping.read(path).restored(released[0]).text == "Mary Smith"
    content = path.read_bytes()
    with pytest.raises(OutputError, match="exists already"):
        mapping.write(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"format": "x"}', '{"format": "discreet mapping 1"}']
)
def test_what_is_no_mapping_is_refused(tmp_path, content):
    path = tmp_path / "map"
    path.write_text(content)
    path.chmod(0o600)
    with pytest.raises(InputError, match="is not a mapping"):
        SurrogateMapping.read(path)
    path.chmod(0o644)
    with pytest.raises(InputError, match="others than its owner"):
        SurrogateMapping.read(path)


def test_more_rows_than_documents_are_refused_by_row(tmp_path):
    mapping, _ = kept("Mary Smith")
    source = tmp_path / "in.txt"
    source.write_text(f"{SECRET}\n{SECRET}\n")
    with pytest.raises(InputError, match="more rows than the 1 documents") as caught:
        restore_file(source, tmp_path / "out.txt", mapping, by_row=True)
    assert SECRET not in str(caught.value)
    assert not (tmp_path / "out.txt").exists()


def test_a_finder_of_rules_has_a_name_that_the_statement_uses():
    assert RuleFinder().name in Identifiers().public[0]
