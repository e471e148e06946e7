"""Commands and sanitizers that book: counted, reserved, drawn, committed, put in place."""

import json
import sys

import numpy as np
import pytest

from command import UNKNOWN, WORDS, called, vectors, write_space
from crash_points import crashes
from discreet.errors import BudgetExceeded, InvalidValue, LedgerUnavailable
from discreet.ledger import Amount, DatasetLedger, Ledger
from discreet.ledger.charge import cost
from discreet.mechanisms.word import SanText
from discreet.randomness import secure_generator
from discreet.receipt import Receipt, receipt_path
from discreet.release.booked import BookedSanitizer
from discreet.release.text import Sanitizer
from discreet.release.text_files import sanitize_file
from discreet.report.ledger import budget_lines
from discreet.spaces.space import EmbeddingSpace
from discreet.statement import Unit
from ledger_charges import KEY, charge

SPACE = EmbeddingSpace.from_arrays([UNKNOWN, *WORDS], vectors().astype(np.float32))
TEXTS = [" ".join(WORDS[:3]), " ".join(WORDS[3:8]), WORDS[9]]
OWNERS = ["ann", "bob", "ann"]
OTHERS = [f"person {number}" for number in range(11)]


def made(**more):
    return Sanitizer(SanText(SPACE, epsilon=1.0), **more)


def per_word():
    statement = made().statement
    return statement.epsilon * statement.metric.farthest + statement.slack


@pytest.fixture
def book(tmp_path):
    with Ledger.open(tmp_path / "ledger.db", key=KEY) as ledger:
        yield ledger


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "in.csv"
    rows = [f"{who},{text}" for who, text in zip(OWNERS, TEXTS, strict=True)]
    path.write_text("\n".join(["who,text", *rows]) + "\n")
    return path


def release(source, ledger, name="out.csv", **more):
    given = {"drop": ["who"], "accept_weak": True, "whole_delta": 0.0} | more
    return sanitize_file(source, source.with_name(name), made(), ledger=ledger, **given)


def test_a_file_is_charged_for_its_longest_text_and_its_receipt_is_in_the_ledger(book, source):
    receipt = release(source, DatasetLedger(book, "tickets", "sanitize"))
    (entry,) = book.entries("tickets")
    assert entry.amount == Amount.spent(receipt.about["whole"]["document"]["statement"]["epsilon"])
    assert entry.amount.epsilon == pytest.approx(5 * per_word())
    assert (entry.state, entry.units, entry.mechanism) == ("committed", 9, "santext")
    assert receipt.about["ledger"]["entry"] == entry.id
    assert book.verify([source.with_name("out.csv")]) == []
    place = receipt_path(source.with_name("out.csv"))
    place.write_text(place.read_text().replace('"words": 9', '"words": 8'))
    assert "not what was booked" in book.verify([place])[0]
    place.unlink()
    assert book.verify([place])


def test_persons_are_charged_for_their_own_texts(book, source):
    release(source, DatasetLedger(book, "tickets"), person_field="who")
    for person, words in (("ann", 4), ("bob", 5), ("cleo", 0)):
        spent = book.budget("tickets", person).spent
        assert spent.epsilon == pytest.approx(words * per_word())


@pytest.mark.parametrize("owned", [{}, {"person_field": "who"}])
def test_where_nothing_is_drawn_nothing_is_spent(book, source, owned):
    source.write_text('who,text\nann,""\nbob,""\n')
    book.limit(dataset="tickets", epsilon=1e-9)
    release(source, DatasetLedger(book, "tickets"), **owned)
    (entry,) = book.entries("tickets")
    assert (entry.state, entry.units, entry.amount.epsilon) == ("committed", 0, 0.0)
    assert book.budget("tickets", "ann").spent.epsilon == 0.0
    assert book.verify([source.with_name("out.csv")]) == []


def test_a_refusal_tells_of_the_person_with_least_left(book, source):
    book.limit(dataset="tickets", epsilon=8 * per_word())
    release(source, DatasetLedger(book, "tickets"), person_field="who")  # ann has 4, bob has 3 left
    left = book.budget("tickets").left
    assert left == book.budget("tickets", "bob").left
    for texts, persons in (([TEXTS[1]] * 2, ["ann", "bob"]), ([TEXTS[1]], None)):
        sanitizer = made(ledger=DatasetLedger(book, "tickets", again="charge"))
        with pytest.raises(BudgetExceeded, match="for the person with least left") as refused:
            sanitizer.sanitize(texts, persons=persons)
        assert refused.value.remaining == left
    (line,) = budget_lines(book.budgets("tickets"))
    assert "for each person, ever" in line
    book.limit(dataset="others", epsilon=per_word())
    with pytest.raises(BudgetExceeded, match="for each document"):
        made(ledger=DatasetLedger(book, "others")).sanitize(TEXTS)


def test_a_row_that_was_released_before_is_counted_from_the_first_of_the_file(book):
    made(ledger=DatasetLedger(book, "tickets")).sanitize(TEXTS[:2])
    booked = BookedSanitizer(DatasetLedger(book, "tickets"), made(), 0.0)
    booked.count([[WORDS[11], WORDS[12]]])
    with pytest.raises(BudgetExceeded, match=r"1 of the rows read so far was .*\(row 4\)"):
        booked.count([[WORDS[13], TEXTS[0]]])
    with pytest.raises(BudgetExceeded, match=r"2 of the rows .* were .*the first is row 3\)"):
        booked.count([TEXTS[:2]])


def test_without_budget_nothing_is_drawn_or_written(book, source):
    book.limit(dataset="tickets", epsilon=4 * per_word())
    with pytest.raises(BudgetExceeded):
        release(source, DatasetLedger(book, "tickets"))
    assert not [p for p in source.parent.iterdir() if p.name.startswith(("out", ".out"))]
    assert list(book.entries()) == []


def test_a_release_that_fails_is_refunded(book, source):
    ledger = DatasetLedger(book, "tickets")

    def fail():
        raise InvalidValue("no")

    with pytest.raises(InvalidValue):
        release(source, ledger, before_publishing=fail)
    assert [entry.state for entry in book.entries()] == ["refunded"]
    assert book.seen("tickets", TEXTS) == [None] * 3
    release(source, ledger)


def test_the_same_texts_again(book, source):
    release(source, DatasetLedger(book, "tickets", keep=True))
    spent = book.budget("tickets").spent
    second = release(source, DatasetLedger(book, "tickets"), "second.csv")
    one, two = (source.with_name(name).read_text() for name in ("out.csv", "second.csv"))
    assert one == two
    # A text of no draws is charged as one of one: what is public of it was shown.
    assert book.budget("tickets").spent.nano - spent.nano <= Amount.spent(per_word()).nano
    assert any("released before" in said for said in second.statement.public)
    # What it says of the longest text holds for what was drawn before, too.
    assert second.about["whole"]["document"]["words"] == 5
    with pytest.raises(BudgetExceeded, match="released before"):
        release(source, DatasetLedger(book, "tickets", again="refuse"), "third.csv")
    release(source, DatasetLedger(book, "tickets", again="charge"), "third.csv")
    assert book.budget("tickets").spent.epsilon >= 2 * spent.epsilon


def test_what_was_released_with_other_settings_is_not_handed_out_under_these(book):
    ledger = DatasetLedger(book, "tickets", keep=True)
    weak = Sanitizer(SanText(SPACE, epsilon=1000.0), ledger=ledger)
    assert weak.sanitize(TEXTS).values == weak.sanitize(TEXTS).values
    for other in (made(ledger=ledger), made(ledger=ledger, layout="public")):
        with pytest.raises(BudgetExceeded, match="no release of the same settings"):
            other.sanitize(TEXTS)


def test_what_another_process_may_yet_give_back_is_not_handed_out(book):
    ledger = DatasetLedger(book, "tickets", keep=True)
    first, rng = BookedSanitizer(ledger, made(), 0.0), secure_generator()
    first.count([TEXTS])
    with first.reserved(rng) as reservation:
        first.sanitize(TEXTS, rng)
        with pytest.raises(BudgetExceeded, match="released before"):
            made(ledger=ledger).sanitize(TEXTS)
        reservation.refund()
    assert book.budget("tickets").spent == Amount()


@pytest.mark.parametrize("again", ["stored-first-release", "refuse", "charge"])
def test_copies_of_a_text_in_one_release_add_up(book, source, again):
    ledger = DatasetLedger(book, "tickets", again=again)
    copied = source.with_name("copies.txt")
    # More than one batch would hold, were it counted by batches.
    copied.write_text("\n".join([TEXTS[0], TEXTS[1], *[TEXTS[0]] * 199]) + "\n")
    receipt = release(copied, ledger, "copies.out.txt", drop=[])
    spent = book.budget("tickets").spent.epsilon
    assert spent == pytest.approx(600 * per_word())
    assert receipt.about["whole"]["document"]["words"] == 5
    book.limit(dataset="few", epsilon=10 * per_word())
    with pytest.raises(BudgetExceeded):
        made(ledger=DatasetLedger(book, "few", again=again)).sanitize([WORDS[0]] * 11)
    made(ledger=DatasetLedger(book, "few", again=again)).sanitize([WORDS[0]] * 11, persons=OTHERS)
    # Two columns: a row is charged for each of its texts, wherever their copies stand.
    source.write_text("who,text\n" + f"{WORDS[20]},{TEXTS[2]}\n" * 2 + f"{TEXTS[2]},x\n")
    release(source, DatasetLedger(book, "two", again=again), drop=[], text_field=("who", "text"))
    assert book.budget("two").spent.epsilon == pytest.approx((2 + 3) * per_word())


def test_a_file_that_changes_between_counting_and_drawing_is_refused(book, source):
    class Changing(Sanitizer):
        def sanitize(self, texts, rng=None):
            return super().sanitize([f"{text} {WORDS[0]}" for text in texts], rng)

    with pytest.raises(ValueError, match="changed between"):
        sanitize_file(
            source,
            source.with_name("out.csv"),
            Changing(SanText(SPACE, epsilon=1.0)),
            drop=["who"],
            accept_weak=True,
            ledger=DatasetLedger(book, "tickets"),
        )
    assert not source.with_name("out.csv").exists()


def test_other_texts_with_as_many_words_are_no_longer_what_was_counted(book, source):
    """They may be copies of each other, or texts that were released before."""
    lines, first = [f"{WORDS[0]} {WORDS[1]}"] * 20_000, f"{WORDS[2]} {WORDS[3]}"
    assert len(first) == len(lines[0])
    source = source.with_name("long.txt")
    source.write_text("\n".join(lines))

    class Late(Sanitizer):
        def draws(self, texts):
            with source.open("r+b") as file:  # whoever read ahead has not read so far
                file.seek(-len(first), 2)
                file.write(first.encode())
            return super().draws(texts)

    with pytest.raises(ValueError, match="changed between"):
        sanitize_file(
            source,
            source.with_name("out.txt"),
            Late(SanText(SPACE, epsilon=1.0)),
            accept_weak=True,
            ledger=DatasetLedger(book, "tickets", again="charge"),
        )
    assert not source.with_name("out.txt").exists()
    assert book.budget("tickets").spent.epsilon == 0


@pytest.mark.parametrize("repeat", ["each", "once"])
@pytest.mark.parametrize("identifiers", [None, "rules"])
def test_what_is_counted_beforehand_is_what_is_drawn(repeat, identifiers):
    texts = [*TEXTS, f"{WORDS[0]} {WORDS[0]} a@b.org {WORDS[0]}", "", "020 7946 0018"]
    sanitizer = made(repeat=repeat, identifiers=identifiers)
    assert sanitizer.draws(texts).tolist() == sanitizer.sanitize(texts).draws.tolist()


def test_a_sanitizer_books_each_of_its_releases(book, tmp_path):
    book.limit(dataset="tickets", epsilon=8 * per_word() + 1e-6)
    sanitizer = made(ledger=DatasetLedger(book, "tickets"))
    sanitizer.sanitize(TEXTS, persons=OWNERS)
    assert book.budget("tickets", "bob").spent.epsilon == pytest.approx(5 * per_word(), rel=1e-6)
    with pytest.raises(BudgetExceeded):
        sanitizer.sanitize([" ".join(WORDS[10:14])], persons=["bob"])
    sanitizer.sanitize([" ".join(WORDS[10:14])], persons=["ann"])
    with pytest.raises(InvalidValue, match="seed"):
        sanitizer.sanitize([WORDS[20]], np.random.default_rng(0), persons=["cleo"])
    again = DatasetLedger(book, "tickets")
    (source := tmp_path / "in.txt").write_text(WORDS[0] + "\n")
    with pytest.raises(InvalidValue, match="one of the two"):
        sanitize_file(source, tmp_path / "out.txt", sanitizer, accept_weak=True, ledger=again)


def test_a_ledger_that_fails_at_the_commit_lets_nothing_out(book, source, monkeypatch):
    from discreet.ledger.book import Reservation

    def gone(*_):
        raise LedgerUnavailable("gone")

    monkeypatch.setattr(Reservation, "commit", gone)
    monkeypatch.setattr(Reservation, "refund", gone)
    with pytest.raises(LedgerUnavailable):
        release(source, DatasetLedger(book, "tickets"))
    assert not source.with_name("out.csv").exists()
    assert [entry.state for entry in book.entries()] == ["reserved"]  # spent, and seen


@pytest.mark.skipif(sys.platform != "linux", reason="forks")
def test_whenever_a_release_is_killed_nothing_is_out_that_was_not_charged(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "in.txt").write_text("\n".join(TEXTS) + "\n")
    with Ledger.open(folder / "ledger.db", key=KEY) as ledger:
        ledger.limit(dataset="tickets", epsilon=1e6)

    def work(at):
        class Telling(Sanitizer):
            """Says on the disk when it draws, so that the process is killed there, too."""

            def sanitize(self, texts, rng=None):
                (at / "drawing").touch()
                return super().sanitize(texts, rng)

        with Ledger.open(at / "ledger.db", key=KEY) as ledger:
            sanitize_file(
                at / "in.txt",
                at / "out.txt",
                Telling(SanText(SPACE, epsilon=1.0)),
                accept_weak=True,
                ledger=DatasetLedger(ledger, "tickets"),
            )

    seen = set()
    for _, place in crashes(folder, work):
        with Ledger.open(place / "ledger.db", key=KEY) as ledger:
            states = [entry.state for entry in ledger.entries()]
            out = (place / "out.txt").exists()
            assert states or not (place / "drawing").exists()
            if out:
                assert states == ["committed"]
            if Receipt.beside(place / "out.txt") is not None:
                assert ledger.verify([place / "out.txt"]) == []
            assert ledger.verify() == []
        seen.add((*states, out))
    assert seen >= {(False,), ("reserved", False), ("committed", False), ("committed", True)}


def test_vectors_are_booked_and_the_same_rows_refused(book, tmp_path):
    from discreet.mechanisms.label import RandomizedResponse
    from discreet.release.booked import BookedRows
    from discreet.release.vectors import VectorSet, write_vectors

    def lifted(count, unit):
        return RandomizedResponse(2, epsilon=1.0).statement.for_units(count, unit=unit)

    def book_rows(texts, drawn, again="refuse"):
        booked = BookedRows(DatasetLedger(book, "vectors", again=again), lifted, "toy")
        booked.count([(texts, np.array([1, 2]))], ["ann", "bob"])
        with booked.reserved(secure_generator()):
            booked.remember(drawn)
            receipt = booked.entered(Receipt(lifted(1, "document")))
            place = tmp_path / "v.npz"
            write_vectors(
                place, VectorSet(np.ones((2, 3))), receipt, force=True, before=booked.commit
            )

    book_rows(["one", "two"], ["one", "two"])
    assert book.verify([tmp_path / "v.npz"]) == []
    assert book.budget("vectors", "bob").spent.epsilon == 2.0
    with pytest.raises(BudgetExceeded, match="released before"):
        book_rows(["two", "three"], ["two", "three"])
    with pytest.raises(ValueError, match="changed between"):
        book_rows(["five", "six"], ["five", "seven"])
    assert book.budget("vectors", "bob").spent.epsilon == 2.0
    assert book.verify([tmp_path / "v.npz"]) == []  # the earlier output is still in its place
    booked = BookedRows(DatasetLedger(book, "copies"), lifted, "toy")
    booked.count([(["one", "two", "one"], np.array([1, 1, 1]))], None)
    with booked.reserved(secure_generator()):
        assert book.budget("copies").held.epsilon == 2.0


def test_second_sentences_of_pairs_are_compared_added_up_and_remembered(book, tmp_path):
    from discreet.encoders.encoder import Encoder
    from discreet.encoders.maps import PublicMap
    from discreet.mechanisms.sentence import Purkayastha
    from discreet.release.sentences import SentenceEmbedder
    from discreet.release.vector_files import embed_file

    class Ones:
        def encode(self, texts):
            return np.ones((len(texts), 3), np.float32)

    toy = Encoder("ones", "ab" * 32, 3, "a test", Ones())
    embedder = SentenceEmbedder(toy, PublicMap.random(3, 2), Purkayastha(2, epsilon=1.0))

    def embedded(rows, name):
        source = tmp_path / "pairs.jsonl"
        source.write_text("".join(json.dumps({"text": a, "to": b}) + "\n" for a, b in rows))
        given = {"pair_field": "to", "accept_weak": True, "force": True}
        booked = DatasetLedger(book, name, again="refuse")
        embed_file(source, tmp_path / f"{name}.npz", embedder, ledger=booked, **given)

    for name, rows, sentences in (
        ("apart", [("a", "b"), ("c", "d")], 2),
        ("seconds", [("a", "z"), ("b", "z"), ("c", "z")], 4),
        ("crossed", [("a", "b"), ("b", "a")], 4),
        ("twice", [("a", "a"), ("b", "c")], 2),
    ):
        embedded(rows, name)
        (entry,) = book.entries(name)
        assert entry.amount == cost(embedder.whole(sentences, Unit.DOCUMENT)), name
    for rows in ([("e", "z")], [("z", "e")]):
        with pytest.raises(BudgetExceeded, match=r"\(row 1\)"):
            embedded(rows, "seconds")


def test_training_is_booked_before_its_first_step_and_once(book, tmp_path):
    pytest.importorskip("torch")
    from discreet.training.user_entity import settings
    from discreet.training.user_entity.run import UserEntityRun

    row = {"user": "u", "tokens": ["tea", "of", "it"], "tags": ["O", "O", "B-LOC"]}
    notes = tmp_path / "notes.jsonl"
    notes.write_text("".join(json.dumps(row | {"user": f"u{n}"}) + "\n" for n in range(6)))
    (tmp_path / "words.txt").write_text("tea\nof\ncup\n")
    ledger = DatasetLedger(book, "notes", "train user-entity")

    def prepared(steps, *, resume=False):
        return UserEntityRun(
            str(notes),
            tmp_path / "run",
            rules=settings.RuleOptions(noise=20.0, user_rate=0.5, population=6),
            records=settings.Records(tokens="tokens", tags="tags"),
            network=settings.NetworkSettings(
                vocabulary=tmp_path / "words.txt", embedding=4, hidden=5
            ),
            run=settings.RunSettings(steps=steps, resume=resume),
        )

    book.limit(dataset="notes", epsilon=1e-3, delta=0.5, adjacency="add/remove")
    with pytest.raises(BudgetExceeded):
        prepared(1).train(None, ledger)
    assert not (tmp_path / "run" / "model.safetensors").exists()
    book.limit(dataset="notes", epsilon=100.0, delta=0.5, adjacency="add/remove")
    _, receipt = prepared(1).train(None, ledger)
    spent = book.budget("notes").spent
    assert spent == Amount.spent(receipt.statement.epsilon, receipt.statement.delta)
    assert book.verify([tmp_path / "run" / "privacy.json"]) == []
    with pytest.raises(BudgetExceeded, match="nothing more can be done"):
        prepared(1, resume=True).train(None, ledger)
    assert book.budget("notes").spent == spent  # the same run to the same end
    prepared(2, resume=True).train(None, ledger)
    assert book.budget("notes").spent.epsilon > 2 * spent.epsilon


# -- the commands ------------------------------------------------------------------------------


@pytest.fixture
def run(tmp_path, source):
    words = write_space(tmp_path / "space.vec")

    def call(*arguments):
        return called(*arguments, cache=tmp_path / "cache")

    def sanitize(name, *more):
        return call(
            *("sanitize", source, "-o", tmp_path / name, "--space", words, "--epsilon", "1"),
            *("--mechanism", "santext"),
            *("--drop-others", "--yes-weak", "--whole-delta", "0"),
            *("--ledger", tmp_path / "l.db", "--dataset", "tickets", *more),
        )

    return call, sanitize


def test_the_commands_book_show_refuse_and_verify(run, tmp_path):
    call, sanitize = run
    book = tmp_path / "l.db"
    assert sanitize("a.csv", "--person-field", "who").code == 0
    limited = call("ledger", "limits", book, "--dataset", "tickets", "--epsilon", "0.5")
    assert limited.code == 0
    refused = sanitize("b.csv", "--again", "charge")
    assert (refused.code, (tmp_path / "b.csv").exists()) == (3, False)
    assert "budget" in refused.err
    assert sanitize("b.csv").code == 3  # released before
    assert sanitize("b.csv", "--seed", "1", "--again", "charge").code == 2
    shown = json.loads(call("ledger", "show", book, "--dataset", "tickets", "--json").out.decode())
    assert [entry["state"] for entry in shown["entries"]] == ["committed"]
    lines = call("ledger", "show", book, "--dataset", "tickets", "--plot", tmp_path / "p.png").lines
    assert any("committed  sanitize  santext" in line for line in lines)
    assert "This release:" in lines  # of one that nothing adds up with
    assert (tmp_path / "p.png").stat().st_size > 1000
    strange = call("ledger", "show", book, "--dataset", "ticket")
    assert (strange.code, "no data set of that name" in strange.err) == (0, True)
    exported = call("ledger", "export", book).lines
    assert len(exported) == 2
    assert exported[0].startswith("entry,dataset,at")
    assert call("ledger", "verify", book, tmp_path / "a.csv").code == 0
    receipt = receipt_path(tmp_path / "a.csv")
    receipt.write_text(receipt.read_text() + " ")
    wrong = call("ledger", "verify", book, receipt)
    assert (wrong.code, b"not what was booked" in wrong.out) == (4, True)


def test_a_limit_may_come_before_the_first_release(run, tmp_path):
    call, sanitize = run
    book = tmp_path / "l.db"
    assert call("ledger", "limits", book, "--dataset", "tickets").code == 2  # looking makes none
    assert not book.exists()
    set_first = call("ledger", "limits", book, "--dataset", "tickets", "--epsilon", "0.5")
    assert set_first.code == 0, set_first.err
    assert sanitize("a.csv").code == 3
    assert not (tmp_path / "a.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("ledger", "show", "gone.db"), "no ledger"),
        (("ledger", "limits", "l.db", "--dataset", "d", "--window", "soon"), "--window"),
        (("ledger", "limits", "l.db", "--dataset", "d", "-e", "-1"), "epsilon"),
        (("ledger", "limits", "l.db", "--dataset", "d", "-e", "1", "--remove"), "--remove"),
        (("ledger", "limits", "l.db", "--dataset", "d", "-e", "1", "--unit", "word"), "--unit"),
        (("ledger", "show", "l.db", "--person", "ann"), "data set"),
        (("sanitize", "in.csv", "-o", "o.csv", "-e", "8", "--dataset", "d"), "--ledger"),
        (("sanitize", "in.csv", "-o", "o.csv", "-e", "8", "--ledger", "l.db"), "--dataset"),
        (("sanitize", "in.csv", "-o", "o.csv", "-e", "8", "--keep-releases"), "--ledger"),
        (("embed", "in.csv", "-o", "o.npz", "--person-field", "who"), "--ledger"),
    ],
)
@pytest.mark.usefixtures("source")
def test_mistakes_are_said(tmp_path, monkeypatch, arguments, said):
    monkeypatch.chdir(tmp_path)
    with Ledger.open(tmp_path / "l.db") as ledger:
        ledger.reserve(charge(1.0))
    found = called(*arguments, cache=tmp_path / "cache")
    assert found.code == 2
    assert said in found.err
