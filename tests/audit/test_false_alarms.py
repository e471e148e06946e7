"""An audit must not cry wolf: sound mechanisms fail no more often than stated."""

import numpy as np
import pytest
from scipy import stats

from audit.gallery import Bare, Plus, dpnr, gaussian, planar, san_text, truncated_laplace
from discreet.audit import audit
from discreet.errors import InvalidValue
from discreet.mechanisms.word import SanText
from small_spaces import clustered_space, random_space

SOUND = {
    "santext": lambda: SanText(random_space(40), epsilon=2.0),
    "clusters": lambda: san_text(clustered_space(40), 3.0, 1.5),
    "santext+": lambda: Plus(random_space(40), 3.0, leak=False),
    "planar": planar,
    "bare": lambda: Bare(planar()),
    "laplace": lambda: dpnr(True),
    "gaussian": lambda: gaussian(False),
    "truncated": lambda: truncated_laplace(False),
}
SEEDS = 5
OFTEN = 0.2


def test_sound_mechanisms_fail_no_more_often_than_stated():
    # At a rate of one in five there would be many alarms if any test were less careful than it
    # says. The number of alarms among independent audits is at most binomial.
    alarms = []
    for name, make in SOUND.items():
        mechanism = make()
        for seed in range(SEEDS):
            report = audit(mechanism, seed=seed, samples=400, false_alarms=OFTEN)
            alarms += [(name, seed, finding.check) for finding in report.failures]
    audits = SEEDS * len(SOUND)
    failed = len({(name, seed) for name, seed, _ in alarms})
    assert failed <= stats.binom.isf(1e-6, audits, OFTEN), alarms


def test_the_rate_is_split_over_the_checks():
    report = audit(SOUND["planar"](), seed=1, samples=400, false_alarms=0.09)
    levels = [f.claimed for f in report.findings if f.quantity == "p-value"]
    assert levels == [pytest.approx(0.01)] * 6
    assert report.false_alarms == 0.09


def test_the_same_seed_gives_the_same_findings():
    def findings(seed):
        report = audit(SOUND["santext"](), seed=seed, samples=400)
        # Forked workers use secure randomness on purpose.
        return [f for f in report.findings if f.check != "independence.workers"]

    assert findings(3) == findings(3)
    assert findings(3) != findings(4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"samples": 10}, "samples must be a whole number of at least 100"),
        ({"false_alarms": 0}, "false_alarms must be a number between 0 and 1"),
        ({"seed": -1}, "seed must be"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(InvalidValue, match=message):
        audit(SOUND["santext"](), **arguments)


def test_large_vocabularies_are_sampled_and_then_proven_by_the_closed_form():
    space = random_space(2500, dimension=3, seed=4)
    sound = audit(SanText(space, epsilon=2.0), seed=1, samples=400)
    assert sound.passed, "\n".join(sound.lines())
    assert not sound.finding("law.inequality").proof
    closed = sound.finding("law.all-pairs")
    assert closed.proof
    assert closed.found <= 2.0

    # A certificate for a smaller kappa than the law's is no certificate for it.
    forged = SanText(space, epsilon=2.0, calibration="published")
    forged._law.kappa = 2.0
    report = audit(forged, seed=1, samples=400)
    assert report.finding("law.all-pairs").failed


def test_a_certificate_of_another_space_or_rate_is_refused():
    mechanism = SanText(random_space(50), epsilon=2.0)
    good = mechanism.certificate
    pair = (3, 4)
    for change, message in (
        ({"space": "0" * 64}, "other words or vectors"),
        ({"rate": 2.5}, "proves 2.5 only"),
        ({"worst_pair": pair}, "its worst pair needs"),
    ):
        mechanism.certificate = type(good)(**{**good.__dict__, **change})
        finding = audit(mechanism, seed=1, samples=400).finding("law.certificate")
        assert finding.failed
        assert message in finding.summary


def test_approximate_finite_laws_are_checked_by_their_divergence():
    from audit.gallery import Finite, approximate_statement

    # Randomised response that tells the truth outright once in a hundred.
    law = np.full((5, 5), 0.99 / 5) + 0.01 * np.eye(5)
    for delta, holds in ((0.01, True), (0.009, False)):
        mechanism = Finite(None, approximate_statement(0.0, delta), np.log(law))
        mechanism.inputs = 5
        del mechanism.space
        finding = audit(mechanism, seed=1, samples=400).finding("law.inequality")
        assert finding.failed != holds
        assert finding.proof
        assert finding.found == pytest.approx(0.01)
        assert finding.pair[0].startswith("input ")
