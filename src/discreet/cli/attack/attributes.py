"""``discreet attack attributes``: which attribute does a released vector give away?"""

from typing import Annotated

import typer

from discreet.cli import _options as options
from discreet.cli._choice import SentenceChoice
from discreet.cli._settings import takes_settings
from discreet.cli._terminal import counted, say
from discreet.cli.attack import _public as public
from discreet.encoders.settings import EncoderSettings, MapSettings


@takes_settings
def attributes(
    choice: SentenceChoice,
    vectors: MapSettings,
    encoding: EncoderSettings,
    source: public.Source,
    attribute_field: Annotated[
        str,
        typer.Option(
            "--attribute-field", help="Column or field of the attribute (an author, a genre)."
        ),
    ],
    text_field: options.TextField = "text",
    texts: public.Texts = 4000,
    seed: public.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Try to infer an attribute of sentences from their released vectors.

    An evaluation on public text. Its vectors are made with the encoder and the map, once with the
    noise of the mechanism and once without. A network of three layers learns the attribute from
    one half of the sentences and is measured on the other half. Chance names the commonest one.

    Example: discreet attack attributes public.jsonl --attribute-field genre --epsilon 8
    """
    from discreet.attacks.attributes import attribute_attack
    from discreet.text.labelled import read_labelled

    read = read_labelled(source, text_field=text_field, label_field=attribute_field)
    parts = public.halves(choice, vectors, encoding, read.texts, texts, seed)
    values = read.labels or []
    known, hidden = ([values[row] for row in part] for part in parts.rows)
    if not as_json:
        say(f"Learning from {counted(len(known), 'sentence')}, attacking {len(hidden):,}.")
    outcome = attribute_attack(
        parts.released[0],
        known,
        parts.released[1],
        hidden,
        unprotected=parts.clean,
        seed=seed,
    )
    public.show_outcomes([outcome], parts.to_dict(), as_json=as_json)
