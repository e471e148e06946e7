"""The network that is trained for users and entities, and the public words it knows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.devices import CPU, find_device, room_for
from discreet.errors import InvalidValue
from discreet.models.adapter_kinds import ALL
from discreet.models.awd_lstm import PARTS, AwdLstm, AwdLstmShape
from discreet.models.awd_lstm_shape import AwdLstmSizes
from discreet.models.factors import FactorModel
from discreet.models.language import AdaptedLanguageModel
from discreet.models.vocabulary import Vocabulary, read_vocabulary
from discreet.receipt import FOLDER_RECEIPT, verified
from discreet.settings import said
from discreet.spaces.loaders import load_space
from discreet.statement import Notion, PrivacyStatement
from discreet.tensors import load_tensors
from discreet.training.user_entity.idle import refuse_idle
from discreet.training.user_entity.records import WordNumbers
from discreet.training.user_entity.settings import NetworkSettings

MODEL, VOCABULARY, KIND = "model.safetensors", "vocabulary.txt", "language model"
"""What a run leaves in its folder, and another may begin with."""


@dataclass(frozen=True)
class PublicWords:
    """A public vocabulary, and the vectors that a network begins with for its last words."""

    vocabulary: Vocabulary
    vectors: NDArray[Any] | None = field(default=None, repr=False)

    @classmethod
    def of_space(cls, space: str, max_words: int | None = None) -> "PublicWords":
        """The first so many words of a space, which are the most frequent ones."""
        public = load_space(space, max_words=max_words)
        kept = [place for place in range(len(public)) if place != public.unknown]
        vocabulary = Vocabulary(public.words[place] for place in kept)
        vectors = np.asarray(public.vectors)[kept]
        return cls(vocabulary, vectors[len(kept) - (len(vocabulary) - 2) :])

    def network(
        self,
        sizes: AwdLstmSizes | None = None,
        *,
        embedding: int | None = None,
        classes: int | None = None,
        trained: Sequence[str] = PARTS,
        start: Mapping[str, NDArray[Any]] | None = None,
        device: str = CPU,
    ) -> AwdLstm:
        """An AWD-LSTM that reads these words; ``embedding`` counts where there are no vectors."""
        chosen = sizes or AwdLstmSizes()
        if self.vectors is not None:
            embedding = self.vectors.shape[1]
        shape = AwdLstmShape(
            words=len(self.vocabulary),
            boundary=self.vocabulary.boundary,
            embedding=embedding or AwdLstmShape.embedding,
            classes=classes,
            **{size.name: getattr(chosen, size.name) for size in fields(AwdLstmSizes)},
        )
        return AwdLstm(shape, vectors=self.vectors, trained=trained, start=start, device=device)


@dataclass(frozen=True)
class BuiltNetwork:
    """What is trained, and words as its numbers."""

    network: FactorModel
    words: WordNumbers
    vocabulary: Any
    """What a receipt says of the words."""
    spent: PrivacyStatement | None = None
    """What its first weights have cost the people in the text they were trained on,"""
    start: Path | None = None
    """and the folder of the run that spent it."""


def built_network(settings: NetworkSettings, classes: Sequence[str] = ()) -> BuiltNetwork:
    """The network of some settings, and its public words."""
    number = len(classes) or None
    device = find_device(settings.device, doubles=True)
    refuse_idle(settings)
    if settings.model is not None:
        if settings.adapters == ALL and "rank" in said(settings):
            raise InvalidValue("--rank does nothing with --adapters all, which has no adapters")
        begun = _spent_before(settings.model, public=settings.start_public)
        adapted = AdaptedLanguageModel.load(
            settings.model,
            rank=settings.rank,
            adapters=settings.adapters,
            last_blocks=settings.last_blocks,
            classes=number,
            device=device,
        )
        before = None if begun is None else Path(settings.model)
        return BuiltNetwork(adapted, adapted, adapted.description, begun, before)
    if settings.vocabulary is not None:
        words = PublicWords(read_vocabulary(settings.vocabulary))
    else:
        words = PublicWords.of_space(settings.space, settings.max_words)
    start, spent = None, None
    if settings.start is not None:  # the folder of an earlier run
        start, about = load_tensors(settings.start / MODEL, KIND)
        kept = about.get("statement")
        statement = PrivacyStatement.from_dict(kept) if isinstance(kept, Mapping) else None
        spent = None if settings.start_public else _counted(statement, "--start")
        if read_vocabulary(settings.start / VOCABULARY).fingerprint != words.vocabulary.fingerprint:
            raise InvalidValue(
                "the model of --start knows other words; give it and this run the same vocabulary"
            )
    with room_for("the network", "use a smaller one, or --device cpu"):
        network = words.network(
            settings,
            embedding=settings.embedding,
            classes=number,
            trained=PARTS if settings.trained is None else settings.trained.split(","),
            start=start,
            device=device,
        )
    known = {"words": len(words.vocabulary), "fingerprint": words.vocabulary.fingerprint}
    return BuiltNetwork(
        network, words.vocabulary, known, spent, None if spent is None else settings.start
    )


def _spent_before(model: str, *, public: bool) -> PrivacyStatement | None:
    """What the weights of a transformers model have cost, if a run of ours left it in a folder."""
    folder = Path(model)
    if not (folder / FOLDER_RECEIPT).is_file():
        if public:
            raise InvalidValue(
                "--start-public does nothing with a model that has no receipt: it is taken for "
                "public as it is; leave it out"
            )
        return None
    return None if public else _counted(verified(folder)[1].statement, "--model")


def _counted(statement: PrivacyStatement | None, flag: str) -> PrivacyStatement:
    """The statement that a model carries; one without a guarantee could hide any text."""
    if statement is None or statement.notion is Notion.NONE:
        raise InvalidValue(
            f"the model of {flag} has no guarantee to add to; if it has seen public text only, say "
            "so with --start-public"
        )
    return statement
