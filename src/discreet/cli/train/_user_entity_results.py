"""What ``discreet train user-entity`` leaves: the model, its receipt, its curve, words."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.cli._terminal import counted, say

if TYPE_CHECKING:
    from discreet.training.user_entity.records import Encoder
    from discreet.training.user_entity.trainer import Outcome, UserEntityTrainer

STATE = "state"
MODEL, VOCABULARY, KIND = "model.safetensors", "vocabulary.txt", "language model"


def say_dropped(trainer: "UserEntityTrainer") -> None:
    """Tell whoever runs the training what the bounds cost."""
    dropped = trainer.dropped
    if dropped.sentences:
        say(
            f"Dropped {counted(dropped.sentences, 'sentence')} of {dropped.sensitive:,} with an "
            f"entity to keep the bounds: {counted(dropped.entities_over_holders, 'time')} an "
            f"entity had more than {trainer.rules.holders} holders, "
            f"{counted(dropped.entities_over_cells, 'time')} it was in more than "
            f"{trainer.rules.cells} cells of a user. (For you: these numbers are not protected.)"
        )


def receipt_of(
    trainer: "UserEntityTrainer",
    outcome: "Outcome",
    vocabulary: Any,
    steps: int,
) -> dict[str, Any]:
    """What was done and what holds; nothing that was measured on the input."""
    from discreet import __version__
    from discreet.training.user_entity.rules import PUBLISHED

    figures: dict[str, Any] = {}
    if outcome.loss is not None:
        values = asdict(outcome.loss)
        figures = {name: None if value == float("inf") else value for name, value in values.items()}
    if trainer.rules.algorithm in PUBLISHED:
        sentences = sum(len(user) for user in trainer.users)
        sensitive = sum(int((user.cell >= 0).sum()) for user in trainer.users)
        paper = trainer.rules.published(outcome.charged, sensitive / sentences)
        figures["published"] = {
            "claimed": paper.claimed,
            "at_least": paper.at_true_rate,
            "faults": list(paper.faults),
        }
    return {
        "discreet": __version__,
        "statement": outcome.statement.to_dict(),
        "in_words": outcome.statement.lines(),
        "figures": figures,
        "rules": asdict(trainer.rules),
        "steps": {"planned": steps, "made": outcome.steps, "charged": outcome.charged},
        "model": json.loads(trainer.model.description),
        "vocabulary": vocabulary,
        "public_evaluation": {
            name: value for name, value in outcome.curve[-1].items() if name not in ("step", "norm")
        },
    }


def write(
    output: Path,
    trainer: "UserEntityTrainer",
    outcome: "Outcome",
    receipt: dict[str, Any],
    words: "Encoder",
) -> None:
    """Write the model and what goes with it, each file whole."""
    from discreet.files import written_whole
    from discreet.models.vocabulary import Vocabulary
    from discreet.tensors import save_tensors

    arrays = {n: p.detach().numpy() for n, p in trainer.model.weights().items()}
    about = {"model": receipt["model"], "statement": receipt["statement"]}
    save_tensors(output / MODEL, KIND, arrays, about, force=True)
    files = {
        "privacy.json": json.dumps(receipt, indent=2) + "\n",
        "curve.json": json.dumps(outcome.curve, indent=1) + "\n",
        f"{STATE}/dropped.json": json.dumps(asdict(trainer.dropped)) + "\n",
    }
    if isinstance(words, Vocabulary):
        files[VOCABULARY] = "\n".join(words.words) + "\n"
    for name, content in files.items():
        with written_whole(output / name) as temporary:
            temporary.write_text(content, "utf-8")


def draw_curve(path: Path, outcome: "Outcome", algorithm: str) -> None:
    """Perplexity on public text over steps."""
    from discreet.report.plots import Curve, Plot, draw

    points = [point for point in outcome.curve if "perplexity" in point]
    x = tuple(float(point["step"]) for point in points)
    y = tuple(float(point["perplexity"]) for point in points)
    title = f"Perplexity on public text, {algorithm}"
    draw(
        Plot("curve", title, "steps", "perplexity", (Curve(algorithm, x, y),), alternative=title),
        path,
    )


def in_words(receipt: dict[str, Any], outcome: "Outcome") -> list[str]:
    """The receipt for people."""
    lines = [f"Trained {counted(outcome.steps, 'step')}, {outcome.charged:,} charged."]
    lines += receipt["in_words"]
    figures = receipt["figures"]
    if figures.get("joint") is not None:
        lines.append(
            f"Epsilon for one user {figures['user']:.4g}, for one entity {figures['entity']:.4g}, "
            f"for both together {figures['joint']:.4g}."
        )
    if "published" in figures:
        paper = figures["published"]
        lines.append(
            f"The paper claims epsilon = {paper['claimed']:.4g}; its sampling alone costs at least "
            f"{paper['at_least']:.4g}."
        )
    if measured := receipt["public_evaluation"]:
        parts = ""
        if "entities" in measured:
            parts = (
                f" ({measured['entities']:.4g} for words of entities, "
                f"{measured['others']:.4g} for all others)"
            )
        lines.append(
            f"On the public text: perplexity {measured['perplexity']:.4g}{parts}, "
            f"{measured['error_rate']:.1%} of the predictions wrong."
        )
    return lines
