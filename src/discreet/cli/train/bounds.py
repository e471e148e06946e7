"""``discreet train bounds``: how many holders and cells of an entity to allow, by public text."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

from discreet.cli import _options as options
from discreet.cli._settings import argument
from discreet.cli._terminal import progress_bar, show
from discreet.training.user_entity.settings import BoundsSettings, Records

_SHOWN = 6


def bounds(
    source: Annotated[str, argument("PUBLIC", "PUBLIC text like the input of user-entity.")],
    records: Records,
    run: BoundsSettings,
    as_json: options.Json = False,
) -> None:
    """Propose bounds on entities for certified training, from PUBLIC text of the same kind.

    More holders of an entity keep more sentences and ask for more noise. For each choice this
    counts what PUBLIC would keep, finds the noise for the epsilon, and shows the choices in which
    a step says most of the text for its noise. PUBLIC should have about as many users as the text
    to train on: with more users an entity has more holders. No model is trained, and protected text
    does not belong here: what comes out is a function of it, without noise.

    Example: discreet train bounds public.jsonl --tokens-field tokens --tags-field tags
    --epsilon 8 --steps 40 --user-rate 0.25
    """
    from discreet.training.user_entity.proposal import proposals
    from discreet.training.user_entity.records import read_users
    from discreet.training.user_entity.rules import Rules

    records.require_entities("certified")
    users = read_users(source, records, _Counted())
    rules = Rules(user_rate=run.user_rate, entity_rate=run.entity_rate, delta=run.delta)
    with progress_bar("bounds") as progress:
        found = proposals(users, rules, steps=run.steps, epsilon=run.epsilon, progress=progress)
    best = found[0]
    cells = "--one-cell" if best.one_cell else f"--cells {best.cells}"
    lines = [
        f"For epsilon = {run.epsilon:g} over {run.steps:,} steps, by {len(users):,} public users:",
        "",
        "  holders  cells       cell-ratio   noise  sentences kept  signal",
        *(
            f"  {one.holders:>7}  {'one a user' if one.one_cell else one.cells:<10}  "
            f"{one.cell_ratio:>10g}  {one.noise:>6.2f}  {one.kept:>14.1%}  {one.signal:>6.2f}"
            for one in found[:_SHOWN]
        ),
        "",
        "Signal: what a step says of the text for its noise; 1 is training for users alone.",
        f"To train: --holders {best.holders} {cells} --cell-ratio {best.cell_ratio:g}",
    ]
    show({"proposals": [asdict(one) for one in found]}, lines, as_json=as_json)


class _Counted:
    """Words as numbers that nobody reads: bounds look at entities alone."""

    def encode(self, words: Sequence[str]) -> list[int]:
        return [0] * len(words)
