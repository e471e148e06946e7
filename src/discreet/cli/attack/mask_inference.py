"""``discreet attack mask-inference``: can the original words be guessed from sanitised text?"""

from dataclasses import replace
from typing import Annotated

from discreet.arrays import Ids
from discreet.attacks.texts import TextAttackSettings, attack_file
from discreet.cli import _options as options
from discreet.cli._choice import WordChoice
from discreet.cli._settings import argument
from discreet.cli._terminal import progress_bar, say, show
from discreet.devices import prefer_device
from discreet.mechanisms.word.santext_plus import sensitive_words
from discreet.protocols import WordMechanism
from discreet.wording import counted


def mask_inference(
    choice: WordChoice,
    source: Annotated[
        str,
        argument(
            "TEXT",
            "The ORIGINAL text: txt, csv, tsv, jsonl (each also .gz) or parquet. It is "
            "sanitised here, so that originals and released words are aligned.",
        ),
    ],
    settings: TextAttackSettings,
    as_json: options.Json = False,
) -> None:
    """Attack sanitised text word by word; report how often the original word was NOT named.

    Attackers: a masked language model that sees the sanitised words around; one who inverts the
    known mechanism with a public prior, the best that can be done with one released word; and one
    who does both. Beside them the model on text that was not sanitised, and the commonest word.
    Sensitive words are those of santext-plus, or the least frequent 90 % of the space
    (--sensitive-share, --sensitive-file). Nothing is released; the figures depend on the text.

    Example: discreet attack mask-inference test.jsonl -m santext --space encoder --epsilon 9
    """
    prefer_device(settings.device)

    def made() -> tuple[WordMechanism, Ids | None]:
        vocabulary, chosen = choice.vocabulary(), choice
        share, file = (choice.settings.get(f"sensitive_{kind}") for kind in ("share", "file"))
        said = file is not None or vocabulary.frequencies is not None
        sensitive = sensitive_words(vocabulary, share, file) if said else None
        if choice.name != "santext-plus":  # elsewhere the list only says what to report on
            kept = {k: v for k, v in choice.settings.items() if not k.startswith("sensitive")}
            chosen = replace(choice, settings=kept)
        return chosen.build(vocabulary), sensitive

    attack = attack_file(source, made, settings, announce=progress_bar)
    say(f"Attacked {counted(attack.documents, 'document')} of {counted(attack.words, 'word')}.")
    show(attack.to_dict(), attack.report.lines(), as_json=as_json)
    if attack.model is None and not as_json:
        say("The masked language model was not run: give --model.")
