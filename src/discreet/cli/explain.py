"""``discreet explain``: what a setting means, before anything is released."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from discreet.arrays import Ids
from discreet.cli import _options as options
from discreet.cli._choice import WordChoice, check_typed
from discreet.cli._terminal import progress_bar, progress_bars, show
from discreet.devices import prefer_device
from discreet.errors import InvalidValue
from discreet.evaluation import explanation
from discreet.mechanisms.registry import find as find_mechanism
from discreet.protocols import WordMechanism, watched
from discreet.release.text import READABLE
from discreet.settings import Setting
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
            "unchanged, as with 'discreet sanitize --public' or --readable.",
            choices=(function_words.NAME,),
        ),
    ] = None,
    readable: Annotated[
        bool, Setting("Explain what 'discreet sanitize --readable' does at this setting.")
    ] = False,
    device: options.Device = "auto",
    as_json: options.Json = False,
) -> None:
    """Say what a setting means in a space: odds, how often a word stays, what it may become.

    Reads no protected text. Epsilon of a metric mechanism means nothing without its space; this
    command translates it, and with --find goes the other way round.

    Example: discreet explain --epsilon 12 --readable --word doctor

    Example: discreet explain -m santext --find keep=0.5
    """
    prefer_device(device)
    shown: Mapping[str, Any] = {} if public is None else {"public": public}
    if readable:
        shown = READABLE
    vocabulary = choice.vocabulary()
    examples = word or explanation.example_words(vocabulary)
    check_typed(examples, vocabulary)  # said before the long work
    texts = None
    if public_sample is not None:
        with open_documents(public_sample, text_field=text_field) as reader:
            texts = [text for batch in reader for text in batch.texts]
    ids = explanation.sample_words(vocabulary, texts, public=shown.get("public"))

    def make(at: float | None) -> WordMechanism:
        chosen = choice if at is None else choice.at(at)
        return chosen.build(vocabulary, shown.get("public"), readable=readable)

    searched = None if find is None else _epsilon_for(find, choice, make, ids)
    epsilon = choice.epsilon if searched is None else searched.epsilon
    with progress_bar("measuring") as bar:
        explained, built = explanation.explain_choice(
            make, epsilon, ids, examples, texts=texts or (), shown=shown, progress=bar
        )
    values = explained.to_dict() | {
        "mechanism": choice.name,
        "space": vocabulary.name,
        "epsilon": epsilon,
        "kappa": getattr(built, "kappa", None),
        "rate": getattr(explained.certificate, "rate", None),
        "found": None if searched is None else asdict(searched),
    }
    title = f"{choice.name} in the space {vocabulary.name} ({len(vocabulary):,} words)"
    lines = [title if epsilon is None else f"{title} at epsilon = {epsilon:.6g}"]
    lines += [searched.line()] if searched is not None and searched.line() else []
    show(values, [*lines, *explained.lines()], as_json=as_json)


def _epsilon_for(
    find: str, choice: WordChoice, make: Callable[[float], WordMechanism], ids: Ids
) -> explanation.FoundEpsilon:
    """The epsilon at which what is wished for comes out."""
    if choice.epsilon is not None:
        raise InvalidValue("give --epsilon or --find, not both")
    if find_mechanism(choice.name, "word").takes("near") and "outputs" not in choice.settings:
        raise InvalidValue(
            f"--find is for mechanisms that let words stay, and {choice.name} does not; "
            "'discreet explain --epsilon 8' says what a few epsilons mean"
        )
    wish = explanation.wish_of(find)
    with progress_bars("epsilons tried", "words") as (tried, words):
        return explanation.find_epsilon(
            lambda at: watched(make(at), words), ids, **wish, progress=tried
        )
