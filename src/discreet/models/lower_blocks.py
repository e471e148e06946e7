"""The frozen blocks below the adapters: what they make of a sentence is computed once.

If only the last blocks of a model have adapters, what comes into the first of these is a public
function of one sentence and stays the same in all steps. It is kept in memory, as protected as the
sentence, and nowhere else.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from discreet.devices import array_of, moved
from discreet.errors import InvalidValue
from discreet.models.adapters import blocks_of

# So many numbers are kept, a gigabyte; what comes later is computed every time.
_NUMBERS = 2**28


class LowerBlocks:
    """The blocks below the last ones, run once for each sentence.

    Args:
        network: a transformers model.
        last_blocks: those that are not below.
        given: what else the network is called with.
    """

    def __init__(self, network: Any, last_blocks: int, **given: Any) -> None:
        blocks = blocks_of(network)
        self._below, self._first = list(blocks[:-last_blocks]), blocks[-last_blocks]
        self._network, self._given = network, given
        self._kept: dict[bytes, torch.Tensor] = {}
        self._room = _NUMBERS
        self._tuples = False

    def hidden(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """What comes into the first of the last blocks: ``(sentences, longest, width)``."""
        rows = [ids[i, :length] for i, length in enumerate(lengths.tolist())]
        keys = [array_of(row).tobytes() for row in rows]
        new = [i for i, key in enumerate(keys) if key not in self._kept]
        made: dict[bytes, torch.Tensor] = {}
        if new:
            some = moved(np.array(new), ids.device)
            states = self._run(ids[some], lengths[some])
            for i, hidden in zip(new, states, strict=True):
                made[keys[i]] = hidden[: lengths[i]].clone()
        parts = [made[key] if key in made else self._kept[key] for key in keys]
        for key, hidden in made.items():
            if hidden.numel() <= self._room:
                self._room -= hidden.numel()
                self._kept[key] = hidden
        return torch.nn.utils.rnn.pad_sequence(parts, batch_first=True)

    @contextmanager
    def replaced(self, hidden: torch.Tensor) -> Iterator[None]:
        """Within this, the network begins with what its first of the last blocks is given here."""

        def begin(_: Any, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
            if given:
                return (hidden, *given[1:]), named
            return given, named | {"hidden_states": hidden}

        hook = self._first.register_forward_pre_hook(begin, with_kwargs=True)
        for block in self._below:
            block.forward = self._unchanged
        try:
            yield
        finally:
            hook.remove()
            for block in self._below:
                del block.forward

    def _unchanged(self, hidden_states: torch.Tensor, *_: Any, **__: Any) -> Any:
        return (hidden_states,) if self._tuples else hidden_states

    @torch.no_grad()
    def _run(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        def stop(_: Any, given: tuple[Any, ...], named: dict[str, Any]) -> None:
            raise _Reached(given[0] if given else named["hidden_states"])

        def look(_: Any, __: Any, output: Any) -> None:
            self._tuples = isinstance(output, tuple)

        hooks = [self._first.register_forward_pre_hook(stop, with_kwargs=True)]
        hooks += [block.register_forward_hook(look) for block in self._below[:1]]
        there = torch.arange(ids.shape[1], device=ids.device)[None, :] < lengths[:, None]
        try:
            self._network(input_ids=ids, attention_mask=there.long(), **self._given)
        except _Reached as reached:
            return reached.hidden
        finally:
            for hook in hooks:
                hook.remove()
        raise InvalidValue("this model does not run its blocks in order; leave out --last-blocks")


class _Reached(Exception):
    """The first of the last blocks was reached; nothing after it is needed."""

    def __init__(self, hidden: torch.Tensor) -> None:
        super().__init__()
        self.hidden = hidden
