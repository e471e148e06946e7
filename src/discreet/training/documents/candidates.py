"""Making a candidate store from public documents: everything a document mechanism chooses from.

Choices (how many projections, how many centroids) are made on public validation documents by the
exact law of the mechanism: what a release is expected to be worth at each epsilon.
"""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import numpy as np

from discreet.arrays import Floats32, Ids, Progress, Rows, offsets_of, ragged_places
from discreet.encoders.candidate_store import CandidateStore, Voters
from discreet.encoders.maps import PublicMap
from discreet.errors import InvalidValue, needs_extra
from discreet.mechanisms.document import DeepCandidate, LearnedVotes, SentenceVotes
from discreet.protocols import ChoosingMechanism
from discreet.text.sentences import AT_LEAST
from discreet.training.documents.recoder import train_recoder
from discreet.training.documents.settings import StoreSettings
from discreet.training.documents.soft_votes import fit_soft_votes
from discreet.training.progress import Announce, silently

EPSILONS = (1.0, 3.0, 6.0, 10.0, 15.0, 20.0, 25.0, 30.0)
PROJECTIONS = (5, 10, 20, 50, 100)
CENTROIDS = (5, 10, 20, 30, 50, 80, 120)
BOX_SHARE = 0.75
"""The box of truncation holds this share of public document means in every dimension."""

_FEWEST_VALIDATION, _MOST_VALIDATION = 5, 200
_FEWEST_PER_CENTROID = 5
_MOST_SENTENCES = 50_000
_VOTE_STEPS = 60
T = TypeVar("T")


@dataclass(frozen=True)
class Documents:
    """Public documents as sentence vectors.

    Attributes:
        vectors: A row of the encoder for each sentence, end to end.
        offsets: Document i is rows ``offsets[i]`` to ``offsets[i + 1]``.
        labels: Class of each document, counted from 0; None if nobody said.
    """

    vectors: Floats32 = field(repr=False)
    offsets: Ids = field(repr=False)
    labels: Ids | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if len(self.offsets) < 2 or (np.diff(self.offsets) < 1).any():
            raise InvalidValue("public documents must have at least one sentence each")
        if self.offsets[0] != 0 or self.offsets[-1] != len(self.vectors):
            raise InvalidValue("offsets of public documents must end at the last sentence vector")
        if not np.isfinite(self.vectors).all():
            bad = int((~np.isfinite(self.vectors).all(axis=1)).argmax())
            raise InvalidValue(f"sentence vectors must be finite; row {bad + 1} is not")
        if self.labels is not None and len(self.labels) != len(self):
            raise InvalidValue(f"{len(self)} documents need as many labels; got {len(self.labels)}")

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def counts(self) -> Ids:
        """Number of sentences of each document."""
        return np.diff(self.offsets)

    def means(self, vectors: Rows | None = None) -> Rows:
        """Mean row of each document, of its own vectors or of others made from them row by row."""
        rows = self.vectors if vectors is None else vectors
        return np.asarray(np.add.reduceat(rows, self.offsets[:-1], axis=0) / self.counts[:, None])

    def where(self, keep: Iterable[Any]) -> "Documents":
        """Some of the documents, by a mark for each or by number."""
        chosen = np.arange(len(self))[np.asarray(keep)]
        counts = self.counts[chosen]
        rows, _ = ragged_places(self.offsets[chosen], counts)
        labels = None if self.labels is None else self.labels[chosen]
        return Documents(self.vectors[rows], offsets_of(counts), labels)


def training_and_validation(documents: int, seed: int, share: float = 0.1) -> tuple[Ids, Ids]:
    """Which public documents a store is made from, and which its choices are made on."""
    shuffled = np.random.default_rng(seed).permutation(documents)
    cut = max(_FEWEST_VALIDATION, round(share * documents))
    return np.sort(shuffled[cut:]), np.sort(shuffled[:cut])


def require_candidates(counts: Ids, settings: StoreSettings) -> None:
    """Stop, before anything is encoded, if there are too few public documents."""
    enough = int((counts >= settings.min_sentences).sum())
    if enough < settings.candidates:
        raise InvalidValue(
            f"{settings.candidates:,} candidates need as many public documents of at least "
            f"{settings.min_sentences} sentences; {enough:,} of the {len(counts):,} for training "
            "have as many: give more documents, or lower --candidates or --min-sentences"
        )


def train_candidates(
    public: Documents,
    validation: Documents,
    texts: Sequence[str],
    *,
    encoder: str,
    about: Mapping[str, Any],
    settings: StoreSettings,
    epsilons: Sequence[float] = EPSILONS,
    announce: Announce = silently,
) -> CandidateStore:
    """Make a store from PUBLIC documents.

    With labels the recoder is trained to keep the classes of the documents rather than k-means
    clusters, and choices are made by how often a release is of the right class: a store for one
    known task.

    Args:
        public: What candidates, clusters and the recoder are made from.
        validation: Other public documents, for choices alone; those of at least
            ``min_sentences`` are looked at.
        texts: The public documents as people read them.
        encoder: Fingerprint of the encoder.
        about: Provenance, ready for JSON.
        settings: How; the choice of projections is among 5, 10, 20, 50 and 100 up to theirs.
        epsilons: Where choices are made.
        announce: Called with the label of each part.
    """
    require_candidates(public.counts, settings)
    if len(public) < settings.clusters:
        raise InvalidValue(
            f"{settings.clusters} clusters need as many public documents; got {len(public)}"
        )
    rng, seed = np.random.default_rng(settings.seed), settings.seed
    means, classes, made = public.means(), public.labels, "labels"
    if classes is None:
        with announce("clustering"):
            classes = document_clusters(means, settings.clusters, seed)[1]
            made = f"{settings.clusters} k-means clusters"
    recoder, trained = None, {}
    if settings.recoder:
        with announce("training the recoder") as show:
            found = train_recoder(public.vectors, public.offsets, classes, settings, show)
        recoder = PublicMap.of_layers(found.layers, encoder=encoder, about={"made": "recoder"})
        trained = {"recoder_accuracy": found.accuracy, "recoder_epochs": found.epochs}
    recoded = public.means(_recoded(recoder, public))
    pool = np.flatnonzero(public.counts >= settings.min_sentences)
    chosen = np.sort(rng.choice(pool, settings.candidates, replace=False))
    candidates = recoded[chosen].astype(np.float32)
    directions = rng.standard_normal((settings.projections, recoded.shape[1])).astype(np.float32)
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    judged = judged_documents(validation, settings.min_sentences)
    with announce("choosing the number of centroids") as show:
        centroids = partial(_centroids, means, seed)
        sets, best_centroids = _chosen(public, judged, centroids, epsilons, show)
    with announce("learning how sentences vote") as show:
        learnt = partial(_voters, public, seed)
        voters, best_voters = _chosen(public, judged, learnt, epsilons, show)
    soft, labels = {}, None
    if public.labels is not None:
        labels = public.labels[chosen]
        with announce("fitting soft votes") as show:
            for done, at in enumerate(epsilons, 1):
                fit = fit_soft_votes(public.vectors, public.offsets, public.labels, at, seed=seed)
                soft[at] = Voters(fit.choices, fit.weights, fit.biases.astype(np.float32))
                show(done, len(epsilons))
    with announce("choosing the number of projections") as show:
        sentences = _recoded(recoder, judged)
        best_projections = choose_projections(
            judged, sentences, candidates, directions, labels, epsilons, show
        )
    return CandidateStore(
        candidates=candidates,
        texts=tuple(texts[i] for i in chosen.tolist()),
        clusters=classes[chosen].astype(np.int64),
        projections=directions,
        centroids=sets,
        voters=voters,
        box=_box(means),
        recoder=recoder,
        encoder=encoder,
        best_projections=best_projections,
        best_centroids=best_centroids,
        best_voters=best_voters,
        about={
            **about,
            "public_documents": len(public),
            "validation_documents": len(judged),
            "min_sentences": settings.min_sentences,
            "classes": made,
            "seed": seed,
            **trained,
        },
        soft_voters=soft,
    )


def _recoded(recoder: PublicMap | None, documents: Documents) -> Rows:
    return documents.vectors if recoder is None else recoder.apply(documents.vectors)


def judged_documents(validation: Documents, min_sentences: int) -> Documents:
    """The documents that choices are made on, as long as those that the store is meant for."""
    fewest = max(AT_LEAST, min_sentences)
    usable = np.flatnonzero(validation.counts >= fewest)[:_MOST_VALIDATION]
    if not len(usable):
        raise InvalidValue(
            f"no public validation document has {fewest} sentences; give more documents, or "
            "lower --min-sentences"
        )
    return validation.where(usable)


def _chosen(
    public: Documents,
    judged: Documents,
    make: Callable[[int], tuple[T, Rows, Ids, Callable[[float], ChoosingMechanism]]],
    epsilons: Sequence[float],
    show: Progress,
) -> tuple[dict[int, T], dict[float, int]]:
    """What is made for several numbers of choices, and which number is worth most at each epsilon.

    Without labels a release is worth its cosine with the document's mean, about the mean of all
    public documents. With labels it is the share of its public documents that are of the document's
    class. ``make`` leads from a number to what is made for it, its choices, the choice of each
    public document and the mechanism at an epsilon.
    """
    made: dict[int, T] = {}
    centre = public.means().mean(axis=0)

    def tried(number: int) -> tuple[Callable[[float], ChoosingMechanism], Rows]:
        made[number], choices, members, law = make(number)
        if judged.labels is not None and public.labels is not None:
            return law, _shares(members, public.labels, len(choices))[:, judged.labels].T
        return law, _agreement(choices, judged.means(), centre)

    numbers = [n for n in CENTROIDS if n * _FEWEST_PER_CENTROID <= len(public)] or [2]
    best = _best_numbers(numbers, tried, judged, judged.vectors, epsilons, show)
    return {number: one for number, one in made.items() if number in best.values()}, best


def _best_numbers(
    numbers: Sequence[int],
    tried: Callable[[int], tuple[Callable[[float], ChoosingMechanism], Rows]],
    judged: Documents,
    sentences: Rows,
    epsilons: Sequence[float],
    show: Progress,
) -> dict[float, int]:
    """The number that is worth most at each epsilon, by the exact law of the mechanism.

    ``tried`` gives for a number the mechanism, and what each release is worth for each document.
    """
    worth: dict[float, dict[int, float]] = {epsilon: {} for epsilon in epsilons}
    for done, number in enumerate(numbers, 1):
        law, value = tried(number)
        for epsilon in epsilons:
            odds = np.exp(law(epsilon).log_probabilities(sentences, judged.offsets))
            worth[epsilon][number] = float((odds * value).sum(axis=1).mean())
        show(done, len(numbers))
    return {epsilon: max(values, key=values.__getitem__) for epsilon, values in worth.items()}


def learned_voters(public: Documents, number: int, seed: int = 0) -> tuple[Voters, Ids]:
    """Clusters of the directions of public documents, and scores that lead a sentence to its own.

    The scores are a multinomial regression from a sentence to the cluster of its document. Returns
    the voters, whose choices are the mean vectors of the clusters, and each document's cluster.
    """
    with needs_extra("learned votes", "train"):
        from sklearn.linear_model import LogisticRegression
    means = public.means()
    directions = _directions(means, means.mean(axis=0))
    _, members = document_clusters(directions, number, seed)
    owner = np.repeat(np.arange(len(public)), public.counts)
    rows = np.random.default_rng(seed).permutation(len(owner))[:_MOST_SENTENCES]
    model = LogisticRegression(C=1.0, max_iter=_VOTE_STEPS, tol=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # stopping early only leaves the scores a little smoother
        model.fit(public.vectors[rows], members[owner[rows]])
    # A cluster without a sentence in the sample gets no votes.
    weights = np.zeros((number, means.shape[1]), dtype=np.float32)
    biases = np.full(number, -1e6, dtype=np.float32)
    weights[model.classes_], biases[model.classes_] = model.coef_, model.intercept_
    choices = np.stack([means[members == i].mean(axis=0) for i in range(number)])
    return Voters(choices.astype(np.float32), weights, biases), members


def _centroids(means: Rows, seed: int, number: int) -> Any:
    centroids, members = document_clusters(means, number, seed)
    rows = centroids.astype(np.float32)
    return rows, rows, members, partial(SentenceVotes, rows)


def _voters(public: Documents, seed: int, number: int) -> Any:
    voters, members = learned_voters(public, number, seed)
    law = partial(LearnedVotes, voters.choices, voters.weights, voters.biases)
    return voters, voters.choices, members, law


def choose_projections(
    judged: Documents,
    sentences: Rows,
    candidates: Floats32,
    directions: Floats32,
    labels: Ids | None,
    epsilons: Sequence[float] = EPSILONS,
    show: Progress = lambda _done, _total: None,
) -> dict[float, int]:
    """How many of the projections are worth most at each epsilon, by the exact law.

    Args:
        judged: Public validation documents.
        sentences: Their sentence vectors as the candidates were made, recoded or not.
        candidates: Vectors to choose from.
        directions: The projections; the first so many are taken.
        labels: Class of each candidate; None judges by cosine.
        epsilons: Where to choose.
        show: Called with (done, total).
    """
    numbers = [p for p in PROJECTIONS if p <= len(directions)] or [len(directions)]
    value = _agreement(candidates, judged.means(sentences), candidates.mean(axis=0))
    if labels is not None and judged.labels is not None:
        value = (labels[None, :] == judged.labels[:, None]).astype(np.float64)

    def tried(number: int) -> tuple[Callable[[float], ChoosingMechanism], Rows]:
        return partial(DeepCandidate, candidates, directions[:number]), value

    return _best_numbers(numbers, tried, judged, sentences, epsilons, show)


def _agreement(choices: Rows, means: Rows, centre: Rows) -> Rows:
    """(documents, choices): the cosine of each choice and each document's mean, about a centre."""
    return np.asarray(_directions(means, centre) @ _directions(choices, centre).T)


def _directions(rows: Rows, centre: Rows) -> Rows:
    """Unit vectors from a centre to each row."""
    moved = rows - centre
    lengths = np.linalg.norm(moved, axis=1, keepdims=True)
    return np.asarray(moved / np.where(lengths > 0, lengths, 1.0))


def _shares(members: Ids, labels: Ids, number: int) -> Rows:
    """(centroids, classes): what share of a centroid's public documents has each class."""
    classes = int(labels.max()) + 1
    counts = np.bincount(members * classes + labels, minlength=number * classes)
    table = counts.reshape(number, classes)
    return np.asarray(table / np.maximum(table.sum(axis=1, keepdims=True), 1))


def document_clusters(means: Rows, number: int, seed: int) -> tuple[Rows, Ids]:
    """k-means centroids of document means, and the cluster of each document."""
    with needs_extra("k-means clusters", "train"):
        from sklearn.cluster import KMeans
    model = KMeans(number, n_init=5, random_state=seed).fit(means)
    return np.asarray(model.cluster_centers_), model.labels_.astype(np.int64)


def _box(means: Rows) -> Floats32:
    """Bounds that differ in every dimension, also where all public documents agree."""
    tail = (1 - BOX_SHARE) / 2
    low, high = np.quantile(means, [tail, 1 - tail], axis=0).astype(np.float32)
    return np.stack([low, np.where(high > low, high, np.nextafter(low, np.float32(np.inf)))])
