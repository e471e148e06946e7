"""What the word mechanisms share: their statements, and the wording of these."""

from discreet.spaces.space import EmbeddingSpace
from discreet.statement import Adjacency, Metric, Notion, PrivacyStatement, Scope, Unit

CALIBRATIONS = ("certified", "published")
SCOPE = "every word is replaced by a draw from the vocabulary, independent of the others"
PUBLIC = ("the vocabulary and its vectors", "the number of tokens of each document")


def word_statement(
    space: EmbeddingSpace,
    notion: Notion,
    epsilon: float,
    *,
    delta: float = 0.0,
    slack: float = 0.0,
    metric: Metric | None = None,
    scope: str = SCOPE,
    public: tuple[str, ...] = PUBLIC,
    caveats: tuple[str, ...] = (),
) -> PrivacyStatement:
    """The guarantee for each word of a text that is cut by the words of a space."""
    return PrivacyStatement(
        notion=notion,
        epsilon=epsilon,
        delta=delta,
        slack=slack,
        metric=metric,
        unit=Unit.WORD,
        adjacency=Adjacency.REPLACE,
        over=Scope(cut=space.fingerprint),
        scope=scope,
        public=public,
        caveats=caveats,
    )
