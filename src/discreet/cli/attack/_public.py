"""What the attacks on vectors share: public text as vectors, with the noise and without."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet import check
from discreet.cli._terminal import progress_bar
from discreet.errors import InvalidValue

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from discreet.attacks.outcome import Outcome
    from discreet.cli._vectors import VectorChoice
    from discreet.release.sentences import SentenceEmbedder

Source = Annotated[
    str,
    typer.Argument(
        metavar="TEXT",
        help="PUBLIC text: txt, csv, tsv, jsonl (each also .gz) or parquet. Never protected text: "
        "the figures depend on it.",
    ),
]
Texts = Annotated[
    int, typer.Option("--texts", help="Use so many texts, drawn at random; 0 uses all.")
]
Seed = Annotated[int, typer.Option("--seed", help="Of noise, halves and training.", min=0)]


@dataclass(frozen=True)
class Halves:
    """Public texts as vectors: those the attacker learns from, and those under attack."""

    embedder: "SentenceEmbedder"
    rows: "tuple[NDArray[np.int64], NDArray[np.int64]]"
    released: "tuple[NDArray[np.float32], NDArray[np.float32]]"
    clean: "tuple[NDArray[np.float64], NDArray[np.float64]]"


def halves(choice: "VectorChoice", texts: Sequence[str], most: int, seed: int) -> Halves:
    """Encode, map and release some of the texts; the first half is the attacker's."""
    import numpy as np

    most = check.whole(most, "--texts")
    for row, text in enumerate(texts, 1):
        if not text.strip():
            raise InvalidValue(f"the text of row {row} is empty; drop the row")
    rng = np.random.default_rng(seed)
    drawn = rng.permutation(len(texts))[: most or None]
    embedder = choice.embedder()
    with progress_bar("encoding") as show:
        clean = embedder.units([texts[row] for row in drawn], progress=show)
    released = embedder.mechanism.release(clean, rng)
    middle = len(drawn) // 2

    def cut(array: Any) -> Any:
        return array[:middle], array[middle:]

    return Halves(embedder, cut(drawn), cut(released), cut(clean))


def show_outcomes(outcomes: "Sequence[Outcome]", about: dict[str, Any], *, as_json: bool) -> None:
    """Print what attacks achieved."""
    if as_json:
        values = about | {"outcomes": [outcome.to_dict() for outcome in outcomes]}
        typer.echo(json.dumps(values, indent=2))
        return
    typer.echo("\n".join(line for outcome in outcomes for line in outcome.lines()))


def about(choice: "VectorChoice", found: Halves) -> dict[str, Any]:
    """The setting that was attacked."""
    from discreet.randomness import SEEDED_CAVEAT

    embedder = found.embedder
    return {
        "statement": embedder.statement.with_caveats(SEEDED_CAVEAT).to_dict(),
        "mechanism": choice.of_sentences,
        "epsilon": choice.epsilon,
        "dimension": embedder.map.dimension,
        "encoder": embedder.encoder.fingerprint,
        "map": embedder.map.fingerprint,
        "auxiliary": len(found.rows[0]),
        "targets": len(found.rows[1]),
    }
