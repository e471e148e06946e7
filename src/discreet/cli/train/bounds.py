"""``discreet train bounds``: how many holders and cells of an entity to allow, by public text."""

from dataclasses import asdict
from typing import Annotated

from discreet.cli import _options as options
from discreet.cli._settings import argument
from discreet.cli._terminal import progress_bar, show
from discreet.report.training import proposal_lines
from discreet.training.user_entity.settings import BoundsSettings, Records


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
    from discreet.training.user_entity.proposal import proposals_from_file

    proposals, users = proposals_from_file(source, records, run, announce=progress_bar)
    values = {"proposals": [asdict(one) for one in proposals]}
    show(values, proposal_lines(proposals, run, users), as_json=as_json)
