"""``discreet attack attributes``: which attribute does a released vector give away?"""

from typing import Annotated

import typer

from discreet.cli import _options as options
from discreet.cli._settings import takes_settings
from discreet.cli._terminal import counted, say
from discreet.cli._vectors import VectorChoice
from discreet.cli.attack import _public as public


@takes_settings
def attributes(
    choice: VectorChoice,
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
    found = public.halves(choice, read.texts, texts, seed)
    values = read.labels or []
    known, hidden = ([values[row] for row in part] for part in found.rows)
    if not as_json:
        say(f"Learning from {counted(len(known), 'sentence')}, attacking {len(hidden):,}.")
    outcome = attribute_attack(
        found.released[0],
        known,
        found.released[1],
        hidden,
        unprotected=found.clean,
        seed=seed,
    )
    public.show_outcomes([outcome], public.about(choice, found), as_json=as_json)
