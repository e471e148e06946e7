"""``discreet train candidates``: the public side of document mechanisms, made once."""

import json
from pathlib import Path
from typing import Annotated

import typer

from discreet import check
from discreet.cli import _options as options
from discreet.cli._terminal import counted, progress_bar, say
from discreet.cli._vectors import EncoderName, Pooling

_FEWEST_VALIDATION = 5


def candidates(
    source: Annotated[
        str,
        typer.Argument(
            metavar="PUBLIC",
            help="PUBLIC documents like those to protect: txt, csv, tsv, jsonl (each also .gz) or "
            "parquet; - is standard input.",
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder to write.")],
    candidates: Annotated[
        int, typer.Option("--candidates", help="How many documents may be released.")
    ] = 5000,
    min_sentences: Annotated[
        int, typer.Option("--min-sentences", help="Sentences of a candidate, at least.")
    ] = 8,
    clusters: Annotated[
        int, typer.Option("--clusters", help="Clusters of documents that the recoder keeps.")
    ] = 50,
    projections: Annotated[
        int, typer.Option("--projections", help="Random projections to choose from.")
    ] = 100,
    label_field: Annotated[
        str | None,
        typer.Option(
            "--label-field",
            help="Column of a public label, if the task is known: the recoder then keeps labels "
            "instead of clusters.",
        ),
    ] = None,
    recoder: Annotated[
        bool, typer.Option("--recoder/--no-recoder", help="Whether to train a recoder.")
    ] = True,
    validation_share: Annotated[
        float,
        typer.Option("--validation-share", help="Share of the documents that choices are made on."),
    ] = 0.1,
    encoder: EncoderName = "all-MiniLM-L6-v2",
    pooling: Pooling = None,
    text_field: options.TextField = "text",
    format: options.Format = None,
    language: Annotated[
        str, typer.Option("--language", help="Code of the language, for cutting into sentences.")
    ] = "en",
    seed: Annotated[
        int, typer.Option("--seed", help="Of samples and weights, all of them public.", min=0)
    ] = 0,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Make a store of candidate documents, centroids and a recoder from PUBLIC documents.

    Never give it documents that must be protected: a store holds their text, and a release may show
    any of it. Documents with fewer than 2 sentences are left out.

    Example: discreet train candidates public.jsonl -o store --candidates 2000
    """
    from discreet.encoders.candidate_store import refuse_unusable
    from discreet.errors import InputError
    from discreet.text.labelled import read_labelled
    from discreet.text.sentences import kept_documents, long_enough, split_sentences

    share = check.probability(validation_share, "--validation-share")
    check.whole(candidates, "--candidates", at_least=1)
    refuse_unusable(output, force=force)
    public = read_labelled(source, text_field=text_field, label_field=label_field, format=format)
    sentences, offsets = split_sentences(public.texts, language=language)
    keep = long_enough(offsets)
    left_out = int((~keep).sum())
    if not keep.any():
        raise InputError("no public document has 2 sentences; check that it is the file you meant")
    sentences, offsets = kept_documents(sentences, offsets, keep)
    public = public.part(keep.nonzero()[0].tolist())

    import numpy as np

    from discreet.encoders.encoder import load_encoder
    from discreet.training.documents.candidates import (
        Documents,
        require_candidates,
        train_candidates,
    )
    from discreet.training.linear_head import classes_of

    shuffled = np.random.default_rng(seed).permutation(len(public))
    cut = max(_FEWEST_VALIDATION, round(share * len(public)))
    training, held_out = np.sort(shuffled[cut:]), np.sort(shuffled[:cut])
    # Before the encoder is even loaded: encoding is the long part.
    require_candidates(np.diff(offsets)[training], candidates, min_sentences)
    names, codes = (None, None) if public.labels is None else classes_of(public.labels)
    model = load_encoder(encoder, pooling=pooling)
    with progress_bar("encoding sentences") as show:
        documents = Documents(model.encode(sentences, progress=show), offsets, codes)
    store = train_candidates(
        documents.where(training),
        documents.where(held_out),
        [public.texts[i] for i in training.tolist()],
        encoder=model.fingerprint,
        about={"encoder": model.provenance, "language": language, "labels": names},
        candidates=candidates,
        min_sentences=min_sentences,
        clusters=clusters,
        projections=projections,
        recoder=recoder,
        seed=seed,
        stage=progress_bar,
    )
    store.save(output, force=force)
    if as_json:
        described = {
            "store": str(output),
            "fingerprint": store.fingerprint,
            "left_out": left_out,
            "candidates": len(store.candidates),
            "best_projections": dict(store.best_projections),
            "best_centroids": dict(store.best_centroids),
            "best_voters": dict(store.best_voters),
            "about": dict(store.about),
        }
        typer.echo(json.dumps(described, ensure_ascii=False, indent=2))
        return
    if left_out:
        say(f"Left out {counted(left_out, 'document')} with fewer than 2 sentences.")
    say(
        f"{counted(len(store.candidates), 'candidate')} from {counted(len(training), 'document')}; "
        f"choices made on {store.about['validation_documents']} others:",
        f"{'epsilon':>8} {'projections':>12} {'centroids':>10} {'learned votes':>14}",
        *(
            f"{epsilon:>8g} {store.best_projections[epsilon]:>12} "
            f"{store.best_centroids[epsilon]:>10} {store.best_voters[epsilon]:>14}"
            for epsilon in store.best_projections
        ),
        f"Written: {output} (public: it holds the text of every candidate)",
    )
