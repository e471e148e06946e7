"""Words of a space as pieces of a model, so that a released word and its original stay aligned.

If the space is the model's own vocabulary, a word is a piece and nothing moves. For a space of
whole words the unit is the word: each is written as its pieces, and a word that is masked is shown
as one mask for each piece of the ORIGINAL, because these pieces are what is to be predicted. All
other words are shown as the pieces of the RELEASED word. So every target stands exactly where its
mask stands, however many pieces the released word has.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.arrays import Ids, ragged_places
from discreet.devices import device_of, moved
from discreet.errors import InvalidValue
from discreet.models.bert import MaskedModel, SpecialPieces
from discreet.spaces.space import EmbeddingSpace


@dataclass(frozen=True)
class PieceTable:
    """The pieces of every word of a space, end to end.

    Attributes:
        pieces: Ids of the model's pieces.
        starts: Where each word begins.
        counts: How many pieces it has; never 0.
    """

    pieces: Ids = field(repr=False)
    starts: Ids = field(repr=False)
    counts: Ids = field(repr=False)

    def spread(self, words: Ids) -> tuple[Ids, Ids]:
        """The pieces of some words end to end, and for each piece the position of its word."""
        places, owner = ragged_places(self.starts[words], self.counts[words])
        return self.pieces[places], owner

    @property
    def single(self) -> Ids:
        """For each word its piece if it is exactly one, else -1."""
        return np.where(self.counts == 1, self.pieces[self.starts], -1)


def piece_table(space: EmbeddingSpace, model: MaskedModel) -> PieceTable:
    """How the model writes the words of a space.

    Raises:
        InvalidValue: The space is WordPiece, but not this model's: positions could not be aligned.
    """
    if model.shares_pieces(space):
        every = np.arange(len(space))
        return PieceTable(every, every, np.ones(len(space), dtype=np.int64))
    if space.subwords:
        raise InvalidValue(
            f"the space {space.name} holds the {len(space):,} pieces of another model than the "
            f"{len(model.pieces):,} of this one, so their positions do not match; use the space "
            'of this model ("encoder:DIRECTORY"), or a space of whole words'
        )
    ids, counts = model.tokenizer.pieces(space.words)
    if space.unknown is not None:  # it is one piece, whatever the tokeniser makes of its name
        start = int(counts[: space.unknown].sum())
        ids = np.delete(ids, np.s_[start : start + counts[space.unknown]])
        counts[space.unknown] = 0
    # A word that the tokeniser drops altogether is unknown to the model.
    starts = np.cumsum(counts) - counts
    pieces = np.insert(ids.astype(np.int64), starts[counts == 0], model.marks.unknown)
    lengths = np.maximum(counts, 1)
    unknown = int((pieces == model.marks.unknown).sum())
    if unknown * 2 > len(space):
        raise InvalidValue(
            f"the model's tokeniser does not know {unknown:,} of the {len(space):,} words of the "
            f"space {space.name}: they are not for the same language; use a model or a space that "
            "fits"
        )
    return PieceTable(pieces, np.cumsum(lengths) - lengths, lengths)


@dataclass(frozen=True)
class PaddedRows:
    """Padded inputs of a model: marks around every text, padding behind it."""

    inputs: Ids = field(repr=False)
    attention: Ids = field(repr=False)
    targets: Ids = field(repr=False)
    """The piece to predict, or -100 where nothing is predicted."""


IGNORED = -100


def padded(
    pieces: Ids, targets: Ids, row: Ids, rows: int, marks: SpecialPieces, longest: int
) -> PaddedRows:
    """Pieces end to end as rows of equal length; a row that is too long is cut.

    Args:
        pieces: What the model reads.
        targets: What it is to predict, of the same length.
        row: For each piece the number of its text, never falling.
        rows: How many texts.
        marks: The model's special pieces.
        longest: Positions of a row at most, the two marks included.
    """
    counts = np.bincount(row, minlength=rows)
    column, _ = ragged_places(np.ones_like(counts), counts)
    kept = column < longest - 1
    lengths = np.minimum(counts, longest - 2)
    width = int(lengths.max(initial=0)) + 2
    inputs = np.full((rows, width), marks.pad)
    out = np.full((rows, width), IGNORED)
    inputs[:, 0] = marks.start
    inputs[np.arange(rows), lengths + 1] = marks.end
    inputs[row[kept], column[kept]] = pieces[kept]
    out[row[kept], column[kept]] = targets[kept]
    attention = (np.arange(width) < lengths[:, None] + 2).astype(np.int64)
    return PaddedRows(inputs, attention, out)


def texts_of_pairs(ready: PaddedRows, marks: SpecialPieces) -> Ids:
    """1 where a piece is of the second text of a pair that is read jointly, else 0."""
    ends = (ready.inputs == marks.end).astype(np.int64)
    behind: Ids = np.cumsum(ends, axis=1) - ends
    return np.where(ready.attention > 0, np.minimum(behind, 1), 0)


def last_states(network: Any, ready: PaddedRows, marks: SpecialPieces) -> Any:
    """What a BERT-style network makes of rows, ``(rows, positions, size)``.

    Of a pair it is told which text a piece is of, as in its own pretraining, if it can be told.
    """
    device = device_of(network)
    types = texts_of_pairs(ready, marks)
    told = types.any() and getattr(network.config, "type_vocab_size", 0) > 1
    return network(
        input_ids=moved(ready.inputs, device),
        attention_mask=moved(ready.attention, device),
        **({"token_type_ids": moved(types, device)} if told else {}),
    ).last_hidden_state
