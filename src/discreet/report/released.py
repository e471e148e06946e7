"""What was released, for people: the lines that a receipt has to say."""

from discreet.receipt import Receipt
from discreet.release.rows import MOST_UNKNOWN
from discreet.release.strength import MOST_KNOWN, share
from discreet.wording import counted


def released_lines(receipt: Receipt) -> list[str]:
    """How much was released and how, what holds for it, and how a folder was released."""
    lines = _of_vectors(receipt) if receipt.encoder else _of_text(receipt)
    if (engine := receipt.about.get("engine")) is not None:
        again = engine["attempts"] - engine["parts"]
        more = f"; {counted(again, 'attempt')} more failed and were discarded unread"
        said = f"{counted(engine['parts'], 'part')} by {engine['name']}"
        lines.append(f"{said}{more if again > 0 else ''}.")
    return lines


def unknown_lines(unknown: float, *, alone: bool) -> list[str]:
    """To whoever has the text, and to nobody else: the share is protected, too.

    Args:
        unknown: the share of words that the vocabulary does not have.
        alone: whether nobody else reads it, as others may read the log of a job.
    """
    if unknown > MOST_UNKNOWN:
        return [
            f"Caveat: more than {100 * MOST_UNKNOWN:.0f} % of the words that this text begins with "
            "are not in the vocabulary. All of them count as one unknown word, so much of the text "
            "will be lost. Is it in another language (the vocabularies that ship with discreet, "
            "--guide ngram and the rules for identifiers are English), or is the text in another "
            "column? This was counted on your text: keep it to yourself. Ctrl-C stops; nothing is "
            "released yet."
        ]
    if not alone:
        return []
    return [
        f"The vocabulary does not have {100 * unknown:.1f} % of the words that this text begins "
        "with; each counts as one unknown word. (Counted on your text: keep it to yourself.)"
    ]


def _of_text(receipt: Receipt) -> list[str]:
    about, counts = receipt.about, receipt.counts
    rewritten = "rewriter" in about
    holds = [*receipt.statement.lines(), *about["whole"]["in_words"]]
    first = (
        f"Sanitised {counted(counts['words'], 'word')} of "
        f"{counted(counts['documents'], 'document')} with {receipt.mechanism['name']} in the space "
        f"{about['space']['name']}"
    )
    if rewritten:
        last = "Rewriting changes none of this: it saw only the released words."
        return [f"{first}, then rewrote what was released.", *holds, last]
    return [f"{first}.", *_replaced(receipt), *holds, _known(receipt)]


def _known(receipt: Receipt) -> str:
    """What is known of a word from its release, on average."""
    guess, keep = receipt.about["best_guess"], receipt.about["keep"]
    if guess is not None:
        return (
            f"The best guess at a word is right with probability {share(guess)}, for somebody who "
            "knows the mechanism and how often words occur in public, and more often for somebody "
            "who also knows which words follow each other."
        )
    draws = receipt.about.get("keep_draws")
    note = "" if draws is None else f" (simulated: {draws:,} draws for public words)"
    much = ": most of the text comes out as it was" if keep > MOST_KNOWN else ""
    how = share(keep)
    return f"At this setting a word stays as it is with probability {how} on average{note}{much}."


def _replaced(receipt: Receipt) -> list[str]:
    section = receipt.about.get("identifiers")
    if section is None:
        return []
    types = section.get("types", {})
    each = ", ".join(f"{count:,} {kind}" for kind, count in types.items())
    return [f"Replaced {counted(sum(types.values()), 'identifier')}{each and ': ' + each}."]


def _of_vectors(receipt: Receipt) -> list[str]:
    counts, made = receipt.counts, receipt.mechanism
    released = counted(counts["sentences"], "vector")
    if "documents" in counts:
        documents = counted(counts["documents"], "document")
        released = f"{documents} of {counts['sentences']:,} sentences as vectors"
    search, left_out = receipt.about.get("search"), counts.get("left_out")
    short = f"Left out: {counted(left_out or 0, 'document')} of fewer than 2 sentences."
    return [
        f"Released {released} of {made['dimension']} dimensions with {made['name']}, encoder "
        f"{receipt.encoder['name']}.",
        *receipt.statement.lines(),
        *([] if search is None else [search["in_words"]]),
        *([short] if left_out else []),
    ]
