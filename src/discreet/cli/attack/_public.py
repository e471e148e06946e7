"""What the commands that attack vectors share."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any

from discreet.arrays import Ids
from discreet.attacks.outcome import AttackOutcome
from discreet.attacks.public_halves import PublicHalves, PublicTexts
from discreet.cli._choice import SentenceChoice
from discreet.cli._settings import argument
from discreet.cli._terminal import progress_bar, say, show
from discreet.encoders.settings import EncoderSettings, MapSettings
from discreet.release.sentences import SentenceEmbedder
from discreet.wording import counted

Source = Annotated[
    str,
    argument(
        "TEXT",
        "PUBLIC text: txt, csv, tsv, jsonl (each also .gz) or parquet. Never protected text: "
        "the figures depend on it.",
    ),
]


def attack_vectors(
    embedder: tuple[SentenceChoice, MapSettings, EncoderSettings],
    public: PublicTexts,
    texts: Sequence[str],
    truth: Callable[[Ids], Any],
    attack: Callable[..., Sequence[AttackOutcome]],
    *,
    as_json: bool,
) -> None:
    """Release the texts as the embedder that was chosen does, attack one half, and show it."""
    choice, vectors, encoding = embedder

    named = (choice.name_in("sentence"), choice.settings, vectors, encoding)
    made = partial(SentenceEmbedder.from_names, *named, called=choice.flag)
    most, seed = public.texts or None, public.seed
    with progress_bar("encoding") as bar:
        halves = PublicHalves.of(texts, made, most=most, seed=seed, progress=bar)
    known, hidden = map(len, halves.rows)
    if not as_json:
        say(f"Learning from {counted(known, 'sentence')}, attacking {hidden:,}.")
    show_outcomes(halves.attacked(attack, truth, seed=seed), halves.to_dict(), as_json=as_json)


def show_outcomes(
    outcomes: Sequence[AttackOutcome], about: dict[str, Any], *, as_json: bool
) -> None:
    """Print what attacks achieved."""
    values = about | {"outcomes": [outcome.to_dict() for outcome in outcomes]}
    show(values, [line for outcome in outcomes for line in outcome.lines()], as_json=as_json)
