"""``discreet train pretrain``: prepare a model for sanitised text, on public text."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from discreet.cli import _options as options
from discreet.cli._choice import WordChoice
from discreet.cli._settings import argument
from discreet.cli._terminal import progress_bar, say
from discreet.cli.train._kept_run import tells_of_kept_run
from discreet.devices import prefer_device
from discreet.encoders.settings import DEFAULT
from discreet.errors import InvalidValue
from discreet.settings import Setting
from discreet.training.settings import Resumption
from discreet.training.texts.settings import Pretraining
from discreet.wording import counted

if TYPE_CHECKING:
    from discreet.models.bert import MaskedModel
    from discreet.protocols import WordMechanism
    from discreet.spaces import EmbeddingSpace


def pretrain(
    choice: WordChoice,
    source: Annotated[
        str,
        argument(
            "PUBLIC_TEXT",
            "PUBLIC text: txt (a document per line), csv, tsv, jsonl (each also .gz) or "
            "parquet. Never protected text: it is learnt as it is.",
        ),
    ],
    output: Annotated[Path, Setting("Directory for the model; must not exist.", short="-o")],
    settings: Pretraining,
    when: Resumption,
    model: Annotated[
        str,
        Setting(
            "The BERT-style model to begin with: a directory, a name in the local hub cache, "
            "or all-MiniLM-L6-v2."
        ),
    ] = DEFAULT,
    plain: Annotated[
        bool, Setting("Do not sanitise: an ordinary masked language model, to compare with.")
    ] = False,
    text_field: options.TextField = "text",
    force: options.Force = False,
) -> None:
    """Train a masked language model on sanitised PUBLIC text to predict the original words.

    The text is sanitised here, with the mechanism that users will use, anew in every epoch. The
    model then expects that noise: fine-tune it with 'discreet train classify --model DIRECTORY', or
    attack with it: 'discreet attack mask-inference --model DIRECTORY'. What it was trained on is
    written into DIRECTORY/discreet.json.

    Example: discreet train pretrain news.txt -o adapted -m santext --space encoder -e 9
    """
    prefer_device(settings.device)
    if plain and (choice.epsilon is not None or choice.mechanism is not None):
        raise InvalidValue("give --plain or a mechanism, not both")
    from discreet.spaces.encoder_space import model_space
    from discreet.training.texts.alignment import piece_table
    from discreet.training.texts.files import pretrain_on_file

    def made(loaded: "MaskedModel") -> "tuple[EmbeddingSpace, WordMechanism | None]":
        if plain:
            return model_space(loaded.directory), None
        space = choice.vocabulary()
        piece_table(space, loaded)  # a space that does not fit is refused before it is certified
        return space, choice.build(space)

    with tells_of_kept_run(output):
        done = pretrain_on_file(
            source,
            output,
            model,
            made,
            settings,
            text_field=text_field,
            when=when,
            force=force,
            announce=progress_bar,
            say=say,
        )
    say(
        f"The loss went from {done.losses[:20].mean():.2f} to {done.about['final_loss']:.2f} in "
        f"{counted(len(done.losses), 'step')}.",
        f"Written: {output} (model, vocabulary and discreet.json: what it was trained on)",
    )
