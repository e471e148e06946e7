"""``discreet advise``: which way of releasing fits a purpose and a recipient."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

from discreet.cli import _options as options
from discreet.cli._settings import argument
from discreet.cli._terminal import progress_bar, show
from discreet.devices import prefer_device
from discreet.encoders.settings import EncoderSettings
from discreet.errors import InvalidValue
from discreet.evaluation.advice import advise as answer
from discreet.evaluation.question import Question
from discreet.mechanisms.registry import DEFAULT_SPACE, default_space
from discreet.settings import Setting
from discreet.spaces import load_space
from discreet.text.labelled import read_labelled


def advise(
    question: Question,
    sample: Annotated[
        str | None,
        argument(
            "PUBLIC",
            "PUBLIC text of the same kind: txt, csv, tsv, jsonl (each also .gz) or parquet. "
            "Never the text that is to be protected: the advice depends on it. A few hundred "
            "texts are enough.",
        ),
    ] = None,
    space: Annotated[
        str | None,
        Setting(
            f"Public vocabulary that words would come from; {DEFAULT_SPACE} unless given, "
            f"{default_space('')} for colleagues.",
            short="-s",
        ),
    ] = None,
    device: options.Device = "auto",
    as_json: options.Json = False,
) -> None:
    """Recommend a way of releasing: redact, sanitise, share vectors, train, or do not release.

    Tries settings on a PUBLIC sample, measures how useful the text stays and what the best
    attacker still names, and shows the command to run. It takes about a minute and reads
    nothing that is to be protected.

    Example: discreet advise public.jsonl --purpose classify --label-field label --recipient vendor
    """
    prefer_device(device)
    if sample is not None:
        read = read_labelled(
            sample, text_field=question.text_field, label_field=question.label_field
        )
        question = replace(question, texts=read.texts, labels=read.labels)
    elif question.needs_sample:
        raise InvalidValue(
            "give a file of PUBLIC text of the same kind to try settings on; see "
            "'discreet advise --help'"
        )
    # Text for colleagues keeps its words, by a mechanism that must be certified for the space.
    space = space or (default_space("") if question.recipient == "colleagues" else DEFAULT_SPACE)
    with progress_bar("trying settings on public text") as bar:
        advice = answer(question, load_space(space), embedded=_encoded, progress=bar)
    values = {"purpose": question.purpose, "recipient": question.recipient, **advice.to_dict()}
    show(values, advice.lines(), as_json=as_json)


def _encoded(texts: Sequence[str]) -> Any:
    with progress_bar("encoding public text") as bar:
        return EncoderSettings().load().encode(texts, progress=bar)
