"""The paper's core: encoder, M1 and M2 trained end to end through the noise; and release once."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from discreet.models.bert import MaskedModel, load_masked_model
from discreet.release.vectors import VectorSet
from discreet.text.labelled import Labelled, read_labelled
from discreet.training.kept_state import RunState
from discreet.training.settings import Resumption
from discreet.training.vectors.end_to_end import (
    EndToEnd,
    ReadTexts,
    read_texts,
    train_end_to_end,
)
from discreet.training.vectors.reading import SentenceReader
from discreet.training.vectors.settings import EndToEndSettings, TaskSettings
from discreet.training.vectors.task import TaskTarget, train_on_release
from discreet_recipes.data_files import PAIRS_OF_QNLI_DEV, data_file, labelled_rows
from discreet_recipes.recipe import Say
from discreet_recipes.sentence_ldp.sizes import SentenceLDPOptions

_DRAWS = 5
"""Draws of the noise of test vectors."""
_SAVED_EVERY = 50


@dataclass
class TunedTask:
    """One task whose encoder is trained: what is protected, what is public, what is tested on."""

    private: Labelled
    public: Callable[[], list[tuple[Labelled, int]]] | None
    """Reads the public rows, once: parts with their epochs, what is most alike last."""
    test: Labelled
    size: SentenceLDPOptions
    folder: Path
    max_tokens: int
    _read: dict[int, ReadTexts] = field(default_factory=dict, repr=False)

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """The possible labels."""
        return tuple(sorted(set(self.test.labels or [])))

    def end_to_end(
        self, mechanism: str | None, epsilon: float, dimension: int, seed: int
    ) -> dict[str, Any]:
        """The published loop on protected rows; without a mechanism the unprotected baseline."""
        trained = self._trained(mechanism, epsilon, dimension, seed, self.private)
        claimed = None if mechanism is None else epsilon * self.size.tuned_epochs
        return {"accuracy": self._tested(trained, trained.model.predict), "epsilon": claimed}

    def release_once(
        self, mechanism: str, epsilon: float, dimension: int, seed: int
    ) -> dict[str, Any]:
        """Encoder and M1 from public text, protected rows through them once, the rest on that."""
        if self.public is None:
            raise ValueError("there is no public text for this task")
        encoder = load_masked_model(self.size.model)
        for rows, epochs in self.public():
            trained = self._trained(mechanism, epsilon, dimension, seed, rows, (encoder, epochs))
        released = trained.release(
            self._texts(trained.reader, self.private), np.random.default_rng(1000 + seed)
        )
        target = TaskTarget.classes(self.private.labels or [], self.classes)
        settings = TaskSettings(epochs=self.size.model_epochs, seed=seed)
        model = train_on_release(released, target, settings=settings)
        return {"accuracy": self._tested(trained, model.predict), "epsilon": epsilon}

    def _tested(
        self, trained: EndToEnd, predict: Callable[[VectorSet], Sequence[Any]]
    ) -> list[float]:
        """Accuracy on test rows, which go through the noise too, for each of some draws."""
        texts, truth = self._texts(trained.reader, self.test), np.array(self.test.labels)
        units = VectorSet(trained.units(texts).astype(np.float32))
        out = []
        for draw in range(1 if trained.mechanism is None else _DRAWS):
            seen = units
            if trained.mechanism is not None:
                rng = np.random.default_rng(draw)
                seen = VectorSet(trained.mechanism.release(units.vectors, rng))
            out.append(float((np.array(predict(seen)) == truth).mean()))
        return out

    def _trained(
        self,
        mechanism: str | None,
        epsilon: float,
        dimension: int,
        seed: int,
        rows: Labelled,
        public: tuple[MaskedModel, int] | None = None,
    ) -> EndToEnd:
        """Trained through the noise; on public rows a model goes on, for so many epochs."""
        model, epochs = public or (load_masked_model(self.size.model), self.size.tuned_epochs)
        settings = EndToEndSettings(
            mechanism=mechanism,
            epsilon=None if mechanism is None else epsilon,
            dimension=dimension,
            epochs=epochs,
            batch=self.size.tuned_batch,
            learning_rate=self.size.tuned_rate,
            map_rate=self.size.map_rate,
            max_tokens=self.max_tokens,
            frozen_layers=self.size.frozen_layers,
            seed=seed,
        )
        layers = min(settings.frozen_layers, model.network.config.num_hidden_layers)
        settings = replace(settings, frozen_layers=layers)
        reader = SentenceReader(model, min(self.max_tokens, model.longest), layers)
        free = public is not None
        about = {**asdict(settings), "rows": len(rows), "public": free, "test": len(self.test)}
        name = f"{mechanism or 'unprotected'}-{dimension}-{seed}-{len(rows)}-{int(free)}.resume"
        self.folder.mkdir(parents=True, exist_ok=True)
        state = RunState(
            self.folder / name,
            Resumption(save_every=_SAVED_EVERY, resume=True),
            {**about, "model": model.fingerprint},
        )
        return train_end_to_end(
            reader,
            self._texts(reader, rows),
            TaskTarget.classes(rows.labels or [], self.classes),
            settings,
            public=free,
            noise_seed=1 + seed,
            state=state,
        )

    def _texts(self, reader: SentenceReader, rows: Labelled) -> ReadTexts:
        """Frozen layers are the same in every run, and so is what they make of these rows."""
        if not reader.frozen:
            return read_texts(reader, rows)
        if id(rows) not in self._read:
            self._read[id(rows)] = read_texts(reader, rows)
        return self._read[id(rows)]


def sentiment(data: Path, size: SentenceLDPOptions, folder: Path) -> TunedTask:
    """SST-2: its train part is protected; its dev part and Yelp sentences are public."""
    private = _long_enough(data, "sst2-train", size.tuned[0], size.least_words)
    test = labelled_rows(data, "sst2-test", size.tuned[1])
    public = cache(partial(_public, data, size))
    return TunedTask(private, public, test, size, folder, size.tuned_tokens[0])


def _public(data: Path, size: SentenceLDPOptions) -> list[tuple[Labelled, int]]:
    phrases, sentences = size.tuned_public
    parts = [labelled_rows(data, "sst2-dev", phrases)]
    if sentences:
        parts.append(_long_enough(data, "yelp-dev", sentences, size.least_words))
    return list(zip(parts, size.public_epochs, strict=False))[::-1]


def reviews(data: Path, size: SentenceLDPOptions, folder: Path) -> TunedTask:
    """IMDb, whose first words are read."""
    private, test = (
        _long_enough(data, f"imdb-{part}", rows, 1)
        for part, rows in zip(("train", "test"), size.tuned_imdb, strict=True)
    )
    return TunedTask(private, None, test, size, folder, size.tuned_tokens[1])


def questions(data: Path, size: SentenceLDPOptions, folder: Path) -> TunedTask:
    """QNLI, a question and a sentence as one sequence."""
    trained, tested = size.pairs
    if size.qnli > PAIRS_OF_QNLI_DEV:
        private, test = _questions(data, "train", trained), _questions(data, "dev", tested)
    else:
        every = _questions(data, "dev", size.qnli)
        parted = range(trained), range(trained, len(every))
        private, test = (every.part(rows) for rows in parted)
    return TunedTask(private, None, test, size, folder, size.tuned_tokens[1])


def _questions(data: Path, part: str, rows: int) -> Labelled:
    """Pairs in a random order."""
    every = read_labelled(
        data_file(data, f"qnli-{part}"),
        text_field="question",
        second_field="sentence",
        label_field="label",
    )
    return every.part(np.random.default_rng(0).permutation(len(every))[:rows])


def _long_enough(data: Path, name: str, rows: int, least: int) -> Labelled:
    every = labelled_rows(data, name)
    long = [row for row, text in enumerate(every.texts) if len(text.split()) >= least]
    return every.part(np.random.default_rng(0).permutation(long)[:rows])


def tuned_parts(
    part: Callable[[str, Callable[[], Any], Sequence[str]], Any],
    data: Path,
    size: SentenceLDPOptions,
    folder: Path,
    say: Say,
) -> dict[str, Any]:
    """All runs end to end: by task, way, mechanism and dimension a list over seeds."""
    out: dict[str, Any] = {}
    asked = {
        "sst2": (sentiment, True),
        "imdb": (reviews, all(size.tuned_imdb)),
        "qnli": (questions, size.qnli > 0),
    }
    for name, make in ((name, make) for name, (make, wanted) in asked.items() if wanted):
        made = cache(partial(_announced, say, name, make, data, size, folder / name))
        for mechanism in (None, *size.tuned_mechanisms):
            dimensions = size.tuned_dimensions if name == "sst2" else size.other_dimensions
            ways = {"end_to_end": dimensions}
            if mechanism is not None and name == "sst2":
                ways["release_once"] = size.once_dimensions
            for way, wanted in ways.items():
                for dimension in wanted:
                    key = f"{name}-{way}-{mechanism or 'unprotected'}-{dimension}"
                    out[key] = [
                        part(
                            f"tuned-{key}-{seed}",
                            partial(
                                _run, made, way, mechanism, size.tuned_epsilon, dimension, seed
                            ),
                            _uses(name, way),
                        )
                        for seed in size.tuned_seeds
                    ]
    return out


_TRAINING = (
    *("version", "model", "frozen_layers", "tuned_batch", "tuned_rate", "map_rate"),
    *("tuned_epsilon", "tuned_tokens"),
)


def _uses(name: str, way: str) -> tuple[str, ...]:
    """The settings that a run depends on."""
    rows = {"qnli": ("qnli",), "imdb": ("tuned_imdb",)}.get(name, ("tuned", "least_words"))
    released = ("tuned_public", "public_epochs", "model_epochs")
    return (*_TRAINING, *rows, *(released if way == "release_once" else ("tuned_epochs",)))


def _announced(
    say: Say,
    name: str,
    make: Callable[[Path, SentenceLDPOptions, Path], TunedTask],
    data: Path,
    size: SentenceLDPOptions,
    folder: Path,
) -> TunedTask:
    say(f"sentence-ldp: reading {name} for the encoder")
    return make(data, size, folder)


def _run(
    made: Callable[[], TunedTask],
    way: str,
    mechanism: str | None,
    epsilon: float,
    dimension: int,
    seed: int,
) -> dict[str, Any]:
    task = made()
    if way == "end_to_end" or mechanism is None:
        return task.end_to_end(mechanism, epsilon, dimension, seed)
    return task.release_once(mechanism, epsilon, dimension, seed)
