"""A candidate store from a file of public documents."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from discreet.encoders.candidate_store import CandidateStore, refuse_unusable
from discreet.encoders.settings import EncoderSettings
from discreet.errors import InputError
from discreet.text.labelled import read_labelled
from discreet.text.sentences import kept_documents, long_enough, split_sentences
from discreet.training.documents.candidates import (
    Documents,
    require_candidates,
    train_candidates,
    training_and_validation,
)
from discreet.training.documents.settings import PublicDocuments, StoreSettings
from discreet.training.linear_head import classes_of
from discreet.training.progress import Announce, silently


def store_from_file(
    source: str,
    output: Path,
    settings: StoreSettings,
    documents: PublicDocuments,
    encoder: EncoderSettings,
    *,
    force: bool = False,
    announce: Announce = silently,
) -> tuple[CandidateStore, int]:
    """Write a store made from a file of PUBLIC documents; also how many were too short for it."""
    refuse_unusable(output, force=force)
    public = read_labelled(
        source,
        text_field=documents.text_field,
        label_field=documents.label_field,
        format=documents.format,
    )
    sentences, offsets = split_sentences(public.texts, language=documents.language)
    keep = long_enough(offsets)
    if not keep.any():
        raise InputError("no public document has 2 sentences; check that it is the file you meant")
    sentences, offsets = kept_documents(sentences, offsets, keep)
    public = public.part(keep.nonzero()[0].tolist())
    share, seed = documents.validation_share, settings.seed
    training, held_out = training_and_validation(len(public), seed, share)
    # Before the encoder is even loaded: encoding is the long part.
    require_candidates(np.diff(offsets)[training], settings)
    names, codes = (None, None) if public.labels is None else classes_of(public.labels)
    model = encoder.load()
    with announce("encoding sentences") as show:
        encoded = Documents(model.encode(sentences, progress=show), offsets, codes)
    store = train_candidates(
        encoded.where(training),
        encoded.where(held_out),
        [public.texts[i] for i in training.tolist()],
        encoder=model.fingerprint,
        about={"encoder": model.provenance, "language": documents.language, "labels": names},
        settings=replace(settings, device=encoder.device),
        announce=announce,
    )
    store.save(output, force=force)
    return store, int((~keep).sum())
