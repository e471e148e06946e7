"""``discreet reproduce``: the experiments of the papers, each a command."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli._groups import command_group
from discreet.cli._terminal import say

if TYPE_CHECKING:
    from discreet_recipes.record import Record

Output = Annotated[Path, typer.Option("--output", "-o", help="Folder for the record.")]
Quick = Annotated[
    bool, typer.Option("--quick", help="Stated subsets, fewer settings and trials: minutes.")
]

reproduce = command_group(
    "Run the experiments of the papers on data in a folder, beside the published figures."
)


def _done(record: "Record") -> None:
    say(f"Written: {record.folder / 'README.md'}")


@reproduce.command(short_help="Truncated Laplace noise on words, and rewriting.")
def trlaplace(
    data: Annotated[
        Path,
        typer.Option("--data", help="Folder with sst2-{train,dev,test} and agnews-{dev,test}."),
    ],
    output: Output,
    quick: Quick = False,
    space: Annotated[
        str, typer.Option("--space", "-s", help="Public vocabulary, as for sanitize.")
    ] = "starter",
) -> None:
    """Privacy and utility tests of Huang et al. (2024) over mechanisms and epsilons.

    Each figure stands beside the epsilon and delta that hold. A run that was stopped goes on where
    it was. The files are jsonl.gz with the fields text and label.

    Example: discreet reproduce trlaplace --data data -o trlaplace --quick
    """
    from discreet_recipes.trlaplace.run import run

    _done(run(data, output, quick=quick, space=space, say=say))


@reproduce.command(short_help="Documents with sentence-level privacy.")
def sentdp(
    data: Annotated[
        Path,
        typer.Option("--data", help="Folder with 20news-{train,test} and imdb-{train,val,test}."),
    ],
    output: Output,
    quick: Quick = False,
) -> None:
    """DeepCandidate, its baselines and votes of sentences: macro-F1 over epsilon.

    Encoding takes most of the time; vectors are kept in the folder and used again. A run that was
    stopped goes on where it was. The files are jsonl.gz with the fields text and label.

    Example: discreet reproduce sentdp --data data -o sentdp --quick
    """
    from discreet_recipes.sentdp.run import run

    _done(run(data, output, quick=quick, say=say))


@reproduce.command(short_help="Words replaced by near ones, models on them, and attacks.")
def santext(
    data: Annotated[
        Path,
        typer.Option(
            "--data", help="Folder with sst2-{train,dev,test}, stsb-{train,test} and imdb-val."
        ),
    ],
    output: Output,
    quick: Quick = False,
) -> None:
    """SanText, SanText+, CMP, random and unsanitised text: utility, privacy and pretraining.

    Published and certified calibration side by side at the same guarantee. A run that was stopped
    goes on where it was. The files are jsonl.gz with text and label, or text1, text2 and score.

    Example: discreet reproduce santext --data data -o santext --quick
    """
    from discreet_recipes.santext.run import run

    _done(run(data, output, quick=quick, say=say))


@reproduce.command("sentence-ldp", short_help="Sentence vectors and labels, local privacy.")
def sentence_ldp(
    data: Annotated[
        Path,
        typer.Option("--data", help="Folder with sst2-{train,dev,test} and imdb-{train,val,test}."),
    ],
    output: Output,
    quick: Quick = False,
) -> None:
    """Accuracy of released vectors over epsilon1, dimensions and epsilon2, and three attacks.

    Encoding takes most of the time; vectors are kept in the folder and used again. A run that was
    stopped goes on where it was. The files are jsonl.gz with the fields text and label.

    Example: discreet reproduce sentence-ldp --data data -o sentence-ldp --quick
    """
    from discreet_recipes.sentence_ldp.run import run

    _done(run(data, output, quick=quick, say=say))


@reproduce.command("all", short_help="All recipes, and one page that shows what they found.")
def all_recipes(
    data: Annotated[
        Path,
        typer.Option(
            "--data",
            help="Folder with the data sets of all recipes; the help of each recipe names its own.",
            exists=True,
            file_okay=False,
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for page and records.")],
    quick: Annotated[
        bool, typer.Option("--quick/--full", help="Stated subsets, or everything (hours).")
    ] = False,
) -> None:
    """Run the five recipes one after the other and write OUTPUT/index.html.

    A run that was stopped goes on where it was: finished parts are kept. A recipe that fails is
    named on the page and does not stop the others.

    Example: discreet reproduce all --data data -o report --quick
    """
    from discreet_recipes.together import recipes, reproduce_all

    say(f"Written: {reproduce_all(recipes(), data, output, quick=quick, say=say)}")


@reproduce.command(short_help="Training with privacy for users and the entities they mention.")
def uedp(
    data: Annotated[
        Path,
        typer.Option(
            "--data",
            help="Folder with conll2003-{train,valid,test}, agnews-dev; in full also agnews-test.",
        ),
    ],
    output: Output,
    quick: Quick = False,
) -> None:
    """UeDP-Alg as published, certified training and baselines: perplexity over epsilon.

    What each run claims stands beside what holds. A run that was stopped goes on where it was. The
    files are jsonl.gz with the fields user, tokens and tags (CoNLL-2003) or text (AG News).

    Example: discreet reproduce uedp --data data -o uedp --quick
    """
    from discreet_recipes.uedp.run import run

    _done(run(data, output, quick=quick, say=say))
