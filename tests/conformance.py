"""What must hold for every mechanism of every family, checked exactly wherever it can be.

A mechanism is looked at through :class:`Fed`, which numbers inputs for it: the words of its space,
the labels there are, unit vectors, or all documents of three sentences over five places. Each
check is a function of it that fails by an assertion; ``test_conformance.py`` runs them all on the
examples of every mechanism's own test module, and shows for each a mutant that it catches.
"""

import inspect
import math
from collections.abc import Callable

import numpy as np
from scipy import stats

from discreet.errors import InvalidValue
from discreet.mechanisms.material import made_up_store
from discreet.mechanisms.registry import MechanismEntry, mechanism
from discreet.protocols import FiniteMechanism, Mechanism
from discreet.spaces.neighbours import NearestWords
from discreet.spaces.space import EmbeddingSpace
from discreet.statement import Adjacency, MetricKind, Notion, PrivacyStatement, Unit
from goodness import LEVEL, fits
from noise_laws import independent
from sentence_neighbours import all_documents
from small_spaces import all_distances

TOLERANCE = 1e-9
UNITS = {
    "word": Unit.WORD,
    "sentence": Unit.SENTENCE,
    "document": Unit.SENTENCE,
    "label": Unit.LABEL,
}
SECRET = 87654
"""Digits that no message may repeat."""
_SENTENCES = 3
_DRAWS = 40_000
_LINE = np.concatenate([np.linspace(-2.0, 3.0, 21), [1e-3, 0.999]])


class Fed:
    """A mechanism with numbered inputs.

    ``law`` is the table of a finite law, a row per input, or None; then ``noisy`` and
    ``log_density`` are of the vector whose density is known.
    """

    def __init__(self, family: str, mechanism: Mechanism) -> None:
        self.family, self.mechanism = family, mechanism
        self.law = None
        # A document is several rows, and deep candidates take their time.
        self.draws = _DRAWS // 4 if family == "document" else _DRAWS
        getattr(self, f"_{family}")()
        self.allowed = self._allowed()

    def release(self, ids, rng):
        return self.mechanism.release(*self.fed(ids, rng))

    def fed(self, ids, *between):
        """The arguments of ``release`` for some inputs."""
        ids = np.asarray(ids)
        if self.family == "document":
            rows = self._inputs[ids].reshape(-1, self.mechanism.dimension)
            return rows, *between, np.arange(len(ids) + 1) * _SENTENCES
        return (self._inputs[ids], *between)

    def _word(self) -> None:
        subject = self.mechanism
        self.count = len(subject.space)
        self._inputs = np.arange(self.count)
        if not hasattr(subject, "noise"):
            self.law = subject.log_probabilities(self._inputs)
            return
        self.centres = subject.points.astype(np.float64)
        self.noisy = lambda ids, rng: subject.noisy(np.asarray(ids), rng)
        self.log_density = lambda ids, out: subject.noise.log_density(self.centres[ids], out)

    def _label(self) -> None:
        self.count = self.mechanism.classes
        self._inputs = np.arange(self.count)
        self.law = self.mechanism.log_probabilities(self._inputs)

    def _sentence(self) -> None:
        subject, rng = self.mechanism, np.random.default_rng(0)
        some = rng.standard_normal((4, subject.dimension))
        rows = np.concatenate([some, -some, some + 0.05 * rng.standard_normal(some.shape)])
        self._inputs = self.centres = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        self.count = len(rows)
        noise = getattr(subject, "noise", None)
        # With noise of its own, a release is what post-processing makes of the noisy vector.
        self.noisy = lambda ids, rng: (
            self.release(ids, rng).astype(np.float64)
            if noise is None
            else noise.add_noise(self._inputs[ids], rng)
        )
        self.log_density = lambda ids, out: subject.log_density(self._inputs[ids], out)

    def _document(self) -> None:
        subject = self.mechanism
        rows, _, self.chosen = all_documents(_SENTENCES, subject.dimension)
        self._inputs = rows.reshape(len(self.chosen), -1)
        self.count = len(self.chosen)
        everything = np.arange(self.count)
        if hasattr(subject, "log_probabilities"):
            self.law = subject.log_probabilities(*self.fed(everything))
            return
        statistic = subject.statistic(*self.fed(everything))
        self.centres, self._whole = statistic.astype(np.float64), statistic.dtype.kind == "i"

        def noisy(ids, rng):
            drawn = subject.noisy(*self.fed(ids, rng))
            # Whole numbers are spread over those that round to them: then they have a density.
            return drawn + rng.uniform(-0.5, 0.5, drawn.shape) if self._whole else drawn

        def log_density(ids, outputs):
            told = np.rint(outputs).astype(int) if self._whole else outputs
            return subject.log_density(*self.fed(ids, told))

        self.noisy, self.log_density = noisy, log_density

    def _allowed(self) -> np.ndarray:
        """The loss that the statement allows for each pair of inputs."""
        statement, subject = self.mechanism.statement, self.mechanism
        if statement.metric is None:
            apart = np.ones((self.count, self.count))
            if self.family == "document":
                apart = (self.chosen[:, None] != self.chosen).sum(axis=2)
            return statement.epsilon * apart
        first, second = (i.ravel() for i in np.indices((self.count, self.count)))
        if hasattr(subject, "distance"):
            distances = subject.distance(first, second).reshape(self.count, -1)
        elif statement.metric.kind is MetricKind.ANGLE:
            # By the half-angle formula: the arc cosine is useless for small angles.
            halves = [
                np.linalg.norm(self._inputs[:, None] + sign * self._inputs, axis=2)
                for sign in (-1, 1)
            ]
            distances = 2 * np.arctan2(*halves)
        elif self.family == "word":
            distances = all_distances(subject.space)
        else:
            distances = np.linalg.norm(self._inputs[:, None] - self._inputs, axis=2)
        return statement.epsilon * distances + statement.slack

    def outcomes(self, ids, rng):
        """What came out for each input, as the number of a column of a finite law."""
        if self.family == "document":
            return self.mechanism.select(*self.fed(ids, rng))
        return self.release(ids, rng)


# -- the statement ---------------------------------------------------------------------------------


def check_statement(fed: Fed) -> None:
    """A constant of the right unit, which survives a file."""
    subject = fed.mechanism
    before = subject.statement
    fed.release(np.arange(min(3, fed.count)), np.random.default_rng(0))
    assert isinstance(subject, Mechanism)
    assert subject.statement == before, "the statement changed"
    assert PrivacyStatement.from_json(before.to_json()) == before
    assert before.unit is UNITS[fed.family], "the statement is about another unit"
    assert before.adjacency is Adjacency.REPLACE
    assert before.scope, "no scope"
    assert before.public, "nothing is said to be public"


# -- the privacy inequality ------------------------------------------------------------------------


def check_inequality(fed: Fed) -> None:
    """Exactly over all pairs and outputs of a finite law; else by the density at many points."""
    statement = fed.mechanism.statement
    if fed.law is not None:
        assert np.abs(np.exp(fed.law).sum(axis=1) - 1).max() < 1e-9, "the law does not add up to 1"
        assert excess_of(statement, fed.law, fed.allowed) <= TOLERANCE, "the loss is too large"
        return
    rng = np.random.default_rng(1)
    if statement.notion is Notion.APPROXIMATE:
        for x, y in far_pairs(fed.centres):
            low = least_delta(fed, x, y, rng)
            assert low <= statement.delta, f"delta is at least {low}"
        return
    pairs = np.concatenate([far_pairs(fed.centres), rng.integers(0, fed.count, (60, 2))])
    for x, y in pairs[pairs[:, 0] != pairs[:, 1]]:
        outputs = np.concatenate([fed.noisy([x] * 20, rng), fed.noisy([y] * 20, rng)])
        line = fed.centres[x] + _LINE[:, None] * (fed.centres[y] - fed.centres[x])
        if np.abs(np.linalg.norm(outputs, axis=1) - 1).max() < 1e-4:
            lengths = np.linalg.norm(line, axis=1, keepdims=True)
            line = (line / np.maximum(lengths, 1e-300))[lengths[:, 0] > 1e-6]
        outputs = np.concatenate([outputs, line])
        at_x, at_y = (fed.log_density(np.full(len(outputs), i), outputs) for i in (x, y))
        rounding = TOLERANCE * (1 + np.abs(at_x).max())
        assert (np.abs(at_x - at_y) <= fed.allowed[x, y] + rounding).all(), "the loss is too large"


def excess_loss(mechanism: FiniteMechanism, distances: np.ndarray) -> float:
    """Largest log-ratio minus what the statement allows, over all pairs of words and outputs."""
    statement = mechanism.statement
    logs = mechanism.log_probabilities(np.arange(len(distances)))
    metric = statement.metric is not None
    allowed = statement.epsilon * (distances if metric else np.ones_like(distances))
    return excess_of(statement, logs, allowed + statement.slack)


def excess_of(statement: PrivacyStatement, logs: np.ndarray, allowed: np.ndarray) -> float:
    """The same from a table of log-probabilities, a row per input, and of allowed losses."""
    assert statement.notion in (Notion.METRIC, Notion.UTILITY_OPTIMISED, Notion.PURE)
    worst, reached = -math.inf, np.isfinite(logs)
    if reached.all():  # as in most laws: then nothing has to be left out
        return max(
            float(((row - logs).max(axis=1) - own).max())
            for row, own in zip(logs, allowed, strict=True)
        )
    for x, row in enumerate(logs):
        both = reached[x] & reached
        if statement.notion is not Notion.UTILITY_OPTIMISED:
            # A word that one input reaches and another does not is an infinite ratio.
            if not (reached[x] == reached).all():
                return math.inf
        else:
            # Outside the protected outputs only the word itself may come out.
            alone = reached[x] & ~reached
            alone[x] = False
            unprotected = set(np.flatnonzero(alone.any(axis=0)))
            if not unprotected <= {x}:
                return math.inf
            if unprotected:
                both[:, x] = False
        with np.errstate(invalid="ignore"):
            ratio = np.where(both, row - logs, -math.inf).max(axis=1)
        worst = max(worst, float((ratio - allowed[x]).max()))
    return worst


def far_pairs(centres: np.ndarray) -> np.ndarray:
    """The farthest pairs by the l2, the l1 and the largest-coordinate distance."""
    gaps = np.abs(centres[:, None] - centres)
    tables = (np.sqrt((gaps**2).sum(axis=2)), gaps.sum(axis=2), gaps.max(axis=2))
    return np.array([np.unravel_index(table.argmax(), table.shape) for table in tables])


def least_delta(fed: Fed, x: int, y: int, rng: np.random.Generator) -> float:
    """What delta of a pair is at least, but for a chance of 1e-9, by simulation."""
    statement = fed.mechanism.statement
    outputs = fed.noisy(np.full(fed.draws, x), rng)
    at_x, at_y = (fed.log_density(np.full(fed.draws, i), outputs) for i in (x, y))
    values = -np.expm1(np.minimum(statement.epsilon - (at_x - at_y), 0.0))
    return float(values.mean() - stats.norm.isf(LEVEL) * values.std() / math.sqrt(fed.draws))


# -- the sampler -----------------------------------------------------------------------------------


def check_sampler(fed: Fed) -> None:
    """What is drawn follows the law; cries wolf once in 1e9 runs for each comparison."""
    rng = np.random.default_rng(20260101)
    if fed.law is None:
        for p_value in balances(fed, rng):
            assert p_value > LEVEL, "the sampler is off its density"
        return
    for x in dict.fromkeys((0, fed.count // 2, fed.count - 1)):
        draws = fed.outcomes(np.full(fed.draws, x), rng)
        assert fits(draws, np.exp(fed.law[x])), f"the sampler is off its law for input {x}"
    mixed = rng.integers(0, fed.count, 5_000)
    assert np.isfinite(fed.law[mixed, fed.outcomes(mixed, rng)]).all(), "drawn with probability 0"


def balances(fed: Fed, rng: np.random.Generator) -> list[float]:
    """Change each draw, accept as the density says, and count rises against falls: a fair coin.

    If a draw has the density p, a change that is as easily undone as done and accepted with
    probability min(1, p' / p) leads up as often as down, whatever figure is looked at.
    """
    ids = rng.integers(0, fed.count, 40_000)
    drawn, centre = fed.noisy(ids, rng), fed.centres[ids]
    pilot = fed.noisy(ids[:2000], rng) - centre[:2000]
    n, d = drawn.shape
    sign = rng.choice((-1.0, 1.0), n)
    axis, every = rng.integers(0, d, n), np.arange(n)
    if np.abs(np.linalg.norm(drawn, axis=1) - 1).max() < 1e-4 and d > 1:
        drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
        way = rng.standard_normal((n, d))
        way -= (way * drawn).sum(axis=1, keepdims=True) * drawn
        way /= np.linalg.norm(way, axis=1, keepdims=True)
        turn = rng.uniform(0.2, 3.0, n)[:, None] * pilot.std()
        moved = np.cos(turn) * drawn + np.sin(turn) * way
        changes = [(moved, 0.0, (drawn * centre).sum(axis=1), (moved * centre).sum(axis=1))]
    else:
        noise = drawn - centre
        step = sign * rng.uniform(0.2, 2.0, n) / math.sqrt(d)
        length = np.linalg.norm(noise, axis=1)
        moved = drawn.copy()
        moved[every, axis] += sign * rng.uniform(0.2, 3.0, n) * pilot.std(axis=0)[axis]
        mirrored = drawn.copy()
        mirrored[every, axis] = (2 * centre - drawn)[every, axis]
        place = np.abs(noise[every, axis]), np.abs((moved - centre)[every, axis])
        changes = [
            (centre + noise * np.exp(step)[:, None], d * step, length, length * np.exp(step)),
            (moved, 0.0, *place),
            (mirrored, 0.0, drawn[every, axis], mirrored[every, axis]),
        ]
    now = fed.log_density(ids, drawn)
    assert (now > -np.inf).all(), "drawn where the density is 0"
    found = []
    for changed, volume, before, after in changes:
        with np.errstate(over="ignore"):
            taken = rng.random(n) < np.exp(fed.log_density(ids, changed) - now + volume)
        up, down = int((taken & (after > before)).sum()), int((taken & (after < before)).sum())
        found.append(float(stats.binomtest(up, up + down).pvalue) if up + down else 1.0)
    return found


# -- batches ---------------------------------------------------------------------------------------


def check_rows(fed: Fed) -> None:
    """A batch is its rows one by one: the same laws, and noise of its own for every position."""
    rng = np.random.default_rng(20260102)
    some = rng.permutation(fed.count)[:7]
    assert len(fed.release(some, rng)) == len(some)
    x = fed.count // 2
    if fed.law is not None:
        subject = fed.mechanism
        rows = np.concatenate([subject.log_probabilities(*fed.fed([i])) for i in some])
        assert np.allclose(rows, fed.law[some], rtol=1e-12, atol=1e-12), "rows change in a batch"
        draws = fed.outcomes(np.full(2 * fed.draws, x), rng)
        law, width = np.exp(fed.law[x]), fed.law.shape[1]
        pairs = draws[0::2] * width + draws[1::2]
        assert fits(pairs, np.outer(law, law).ravel()), "neighbours share their noise"
        return
    for draw in (fed.noisy, fed.release):
        rows = np.asarray(draw(np.full(4000, x), rng), dtype=np.float64)
        if rows.ndim == 1:  # words: their noisy vectors were looked at
            continue
        if draw == fed.noisy:
            assert len(np.unique(rows, axis=0)) > 3900, "rows share their noise"
        column = rows[:, 0]
        assert np.ptp(column) > 0, "rows share their noise"
        assert independent(column[0::2], column[1::2]), "neighbours share their noise"
    together = np.concatenate([fed.noisy(some, rng) for _ in range(2)])
    assert len(np.unique(together[:, 0])) == len(together), "calls share their noise"


def check_empty(fed: Fed) -> None:
    """Nothing in, nothing out."""
    out = fed.release(np.arange(0), np.random.default_rng(0))
    full = fed.release(np.arange(2), np.random.default_rng(0))
    assert out.shape == (0, *full.shape[1:])
    assert out.dtype == full.dtype


def check_seeds(fed: Fed) -> None:
    """The same seed gives the same, another seed something else."""
    ids = np.arange(3000) % fed.count
    first, again, other = (fed.release(ids, np.random.default_rng(s)) for s in (7, 7, 8))
    assert (first == again).all(), "the seed does not decide the draws"
    sure = fed.law is not None and np.exp(fed.law).max(axis=1).min() > 0.999
    stays = fed.family == "word" and (first == ids).mean() > 0.999
    assert (first != other).any() or sure or stays, "another seed changes nothing"


def check_inputs_stay(fed: Fed) -> None:
    """Inputs are read, never written to."""
    rng = np.random.default_rng(3)
    arguments = [np.array(part) for part in fed.fed(np.arange(min(5, fed.count)))]
    copies = [part.copy() for part in arguments]
    for part in arguments:
        part.flags.writeable = False
    try:
        fed.mechanism.release(arguments[0], rng, *arguments[1:])
    except ValueError as error:
        raise AssertionError(f"inputs are written to: {error}") from error
    assert all((a == b).all() for a, b in zip(arguments, copies, strict=True))


# -- what is refused -------------------------------------------------------------------------------


def check_refusals(fed: Fed) -> None:
    """Wrong shapes, kinds and ids are errors of ours, which repeat nothing of the input."""
    for bad in _bad_inputs(fed):
        try:
            fed.mechanism.release(bad[0], np.random.default_rng(0), *bad[1:])
        except InvalidValue as error:
            told = str(error)
        except Exception as error:
            raise AssertionError(f"not an error of ours: {error!r}") from error
        else:
            raise AssertionError(f"release took an array of shape {np.shape(bad[0])}")
        assert str(SECRET) not in told, "a message repeats what was given"


def _bad_inputs(fed: Fed) -> list[tuple]:
    if fed.family in ("word", "label"):
        bad = ([SECRET], [-SECRET], [SECRET + 0.5], [[SECRET]], [f"tea {SECRET}"], [True])
        return [(np.array(values),) for values in bad]
    width = fed.mechanism.dimension
    good = np.zeros((4, width))
    good[:, 0] = 1.0
    bad = [
        good[0],
        np.concatenate([good, good], axis=1),
        good[:, :-1],
        np.where(good == 1, np.nan, 0.0),
        np.full(good.shape, f"tea {SECRET}"),
        np.full(good.shape, np.inf),
        good + 1j,
    ]
    if fed.family == "sentence":
        return [(rows,) for rows in [*bad, SECRET * good, 0 * good]]
    far = SECRET * good
    wrong = ([0, 3, 4], [1, 4], [0, 2], [0, 4, 2, 4], [0.0, 4.0], [[0, 4]], [0, 2, 2, 4], [])
    return [(rows, [0, 4]) for rows in bad] + [(far, np.array(offsets)) for offsets in wrong]


# -- noise, then the nearest word ------------------------------------------------------------------


def check_nearest(fed: Fed) -> None:
    """A word mechanism with noise releases the nearest word of the noisy vector, and knows no more.

    Also every row gets its own noise, the same word in one batch and every batch included.
    """
    if fed.family == "word" and hasattr(fed.mechanism, "noise"):
        assert_fresh_noise(fed.mechanism, np.random.default_rng(0))
        ids = np.random.default_rng(5).integers(0, fed.count, 3_000)
        assert_release_is_the_search_of_the_noisy_vectors(fed.mechanism, ids, 20260101)


def assert_fresh_noise(mechanism, rng: np.random.Generator) -> None:
    """Every row its own noise, also the same word in one batch, and every batch new noise."""
    ids = np.arange(64) % len(mechanism.space)
    base = mechanism.points[ids].astype(np.float64)
    draws = np.concatenate([mechanism.noisy(ids, rng) - base for _ in range(2)])
    for column in draws.T:
        # One vector for all rows, or one number for all coordinates of a batch, would repeat.
        assert len(np.unique(column.round(12))) > 100, "rows share their noise"
    same = mechanism.noisy(np.zeros(64, dtype=np.int64), rng)
    assert len(np.unique(same, axis=0)) == 64, "the same word gets the same noise again"


def assert_release_is_the_search_of_the_noisy_vectors(mechanism, ids, seed: int) -> None:
    """The search is handed noisy vectors and nothing else, and it is the plain nearest point."""
    assert list(inspect.signature(NearestWords.search).parameters) == ["self", "vectors"]
    noisy = mechanism.seen(mechanism.noisy(ids, np.random.default_rng(seed)))
    released = mechanism.release(ids, np.random.default_rng(seed))
    gaps = noisy[:, None, :] - mechanism.points[None, :, :].astype(np.float64)
    distances = np.linalg.norm(gaps, axis=2)
    chosen = distances[np.arange(len(ids)), released]
    assert (chosen <= distances.min(axis=1) * (1 + 1e-12)).all(), "not the nearest word"


# -- documents -------------------------------------------------------------------------------------


def check_capitals(fed: Fed) -> None:
    """Where it is told which words have capitals, the law with them keeps the same promise."""
    if "capitals" not in inspect.signature(fed.mechanism.release).parameters:
        return
    ids, told = np.arange(fed.count), np.ones(fed.count, bool)
    law = fed.mechanism.log_probabilities(ids, (), told)
    assert np.abs(np.exp(law).sum(axis=1) - 1).max() < TOLERANCE, "the law does not add up"
    with np.errstate(invalid="ignore"):
        losses = np.nan_to_num(law[:, None] - law, nan=0.0).max(axis=2)
    assert (losses <= fed.allowed + TOLERANCE).all(), "more is lost with capitals"
    unknown = fed.mechanism.space.unknown or 0
    drawn, rng = np.full(fed.draws, unknown), np.random.default_rng(2)
    out = fed.mechanism.release(drawn, rng, capitals=np.ones(fed.draws, bool))
    assert fits(out, np.exp(law[unknown])), "another law than it says"


def check_choice(fed: Fed) -> None:
    """A document mechanism that chooses releases what it chose."""
    if fed.family == "document" and fed.law is not None:
        ids = np.arange(fed.count)
        chosen = fed.outcomes(ids, np.random.default_rng(1))
        released = fed.release(ids, np.random.default_rng(1))
        assert (released == fed.mechanism.choices[chosen]).all(), "something else is released"


PER_MECHANISM: tuple[Callable[[Fed], None], ...] = (
    check_statement,
    check_inequality,
    check_sampler,
    check_rows,
    check_empty,
    check_seeds,
    check_inputs_stay,
    check_refusals,
    check_nearest,
    check_capitals,
    check_choice,
)


# -- the door --------------------------------------------------------------------------------------


def check_built_by_name(entry: MechanismEntry, example: Mechanism) -> None:
    """The registry makes the same by name, from the public material and the settings."""
    assert type(example) is entry.kind, "the registry finds another class"
    kinds = int | float | str | tuple | np.ndarray | EmbeddingSpace
    given = {
        name: getattr(example, name)
        for name in inspect.signature(entry.kind).parameters
        if isinstance(getattr(example, name, None), kinds) or name == "guide"
    }
    if entry.family == "label":
        given.setdefault("labels", example.classes)
    assert mechanism(entry.name, **given).statement == example.statement, "the statements differ"
    if entry.family == "document":
        built = entry.build({"store": made_up_store(), "epsilon": 2.5})
        assert built.statement.epsilon == 2.5
        assert built.statement.public == example.statement.public


def check_described(entry: MechanismEntry) -> None:
    """The docstring says what is guaranteed and how to use it, the settings what they mean."""
    told = inspect.getdoc(entry.kind) or ""
    for part in ("Privacy: ", "Args:", ">>> "):
        assert part in told, f"the docstring has no {part.strip()}"
    assert all(declared.setting.help for declared in entry.settings), "a setting is not explained"
