"""``discreet generate``: text from a model that was trained with privacy."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from discreet.cli import _options as options
from discreet.cli._settings import argument
from discreet.cli._terminal import echo, echo_json, in_lines, say
from discreet.settings import Setting


def generate(
    model: Annotated[Path, argument("RUN", "Folder from 'discreet train user-entity --model'.")],
    prompt: Annotated[
        Sequence[str], Setting("What the text begins with; repeatable.", short="-p")
    ] = (),
    chat: Annotated[
        bool, Setting("Answer the prompt, as an instruction model was taught.")
    ] = False,
    tokens: Annotated[int, Setting("Write at most so many tokens.", at_least=1)] = 60,
    temperature: Annotated[
        float, Setting("0: always the likeliest; 1: as the model says.", at_least=0.0)
    ] = 0.7,
    base: Annotated[
        str | None,
        Setting(
            "The model below, if it is not where training found it: a folder, a GGUF file or "
            "smollm2."
        ),
    ] = None,
    seed: Annotated[
        int | None, Setting("The same seed draws the same text, on one device.", at_least=0)
    ] = None,
    device: options.Device = "auto",
    as_json: options.Json = False,
) -> None:
    """Print text that a trained model writes, and once what its training guarantees.

    The files of RUN must be those that its receipt was written for, and the model below the one it
    was trained on. What a released model writes costs no privacy.

    Example: discreet generate model --prompt "Dear customer," --prompt "The delivery"
    """
    from discreet.models.generation import TextWriter

    writer = TextWriter.load(model, base, device=device)
    texts = []
    for begun in prompt or [""]:
        follows = writer.text(begun, tokens=tokens, temperature=temperature, chat=chat, seed=seed)
        texts.append({"prompt": begun, "text": follows})
        if not as_json:
            echo(*in_lines(follows.strip() if chat else begun + follows))
    if as_json:
        echo_json({"texts": texts, "statement": writer.receipt.statement.to_dict()})
    say(*writer.receipt.statement.lines())
