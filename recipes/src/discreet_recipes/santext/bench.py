"""What the SanText recipe measures, each a function of the data and the settings alone."""

import copy
import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from discreet.attacks.bayes import best_guesses
from discreet.attacks.mask_inference import Target, attack_words
from discreet.attacks.outcome import Rate
from discreet.errors import NotFound
from discreet.evaluation.privacy import output_privacy, word_privacy
from discreet.mechanisms.word import CMP, SanText
from discreet.models.bert import MaskedModel, load_masked_model
from discreet.protocols import WordMechanism
from discreet.release.text import Sanitizer
from discreet.spaces import load_space
from discreet.spaces.space import EmbeddingSpace
from discreet.text.labelled import Labelled, read_labelled
from discreet.text.tokens import TokenBatch, tokenizer_for
from discreet.training.scores import class_scores, number_scores
from discreet.training.texts.bag_of_words import fit_bag_of_words
from discreet.training.texts.classifier import fine_tune
from discreet.training.texts.masked_lm import pretrain
from discreet.training.texts.settings import FineTuning, Pretraining
from discreet_recipes.data_files import data_file, labelled_rows
from discreet_recipes.guarantee import audited
from discreet_recipes.options import NONE
from discreet_recipes.recipe import Say
from discreet_recipes.santext.data import (
    SanTextSetting,
    in_few_dimensions,
    ranked,
    settings_at,
    with_shares,
)
from discreet_recipes.santext.sizes import SanTextOptions
from discreet_recipes.santext.tuned import sanitised

_EXAMPLES = 50  # the longest two of the first so many are shown


@dataclass(frozen=True)
class Bench:
    """The computations, each a function of the data and the settings alone."""

    data: Path
    size: SanTextOptions
    say: Say = lambda _line: None

    def accuracy(self, setting: SanTextSetting) -> list[float]:
        """Accuracy on SST-2 of a bag of words, for each seed; the test text is sanitised too."""
        return self._accuracy(setting.build(self.few if setting.few else self.words))

    def _accuracy(self, mechanism: WordMechanism | None) -> list[float]:
        out = []
        for seed in range(self.size.seeds):
            train = self._subset("sst2-train", self.size.train, seed)
            test = self._read("sst2-test")
            rng = np.random.default_rng([seed, 7])
            model = fit_bag_of_words(sanitised(train, mechanism, rng))
            noisy = sanitised(test, mechanism, rng)
            out.append(class_scores(test.labels or [], _said(model, noisy))["accuracy"])
        return out

    def privacy(self, setting: SanTextSetting) -> dict[str, Any]:
        """N_x, S_x, S*_y and the success of the attacker who inverts the mechanism."""
        mechanism = setting.build(self.words)
        if mechanism is None:
            raise NotFound("the text as it is has no mechanism to measure")
        return self._privacy(mechanism)

    def both(self, space: str, epsilon: float) -> dict[str, Any]:
        """The paper's Figure 5 in one of its two spaces: what is released, and its accuracy."""
        own = self.words if space == "words" else self.pieces
        mechanism = SanText(own, epsilon, calibration="published")
        return {**self._privacy(mechanism), "accuracy": self._accuracy(mechanism)}

    def examples(self, epsilons: Sequence[float]) -> list[dict[str, Any]]:
        """The paper's Table 4: two PUBLIC phrases, and what becomes of them."""
        some = self._read("sst2-dev", _EXAMPLES).texts
        few = sorted(some, key=lambda text: len(text.split()), reverse=True)[:2]
        rows: list[dict[str, Any]] = [{"mechanism": "none", "texts": few}]
        for setting in with_shares(settings_at(epsilons), self.size.share, self.size.probability):
            mechanism = setting.build(self.words)
            if mechanism is not None and setting.mechanism.startswith("santext"):
                texts = Sanitizer(mechanism).sanitize(few, np.random.default_rng(1)).values
                rows.append({**asdict(setting), "texts": list(texts)})
        return rows

    def vocabularies(self) -> list[list[Any]]:
        """The paper's Table 2: words of each space, and those that are sensitive."""
        return [
            [space.name, len(space), len(space.least_frequent(self.size.share))]
            for space in (self.words, self.pieces)
        ]

    def _privacy(self, mechanism: WordMechanism) -> dict[str, Any]:
        space = mechanism.space
        batch = self._tokens(space, self._read("sst2-test").texts)
        rng = np.random.default_rng(0)
        ids = batch.ids[batch.ids != space.unknown].astype(np.int64)
        most = min(self.size.words, len(ids))
        some = rng.choice(ids, most, replace=False) if most else self._every_word(space)
        released = mechanism.release(ids, rng)
        outputs = rng.choice(released, most, replace=False) if most else some
        inputs = word_privacy(mechanism, some)
        known = self.prior(space)
        hits = best_guesses(mechanism, released, known) == ids
        seen = output_privacy(mechanism, outputs, known)
        return {
            "kappa": float(getattr(mechanism, "kappa", 0.0)),
            "keep": float(inputs.keep.mean()),
            "options": float(np.median(inputs.options)),
            "inputs": float(np.median(seen.inputs)),
            "defence": Rate.of(hits).other.to_dict(),
        }

    def _every_word(self, space: EmbeddingSpace) -> Any:
        """The different words of SST-2 that a space knows."""
        texts = [text for part in ("train", "test") for text in self._read(f"sst2-{part}").texts]
        ids = np.unique(self._tokens(space, texts).ids).astype(np.int64)
        return ids[ids != space.unknown]

    def pearson(self, setting: SanTextSetting) -> list[float]:
        """Pearson's correlation on STS-B with a frozen encoder, for one seed."""
        mechanism = setting.build(self.words)
        train, test = (
            self._pairs("stsb-train", self.size.pairs),
            self._pairs("stsb-test", self.size.pair_tests),
        )
        rng = np.random.default_rng(11)
        model = fine_tune(
            load_masked_model(self.size.encoder),
            sanitised(train, mechanism, rng),
            FineTuning(frozen=True),
            regression=True,
        )
        noisy = sanitised(test, mechanism, rng)
        return [number_scores(test.numbers(), _said(model, noisy))["pearson"]]

    def pretraining(self, epsilon: float, steps: int, *, attack: bool) -> dict[str, Any]:
        """Fine-tuning with and without sanitisation-aware pretraining, and what attackers gain.

        Both pretrained models have seen the same public text for as many steps, one as it is and
        one sanitised, so that the noise is the only difference.
        """
        mechanism = SanText(self.pieces, epsilon)
        rng = np.random.default_rng([3, round(epsilon * 100)])
        test = self._read("sst2-test", self.size.tuned_tests)
        noisy_test = self._released(mechanism, test.texts, rng)
        target = Target.of(self._tokens(self.pieces, test.texts), noisy_test.ids)
        models = {
            "original": self.with_head,
            "plain": self._pretrained(None, steps),
            "sanitised": self._pretrained(mechanism, steps),
        }
        right: dict[str, list[Any]] = {name: [] for name in models}
        for seed in range(self.size.tuned_seeds):
            train = self._subset("sst2-train", self.size.tuned, seed)
            tokens = (self._released(mechanism, train.texts, rng), None)
            tuning = self._tuning(seed)
            for name, model in models.items():
                self.say(f"santext: fine-tuning, pretraining {name}")
                tuned = fine_tune(copy.deepcopy(model), train, tuning, tokens=tokens)
                right[name].append(_right(tuned, noisy_test, test))
        out: dict[str, Any] = {"kappa": mechanism.kappa}
        for name, by_seed in right.items():
            ahead = np.mean(right["sanitised"], axis=0) - np.mean(by_seed, axis=0)
            out[name] = {
                "accuracy": [float(one.mean()) for one in by_seed],
                "error": float(ahead.std(ddof=1)) / math.sqrt(len(ahead)),
            }
        for name in ("plain", "sanitised") if attack else ():
            out[name]["attack"] = self._attacked(mechanism, target, models[name])
        return out

    def masked(self, setting: SanTextSetting) -> dict[str, Any]:
        """The paper's Figure 4: what the fine-tuned encoder is worth, and what attackers miss.

        The masked model has read public text as it is with all its weights, which makes it a better
        attacker than the encoder with a new head is.
        """
        mechanism = setting.build(self.pieces)
        rng = np.random.default_rng([4, round(setting.epsilon * 100)])
        test = self._read("sst2-test", self.size.tuned_tests)
        noisy_test = self._released(mechanism, test.texts, rng)
        accuracy = []
        for seed in range(self.size.tuned_seeds):
            train = self._subset("sst2-train", self.size.tuned, seed)
            tuned = fine_tune(
                load_masked_model(self.size.encoder),
                train,
                self._tuning(seed),
                tokens=(self._released(mechanism, train.texts, rng), None),
            )
            accuracy.append(float(_right(tuned, noisy_test, test).mean()))
        if mechanism is None:
            return {"accuracy": accuracy}
        target = Target.of(self._tokens(self.pieces, test.texts), noisy_test.ids)
        attack = self._attacked(mechanism, target, self._pretrained(None, self.size.steps))
        return {"accuracy": accuracy, **attack}

    def _attacked(
        self, mechanism: WordMechanism, target: Target, model: MaskedModel
    ) -> dict[str, Any]:
        report = attack_words(
            mechanism,
            target,
            model=model,
            prior=self.prior(self.pieces),
            sensitive=self.pieces.least_frequent(self.size.share),
            most=self.size.attacked,
            rng=np.random.default_rng(5),
        )
        return report.to_dict()

    def guarantee(self) -> dict[str, Any]:
        """The published law, checked over every pair of words; of very many words over some."""
        return audited(SanText(self.words, 8.0, calibration="published"))

    def speed(self) -> dict[str, float]:
        """Seconds to sanitise the training text of SST-2 in this process; of CMP, a tenth of it."""
        texts = self._read("sst2-train").texts
        tenth = texts[::10]
        out: dict[str, float] = {"phrases": len(texts), "cmp_phrases": len(tenth)}
        for name, mechanism, some in (
            ("santext", SanText(self.words, 8.0, calibration="published"), texts),
            ("cmp", CMP(self.words, 8.0), tenth),
        ):
            started = time.perf_counter()
            Sanitizer(mechanism).sanitize(some)
            out[name] = time.perf_counter() - started
        return out

    def _tuning(self, seed: int) -> FineTuning:
        size = self.size
        return FineTuning(
            epochs=size.epochs, batch=size.tuned_batch, learning_rate=size.tuned_rate, seed=seed
        )

    def _pretraining(self, *, steps: int, head_steps: int) -> Pretraining:
        return Pretraining(
            steps=steps,
            head_steps=head_steps,
            batch=self.size.windows,
            window=self.size.window,
            learning_rate=self.size.pretraining_rate,
            warmup=self.size.warmup,
        )

    @cached_property
    def with_head(self) -> MaskedModel:
        """The encoder with a head that was trained alone, on public text as it is."""
        self.say("santext: a head for the encoder, on public text")
        model = load_masked_model(self.size.encoder)
        settings = self._pretraining(steps=0, head_steps=self.size.head_steps)
        pretrain(model, self.public, self.pieces, None, settings, source=self._source)
        return replace(model, has_head=True)

    def _pretrained(self, mechanism: WordMechanism | None, steps: int) -> MaskedModel:
        """Further pretrained on public text, sanitised or as it is, which is the same for all."""
        if mechanism is None and steps in self._plain:
            return self._plain[steps]
        model = copy.deepcopy(self.with_head)
        text = "as it is" if mechanism is None else "sanitised"
        self.say(f"santext: pretraining on public text, {text}")
        settings = self._pretraining(steps=steps, head_steps=0)
        pretrain(model, self.public, self.pieces, mechanism, settings, source=self._source)
        if mechanism is None:
            self._plain[steps] = model
        return model

    @cached_property
    def _plain(self) -> dict[int, MaskedModel]:
        """By steps: without noise there is nothing to do again for another epsilon."""
        return {}

    @property
    def _source(self) -> dict[str, str]:
        return {"name": "sst2-dev and imdb-val" if self.size.corpus == NONE else "a public corpus"}

    @cached_property
    def public(self) -> list[str]:
        """Text that plays the public one: phrases and reviews of other films, or a file's."""
        if self.size.corpus != NONE:
            return read_labelled(self.size.corpus, label_field=None).texts
        reviews = self._read("imdb-val", self.size.reviews).texts if self.size.reviews else []
        return [*self._read("sst2-dev").texts, *reviews]

    @cached_property
    def pieces(self) -> EmbeddingSpace:
        """The vocabulary of the encoder."""
        return load_space(self.size.pieces)

    @cached_property
    def few(self) -> EmbeddingSpace:
        """The whole words in few dimensions."""
        return in_few_dimensions(self.words)

    @cached_property
    def words(self) -> EmbeddingSpace:
        """The vocabulary of whole words."""
        return ranked(load_space(self.size.space, max_words=self.size.vocabulary or None))

    def prior(self, space: EmbeddingSpace) -> Any:
        """How often words occur in the public part of SST-2: what an attacker may know."""
        batch = self._tokens(space, self._read("sst2-dev").texts)
        known = batch.ids[batch.ids != space.unknown]
        return np.bincount(known, minlength=len(space)).astype(np.float64)

    def _tokens(self, space: EmbeddingSpace, texts: Sequence[str]) -> TokenBatch:
        return tokenizer_for(space.words, space.unknown, space.subwords).encode(texts)

    def _released(
        self, mechanism: WordMechanism | None, texts: Sequence[str], rng: np.random.Generator
    ) -> TokenBatch:
        batch = self._tokens(self.pieces, texts)
        if mechanism is None:
            return batch
        return TokenBatch(mechanism.release(batch.ids, rng).astype(np.int32), batch.offsets)

    def _read(self, name: str, most: int | None = None) -> Labelled:
        return labelled_rows(self.data, name, most)

    def _subset(self, name: str, rows: int, seed: int) -> Labelled:
        examples = self._read(name)
        if rows >= len(examples):
            return examples
        return examples.part(np.random.default_rng(seed).choice(len(examples), rows, replace=False))

    def _pairs(self, name: str, rows: int) -> Labelled:
        examples = read_labelled(
            data_file(self.data, name),
            text_field="text1",
            second_field="text2",
            label_field="score",
        )
        return examples.part(range(min(rows, len(examples))))


def _said(model: Any, examples: Labelled) -> Any:
    return model.predict(examples.texts, examples.seconds)


def _right(model: Any, tokens: TokenBatch, test: Labelled) -> Any:
    """Which rows are classified rightly, as 0 and 1."""
    said = model.predict_tokens(tokens)
    return np.array([a == b for a, b in zip(test.labels or [], said, strict=True)], dtype=float)
