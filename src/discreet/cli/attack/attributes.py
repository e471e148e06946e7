"""``discreet attack attributes``: which attribute does a released vector give away?"""

from functools import partial
from typing import Annotated

from discreet.attacks.attributes import attribute_attack
from discreet.attacks.public_halves import PublicTexts
from discreet.cli import _options as options
from discreet.cli._choice import SentenceChoice
from discreet.cli.attack._public import Source, attack_vectors
from discreet.encoders.settings import EncoderSettings, MapSettings
from discreet.settings import Setting
from discreet.text.labelled import read_labelled


def attributes(
    choice: SentenceChoice,
    vectors: MapSettings,
    encoding: EncoderSettings,
    public: PublicTexts,
    source: Source,
    attribute_field: Annotated[
        str, Setting("Column or field of the attribute (an author, a genre).")
    ],
    as_json: options.Json = False,
) -> None:
    """Try to infer an attribute of sentences from their released vectors.

    An evaluation on public text. Its vectors are made with the encoder and the map, once with the
    noise of the mechanism and once without. A network of three layers learns the attribute from
    one half of the sentences and is measured on the other half. Chance names the commonest one.

    Example: discreet attack attributes public.jsonl --attribute-field genre --epsilon 8
    """
    read = read_labelled(source, text_field=public.text_field, label_field=attribute_field)
    values = read.labels or []
    attack_vectors(
        (choice, vectors, encoding),
        public,
        read.texts,
        lambda rows: [values[row] for row in rows],
        partial(attribute_attack, device=encoding.device),
        as_json=as_json,
    )
