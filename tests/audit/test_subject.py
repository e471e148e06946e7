"""What an audit makes of different kinds of mechanism, and which inputs it looks at."""

import math

import numpy as np
import pytest

from audit.gallery import Bare, PlanarLaplace, planar
from discreet.audit import audit
from discreet.audit.pairs import far_pairs, near_pairs, special_pairs
from discreet.audit.subject import subject_of
from discreet.errors import InvalidValue
from discreet.mechanisms.word import SanText, SanTextPlus
from discreet.statement import Metric, MetricKind, Notion, PrivacyStatement, Unit
from small_spaces import all_distances, random_space


def units(count, dimension, seed=0):
    rows = np.random.default_rng(seed).standard_normal((count, dimension))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


class Direction:
    """Noise on a unit vector, then back to the sphere; the density is that of the noise."""

    def __init__(self, dimension, epsilon, claimed):
        self.noise = PlanarLaplace(dimension, epsilon)
        self.statement = PrivacyStatement(
            notion=Notion.METRIC,
            epsilon=claimed,
            metric=Metric("distance of unit vectors", 0.1, 1.0, 2.0, MetricKind.EUCLIDEAN),
            unit=Unit.SENTENCE,
        )

    def release(self, vectors, rng):
        noisy = self.noise.add_noise(vectors, rng)
        return noisy / np.linalg.norm(noisy, axis=1, keepdims=True)


@pytest.mark.parametrize(("claimed", "holds"), [(5.0, True), (4.9, False)])
def test_a_vector_mechanism_may_be_noise_and_post_processing(claimed, holds):
    report = audit(Direction(6, 5.0, claimed), inputs=units(20, 6), seed=1, samples=1000)
    assert report.passed == holds, "\n".join(report.lines())
    assert report.finding("law.inequality").found == pytest.approx(5.0, rel=1e-6)
    assert report.finding("law.inequality").pair[0].startswith("input ")


class Angle:
    """Uniform on the circle half of the time, else within 0.1 of the angle of the input."""

    inputs = units(12, 2)
    statement = PrivacyStatement(
        notion=Notion.METRIC,
        epsilon=1.0,
        metric=Metric("radians", 0.1, 1.0, math.pi, MetricKind.ANGLE),
        unit=Unit.SENTENCE,
    )

    def release(self, vectors, rng):
        angle = np.arctan2(vectors[:, 1], vectors[:, 0]) + rng.uniform(-0.1, 0.1, len(vectors))
        angle = np.where(rng.random(len(vectors)) < 0.5, rng.uniform(0, 7, len(vectors)), angle)
        return np.column_stack([np.cos(angle), np.sin(angle)])


def test_angles_are_measured_without_being_told_how():
    subject = subject_of(Angle())
    x, y = np.array([0, 1]), np.array([1, 1])
    expected = math.acos(float(Angle.inputs[0] @ Angle.inputs[1]))
    assert subject.distance(x, y) == pytest.approx([expected, 0.0], abs=1e-7)
    report = audit(Angle(), seed=1, samples=4000)
    assert report.finding("law.inequality").verdict == "NOT CHECKED"
    assert report.finding("black-box.loss").failed


def test_the_metric_of_the_mechanism_comes_before_any_other():
    class Stretched(Bare):
        def distance(self, first, second):
            gap = self.space.vectors[first] - self.space.vectors[second]
            return 2 * np.linalg.norm(gap, axis=1)

    plain, stretched = subject_of(Bare(planar())), subject_of(Stretched(planar()))
    x, y = np.array([0, 1]), np.array([7, 9])
    assert stretched.allowed(x, y) == pytest.approx(2 * plain.allowed(x, y))


def test_a_distance_that_is_none_is_refused():
    class Odd(Bare):
        def distance(self, first, _second):
            return -np.ones(len(first))

    with pytest.raises(InvalidValue, match="at least 0 for each pair"):
        audit(Odd(planar()), seed=1, samples=100)


def test_the_utility_optimised_notion_needs_to_know_what_it_protects():
    mechanism = SanTextPlus(random_space(30), epsilon=1.0, sensitive=[1, 2, 3])
    allowed = subject_of(mechanism).allowed(np.array([1]), np.array([1]))
    assert allowed == pytest.approx([math.log(1 / 0.3)])
    assert subject_of(mechanism).sensitive.sum() == 4
    del mechanism.sensitive
    with pytest.raises(InvalidValue, match="needs an attribute sensitive"):
        subject_of(mechanism)


def test_far_and_near_pairs_are_the_farthest_and_the_nearest():
    space = random_space(150, dimension=5)
    rng = np.random.default_rng(0)
    distances = all_distances(space)
    by_l1 = np.abs(space.vectors[:, None] - space.vectors[None]).sum(axis=2)
    far, far_l1 = far_pairs(space.vectors, rng)
    assert distances[far] == pytest.approx(distances.max())
    assert by_l1[far_l1] == pytest.approx(by_l1.max())
    np.fill_diagonal(distances, np.inf)
    subject = subject_of(SanText(space, epsilon=1.0))
    nearest = near_pairs(subject.vectors, rng)[0]
    assert distances[nearest] == pytest.approx(distances.min())


def test_the_pairs_looked_at_include_the_special_ones():
    space = random_space(80)
    mechanism = SanText(space, epsilon=3.0)
    chosen = special_pairs(subject_of(mechanism), np.random.default_rng(0))
    assert set(mechanism.certificate.worst_pair) == set(chosen[0])
    assert any(space.unknown in pair for pair in chosen)
    assert all(x != y for x, y in chosen)
    assert len({frozenset(pair) for pair in chosen}) == len(chosen) >= 6
