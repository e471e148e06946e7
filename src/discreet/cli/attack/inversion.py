"""``discreet attack inversion``: which words does a released vector give away?"""

from discreet.cli import _options as options
from discreet.cli._choice import SentenceChoice
from discreet.cli._settings import takes_settings
from discreet.cli._terminal import counted, say
from discreet.cli.attack import _public as public
from discreet.encoders.settings import EncoderSettings, MapSettings


@takes_settings
def inversion(
    choice: SentenceChoice,
    vectors: MapSettings,
    encoding: EncoderSettings,
    source: public.Source,
    text_field: options.TextField = "text",
    texts: public.Texts = 4000,
    seed: public.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Try to recover the words of sentences from their released vectors.

    An evaluation on public text. Its vectors are made with the encoder and the map, once with the
    noise of the mechanism and once without. From one half of the sentences the attacker learns to
    go from vectors to words, and is measured on the other half. Chance guesses the most frequent
    words. Words are WordPieces of the encoder.

    Example: discreet attack inversion public.jsonl --epsilon 10 --dim 16
    """
    from discreet.attacks.inversion import Bags, inversion_attack
    from discreet.encoders.encoder import locate_model
    from discreet.spaces.encoder_space import model_space
    from discreet.text.labelled import read_labelled

    read = read_labelled(source, text_field=text_field, label_field=None).texts
    space = model_space(locate_model(encoding.encoder)[0])
    parts = public.halves(choice, vectors, encoding, read, texts, seed)
    known, hidden = (Bags.of([read[row] for row in part], space) for part in parts.rows)
    if not as_json:
        say(f"Learning from {counted(len(known), 'sentence')}, attacking {len(hidden):,}.")
    outcomes = inversion_attack(
        parts.released[0],
        known,
        parts.released[1],
        hidden,
        unprotected=parts.clean,
        seed=seed,
    )
    public.show_outcomes(outcomes, parts.to_dict(), as_json=as_json)
