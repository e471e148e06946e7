"""The conformance suite, on the examples of every mechanism's own test module."""

from dataclasses import replace

import numpy as np
import pytest

import conformance as suite
from discreet.mechanisms.document import SentenceVotes, Truncation, VoteHistogram
from discreet.mechanisms.label import RandomizedResponse
from discreet.mechanisms.registry import MechanismEntry, entries, find
from discreet.mechanisms.sentence import PlanarLaplace, Purkayastha, SphereGaussian
from discreet.mechanisms.word import CMP, Gaussian, NearWords, SanText
from discreet.statement import Unit
from mechanism_examples import examples
from small_spaces import clustered_space, everyday_space, random_space

CASES = [
    pytest.param(entry, make, id=f"{entry.family}-{entry.name}-{name}")
    for entry in entries()
    for name, make in examples(entry).items()
]


@pytest.mark.parametrize(("entry", "make"), CASES)
def test_the_mechanism_keeps_its_promises(entry, make):
    fed = suite.Fed(entry.family, make())
    for check in suite.PER_MECHANISM:
        check(fed)
    suite.check_built_by_name(entry, fed.mechanism)


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry.name)
def test_every_mechanism_has_examples_and_a_description(entry):
    assert examples(entry), f"tests/mechanisms/{entry.family} has no EXAMPLES of {entry.name}"
    suite.check_described(entry)


# -- mutants: each check catches at least one ------------------------------------------------------

CENTROIDS = np.array([[-1.0, 0.0], [0.2, 0.0], [0.4, 0.1], [2.0, -1.0]])


def _changed(mechanism, **attributes):
    """The mechanism with other attributes; its statement stays what it was."""
    for name, value in attributes.items():
        setattr(mechanism, name, value)
    return mechanism


class OtherUnit(RandomizedResponse):
    def __init__(self, labels, epsilon):
        super().__init__(labels, epsilon)
        self.statement = replace(self.statement, unit=Unit.WORD)


class Growing(RandomizedResponse):
    """Its statement depends on what was released."""

    def release(self, indices, rng):
        self.statement = self.statement.repeated(2)
        return super().release(indices, rng)


def without_the_half():
    mutant = SanText(clustered_space(60), epsilon=3.0, calibration="published")
    mutant._law.kappa = 3.0
    return mutant


def votes_at_twice_the_rate():
    mutant = SentenceVotes(CENTROIDS, 2.0)
    mutant._rule = SentenceVotes(CENTROIDS, 4.0)._rule
    return mutant


def less_noise(mechanism, factor):
    mechanism.noise.standard_deviation *= factor
    return mechanism


class OffItsLaw(RandomizedResponse):
    def log_probabilities(self, indices):
        return RandomizedResponse(self.classes, 1.07 * self.epsilon).log_probabilities(indices)


class OffItsDensity(PlanarLaplace):
    """Noise that is 7 % too small."""

    def __init__(self, dimension, epsilon):
        super().__init__(dimension, epsilon)
        add_noise = self.noise.add_noise
        self.noise.add_noise = lambda rows, rng: rows + 0.93 * (add_noise(rows, rng) - rows)


class OffItsAngles(Purkayastha):
    def _angles(self, count, rng):
        return Purkayastha(self.dimension, 1.1 * self.epsilon)._angles(count, rng)


class OffItsCounts(VoteHistogram):
    def noisy(self, vectors, rng, offsets=None):
        return VoteHistogram(self.choices, self.weights, self.biases, 1.1 * self.epsilon).noisy(
            vectors, rng, offsets
        )


class PairsShare(RandomizedResponse):
    def release(self, indices, rng):
        drawn = super().release(indices, rng)
        drawn[1::2] = drawn[0::2][: len(drawn[1::2])]
        return drawn


class OneNoise(Truncation):
    def noisy(self, vectors, rng, offsets=None):
        means = self.statistic(vectors, offsets)
        return means + super().noisy(vectors[: np.diff(offsets)[0]], rng) - means[:1]


class AlwaysOne(RandomizedResponse):
    def release(self, indices, rng):
        return super().release(indices if len(indices) else [0], rng)


class OwnRandomness(RandomizedResponse):
    def release(self, indices, rng):  # noqa: ARG002
        return super().release(indices, np.random.default_rng())


class SameRandomness(RandomizedResponse):
    def release(self, indices, rng):  # noqa: ARG002
        return super().release(indices, np.random.default_rng(1))


class Writing(Purkayastha):
    def release(self, vectors, rng):
        vectors /= 1.0
        return super().release(vectors, rng)


class Trusting(RandomizedResponse):
    """Looks at nothing that it is given."""

    def release(self, indices, rng):
        return rng.integers(0, self.classes, len(indices))


class Telling(RandomizedResponse):
    """Repeats what it was given."""

    def release(self, indices, rng):
        try:
            return super().release(indices, rng)
        except ValueError as error:
            raise type(error)(f"{error}; got {np.asarray(indices).tolist()}") from None


class Looking(CMP):
    """A search that leaves the word itself out."""

    def release(self, ids, rng):
        out = super().release(ids, rng)
        return np.where(out == ids, (out + 1) % len(self.space), out)


class MoreNames(NearWords):
    """More names are near an unknown word with a capital than outputs are near any other."""

    def log_probabilities(self, ids, released=(), capitals=None):
        law = super().log_probabilities(ids, released, capitals)
        if capitals is not None:
            law[self.space.unknown, self.words[:9]] = law.max()
            law[self.space.unknown] -= np.log(np.exp(law[self.space.unknown]).sum())
        return law


class UntoldNames(NearWords):
    """Draws unknown words with a capital like others, and says that names are near them."""

    def release(self, ids, rng, offsets=None, passed=None, capitals=None):  # noqa: ARG002
        return super().release(ids, rng, offsets, passed)


class Averaging(SentenceVotes):
    def release(self, vectors, rng, offsets=None):
        return super().release(vectors, rng, offsets) / 2


def histogram(kind=VoteHistogram, epsilon=1.5):
    return kind(np.eye(3), [[1.0, 0.0], [-1.0, 0.5], [0.3, -1.0]], [0.0, 0.1, 0.3], epsilon)


def box(kind=Truncation, epsilon=4.0):
    return kind([-1.0, -0.3], [1.0, 0.3], epsilon)


MUTANTS = {
    "statement of another unit": ("label", lambda: OtherUnit(4, 1.0), "statement"),
    "statement that changes": ("label", lambda: Growing(4, 1.0), "statement"),
    "law without the half": ("word", without_the_half, "inequality"),
    "label kept too often": (
        "label",
        lambda: _changed(RandomizedResponse(4, 1.0), epsilon=1.05),
        "inequality",
    ),
    "choice at twice the rate": ("document", votes_at_twice_the_rate, "inequality"),
    "noise for one count": (
        "document",
        lambda: _changed(histogram(), _noise=histogram(epsilon=3.0)._noise),
        "inequality",
    ),
    "noise for a narrower box": (
        "document",
        lambda: _changed(box(), _noise=box(epsilon=5.0)._noise),
        "inequality",
    ),
    "density 5 % too steep": (
        "sentence",
        lambda: _changed(PlanarLaplace(4, 3.0), noise=PlanarLaplace(4, 3.15).noise),
        "inequality",
    ),
    "word noise 5 % too steep": (
        "word",
        lambda: _changed(CMP(random_space(), 3.0), noise=CMP(random_space(), 3.15).noise),
        "inequality",
    ),
    "half of the sensitivity": (
        "sentence",
        lambda: less_noise(SphereGaussian(4, 1.0, 1e-2), 0.5),
        "inequality",
    ),
    "word noise of half the size": (
        "word",
        lambda: less_noise(Gaussian(random_space(60, dimension=3), 1.0, 1e-2, 1.0), 0.5),
        "inequality",
    ),
    "sampler off a finite law": ("label", lambda: OffItsLaw(4, 2.0), "sampler"),
    "sampler off a density": ("sentence", lambda: OffItsDensity(4, 3.0), "sampler"),
    "sampler off a law of angles": ("sentence", lambda: OffItsAngles(4, 9.0), "sampler"),
    "sampler off its counts": ("document", lambda: histogram(OffItsCounts), "sampler"),
    "neighbours share": ("label", lambda: PairsShare(4, 1.0), "rows"),
    "one noise for a batch": ("document", lambda: box(OneNoise), "rows"),
    "something out of nothing": ("label", lambda: AlwaysOne(4, 1.0), "empty"),
    "randomness of its own": ("label", lambda: OwnRandomness(4, 1.0), "seeds"),
    "always the same": ("label", lambda: SameRandomness(4, 1.0), "seeds"),
    "writes to its input": ("sentence", lambda: Writing(4, 3.0), "inputs_stay"),
    "takes anything": ("label", lambda: Trusting(4, 0.0), "refusals"),
    "repeats what it was given": ("label", lambda: Telling(4, 1.0), "refusals"),
    "avoids the input": ("word", lambda: Looking(random_space(), 1.0), "nearest"),
    "a larger set for names": (
        "word",
        lambda: MoreNames(everyday_space(), 2.0, near=2, outputs=30),
        "capitals",
    ),
    "names that are not drawn": (
        "word",
        lambda: UntoldNames(everyday_space(), 2.0, near=2, outputs=30),
        "capitals",
    ),
    "releases something else": ("document", lambda: Averaging(CENTROIDS, 2.0), "choice"),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_the_mutant_is_caught(name):
    family, make, check = MUTANTS[name]
    with pytest.raises(AssertionError):
        getattr(suite, f"check_{check}")(suite.Fed(family, make()))


def test_every_check_has_a_mutant():
    caught = {f"check_{check}" for _, _, check in MUTANTS.values()}
    assert caught == {check.__name__ for check in suite.PER_MECHANISM}


class Undescribed(RandomizedResponse):
    """Says nothing of privacy."""


def test_what_the_registry_would_make_otherwise_is_caught():
    entry = find("randomized-response")
    with pytest.raises(AssertionError, match="another class"):
        suite.check_built_by_name(entry, OtherUnit(4, 1.0))
    other = _changed(RandomizedResponse(4, 1.0), epsilon=2.0)
    with pytest.raises(AssertionError, match="statements differ"):
        suite.check_built_by_name(entry, other)
    bare = MechanismEntry("randomized-response", "label")
    bare.__dict__["kind"] = Undescribed
    with pytest.raises(AssertionError, match="no Privacy"):
        suite.check_described(bare)
