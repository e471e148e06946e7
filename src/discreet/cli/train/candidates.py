"""``discreet train candidates``: the public side of document mechanisms, made once."""

from pathlib import Path
from typing import Annotated

from discreet.cli import _options as options
from discreet.cli._settings import argument
from discreet.cli._terminal import echo_json, progress_bar, say
from discreet.encoders.settings import EncoderSettings
from discreet.report.training import store_lines
from discreet.settings import Setting
from discreet.training.documents.settings import PublicDocuments, StoreSettings


def candidates(
    source: Annotated[
        str,
        argument(
            "PUBLIC",
            "PUBLIC documents like those to protect: txt, csv, tsv, jsonl (each also .gz) or "
            "parquet; - is standard input.",
        ),
    ],
    output: Annotated[Path, Setting("The folder to write.", short="-o")],
    settings: StoreSettings,
    documents: PublicDocuments,
    encoder: EncoderSettings,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Make a store of candidate documents, centroids and a recoder from PUBLIC documents.

    Never give it documents that must be protected: a store holds their text, and a release may show
    any of it. Documents with fewer than 2 sentences are left out.

    Example: discreet train candidates public.jsonl -o store --candidates 2000
    """
    from discreet.training.documents.files import store_from_file

    store, left_out = store_from_file(
        source, output, settings, documents, encoder, force=force, announce=progress_bar
    )
    if as_json:
        echo_json({"store": str(output), "left_out": left_out, **store.to_dict()})
        return
    written = f"Written: {output} (public: it holds the text of every candidate)"
    say(*store_lines(store, left_out), written)
