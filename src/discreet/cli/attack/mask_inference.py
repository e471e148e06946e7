"""``discreet attack mask-inference``: can the original words be guessed from sanitised text?"""

from dataclasses import replace
from typing import Annotated

from discreet.attacks.bayes import text_prior
from discreet.attacks.mask_inference import Target, attack_words
from discreet.cli import _options as options
from discreet.cli._choice import WordChoice, watched
from discreet.cli._settings import argument
from discreet.cli._terminal import counted, progress_bar, say, show
from discreet.devices import prefer_device
from discreet.mechanisms.registry import parameters_of
from discreet.mechanisms.word.santext_plus import sensitive_words
from discreet.models.bert import load_masked_model
from discreet.protocols import release_texts
from discreet.randomness import SEEDED_CAVEAT, generator
from discreet.settings import Setting
from discreet.spaces.prior import rank_prior
from discreet.text.labelled import read_labelled
from discreet.text.tokens import tokenizer_for


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
    model: Annotated[
        str | None,
        Setting(
            "Masked language model with a head, such as 'discreet train pretrain' writes. "
            "Without one only the attacker who inverts the mechanism is run."
        ),
    ] = None,
    text_field: options.TextField = "text",
    prior: Annotated[
        str | None,
        Setting(
            "PUBLIC text whose word counts are the attacker's prior; by default the "
            "frequency ranks of the space."
        ),
    ] = None,
    words: Annotated[
        int, Setting("Attack so many words, drawn at random; 0 attacks all.", at_least=0)
    ] = 2000,
    seed: Annotated[int, Setting("Seed of the noise and of the words attacked.", at_least=0)] = 0,
    device: options.Device = "auto",
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
    prefer_device(device)
    texts = read_labelled(source, text_field=text_field, label_field=None).texts
    known = None
    if prior is not None:
        known = read_labelled(prior, text_field=text_field, label_field=None).texts
    loaded = None if model is None else load_masked_model(model, device=device)
    vocabulary = choice.vocabulary()
    tokenizer = tokenizer_for(vocabulary.words, vocabulary.unknown, vocabulary.subwords)
    share, file = (choice.settings.get(f"sensitive_{kind}") for kind in ("share", "file"))
    known_frequencies = vocabulary.frequencies is not None
    sensitive = sensitive_words(vocabulary, share, file) if known_frequencies or file else None
    if choice.name != "santext-plus":  # elsewhere the list only says what to report on
        kept = {k: v for k, v in choice.settings.items() if not k.startswith("sensitive")}
        choice = replace(choice, settings=kept)
    mechanism = choice.build(vocabulary)
    rng = generator(seed)
    batch = tokenizer.encode(texts)
    with progress_bar("sanitising") as bar:
        made = watched(mechanism, bar)
        target = Target.of(batch, release_texts(made, batch.ids, rng, batch.offsets))
    weights = rank_prior(vocabulary)
    if known is not None:
        weights = text_prior(vocabulary, tokenizer.encode(known))
    say(f"Attacking {counted(len(texts), 'document')} of {counted(batch.tokens, 'word')}.")
    with progress_bar("attacking") as bar:
        report = attack_words(
            mechanism,
            target,
            model=loaded,
            prior=weights,
            sensitive=sensitive,
            most=words or None,
            rng=rng,
            progress=bar,
        )
    values = {
        "statement": mechanism.statement.with_caveats(SEEDED_CAVEAT).to_dict(),
        "mechanism": {"name": mechanism.name, **parameters_of(mechanism)},
        "space": {"name": vocabulary.name, "fingerprint": vocabulary.fingerprint},
        "model": None if loaded is None else {"name": loaded.name, "about": loaded.about},
        **report.to_dict(),
    }
    show(values, report.lines(), as_json=as_json)
    if loaded is None and not as_json:
        say("The masked language model was not run: give --model.")
