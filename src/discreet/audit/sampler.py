"""Does the sampler follow the law it claims? Finite laws, output by output.

Three things are compared with the law: the outputs of a few inputs drawn many times, one draw's
place in its own law pooled over many inputs, and for each of these inputs how often its likeliest
output and its own name come out. All tests are exact or proven bounds at any sample size.

The guarantee of noise-then-nearest rests on the search seeing the noisy vector alone. Releases are
compared with the nearest words of noisy vectors that the audit draws and searches by itself: a
search that also looks at the input (to avoid it, for example) gives other frequencies.
"""

from dataclasses import dataclass

import numpy as np

from discreet.arrays import Floats, Generator, Ids, Rows, row_blocks
from discreet.audit.chance import binomial_p_values, fit_p_value, same_rate_p_value
from discreet.audit.subject import Subject, VectorStage
from discreet.spaces.neighbours import nearest_words

CELLS = 32
_TAIL_CELLS = 14
_BLOCK_NUMBERS = 2**22
_LIKELY = 15
_GROUPS = 16


@dataclass(frozen=True)
class Misfit:
    """The smallest p-value of some tests, already multiplied by their number."""

    p_value: float
    tests: int
    input: int | None = None
    """The input that it belongs to, if it is one input's."""
    what: str = ""


def worst_misfit(misfits: list[Misfit]) -> Misfit:
    """The most telling of some results, corrected for looking at all of them."""
    worst = min(misfits, key=lambda m: m.p_value)
    tests = sum(m.tests for m in misfits)
    return Misfit(min(1.0, worst.p_value * tests), tests, worst.input, worst.what)


def few_inputs(subject: Subject, inputs: Ids, draws: int, rng: Generator) -> list[Misfit]:
    """Draw each of a few inputs often and compare the outputs with its row of the law."""
    order = rng.permutation(len(inputs) * draws)
    batch = np.repeat(inputs, draws)[order]
    out = subject.release(batch, rng)
    hashed = rng.integers(0, CELLS, subject.outputs or 1)
    misfits, places = [], []
    for x in inputs:
        law = np.exp(subject.log_probabilities(np.array([x]))[0])
        drawn = out[batch == x]
        counts = np.bincount(drawn, minlength=len(law))
        places.append(_places(law, drawn, rng))
        for what, cells in (
            ("in order of probability", equal_cells(law)),
            ("in the tail", tail_cells(law)),
            ("in random groups", hashed),
        ):
            merged: Floats = np.bincount(cells, weights=law).astype(np.float64)
            p = fit_p_value(np.bincount(cells, weights=counts).astype(np.int64), merged)
            if (counts[law <= 0] > 0).any():
                p, what = 0.0, "where its probability is 0"
            misfits.append(Misfit(p, 1, int(x), what))
    return [*misfits, _uniform(np.concatenate(places))]


def equal_cells(law: Floats) -> Ids:
    """A cell for each output: likely ones alone, the others in groups of about equal mass."""
    order = np.argsort(-law, kind="stable")
    before = np.cumsum(law[order]) - law[order]
    cells = np.empty(len(law), dtype=np.int64)
    cells[order] = np.minimum(before * CELLS, CELLS - 1).astype(np.int64)
    return cells


def tail_cells(law: Floats) -> Ids:
    """A cell for each output by the mass of those that are not likelier: 1/2, 1/4, 1/8, ..."""
    order = np.argsort(law, kind="stable")
    up_to = np.cumsum(law[order])
    cells = np.empty(len(law), dtype=np.int64)
    with np.errstate(divide="ignore"):
        depth = np.minimum(-np.log2(np.minimum(up_to, 1.0)), _TAIL_CELLS)
    cells[order] = depth.astype(np.int64)
    return cells


def many_inputs(subject: Subject, inputs: Ids, draws: int, rng: Generator) -> list[Misfit]:
    """A few draws of each of many inputs."""
    width = subject.outputs or 1
    batch = np.repeat(inputs, draws)
    order = rng.permutation(len(batch))
    out = np.empty(len(batch), dtype=np.int64)
    out[order] = subject.release(batch[order], rng)
    table = out.reshape(len(inputs), draws)
    places = np.empty((len(inputs), draws))
    likeliest, chance = np.empty(len(inputs), dtype=np.int64), np.empty(len(inputs))
    own_chance = np.empty(len(inputs))
    impossible = []
    for rows in row_blocks(len(inputs), width, numbers=_BLOCK_NUMBERS):
        laws = np.exp(subject.log_probabilities(inputs[rows]))
        likeliest[rows] = laws.argmax(axis=1)
        chance[rows] = laws.max(axis=1)
        if width == subject.count:
            own_chance[rows] = laws[np.arange(len(laws)), inputs[rows]]
        for i, law in enumerate(laws, rows.start):
            if (law[table[i]] <= 0).any():
                impossible.append(int(inputs[i]))
            places[i] = _places(law, table[i], rng)
    if impossible:
        return [Misfit(0.0, 1, impossible[0], "where its probability is 0")]
    misfits = [
        _uniform(places.ravel()),
        _per_input(inputs, (table == likeliest[:, None]).sum(axis=1), draws, chance, "likeliest"),
    ]
    if width == subject.count:
        kept = (table == inputs[:, None]).sum(axis=1)
        misfits.append(_per_input(inputs, kept, draws, own_chance, "own"))
    return misfits


def _places(law: Floats, drawn: Ids, rng: Generator) -> Floats:
    """Where draws fall in their law, from its least likely output (0) to its likeliest (1).

    Uniform if the draws follow the law, so draws of different inputs can be looked at together.
    """
    rising = np.sort(law)
    up_to = np.append(0.0, np.cumsum(rising))
    low = up_to[np.searchsorted(rising, law[drawn], "left")]
    high = up_to[np.searchsorted(rising, law[drawn], "right")]
    # Outputs of equal probability share a stretch; where in it is left to chance.
    return np.asarray(low + (high - low) * rng.random(len(drawn)))


def _uniform(places: Floats) -> Misfit:
    edges = 2.0 ** -np.arange(1, _TAIL_CELLS + 1)
    edges = np.unique(np.concatenate([edges, 1 - edges, np.arange(1, 8) / 8]))
    counts = np.bincount(np.searchsorted(edges, places), minlength=len(edges) + 1)
    p_value = fit_p_value(counts, np.diff(np.concatenate([[0.0], edges, [1.0]])))
    return Misfit(p_value, 1, what="likely and unlikely outputs are out of proportion")


def _per_input(inputs: Ids, counts: Ids, draws: int, chance: Floats, which: str) -> Misfit:
    p_values = binomial_p_values(counts, draws, chance)
    worst = int(p_values.argmin())
    return Misfit(
        float(p_values[worst]),
        len(inputs),
        int(inputs[worst]),
        f"how often its {which} output comes out: {counts[worst]} of {draws}, "
        f"expected {draws * chance[worst]:.3g}",
    )


def nearest_misfits(
    subject: Subject, stage: VectorStage, points: Rows, inputs: Ids, draws: int, rng: Generator
) -> list[Misfit]:
    """Compare releases of some inputs with nearest words found by the audit."""

    def reference(ids: Ids) -> Ids:
        return nearest_words(points, stage.add_noise(stage.at(ids), rng))

    pilot = reference(np.repeat(inputs, draws // 4)).reshape(len(inputs), -1)
    batch = np.repeat(inputs, draws)
    expected = reference(batch).reshape(len(inputs), -1)
    released = subject.release(batch, rng).reshape(len(inputs), -1)
    group = rng.integers(0, _GROUPS, len(points))
    misfits = []
    for x, seen, ours, theirs in zip(inputs, pilot, expected, released, strict=True):
        values, counts = np.unique(seen, return_counts=True)
        likely = values[np.argsort(-counts, kind="stable")[:_LIKELY]]
        events = [("itself", theirs == x, ours == x)]
        events += [(f"output {y}", theirs == y, ours == y) for y in likely.tolist() if y != int(x)]
        events += [
            ("a group of outputs", group[theirs] == g, group[ours] == g) for g in range(_GROUPS)
        ]
        for what, a, b in events:
            told = f"{what} in {a.mean():.2%} of releases, nearest in {b.mean():.2%}"
            misfits.append(Misfit(same_rate_p_value(a, b), 1, int(x), told))
    return misfits
