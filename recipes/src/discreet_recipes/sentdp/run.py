"""Meehan et al. (2022), "Sentence-level Privacy for Document Embeddings", run again."""

import time
from collections.abc import Sequence
from dataclasses import asdict
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.encoders.candidate_store import CandidateStore
from discreet.encoders.encoder import Encoder, load_encoder
from discreet.mechanisms.document import DeepCandidate
from discreet.mechanisms.selection import Selection
from discreet.randomness import generator
from discreet.search import last_whole_that_holds
from discreet.spaces.loaders import load_space
from discreet.spaces.space import EmbeddingSpace
from discreet.training.documents.candidates import (
    train_candidates,
)
from discreet.training.documents.settings import StoreSettings
from discreet.training.scores import class_scores
from discreet_recipes.guarantee import add_guarantee, sentences_replaced
from discreet_recipes.recipe import Say
from discreet_recipes.record import Record
from discreet_recipes.sentdp import RECIPE
from discreet_recipes.sentdp.data import (
    NINE_CATEGORIES,
    Corpus,
    Part,
    load_corpus,
)
from discreet_recipes.sentdp.methods import (
    FLIP,
    MIN_SENTENCES,
    Method,
    classifier,
    documents_of,
    methods,
    without_recoder,
    word_method,
)
from discreet_recipes.sentdp.pages import (
    ALL,
    AT_LEAST_8,
    PAPER_TABLE_1,
    RANGES,
    WORDS,
    add_claims,
    add_data_set,
    add_table_1,
)
from discreet_recipes.sentdp.sizes import ROWS, SentDPOptions

_LISTS = ("data_sets", "epsilons", "word_epsilons")
_REPLACED = 200
_READ_BY = ("classifier", "classifier_epochs")


def run(data: Path, folder: Path, options: SentDPOptions, say: Say) -> Record:
    """Run the recipe and write its record; vectors and stores are kept in the folder too."""
    size = options
    encoder, space = load_encoder(size.encoder), load_space(size.space)
    settings = {
        **asdict(size),
        "weights": encoder.fingerprint,
        "vectors": space.fingerprint,
    }
    record = Record.of(RECIPE, folder, settings, say, *_differences(size), lists=_LISTS)
    for name in size.data_sets:
        _data_set(record, name, data, encoder, space, size)
    rules = ("exponential", FLIP)
    add_table_1(
        record,
        {r: [needed_candidates(e, depth, r) for e, _, depth in PAPER_TABLE_1] for r in rules},
    )
    return record.finish()


def _differences(size: SentDPOptions) -> list[str]:
    groups = "; ".join(f"{name}: {', '.join(some)}" for name, some in NINE_CATEGORIES.items())
    counted = (
        f"Of a document the first {size.most_sentences} sentences count. "
        if size.most_sentences
        else ""
    )
    return [
        "Where we differ: another encoder; the paper does not name its nine categories, ours are "
        f"{groups}. {counted}Candidates are at "
        f"most {size.candidates:,} public documents of at least 8 sentences, or as many as there "
        "are. The number of projections and of centroids is chosen on public validation "
        "documents of at least 8 sentences by the exact law, without labels. GoodReads is not to "
        "be had; a document of Yelp is ten sentences of one label, since only sentences can be. "
        f"Classifier: {size.classifier}.",
        "The epsilon of word-level cmp is per unit of distance in the starter space and protects "
        "a word, not a sentence: at the same number it is by far the weaker promise.",
    ]


def _data_set(
    record: Record,
    name: str,
    data: Path,
    encoder: Encoder,
    space: EmbeddingSpace,
    size: SentDPOptions,
) -> None:
    sizes: Sequence[int] = getattr(size, ROWS[name])

    @cache  # and only when some part is still to be computed: encoding takes the time
    def corpus() -> Corpus:
        record.say(f"sentdp: encoding {name}")
        vectors = record.folder / "vectors"
        return load_corpus(name, data, sizes, encoder, vectors, size.most_sentences)

    @cache
    def compared() -> dict[str, Method]:
        store = _store(record, corpus(), size, encoder)
        return methods(corpus(), store, without_recoder(store, corpus()), size)

    @cache
    def on_words() -> tuple[Corpus, Method]:
        return word_method(corpus(), encoder, space, size)

    def released(epsilon: float) -> Any:
        return measured(corpus(), compared(), (epsilon,), size.trials)

    def words(epsilon: float) -> Any:
        few, method = on_words()
        return measured(few, {WORDS: method}, (epsilon,), size.word_trials)

    def levels() -> Any:
        public, private = corpus().public, corpus().private
        means = public.means(public.vectors)
        read = classifier(means, public.labels, size.classifier, size.classifier_epochs)
        f1, accuracy = guesser(public, private)
        return {
            "mean": scores(private, read(private.means(private.vectors))),
            "guess": f1,
            "guess_accuracy": accuracy,
            "documents": {
                "public": len(public.labels),
                "validation": len(corpus().validation.labels),
                "private": len(private.labels),
                AT_LEAST_8: int((private.counts >= 8).sum()),
            },
        }

    def paper() -> tuple[DeepCandidate, Any, Any]:
        store, private = _store(record, corpus(), size, encoder), corpus().private
        projections = store.projections_for(10.0)
        mechanism = DeepCandidate(store.candidates, projections, 10.0, "exponential")
        return mechanism, store.recoded(private.vectors), private.offsets

    def speed() -> dict[str, float]:
        mechanism, vectors, offsets = paper()
        rng = generator()
        mechanism.release(vectors, rng, offsets)
        started = time.perf_counter()
        mechanism.release(vectors, rng, offsets)
        return {"documents": len(offsets) - 1, "seconds": time.perf_counter() - started}

    documents = ("weights", "most_sentences", ROWS[name])
    stored = (*documents, "candidates")

    if name == "20news":
        add_guarantee(
            record,
            "DeepCandidate at epsilon 10 protects each sentence of a document by 10",
            "proven: depth has sensitivity 1",
            record.part(
                f"{name}-guarantee", lambda: sentences_replaced(*paper(), _REPLACED), stored
            ),
        )
        took = record.part(f"{name}-speed", speed, stored)
        record.add_key_figure(
            "speed",
            f"DeepCandidate on {took['documents']} encoded documents of 20 Newsgroups",
            f"{took['documents'] / took['seconds']:,.0f} documents a second",
        )
    base = record.part(f"{name}-unprotected", levels, (*documents, *_READ_BY))
    runs: dict[str, Any] = {}
    for kind, epsilons, compute, uses in (
        ("releases", size.epsilons, released, (*stored, *_READ_BY, "trials")),
        (
            "words",
            size.word_epsilons,
            words,
            (*documents, *_READ_BY, "vectors", "word_documents", "word_trials"),
        ),
    ):
        for epsilon in epsilons:
            some = record.part(f"{name}-{kind}-{epsilon:g}", partial(compute, epsilon), uses)
            for method, by_epsilon in some.items():
                runs.setdefault(method, {}).update(by_epsilon)
    if name == "20news":
        add_claims(record, base, runs)
    add_data_set(record, name, base, runs)


def _store(record: Record, corpus: Corpus, size: SentDPOptions, encoder: Encoder) -> CandidateStore:
    """A store made once for the folder: public documents only."""
    counts = f"{len(corpus.public.labels)}-{len(corpus.validation.labels)}-{size.candidates}"
    path = record.folder / "stores" / f"{corpus.name}-{counts}-{size.most_sentences}"
    if path.is_dir():
        store = CandidateStore.load(path)
        store.require(encoder.fingerprint)
        return store
    record.say(f"sentdp: store of {corpus.name}")
    public = corpus.public
    enough = int((public.counts >= MIN_SENTENCES).sum())
    store = train_candidates(
        documents_of(public),
        documents_of(corpus.validation),
        public.texts,
        encoder=encoder.fingerprint,
        about={"encoder": encoder.provenance, "public text": corpus.name},
        settings=StoreSettings(
            candidates=min(size.candidates, enough), min_sentences=MIN_SENTENCES
        ),
    )
    store.save(path)
    return store


def scores(part: Part, predicted: NDArray[np.int64]) -> dict[str, float | None]:
    """Macro-F1 of all documents, of those of at least 8 sentences, and by number of sentences."""
    truth, guess = part.labels.astype(str), predicted.astype(str)
    masks = {ALL: part.counts >= 2, AT_LEAST_8: part.counts >= 8}
    masks |= {f"{a} to {b}": (part.counts >= a) & (part.counts <= b) for a, b in RANGES}
    return {
        name: class_scores(truth[mask].tolist(), guess[mask].tolist())["macro_f1"]
        if mask.any()
        else None
        for name, mask in masks.items()
    }


def measured(
    corpus: Corpus, tried: dict[str, Method], epsilons: Sequence[float], trials: int
) -> dict[str, dict[str, list[dict[str, float | None]]]]:
    """For each method and epsilon the scores of each trial."""
    out: dict[str, dict[str, list[dict[str, float | None]]]] = {}
    for number, (name, method) in enumerate(tried.items()):
        out[name] = {}
        for epsilon in epsilons:
            runs = []
            for trial in range(trials):
                rng = np.random.default_rng([number, round(1000 * epsilon), trial])
                predicted = method.predict(method.release(epsilon, rng))
                runs.append(scores(corpus.private, predicted))
            out[name][str(epsilon)] = runs
    return out


def guesser(public: Part, private: Part) -> tuple[float, float]:
    """Macro-F1 and accuracy to be expected of guesses with the public share of each class.

    The paper's formula, the sum of squared shares, is the accuracy.
    """
    classes = int(max(public.labels.max(), private.labels.max())) + 1
    guess = np.bincount(public.labels, minlength=classes) / len(public.labels)
    truth = np.bincount(private.labels, minlength=classes) / len(private.labels)
    f1 = 2 * guess * truth / np.maximum(guess + truth, 1e-12)
    return float(f1[truth > 0].mean()), float(guess @ truth)


def needed_candidates(
    epsilon: float, depth: int, rule: str, candidates: int = 5000, sure: float = 0.95
) -> int:
    """How many of the candidates must have a depth for one of them to come out that surely.

    All others have depth 0: the setting of the paper's Table 1, from the law itself.

    >>> needed_candidates(10, 2, "exponential")
    5
    """

    def enough(deep: int) -> bool:
        values = np.repeat([float(depth), 0.0], [deep, candidates - deep])
        law = Selection(rule, epsilon).log_probabilities(values[None, :])[0]
        return float(np.exp(law[:deep]).sum()) >= sure

    return last_whole_that_holds(enough, candidates, 0)
