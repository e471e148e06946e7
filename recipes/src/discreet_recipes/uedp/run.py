"""UeDP ("User-Entity Differential Privacy in Learning Natural Language Models"), run again.

What the paper ran: next-word prediction on CoNLL-2003 (a document is a user), AG News (users made
at random, 15 texts each on average) and SEC contracts with a three-layer AWD-LSTM of 1,150 units
and GPT-2; UeDP-Alg with two estimators beside user-level privacy, de-identification and training
without noise; perplexity against epsilon, against categories of entities and against the rate of
sentences without an entity.

What we run: the same on CoNLL-2003 and AG News with an AWD-LSTM of one layer that two cores can
train, and that all algorithms get from the same public text; the published algorithm with the
figure that it claims, a lower bound of what holds and the attack that contradicts it, and the
certified algorithm, whose figure is proven. Perplexity is told apart for words of entities and for
others, for vocabularies that know few and many names.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from discreet.models.awd_lstm import PARTS, AwdLstm
from discreet.training.user_entity.trainer import (
    Quality,
    Rules,
    UserEntityTrainer,
    UserText,
    calibrated,
    quality,
)
from discreet_recipes.record import Record
from discreet_recipes.uedp import attack as attack
from discreet_recipes.uedp import data as corpora
from discreet_recipes.uedp import start as start
from discreet_recipes.uedp.pages import (
    Row,
    add_accounting,
    add_data_set,
    add_findings,
    add_vocabularies,
)

Say = Callable[[str], None]
Users = tuple[UserText, ...]


@dataclass(frozen=True)
class Size:
    """How much is run.

    Args:
        words: of the vocabulary.
        steps: of every run.
        epsilons: of the algorithms with a guarantee: joint for certified training, of a user for
            user-level. At the first, categories, rates and vocabularies are compared.
        published_noises: of the published algorithms, in their own unit.
        sentence_rates: of sentences without an entity.
        vocabularies: other numbers of words, for certified and de-identified training.
        public_steps: on public text before all of it: other news, then the data set's own kind.
        seeds: runs of the two that are compared: certified at the first epsilon, de-identified.
            All others have one.
        categories: kinds of entities that are trained for; None for all.
        ag_news: texts of AG News to train on; 0 leaves it out.
        ag_news_test: texts to test on.
        canaries: runs of the attack.
    """

    words: int
    steps: int
    epsilons: tuple[float, ...]
    published_noises: tuple[float, ...]
    sentence_rates: tuple[float, ...]
    vocabularies: tuple[int, ...]
    public_steps: tuple[int, int]
    seeds: int = 3
    categories: tuple[str, ...] | None = None
    ag_news: int = 0
    ag_news_test: int = 0
    canaries: int = 60


QUICK = Size(
    words=3000,
    steps=5,
    epsilons=(8.0, 2.0),
    published_noises=(2.0,),
    sentence_rates=(0.0,),
    vocabularies=(1000,),
    public_steps=(50, 50),
    categories=("all", "person"),
)
FULL = Size(
    words=20_000,
    steps=10,
    epsilons=(8.0, 4.0, 2.0, 1.0),
    published_noises=(0.5, 1.0, 2.0, 2.5),
    sentence_rates=(0.0, 0.2, 0.4, 0.6, 0.8),
    vocabularies=(2000, 8000),
    public_steps=(100, 80),
    ag_news=10_001,
    ag_news_test=2000,
)

# Chosen on every fourth validation document of CoNLL-2003, which the public text leaves out.
_PRIVATE = Rules(
    user_rate=0.5,
    entity_rate=1.0,
    clip=0.4,
    cell_clip=0.1,
    holders=5,
    cells=1,
    learning_rate=1.0,
    optimizer="sgd",
)
_TRAINED = ("lstm", "output")
_PUBLIC_TEXTS = 10_001
_PLAIN = replace(_PRIVATE, user_rate=0.25, learning_rate=0.005, optimizer="adam")
# As the paper has them for the AWD-LSTM.
_PUBLISHED = replace(
    _PRIVATE, user_rate=0.05, entity_rate=0.5, clip=0.1, learning_rate=1.0, optimizer="sgd"
)


@dataclass(frozen=True)
class Corpus:
    """One data set: how its users are read for given categories, and what is tested on."""

    name: str
    words: corpora.Words
    categories: dict[str, tuple[str, ...]]
    users: Callable[[str, bool], Users]
    """Of a category; with entities masked or not."""
    test: Callable[[], Users]
    public: Callable[[], list[tuple[Users, int]]]
    """Public text, and for how many steps it is trained on."""
    population: int


def run(
    data: Path,
    folder: Path,
    *,
    quick: bool = False,
    size: Size | None = None,
    say: Say = lambda _line: None,
) -> Record:
    """Run the recipe and write its record.

    Args:
        data: A folder with ``conll2003-{train,valid,test}.jsonl.gz`` and
            ``agnews-dev.jsonl.gz``; for the full run also ``agnews-test.jsonl.gz``.
        folder: Where the record goes; finished parts in it are taken over.
        quick: A smaller vocabulary, few steps, CoNLL-2003 alone.
        size: Another size than these two.
        say: Called with a line for people at each part.
    """
    size = size or (QUICK if quick else FULL)
    rules = {"private": _PRIVATE, "plain": _PLAIN, "published": _PUBLISHED}
    settings = {**asdict(size), **{name: asdict(some) for name, some in rules.items()}}
    record = Record(folder, "uedp", settings, say)
    record.title = "Training with privacy for users and entities"
    record.introduction = _introduction(size)
    main = _Bench(record, _conll(data, size.words, size), size)
    rows = _data_set(main, size)
    add_data_set(record, "conll2003", "CoNLL-2003", rows)
    others = [_Bench(record, _conll(data, words, size), size) for words in size.vocabularies]
    add_vocabularies(record, [row for bench in (*others, main) for row in _compared(bench, size)])
    if size.ag_news:
        news = _data_set(_Bench(record, _ag_news(record, data, size), size), size)
        add_data_set(record, "agnews", "AG News", news)
    add_accounting(record)
    add_findings(record, rows, size.steps)
    at_target = main.at(replace(_PRIVATE, population=947), size.epsilons[0])
    attack.add_attack(record, at_target, size.steps, size.canaries)
    record.finish()
    return record


def _conll(data: Path, most: int, size: Size) -> Corpus:
    words = corpora.public_words(most)

    def users(category: str, masked: bool) -> Users:
        return corpora.conll(data, "train", words, corpora.CONLL[category], masked=masked)

    def test() -> Users:
        return corpora.conll(data, "test", words, corpora.CONLL["all"])

    def public() -> list[tuple[Users, int]]:
        other, own = size.public_steps
        texts = corpora.ag_news_texts(data, "dev", _PUBLIC_TEXTS)
        return [
            (corpora.as_users(texts, words), other),
            (corpora.public_conll(data, words), own),
        ]

    return Corpus("conll2003", words, corpora.CONLL, users, test, public, population=947)


def _ag_news(record: Record, data: Path, size: Size) -> Corpus:
    words = corpora.public_words(size.words)
    texts = corpora.ag_news_texts(data, "dev", size.ag_news)
    entities = record.part("agnews-entities", lambda: corpora.found_entities(texts))
    owners = corpora.users_of_texts(len(texts), seed=0)

    def users(category: str, masked: bool) -> Users:
        chosen = corpora.AG_NEWS[category]
        return corpora.ag_news(texts, entities, owners, words, chosen, masked=masked)

    def test() -> Users:
        others = corpora.ag_news_texts(data, "test", size.ag_news_test)
        return corpora.as_users(others, words)

    def public() -> list[tuple[Users, int]]:  # its own texts are protected here
        return [(corpora.public_conll(data, words), size.public_steps[1])]

    population = max(owners) + 1
    return Corpus("agnews", words, corpora.AG_NEWS, users, test, public, population=population)


def _data_set(bench: "_Bench", size: Size) -> list[Row]:
    """All runs on one data set."""
    certified, plain = _rules_for(bench)
    user_level = replace(certified, algorithm="user-level")
    rows = [*_compared(bench, size), bench.measured(replace(plain, algorithm="noiseless"), "all")]
    for epsilon in size.epsilons:
        if epsilon != size.epsilons[0]:
            rows.append(bench.measured(bench.at(certified, epsilon), "all"))
        rows.append(bench.measured(bench.at(user_level, epsilon), "all"))
    for algorithm in ("published", "published-optimized"):
        for noise in size.published_noises:
            published = replace(_PUBLISHED, algorithm=algorithm, noise=noise)
            rows.append(bench.measured(published, "all"))
    at_target = bench.at(certified, size.epsilons[0])
    rows += [
        bench.measured(replace(at_target, sentence_rate=rate), "all")
        for rate in size.sentence_rates
    ]
    for category in size.categories or bench.corpus.categories:
        if category != "all":
            rows.append(bench.measured(at_target, category))
            rows.append(bench.measured(replace(plain, algorithm="de-identified"), category))
            optimized = replace(_PUBLISHED, algorithm="published-optimized", noise=2.0)
            rows.append(bench.claimed(optimized, category))
    return rows


def _compared(bench: "_Bench", size: Size) -> list[Row]:
    """The public start, de-identified training, and certified training at the first epsilon."""
    certified, plain = _rules_for(bench)
    masked = replace(plain, algorithm="de-identified")
    return [
        bench.untrained(),
        bench.measured(masked, "all", seeds=size.seeds),
        bench.measured(bench.at(certified, size.epsilons[0]), "all", seeds=size.seeds),
    ]


def _rules_for(bench: "_Bench") -> tuple[Rules, Rules]:
    population = bench.corpus.population
    return replace(_PRIVATE, population=population), replace(_PLAIN, population=population)


class _Bench:
    """Runs on one data set; text is read only when some part is still to be computed."""

    def __init__(self, record: Record, corpus: Corpus, size: Size) -> None:
        self.corpus = corpus
        self._record, self._size = record, size
        self._name = f"{corpus.name}-{len(corpus.words.vocabulary)}"
        self._read: dict[tuple[str, bool], Users] = {}
        self._test: Users | None = None

    def at(self, rules: Rules, epsilon: float) -> Rules:
        """The rules with the noise that all steps need for this epsilon."""

        def compute() -> float:
            return calibrated(rules, self._size.steps, epsilon).noise

        key = f"noise-{rules.algorithm}-{epsilon:g}"
        return rules.with_noise(self._record.part(key, compute))

    def untrained(self) -> Row:
        """The model before its first step on protected text."""
        values = self._record.part(
            f"{self._name}-start", lambda: _columns([quality(self._model("none"), self._tested())])
        )
        return Row("public start", "all", words=self._words, **values)

    def measured(self, rules: Rules, category: str, *, seeds: int = 1) -> Row:
        """Train with each seed and test."""
        key = "-".join(
            (
                self._name,
                rules.algorithm,
                category,
                f"z{rules.noise:.4g}" if rules.noisy else "plain",
                f"s{rules.sentence_rate:g}",
            )
        )
        values = self._record.part(key, lambda: self._trained(rules, category, seeds))
        return Row(
            rules.algorithm,
            category,
            words=self._words,
            sentence_rate=rules.sentence_rate,
            noise=rules.noise if rules.noisy else None,
            **values,
            **self._figures(rules),
        )

    def claimed(self, rules: Rules, category: str) -> Row:
        """The published figure of a category, without training."""
        key = f"{self._name}-claim-{rules.algorithm}-{category}-z{rules.noise:g}"
        values = self._record.part(
            key, lambda: self._published(rules, self._users(category, masked=False))
        )
        return Row(rules.algorithm, category, noise=rules.noise, **values)

    def _trained(self, rules: Rules, category: str, seeds: int) -> dict[str, Any]:
        users = self._users(category, masked=rules.algorithm == "de-identified")
        found = []
        for seed in range(1, seeds + 1):
            model = self._model(rules.algorithm)
            trainer = UserEntityTrainer(rules, users, model, seed=seed)
            for step in range(self._size.steps):
                trainer.step(step)
            found.append(quality(model, self._tested()))
        out = _columns(found)
        if rules.algorithm == "certified":
            out["dropped"] = trainer.dropped.sentences / sum(map(len, users))
        if rules.algorithm.startswith("published"):
            out |= self._published(rules, users)
        return out | {"sensitive": corpora.sensitive_share(users)}

    def _figures(self, rules: Rules) -> dict[str, Any]:
        """What holds: the same for all text, so computed once."""

        def compute() -> dict[str, float]:
            loss = rules.loss(self._size.steps)
            figures = {} if loss is None else asdict(loss)
            return {name: value for name, value in figures.items() if value < math.inf}

        if not rules.private:
            return {}
        key = f"epsilon-{rules.algorithm}-z{rules.noise:.6g}"
        return dict(self._record.part(key, compute))

    def _published(self, rules: Rules, users: Users) -> dict[str, Any]:
        share = corpora.sensitive_share(users)
        figures = rules.published(self._size.steps, share)
        return {
            "claimed": figures.claimed,
            "at_least": figures.at_true_rate,
            "sensitive": share,
        }

    def _model(self, algorithm: str) -> AwdLstm:
        steps = "-".join(map(str, self._size.public_steps))
        path = self._record.folder / "parts" / f"{self._name}-start-{steps}.safetensors"
        if not path.is_file():
            self._record.say(f"{self._record.recipe}: {self._name}, training on public text")
            start.trained_on_public(path, self.corpus.words, self.corpus.public())
        private = algorithm in ("certified", "user-level")
        return start.network(path, self.corpus.words, _TRAINED if private else PARTS)

    @property
    def _words(self) -> int:
        return len(self.corpus.words.vectors)

    def _users(self, category: str, *, masked: bool) -> Users:
        if (category, masked) not in self._read:
            self._read = {(category, masked): self.corpus.users(category, masked)} | (
                {key: users for key, users in self._read.items() if key[0] == "all"}
            )
        return self._read[category, masked]

    def _tested(self) -> Sequence[UserText]:
        if self._test is None:
            self._test = self.corpus.test()
        return self._test


def _columns(found: Sequence[Quality]) -> dict[str, Any]:
    return {
        "perplexity": [one.perplexity for one in found],
        "error_rate": [one.error_rate for one in found],
        "entities": [one.entities for one in found if one.entities is not None],
        "others": [one.others for one in found if one.others is not None],
    }


def _introduction(size: Size) -> list[str]:
    paper, ours = ((__doc__ or "\n\n\n\n").split("\n\n"))[1:3]
    news = (
        f"AG News: {size.ag_news:,} texts to train on, entities found by spaCy's en_core_web_md; "
        "its public text is that of CoNLL-2003 alone."
        if size.ag_news
        else "AG News needs a recogniser of entities and is left to the full run."
    )
    other, own = size.public_steps
    return [
        paper.replace("\n", " "),
        ours.strip().replace("\n", " "),
        f"Where we differ: the vocabulary is public, the first {size.words:,} words of the starter "
        "space, where the paper counts words in the protected text; all other words are one "
        "unknown word, which is predicted too, so perplexities do not compare with the paper's but "
        f"with each other. Every run has {size.steps} steps and begins with one network: the "
        f"starter space's vectors, then {other} steps on AG News and {own} on three of four "
        "validation documents of CoNLL-2003, which play public text of the same kind. "
        "Learning rates, optimisers, norms and bounds of certified and of de-identified training "
        "were chosen among a few values, in runs with one seed, on the other quarter. "
        "SEC contracts are not to be had. " + news,
        "Certified: users are drawn with rate "
        f"{_PRIVATE.user_rate:g}, entities with {_PRIVATE.entity_rate:g}; an entity counts with at "
        f"most {_PRIVATE.holders} users and in {_PRIVATE.cells} cell of each; delta is "
        f"{_PRIVATE.delta:g}. The guarantee is for the data after sentences beyond these bounds "
        "were dropped. Draws and noise have seeds, so that the run can be repeated: these models "
        "are for measuring, not for release.",
    ]
