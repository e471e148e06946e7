"""A classifier of sentences, read from the folder that a run for users and entities left."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch

from discreet.arrays import Floats, Ids, row_blocks
from discreet.devices import AUTO, array_of, find_device, in_halves, room_for
from discreet.errors import InputError, read_as
from discreet.models.adapter_kinds import ALL
from discreet.models.awd_lstm import AwdLstm, AwdLstmShape
from discreet.models.factors import SentenceBatch
from discreet.models.generation import base_of, refuse_base
from discreet.models.language import AdaptedLanguageModel
from discreet.models.vocabulary import read_vocabulary
from discreet.receipt import Receipt, verified
from discreet.tensors import load_tensors
from discreet.training.linear_head import decided, require_pairs
from discreet.training.user_entity.build import KIND, MODEL, VOCABULARY
from discreet.training.user_entity.records import WordNumbers, numbered
from discreet.training.user_entity.users import MAX_WORDS

_TOGETHER = 64


@dataclass(frozen=True)
class SentenceClassifier:
    """A trained network that says the class of each text; :meth:`load` reads one.

    What it says of other texts is a function of the model, so the people it was trained on have the
    guarantee of its receipt, and no more is spent. Texts it is asked about are not protected.

    Attributes:
        network: What was trained.
        words: Texts as its numbers.
        classes: In the order of the scores.
        receipt: Of the training.
    """

    network: AwdLstm | AdaptedLanguageModel = field(repr=False, compare=False)
    words: WordNumbers = field(repr=False, compare=False)
    classes: tuple[str, ...]
    receipt: Receipt = field(repr=False)
    pairs: ClassVar[bool] = False

    @classmethod
    def load(
        cls, folder: Path, *, base: str | None = None, device: str = AUTO
    ) -> "SentenceClassifier":
        """Read what ``discreet train user-entity --label-field`` wrote.

        Its files, and the model below if it was trained with ``--model``, are checked against the
        receipt.

        Args:
            folder: Of the run.
            base: The model below: a folder, a GGUF file or ``"smollm2"``; None to take it from
                where the run found it.
            device: Where it computes.
        """
        _, receipt = verified(folder)
        names = receipt.about.get("classes")
        if not isinstance(names, list) or not names:
            raise InputError(
                f"the receipt in {folder} names no classes: it is not that of a classifier, or is "
                "older than such names; 'discreet train user-entity --label-field' trains one"
            )
        classes, where = tuple(map(str, names)), find_device(device)
        with read_as(f"the model in {folder} is not what its receipt says"):
            about: dict[str, Any] = receipt.about["model"]
            if "adapters" in about:
                network = _transformer(folder, receipt, base, len(classes), where)
                return cls(network, network, classes, receipt)
            refuse_base(base)
            arrays, _ = load_tensors(folder / MODEL, KIND)
            shape = AwdLstmShape(**about["awd-lstm"]["shape"] | {"classes": len(classes)})
            words = read_vocabulary(folder / VOCABULARY)
            with room_for("the network", "use --device cpu"):
                return cls(AwdLstm(shape, start=arrays, device=where), words, classes, receipt)

    def predict(self, texts: Sequence[str], seconds: Sequence[str] | None = None) -> list[str]:
        """The likeliest class of each text."""
        return [str(name) for name in decided(self.scores(texts, seconds), self.classes)]

    def scores(self, texts: Sequence[str], seconds: Sequence[str] | None = None) -> Floats:
        """``(texts, classes)``: of each class the logarithm of its odds."""
        require_pairs(texts, seconds, self.pairs)
        # A text without a word has the boundary of sentences, and nothing else.
        rows = [numbered(text, self.words)[:MAX_WORDS] or [self.words.boundary] for text in texts]

        def read(places: Ids) -> Floats:
            some = [rows[place] for place in places]
            batch = SentenceBatch(
                torch.tensor([number for row in some for number in row]),
                torch.tensor([len(row) for row in some]),
            )
            return array_of(self.network.class_scores(batch)).astype(np.float64)

        places, parts = np.arange(len(rows)), [np.empty((0, len(self.classes)))]
        for block in row_blocks(len(rows), numbers=_TOGETHER):
            parts += in_halves(read, places[block], "a text")
        return np.concatenate(parts)


def _transformer(
    folder: Path, receipt: Receipt, base: str | None, classes: int, device: str
) -> AdaptedLanguageModel:
    """The transformers model of a run: its own weights, or adapters and the model below."""
    made = receipt.about["model"]["adapters"]
    # Runs that are older than marks around sentences were trained without them.
    how: dict[str, Any] = {"classes": classes, "marked": "marks" in made, "device": device}
    how |= {"adapters": made["kind"], "last_blocks": made["last_blocks"]}
    if made["kind"] == ALL:
        refuse_base(base)
        return AdaptedLanguageModel.load(folder, **how)
    arrays, _ = load_tensors(folder / MODEL, KIND)
    network = AdaptedLanguageModel.load(base_of(folder, receipt, base), rank=made["rank"], **how)
    network.put(arrays)
    return network
