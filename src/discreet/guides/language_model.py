"""A causal language model as a guide: any that transformers can load from this machine.

The model reads whole words, one token each. A word that its tokenizer cuts into several stands in
the model's text as the nearest word that is one token, and shares that word's probability with
all it stands for, by their public frequencies. So every document takes one token at every step: no
padding, and one pass of the model over a text of n words reads n tokens.
"""

import string
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from discreet.arrays import Floats32, Ids, ragged_places, row_blocks
from discreet.devices import AUTO, array_of, device_of, find_device, in_halves, moved, room_for
from discreet.encoders.causal import PACKAGED, SMOLLM2, first_mark, model_folder
from discreet.encoders.encoder import model_files_sha256, quiet_transformers
from discreet.encoders.library import refuse_no_tokenizer
from discreet.errors import InvalidValue, NotFound, needs_extra, read_as
from discreet.spaces.prior import rank_prior
from discreet.spaces.space import EmbeddingSpace

# The keys and values of so many words are kept; then the last half of them is read again.
_WINDOW = 256
_FEWEST_WHOLE = 0.3
_TEXTS_AT_ONCE = 16
_SMALLER = "use a smaller model, or --device cpu"


@dataclass
class ReadingState:
    """What the model has read of each document, which is what was released of it."""

    rows: Ids
    """The documents that go on, in the order of the cache."""
    recent: Ids
    """``(documents, window)``: the tokens in the cache, of every document."""
    read: int
    cache: Any
    logs: Any
    """ln P of every token after what was read, a row for each document that goes on."""
    waiting: tuple[Ids, Ids] | None = None
    """Documents and tokens that were released and not read yet."""


class LanguageModelGuide:
    """A causal language model on the words of a space.

    Args:
        space: the words that may be asked about.
        model: a transformers model for causal language.
        tokenizer: its tokenizer.
        name: what statements call it.
        fingerprint: of the model's files.
    """

    documents = 64
    """So many at once: the model keeps what it has read of each."""

    def __init__(
        self, space: EmbeddingSpace, model: Any, tokenizer: Any, *, name: str, fingerprint: str
    ) -> None:
        self.name, self.fingerprint = name, fingerprint
        self._model, self._device = model.eval(), device_of(model)
        self._tokenizer = tokenizer
        self._first = first_mark(tokenizer)
        whole = _whole_tokens(tokenizer, space.words)
        if (whole >= 0).mean() < _FEWEST_WHOLE:
            raise InvalidValue(
                f"the tokenizer of {name} knows few words of {space.name} as one token each, so it "
                "cannot score whole words; use another model, or --guide ngram"
            )
        stands_for = _nearest_whole(space, whole)
        self._tokens = whole[stands_for]
        frequencies = rank_prior(space)
        together = np.bincount(self._tokens, frequencies)
        # What part of its token's probability each word has.
        self._share = np.log(frequencies / together[self._tokens]).astype(np.float32)

    def on(self, space: EmbeddingSpace) -> "LanguageModelGuide":
        """The same model, which is there once, on the words of another space."""
        same = {"name": self.name, "fingerprint": self.fingerprint}
        return LanguageModelGuide(space, self._model, self._tokenizer, **same)

    def begin(self, documents: int) -> ReadingState:
        """So many documents of which nothing was released."""
        recent = np.zeros((documents, _WINDOW), dtype=np.int64)
        state = ReadingState(np.arange(documents), recent, 0, None, None)
        state.waiting = state.rows, np.full(documents, self._first)
        return state

    def scores(self, state: ReadingState, rows: Ids, candidates: Ids) -> Floats32:
        """ln P of each candidate after all that was released of its document."""
        if state.waiting is not None:
            self._read(state, state.waiting[0])
        logs = state.logs[moved(np.searchsorted(state.rows, rows), self._device)]
        chosen = logs.gather(1, moved(self._tokens[candidates], self._device))
        scores: Floats32 = array_of(chosen) + self._share[candidates]
        return scores

    def extend(self, state: ReadingState, rows: Ids, released: Ids) -> None:
        """One more released word each, which is read when the next score is asked for.

        A document that is left out here has ended.
        """
        order = np.argsort(rows)
        self._read(state, rows[order])
        state.waiting = rows[order], self._tokens[released[order]]

    def text_scores(self, ids: Ids, offsets: Ids) -> Floats32:
        """ln P of every word of some texts after the words before it; long texts in windows."""
        scores = np.empty(len(ids), dtype=np.float32)
        lengths = np.diff(offsets)
        number, document = ragged_places(np.zeros_like(lengths), -(-lengths // (_WINDOW - 1)))
        starts = offsets[document] + number * (_WINDOW - 1)
        sizes = np.minimum(offsets[document + 1] - starts, _WINDOW - 1)
        order = np.argsort(sizes, kind="stable")
        for part in row_blocks(len(order), numbers=_TEXTS_AT_ONCE):
            rows = order[part]
            place, row = ragged_places(starts[rows], sizes[rows])
            column = place - starts[rows][row]
            tokens = np.full((len(rows), int(sizes[rows].max()) + 1), self._first)
            tokens[row, column + 1] = self._tokens[ids[place]]  # what follows changes nothing
            wanted = np.zeros_like(tokens)
            wanted[row, column] = self._tokens[ids[place]]
            told = in_halves(partial(self._told, tokens, wanted), np.arange(len(rows)), "a text")
            scores[place] = np.concatenate(told)[row, column] + self._share[ids[place]]
        return scores

    def _told(self, tokens: Ids, wanted: Ids, rows: Ids) -> Floats32:
        """ln P of the wanted token at every place of some rows."""
        import torch

        with torch.inference_mode():
            read, asked = (moved(some[rows, :-1], self._device) for some in (tokens, wanted))
            logs = self._model(input_ids=read).logits.float().log_softmax(dim=2)
            return array_of(logs.gather(2, asked[:, :, None])[:, :, 0])

    def _read(self, state: ReadingState, rows: Ids) -> None:
        """Read what was released of these documents, if that is not done yet; others end."""
        import torch

        if state.waiting is None:
            return
        waiting, tokens = state.waiting
        state.waiting = None
        tokens = tokens[np.searchsorted(waiting, rows)]
        with torch.inference_mode(), room_for("a guide of so many texts", _SMALLER):
            if state.read == _WINDOW:  # the older half is forgotten
                state.recent[:, : _WINDOW // 2] = state.recent[:, _WINDOW // 2 :]
                state.read = _WINDOW // 2
                state.cache = None
            elif state.cache is not None and len(rows) < len(state.rows):
                kept = moved(np.searchsorted(state.rows, rows), self._device)
                state.cache.batch_select_indices(kept)
            state.rows = rows
            state.recent[rows, state.read] = tokens
            state.read += 1
            unread = state.recent[rows, 0 if state.cache is None else state.read - 1 : state.read]
            read = {"input_ids": moved(unread, self._device), "past_key_values": state.cache}
            out = self._model(**read, use_cache=True)
            state.logs = out.logits[:, -1].float().log_softmax(dim=1)
        state.cache = out.past_key_values


def load_language_model(
    name: str, space: EmbeddingSpace, *, device: str = AUTO
) -> LanguageModelGuide:
    """The causal model in a folder or a GGUF file, or the packaged one (``"smollm2"``).

    Nothing is downloaded. It computes in 32 bits, also where it was saved in fewer, on a device:
    see :func:`discreet.devices.find_device`.
    """
    where = find_device(device)
    try:
        folder = model_folder(name)
    except NotFound as error:
        raise NotFound(f"{error}; or --guide ngram") from error
    with needs_extra("a language model as a guide", "train"):
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer
    reading = read_as(f"{name} holds no causal language model that transformers can read")
    with reading, quiet_transformers(), room_for(f"the guide {name}", _SMALLER):
        refuse_no_tokenizer(folder)
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        model: Any = AutoModelForCausalLM.from_pretrained(
            folder, local_files_only=True, dtype=torch.float32
        )
        model = model.to(where)
    fingerprint = model_files_sha256(folder, {})
    stem = Path(PACKAGED if name == SMOLLM2 else name).stem
    return LanguageModelGuide(space, model, tokenizer, name=stem, fingerprint=fingerprint)


def _whole_tokens(tokenizer: Any, words: Sequence[str]) -> Ids:
    """The one token of each word, as it stands in a sentence; -1 if it is not one."""
    written = [word if _is_mark(word) else f" {word}" for word in words]
    cut = tokenizer(written, add_special_tokens=False)["input_ids"]
    return np.array([ids[0] if len(ids) == 1 else -1 for ids in cut], dtype=np.int64)


def _is_mark(word: str) -> bool:
    """Whether it stands without a space before it."""
    return word.startswith("'") or all(letter in string.punctuation for letter in word)


def _nearest_whole(space: EmbeddingSpace, whole: Ids) -> Ids:
    """For each word the nearest one that is a token; itself, if it is one."""
    vectors = np.asarray(space.vectors, dtype=np.float32)
    among = np.flatnonzero(whole >= 0)
    half_lengths = (vectors[among] ** 2).sum(axis=1) / 2
    nearest = np.arange(len(space))
    others = np.flatnonzero(whole < 0)
    for part in row_blocks(len(others), len(among)):
        products = vectors[others[part]] @ vectors[among].T - half_lengths
        nearest[others[part]] = among[products.argmax(axis=1)]
    return nearest
