"""An audit that has never caught anything proves nothing: each planted fault must be caught."""

import pytest

from audit.gallery import GALLERY
from discreet.audit import audit

SEED = 20260102
SAMPLES = 4000


@pytest.mark.parametrize("name", GALLERY)
def test_the_fault_is_caught(name):
    report = audit(GALLERY[name].fault(), seed=SEED, samples=SAMPLES)
    caught = {finding.check for finding in report.failures}
    assert set(GALLERY[name].caught_by) <= caught, "\n".join(report.lines())


# The twin of several faults is audited once.
TWINS = {planted.sound: name for name, planted in GALLERY.items()}


@pytest.mark.parametrize("sound", TWINS, ids=TWINS.values())
def test_the_sound_twin_passes(sound):
    report = audit(sound(), seed=SEED, samples=SAMPLES)
    assert report.passed, "\n".join(report.lines())
