"""``discreet attack inversion``: which words does a released vector give away?"""

from discreet.attacks.inversion import Bags, inversion_attack
from discreet.attacks.public_halves import PublicTexts
from discreet.cli import _options as options
from discreet.cli._choice import SentenceChoice
from discreet.cli.attack._public import Source, attack_vectors
from discreet.encoders.encoder import locate_model
from discreet.encoders.settings import EncoderSettings, MapSettings
from discreet.spaces.encoder_space import model_space
from discreet.text.labelled import read_labelled


def inversion(
    choice: SentenceChoice,
    vectors: MapSettings,
    encoding: EncoderSettings,
    public: PublicTexts,
    source: Source,
    as_json: options.Json = False,
) -> None:
    """Try to recover the words of sentences from their released vectors.

    An evaluation on public text. Its vectors are made with the encoder and the map, once with the
    noise of the mechanism and once without. From one half of the sentences the attacker learns to
    go from vectors to words, and is measured on the other half. Chance guesses the most frequent
    words. Words are WordPieces of the encoder.

    Example: discreet attack inversion public.jsonl --epsilon 10 --dim 16
    """
    texts = read_labelled(source, text_field=public.text_field, label_field=None).texts
    space = model_space(locate_model(encoding.encoder)[0])
    attack_vectors(
        (choice, vectors, encoding),
        public,
        texts,
        lambda rows: Bags.of([texts[row] for row in rows], space),
        inversion_attack,
        as_json=as_json,
    )
