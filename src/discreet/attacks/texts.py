"""Texts of a file, sanitised here so that originals and releases are aligned, and attacked."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from discreet.arrays import Ids
from discreet.attacks.bayes import text_prior
from discreet.attacks.mask_inference import AttackReport, Target, attack_words
from discreet.devices import AUTO, DEVICE
from discreet.errors import InputError
from discreet.mechanisms.registry import described
from discreet.models.bert import MaskedModel, load_masked_model
from discreet.protocols import WordMechanism, release_texts, watched
from discreet.randomness import SEEDED_CAVEAT, generator
from discreet.receipt import sanitised_before
from discreet.settings import Setting, Settings
from discreet.spaces.prior import rank_prior
from discreet.text.labelled import read_labelled
from discreet.text.tokens import tokenizer_for
from discreet.training.progress import Announce, silently


@dataclass(frozen=True, kw_only=True)
class TextAttackSettings(Settings):
    """What the attackers know, and how many words they attack."""

    model: str | None = Setting(
        "Masked language model with a head, such as 'discreet train pretrain' writes. "
        "Without one only the attacker who inverts the mechanism is run."
    ).default(None)
    text_field: str = Setting("Column or field that holds the text.").default("text")
    prior: str | None = Setting(
        "PUBLIC text whose word counts are the attacker's prior; by default the "
        "frequency ranks of the space."
    ).default(None)
    words: int = Setting(
        "Attack so many words, drawn at random; 0 attacks all.", at_least=0
    ).default(2000)
    seed: int = Setting("Seed of the noise and of the words attacked.", at_least=0).default(0)
    device: str = DEVICE.default(AUTO)


@dataclass(frozen=True)
class TextAttack:
    """What was attacked, and what came of it."""

    mechanism: WordMechanism
    model: MaskedModel | None
    report: AttackReport
    documents: int
    words: int
    """In all of the documents."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        model, space = self.model, self.mechanism.space
        return {
            "statement": self.mechanism.statement.with_caveats(SEEDED_CAVEAT).to_dict(),
            "mechanism": described(self.mechanism),
            "space": {"name": space.name, "fingerprint": space.fingerprint},
            "model": None if model is None else {"name": model.name, "about": model.about},
            **self.report.to_dict(),
        }


def attack_file(
    source: str,
    make: Callable[[], tuple[WordMechanism, Ids | None]],
    settings: TextAttackSettings,
    *,
    announce: Announce = silently,
) -> TextAttack:
    """Sanitise the texts of a file and let every attacker guess words of them.

    Args:
        source: the ORIGINAL texts: txt, csv, tsv, jsonl (each also .gz) or parquet.
        make: the mechanism and the ids of sensitive words, asked for once the texts were read.
        settings: what the attackers know.
        announce: shows how far it is.
    """

    def read(path: str) -> list[str]:
        return read_labelled(path, text_field=settings.text_field, label_field=None).texts

    if sanitised_before(source, [settings.text_field]):
        raise InputError(
            f"{source} is released already, as its receipt says, and the attack needs the ORIGINAL "
            "words to compare with: give it the original text"
        )
    texts = read(source)
    known = None if settings.prior is None else read(settings.prior)
    model = None
    if settings.model is not None:
        model = load_masked_model(settings.model, device=settings.device)
    (mechanism, sensitive), rng = make(), generator(settings.seed)
    space = mechanism.space
    tokenizer = tokenizer_for(space.words, space.unknown, space.subwords)
    batch = tokenizer.encode(texts)
    with announce("sanitising") as show:
        made = watched(mechanism, show)
        target = Target.of(batch, release_texts(made, batch.ids, rng, batch.offsets))
    prior = rank_prior(space)
    if known is not None:
        prior = text_prior(space, tokenizer.encode(known))
    with announce("attacking") as show:
        report = attack_words(
            mechanism,
            target,
            model=model,
            prior=prior,
            sensitive=sensitive,
            most=settings.words or None,
            rng=rng,
            progress=show,
        )
    return TextAttack(mechanism, model, report, len(texts), batch.tokens)
