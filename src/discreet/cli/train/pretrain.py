"""``discreet train pretrain``: prepare a model for sanitised text, on public text."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet import check
from discreet.cli import _options as options
from discreet.cli._choice import WordChoice
from discreet.cli._settings import takes_settings
from discreet.cli._terminal import counted, progress_bar, say
from discreet.errors import InvalidValue

if TYPE_CHECKING:
    from discreet.models.bert import MaskedModel
    from discreet.protocols import WordMechanism
    from discreet.spaces import EmbeddingSpace


@takes_settings
def pretrain(
    choice: WordChoice,
    source: Annotated[
        str,
        typer.Argument(
            metavar="PUBLIC_TEXT",
            help="PUBLIC text: txt (a document per line), csv, tsv, jsonl (each also .gz) or "
            "parquet. Never protected text: it is learnt as it is.",
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Directory for the model; must not exist.")
    ],
    model: Annotated[
        str,
        typer.Option(
            "--model",
            help="The BERT-style model to begin with: a directory, a name in the local hub cache, "
            "or all-MiniLM-L6-v2.",
        ),
    ] = "all-MiniLM-L6-v2",
    plain: Annotated[
        bool,
        typer.Option(
            "--plain", help="Do not sanitise: an ordinary masked language model, to compare with."
        ),
    ] = False,
    text_field: options.TextField = "text",
    steps: Annotated[int, typer.Option("--steps", help="Steps with all weights.")] = 1000,
    head_steps: Annotated[
        int | None,
        typer.Option(
            "--head-steps",
            help="Steps before that with the head alone, on the text as it is; by default 300 if "
            "the model comes without a head, else 0.",
        ),
    ] = None,
    batch: Annotated[int, typer.Option("--batch", help="Windows of text in a step.")] = 32,
    window: Annotated[int, typer.Option("--window", help="Words in a window.")] = 64,
    learning_rate: Annotated[
        float, typer.Option("--learning-rate", help="The highest, of all weights.")
    ] = 1e-4,
    warmup: Annotated[
        float, typer.Option("--warmup", help="Share of the steps in which the rate rises.")
    ] = 0.06,
    mask_share: Annotated[
        float, typer.Option("--mask-share", help="Share of the words to predict.")
    ] = 0.15,
    save_every: Annotated[
        int, typer.Option("--save-every", help="Steps between savings, for --resume.")
    ] = 200,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a run of the same command that stopped.")
    ] = False,
    seed: Annotated[
        int, typer.Option("--seed", help="The same seed gives the same model.", min=0)
    ] = 0,
    force: options.Force = False,
) -> None:
    """Train a masked language model on sanitised PUBLIC text to predict the original words.

    The text is sanitised here, with the mechanism that users will use, anew in every epoch. The
    model then expects that noise: fine-tune it with 'discreet train classify --model DIRECTORY', or
    attack with it: 'discreet attack mask-inference --model DIRECTORY'. What it was trained on is
    written into DIRECTORY/discreet.json.

    Example: discreet train pretrain news.txt -o adapted --space encoder --epsilon 9
    """
    from discreet.training.loop import state_beside
    from discreet.training.texts.masked_lm import Pretraining
    from discreet.training.texts.masked_lm import pretrain as train_model

    settings = Pretraining(
        steps=steps,
        head_steps=head_steps,
        batch=batch,
        window=window,
        learning_rate=learning_rate,
        share=check.probability(mask_share, "--mask-share"),
        warmup=check.probability(warmup, "--warmup"),
        seed=seed,
    )
    if plain and (choice.epsilon is not None or choice.mechanism is not None):
        raise InvalidValue("give --plain or a mechanism, not both")
    from discreet.models.bert import load_masked_model, refuse_no_model
    from discreet.spaces.encoder_space import file_sha256
    from discreet.text.labelled import read_labelled

    refuse_no_model(output, force=force)
    texts = read_labelled(source, text_field=text_field, label_field=None).texts
    about = {"name": "standard input"}
    if source != "-":
        about = {"name": Path(source).name, "sha256": file_sha256(Path(source))}
    loaded = load_masked_model(model)
    space, mechanism = _sanitised_how(choice, plain, loaded)
    say(
        f"Training {loaded.name} on {counted(len(texts), 'public document')}"
        + ("." if mechanism is None else f", sanitised with {mechanism.name}.")
    )
    try:
        with progress_bar("training") as show:
            done = train_model(
                loaded,
                texts,
                space,
                mechanism,
                settings,
                source=about,
                output=output,
                save_every=save_every,
                resume=resume,
                force=force,
                progress=show,
            )
    except BaseException:
        left = state_beside(output)
        if left.exists():
            say(f"The run so far is kept in {left}: the same command with --resume goes on.")
        raise
    say(
        f"The loss went from {done.losses[:20].mean():.2f} to {done.about['final_loss']:.2f} in "
        f"{counted(len(done.losses), 'step')}.",
        f"Written: {output} (model, vocabulary and discreet.json: what it was trained on)",
    )


def _sanitised_how(
    choice: WordChoice, plain: bool, model: "MaskedModel"
) -> "tuple[EmbeddingSpace, WordMechanism | None]":
    if plain:
        from discreet.spaces.encoder_space import model_space

        return model_space(model.directory), None
    from discreet.training.texts.alignment import piece_table

    vocabulary = choice.vocabulary()
    piece_table(vocabulary, model)  # a space that does not fit is refused before it is certified
    return vocabulary, choice.build(vocabulary)
