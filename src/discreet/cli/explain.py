"""``discreet explain``: what a setting means, before anything is released."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

from discreet import check
from discreet.arrays import Ids
from discreet.cli import _options as options
from discreet.cli._choice import WordChoice, typed_word, watched
from discreet.cli._terminal import progress_bar, progress_bars, show
from discreet.errors import InvalidValue
from discreet.evaluation import explanation
from discreet.guides.ngram import NGramGuide
from discreet.mechanisms.registry import find as find_mechanism
from discreet.release.text import READABLE, Sanitizer
from discreet.settings import Setting
from discreet.spaces import EmbeddingSpace
from discreet.text import function_words
from discreet.text.readers import open_documents


def explain(
    choice: WordChoice,
    find: Annotated[
        str | None,
        Setting(
            "Find epsilon instead: keep=0.5 (a word stays half of the time) or options=20 "
            "(at most 20 words share 95 % of a word's outcomes)."
        ),
    ] = None,
    public_sample: Annotated[
        Path | None,
        Setting(
            "Measure on the words of this PUBLIC text (never on protected text: what is "
            "shown would depend on it) instead of on the whole vocabulary."
        ),
    ] = None,
    text_field: Annotated[
        str, Setting("Column of the public sample that holds its text.")
    ] = "text",
    word: Annotated[Sequence[str], Setting("Example to show; may be repeated.")] = (),
    public: Annotated[
        str | None,
        Setting(
            "function-words: explain what becomes of the words that are left where these pass "
            "unchanged, as with 'discreet sanitize --public' or --readable."
        ),
    ] = None,
    readable: Annotated[
        bool, Setting("Explain what 'discreet sanitize --readable' does at this setting.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Say what a setting means in a space: odds, how often a word stays, what it may become.

    Reads no protected text. Epsilon of a metric mechanism means nothing without its space; this
    command translates it, and with --find goes the other way round.

    Example: discreet explain --epsilon 12 --readable --word doctor

    Example: discreet explain -m santext --find keep=0.5
    """
    if readable:
        choice, public = choice.with_guide(NGramGuide.name), function_words.NAME
    if public is not None:
        check.one_of(public, (function_words.NAME,), "--public")
    vocabulary = choice.vocabulary()
    examples = word or explanation.example_words(vocabulary)
    for example in examples:
        typed_word(vocabulary, example)  # said before the long work
    texts: list[str] = []
    if public_sample is None:
        ids = vocabulary.spread_words()
    else:
        with open_documents(public_sample, text_field=text_field) as reader:
            texts = [text for batch in reader for text in batch.texts]
        ids = explanation.sample_words(vocabulary, texts)
    found = None if find is None else _found(find, choice, vocabulary, ids, public)
    epsilon = choice.epsilon if found is None else found.epsilon
    built = (choice if epsilon is None else choice.at(epsilon)).build(vocabulary, public)
    with progress_bar("measuring") as bar:
        explained = explanation.explain(watched(built, bar), ids, examples)
    if public is not None:  # what passes unchanged is public, and belongs to the statement
        shown: Mapping[str, Any] = READABLE if readable else {"public": public}
        explained = replace(explained, statement=Sanitizer(built, **shown).statement)
    if explained.guess is not None and epsilon is not None:
        others = explanation.steps(lambda at: choice.at(at).build(vocabulary, public), epsilon)
        listed = None if public is None else function_words.on_the_list(vocabulary.words)
        named = explanation.named_in(built, texts, listed)
        explained = replace(explained, steps=others, named=named)
    certificate = getattr(built, "certificate", None)
    values = explained.to_dict() | {
        "mechanism": choice.name,
        "space": vocabulary.name,
        "epsilon": epsilon,
        "kappa": getattr(built, "kappa", None),
        "rate": getattr(certificate, "rate", None),
        "found": None if found is None else asdict(found),
    }
    title = f"{choice.name} in the space {vocabulary.name} ({len(vocabulary):,} words)"
    lines = [title if epsilon is None else f"{title} at epsilon = {epsilon:.6g}"]
    lines += [found.line()] if found is not None and found.line() else []
    lines += explained.lines()
    if certificate is not None:
        lines.append(
            f"kappa = {certificate.kappa:.6g}: chances fall as exp(-kappa * d), which costs at "
            f"most {certificate.rate:.6g} per unit of distance ({certificate.reason})."
        )
    show(values, lines, as_json=as_json)


def _found(
    find: str, choice: WordChoice, vocabulary: EmbeddingSpace, ids: Ids, public: str | None
) -> explanation.Found:
    """The epsilon at which what is wished for comes out."""
    if choice.epsilon is not None:
        raise InvalidValue("give --epsilon or --find, not both")
    if find_mechanism(choice.name, "word").takes("near") and "outputs" not in choice.settings:
        raise InvalidValue(
            f"--find is for mechanisms that let words stay, and {choice.name} does not; "
            "'discreet explain --epsilon 8' says what a few epsilons mean"
        )
    wish = _wish(find)
    with progress_bars("epsilons tried", "words") as (tried, words):
        return explanation.find_epsilon(
            lambda at: watched(choice.at(at).build(vocabulary, public), words),
            ids,
            **wish,
            progress=tried,
        )


def _wish(text: str) -> dict[str, Any]:
    name, _, value = text.partition("=")
    try:
        wish = {name: float(value)}
    except ValueError:
        wish = {}
    if not wish or name not in ("keep", "options") or not 0 < wish[name] < math.inf:
        raise InvalidValue("--find must be keep=P with P between 0 and 1, or options=N")
    return wish
