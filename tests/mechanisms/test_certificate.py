"""The certificate table: exact, never too generous, void for another space."""

import numpy as np
import pytest

from discreet.audit import audit
from discreet.mechanisms import certificate as certificates
from discreet.mechanisms.certificate import (
    CertificateTable,
    certificate_table,
    compute_table,
    known_table,
)
from discreet.mechanisms.word import SanText
from discreet.spaces.space import EmbeddingSpace
from small_spaces import all_distances, both_spaces, clustered_space, random_space


def brute_force_rate(space, kappa, targets=None):
    """E(kappa) straight from the log-ratios of the law, over all pairs and outputs."""
    distances = all_distances(space)
    columns = slice(None) if targets is None else targets
    logs = -kappa * distances[:, columns]
    logs = logs - np.log(np.exp(logs).sum(axis=1, keepdims=True))
    with np.errstate(invalid="ignore", divide="ignore"):
        rates = np.array([(row - logs).max(axis=1) / distances[x] for x, row in enumerate(logs)])
    return np.nanmax(np.where(distances > 0, rates, -np.inf))


@pytest.mark.parametrize("space", both_spaces(300), ids=lambda s: s.name)
def test_closed_form_equals_brute_force(space):
    table = compute_table(space)
    for i in range(0, len(table.kappas), 7):
        expected = brute_force_rate(space, table.kappas[i])
        assert table.rates[i] == pytest.approx(expected, rel=1e-7)
        assert table.rates[i] >= expected * (1 - 1e-12)


@pytest.mark.parametrize("space", both_spaces(150), ids=lambda s: s.name)
def test_closed_form_with_targets_bounds_brute_force(space):
    targets = np.arange(0, 150, 4)
    table = compute_table(space, targets)
    for i in range(0, len(table.kappas), 11):
        assert table.rates[i] >= brute_force_rate(space, table.kappas[i], targets) * (1 - 1e-9)


@pytest.mark.parametrize("space", both_spaces(), ids=lambda s: s.name)
def test_certified_kappa_is_feasible_and_the_next_step_is_not(space):
    table = compute_table(space)
    for epsilon in np.geomspace(0.05, 2 * table.rates[-1], 60):
        found = table.certify(epsilon)
        assert brute_force_rate(space, found.kappa) <= epsilon * (1 + 1e-12)
        above = [i for i, kappa in enumerate(table.kappas) if kappa > found.kappa]
        if above:
            assert brute_force_rate(space, table.kappas[above[0]]) > epsilon * (1 - 1e-6)


def test_grouped_search_equals_all_pairs(monkeypatch):
    monkeypatch.setattr(certificates, "_GROUP", 7)
    monkeypatch.setattr(certificates, "_GROUPS_AT_ONCE", 3)
    monkeypatch.setattr(certificates, "_BLOCK_NUMBERS", 5_000)
    for space in both_spaces(200):
        log_z = np.random.default_rng(0).standard_normal((5, 200))
        nothing = certificates._Hidden(np.zeros(5), np.zeros(5))
        found, pairs = certificates._steepest(
            certificates.Distances(space), log_z, nothing, None, 1
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            slopes = np.abs(log_z[:, :, None] - log_z[:, None, :]) / all_distances(space)
        slopes[np.isnan(slopes)] = 0
        assert found == pytest.approx(slopes.max(axis=(1, 2)), rel=1e-9)
        for k, (x, y) in enumerate(pairs):
            assert slopes[k, x, y] == pytest.approx(found[k], rel=1e-9)


def test_rate_never_exceeds_twice_kappa_even_with_duplicates():
    vectors = clustered_space().vectors.copy()
    vectors[5] = vectors[6]
    vectors[7] = vectors[8] + 1e-13
    space = EmbeddingSpace.from_arrays([f"w{i}" for i in range(len(vectors))], vectors)
    table = compute_table(space)
    assert (np.array(table.rates) <= 2 * np.array(table.kappas) * (1 + 1e-8)).all()


@pytest.mark.parametrize("scale", [1e-8, 1e-3, 1e11])
def test_rates_hold_at_any_scale(scale):
    """Kappas were rounded to 12 decimals, and taken for exact multiples of a step nevertheless."""
    vectors = np.random.default_rng(0).standard_normal((60, 3))
    vectors[-1] = 5.0
    space = EmbeddingSpace.from_arrays([f"w{i}" for i in range(60)], scale * vectors)
    table = compute_table(space)
    again = CertificateTable.from_json(table.to_json())
    for i in range(0, len(table.kappas), 9):
        right = brute_force_rate(space, table.kappas[i])
        assert right * (1 - 1e-12) <= table.rates[i] <= right * (1 + 1e-7)
        assert table.rates[i] <= again.rates[i] <= table.rates[i] * (1 + 1e-5)


def test_the_published_example_of_a_false_certificate():
    vectors = 1e11 * np.random.default_rng(0).standard_normal((201, 4))
    vectors[-1] = 1e12
    space = EmbeddingSpace.from_arrays([f"w{i}" for i in range(201)], vectors)
    mechanism = SanText(space, epsilon=1.05e-12)
    assert brute_force_rate(space, mechanism.kappa) <= 1.05e-12 * (1 + 1e-12)


@pytest.mark.parametrize("far", [0.001, 0.0010000000000000002, 1000.0, 999.9999999999999])
def test_a_distance_beside_a_power_of_ten_has_a_table(far):
    space = EmbeddingSpace.from_arrays("abc", [[0.0], [0.0], [far]])
    table = compute_table(space)
    assert 64 <= len(table.kappas) <= 130
    assert table.rates[0] >= brute_force_rate(space, table.kappas[0]) * (1 - 1e-12)


def test_what_rounding_hides_between_near_words_is_added():
    """A pair so near that its normalisers differ by less than their rounding costs twice kappa."""
    vectors = np.array([[0.0], [1e-15], [1.0], [2.0], [2.1]])
    space = EmbeddingSpace.from_arrays("abcde", vectors)
    assert compute_table(space).rates == pytest.approx(2 * np.array(compute_table(space).kappas))


def test_all_words_at_one_point():
    space = EmbeddingSpace.from_arrays("abc", np.ones((3, 2)))
    assert compute_table(space).certify(1.1).kappa == 1.0


def test_json_round_trip_never_lowers_a_rate():
    table = compute_table(random_space())
    again = CertificateTable.from_json(table.to_json())
    assert again.kappas == table.kappas
    assert all(a >= b for a, b in zip(again.rates, table.rates, strict=True))
    assert again.rates == pytest.approx(table.rates, abs=1e-8)
    assert CertificateTable.from_json(again.to_json()).rates == again.rates


def test_an_altered_table_is_refused():
    text = compute_table(random_space()).to_json()
    rate = text.split('"rates": [')[1].split(",")[0]
    with pytest.raises(ValueError, match="as it was written"):
        CertificateTable.from_json(text.replace(rate, "0.001", 1))


def test_certificate_is_void_for_another_space(tmp_path, monkeypatch):
    monkeypatch.setenv("DISCREET_CACHE", str(tmp_path))
    space = random_space()
    table = compute_table(space)
    changed = space.vectors.copy()
    changed[3, 3] += 1e-6
    for other in (
        EmbeddingSpace.from_arrays(space.words, changed),
        EmbeddingSpace.from_arrays(space.words[:-1], space.vectors[:-1]),
    ):
        # A table put in the other's place is not believed.
        place = certificates._path(other, None)
        place.parent.mkdir(exist_ok=True)
        place.write_text(table.to_json())
        assert known_table(other) is None
        # A mechanism that carries it fails its audit.
        mechanism = SanText(other, epsilon=2.0)
        assert not audit(mechanism, seed=1, samples=200).finding("law.certificate").failed
        mechanism.certificate = table.certify(2.0)
        assert audit(mechanism, seed=1, samples=200).finding("law.certificate").failed


def test_tables_are_kept_by_space_and_targets_and_checked_when_read(tmp_path, monkeypatch):
    monkeypatch.setenv("DISCREET_CACHE", str(tmp_path))
    monkeypatch.setattr(certificates, "_WORTH_CACHING", 1)
    space, targets = random_space(), np.arange(40)
    assert known_table(space) is None
    made = certificate_table(space)
    other = certificate_table(space, targets)
    assert made.rates != other.rates
    assert known_table(space).rates == pytest.approx(made.rates)
    assert known_table(space, targets).rates == pytest.approx(other.rates)
    for path in (tmp_path / "certificates").iterdir():
        path.write_text(path.read_text()[:-50])
    assert known_table(space) is None


def test_progress_ends_at_its_total():
    calls = []
    compute_table(random_space(), progress=lambda done, total: calls.append((done, total)))
    assert calls[-1][0] == calls[-1][1]
    assert calls == sorted(calls)
