"""Yue et al. (2021), "Differential Privacy for Text Analytics via Natural Text Sanitization".

What the paper ran: SST-2, QNLI and a clinical set of sentence pairs; GloVe or BERT token vectors
restricted to the words of each set; bert-base, fine-tuned on sanitised text and tested on sanitised
text; further pretraining on a sanitised Wikipedia; an attacker who masks each word in turn.

What we run: SST-2 and STS-B (in place of the clinical set, which cannot be had; QNLI neither), the
vocabularies of the starter space and of all-MiniLM-L6-v2, which are not chosen from the data. Every
mechanism is run as published and, where that is another law, as certified at the same guarantee. A
bag of words carries the sweep over epsilon; the encoder is frozen for pairs and fine-tuned for the
question what pretraining is worth. Two attackers more: the one who inverts the mechanism, and the
one who does so with a language model.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from discreet.attacks.bayes import best_guesses
from discreet.attacks.mask_inference import Target, attack_words
from discreet.attacks.rates import Rate
from discreet.embeddings import load_space
from discreet.embeddings.space import EmbeddingSpace
from discreet.errors import NotFound
from discreet.evaluation.privacy import output_privacy, word_privacy
from discreet.mechanisms.word import CMP, SanText, SanTextPlus, Uniform
from discreet.models.bert import load_masked_model
from discreet.reproduce._santext_pages import add_pages
from discreet.reproduce.record import Record
from discreet.sanitizer import Sanitizer, WordMechanism
from discreet.text.labelled import Labelled, read_labelled
from discreet.text.tokens import TokenBatch, tokenizer_for
from discreet.training.bag_of_words import fit_bag_of_words
from discreet.training.masked_lm import Pretraining, pretrain
from discreet.training.scores import class_scores, number_scores
from discreet.training.text_classifier import FineTuning, fine_tune

W, P = 0.9, 0.3
ENCODER = "all-MiniLM-L6-v2"


@dataclass(frozen=True)
class Size:
    """How much is run."""

    train: int
    seeds: int
    epsilons: tuple[float, ...]
    noise_epsilons: tuple[float, ...]
    """Also for CMP: where noise on vectors begins to leave anything."""
    shares: tuple[float, ...]
    probabilities: tuple[float, ...]
    influence_epsilon: float
    words: int
    pairs: int
    pair_tests: int
    pair_epsilons: tuple[float, ...]
    piece_epsilons: tuple[float, ...]
    head_steps: int
    steps: int
    tuned: int
    tuned_tests: int
    epochs: int
    attacked: int


QUICK = Size(
    train=6000,
    seeds=2,
    epsilons=(5.0, 6.0, 7.0, 8.0, 10.0),
    noise_epsilons=(30.0,),
    shares=(0.5, 0.9),
    probabilities=(0.1, 0.3, 0.9),
    influence_epsilon=6.0,
    words=100,
    pairs=400,
    pair_tests=300,
    pair_epsilons=(8.0,),
    piece_epsilons=(12.0,),
    head_steps=80,
    steps=60,
    tuned=1000,
    tuned_tests=300,
    epochs=1,
    attacked=300,
)
FULL = Size(
    train=60_000,
    seeds=5,
    epsilons=(4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 12.0),
    noise_epsilons=(20.0, 30.0, 40.0),
    shares=(0.5, 0.7, 0.9, 0.95),
    probabilities=(0.1, 0.3, 0.5, 0.7, 0.9),
    influence_epsilon=6.0,
    words=1000,
    pairs=5749,
    pair_tests=1379,
    pair_epsilons=(6.0, 7.0, 8.0, 10.0),
    piece_epsilons=(11.0, 12.0, 13.0),
    head_steps=1000,
    steps=3000,
    tuned=20_000,
    tuned_tests=872,
    epochs=2,
    attacked=5000,
)


@dataclass(frozen=True)
class Setting:
    """A mechanism at one epsilon."""

    mechanism: str
    epsilon: float = 0.0
    calibration: str = "published"
    w: float = W
    p: float = P

    @property
    def key(self) -> str:
        """For file names."""
        plus = f"-w{self.w:g}-p{self.p:g}" if self.mechanism == "santext-plus" else ""
        return f"{self.mechanism}-{self.calibration}-{self.epsilon:g}{plus}"

    def build(self, space: EmbeddingSpace) -> WordMechanism | None:
        """The mechanism; None leaves the text as it is."""
        if self.mechanism == "unsanitised":
            return None
        if self.mechanism == "random":
            return Uniform(space)
        if self.mechanism == "cmp":
            return CMP(space, self.epsilon)
        if self.mechanism == "santext":
            return SanText(space, self.epsilon, calibration=self.calibration)
        return SanTextPlus(
            space,
            self.epsilon,
            sensitive=space.least_frequent(self.w),
            p=self.p,
            calibration=self.calibration,
        )


BOTH = ("published", "certified")


def settings_at(epsilons: Sequence[float]) -> list[Setting]:
    """The rows of the paper's Table 1 at each epsilon, in both calibrations where they differ."""
    rows = [Setting("unsanitised"), Setting("random")]
    for epsilon in epsilons:
        rows.append(Setting("cmp", epsilon))
        rows += [Setting(m, epsilon, c) for m in ("santext", "santext-plus") for c in BOTH]
    return rows


def run(
    data: Path,
    folder: Path,
    *,
    quick: bool = False,
    say: Callable[[str], None] = lambda _line: None,
) -> Record:
    """Run the recipe; what is done already is not done again.

    Args:
        data: Folder with ``sst2-{train,dev,test}`` and ``stsb-{train,test}`` as ``.jsonl.gz``.
        folder: Folder for the record.
        quick: Fewer settings, seeds, rows and steps.
        say: Called with a line for people at each part.
    """
    size = QUICK if quick else FULL
    record = Record(folder, "santext", {"size": asdict(size), "format": 1}, say)
    recipe = Recipe(data, folder, size)
    part = record.part
    utility = {
        s.key: part(f"sst2-{s.key}", partial(recipe.accuracy, s))
        for s in settings_at(size.epsilons) + [Setting("cmp", e) for e in size.noise_epsilons]
    }
    influence = [
        {"w": w, "p": p, "accuracy": part(f"sst2-{s.key}", partial(recipe.accuracy, s))}
        for w in size.shares
        for p in size.probabilities
        for s in [Setting("santext-plus", size.influence_epsilon, "published", w, p)]
    ]
    privacy = [
        {
            "epsilon": e,
            "calibration": c,
            **part(f"privacy-{c}-{e:g}", partial(recipe.privacy, Setting("santext", e, c))),
        }
        for c in BOTH
        for e in size.epsilons
    ]
    pairs = {
        s.key: part(f"stsb-{s.key}", partial(recipe.pearson, s))
        for s in settings_at(size.pair_epsilons)
    }
    pretraining = [
        {"epsilon": e, **part(f"pretraining-{e:g}", partial(recipe.pretraining, e))}
        for e in size.piece_epsilons
    ]
    add_pages(record, size, utility, influence, privacy, pairs, pretraining)
    record.finish()
    return record


@dataclass(frozen=True)
class Recipe:
    """The computations, each a function of the data and the settings alone."""

    data: Path
    output: Path
    size: Size

    def accuracy(self, setting: Setting) -> list[float]:
        """Accuracy on SST-2 of a bag of words, for each seed; the test text is sanitised too."""
        mechanism = setting.build(self.words)
        out = []
        for seed in range(self.size.seeds):
            train = self._subset("sst2-train", self.size.train, seed)
            test = self._read("sst2-test")
            rng = np.random.default_rng([seed, 7])
            model = fit_bag_of_words(_sanitised(train, mechanism, rng))
            noisy = _sanitised(test, mechanism, rng)
            out.append(class_scores(test.labels or [], _said(model, noisy))["accuracy"])
        return out

    def privacy(self, setting: Setting) -> dict[str, Any]:
        """N_x, S_x, S*_y and the success of the attacker who inverts the mechanism."""
        mechanism = setting.build(self.words)
        if mechanism is None:
            raise NotFound("the text as it is has no mechanism to measure")
        batch = self._tokens(self.words, self._read("sst2-test").texts)
        rng = np.random.default_rng(0)
        ids = batch.ids[batch.ids != self.words.unknown].astype(np.int64)
        some = rng.choice(ids, min(self.size.words, len(ids)), replace=False)
        released = mechanism.release(ids, rng)
        outputs = rng.choice(released, min(self.size.words, len(ids)), replace=False)
        inputs = word_privacy(mechanism, some)
        known = self.prior(self.words)
        hits = best_guesses(mechanism, released, known) == ids
        seen = output_privacy(mechanism, outputs, known)
        return {
            "kappa": float(getattr(mechanism, "kappa", 0.0)),
            "keep": float(inputs.keep.mean()),
            "options": float(np.median(inputs.options)),
            "inputs": float(np.median(seen.inputs)),
            "defence": Rate.of(hits).other.to_dict(),
        }

    def pearson(self, setting: Setting) -> list[float]:
        """Pearson's correlation on STS-B with a frozen encoder, for one seed."""
        mechanism = setting.build(self.words)
        train, test = (
            self._pairs("stsb-train", self.size.pairs),
            self._pairs("stsb-test", self.size.pair_tests),
        )
        rng = np.random.default_rng(11)
        model = fine_tune(
            load_masked_model(ENCODER),
            _sanitised(train, mechanism, rng),
            FineTuning(frozen=True),
            regression=True,
        )
        noisy = _sanitised(test, mechanism, rng)
        return [number_scores(test.numbers(), _said(model, noisy))["pearson"]]

    def pretraining(self, epsilon: float) -> dict[str, Any]:
        """Fine-tuning with and without sanitisation-aware pretraining, and what attackers gain.

        Both models have seen the same public text for as many steps, one as it is and one
        sanitised, so that the noise is the only difference.
        """
        space = load_space("encoder")
        mechanism = SanText(space, epsilon)
        public = self._read("sst2-dev").texts
        settings = Pretraining(
            steps=self.size.steps, head_steps=self.size.head_steps, window=64, seed=0
        )
        train = self._subset("sst2-train", self.size.tuned, 0)
        test = self._read("sst2-test")
        test = test.part(range(min(self.size.tuned_tests, len(test))))
        rng = np.random.default_rng([3, round(epsilon * 100)])
        noisy_train = self._released(space, mechanism, train.texts, rng)
        noisy_test = self._released(space, mechanism, test.texts, rng)
        original = self._tokens(space, test.texts)
        target = Target.of(original, noisy_test.ids)
        out: dict[str, Any] = {"kappa": mechanism.kappa}
        tuning = FineTuning(epochs=self.size.epochs)
        fresh = fine_tune(load_masked_model(ENCODER), train, tuning, tokens=(noisy_train, None))
        out["original"] = {"accuracy": _tested(fresh, noisy_test, test)}
        for name, noise in (("plain", None), ("sanitised", mechanism)):
            model = load_masked_model(ENCODER)
            done = pretrain(model, public, space, noise, settings, source={"name": "sst2-dev"})
            report = attack_words(
                mechanism,
                target,
                model=_with_head(model),
                prior=self.prior(space),
                sensitive=space.least_frequent(W),
                most=self.size.attacked,
                rng=np.random.default_rng(5),
            )
            tuned = fine_tune(model, train, tuning, tokens=(noisy_train, None))
            out[name] = {
                "loss": done.about["final_loss"],
                "accuracy": _tested(tuned, noisy_test, test),
                "attack": report.to_dict(),
            }
        return out

    @cached_property
    def words(self) -> EmbeddingSpace:
        """The vocabulary of whole words."""
        return load_space("starter")

    def prior(self, space: EmbeddingSpace) -> Any:
        """How often words occur in the public part of SST-2: what an attacker may know."""
        batch = self._tokens(space, self._read("sst2-dev").texts)
        return np.bincount(batch.ids, minlength=len(space)).astype(np.float64)

    def _tokens(self, space: EmbeddingSpace, texts: Sequence[str]) -> TokenBatch:
        return tokenizer_for(space.words, space.unknown, space.subwords).encode(texts)

    def _released(
        self,
        space: EmbeddingSpace,
        mechanism: WordMechanism,
        texts: Sequence[str],
        rng: np.random.Generator,
    ) -> TokenBatch:
        batch = self._tokens(space, texts)
        return TokenBatch(mechanism.release(batch.ids, rng).astype(np.int32), batch.offsets)

    def _read(self, name: str) -> Labelled:
        return read_labelled(self._path(name))

    def _subset(self, name: str, rows: int, seed: int) -> Labelled:
        examples = self._read(name)
        if rows >= len(examples):
            return examples
        return examples.part(np.random.default_rng(seed).choice(len(examples), rows, replace=False))

    def _pairs(self, name: str, rows: int) -> Labelled:
        examples = read_labelled(
            self._path(name), text_field="text1", second_field="text2", label_field="score"
        )
        return examples.part(range(min(rows, len(examples))))

    def _path(self, name: str) -> Path:
        path = self.data / f"{name}.jsonl.gz"
        if not path.is_file():
            raise NotFound(f"there is no {path.name} in {self.data}; give the folder with --data")
        return path


def _sanitised(
    examples: Labelled, mechanism: WordMechanism | None, rng: np.random.Generator
) -> Labelled:
    """The same examples with what the mechanism makes of their texts."""
    if mechanism is None:
        return examples
    sanitizer = Sanitizer(mechanism)
    texts = sanitizer.sanitize(examples.texts, rng).values
    seconds = None
    if examples.seconds is not None:
        seconds = sanitizer.sanitize(examples.seconds, rng).values
    return Labelled(texts, seconds, examples.labels)


def _said(model: Any, examples: Labelled) -> Any:
    return model.predict(examples.texts, examples.seconds)


def _tested(model: Any, tokens: TokenBatch, test: Labelled) -> float:
    return class_scores(test.labels or [], model.predict_tokens(tokens))["accuracy"]


def _with_head(model: Any) -> Any:
    """A model whose head has been trained since it was loaded."""
    from dataclasses import replace

    return replace(model, has_head=True)
