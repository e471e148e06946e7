"""The words of a finding are made from its numbers."""

import json
import math

import pytest

from discreet.audit.findings import Finding, Quantity, Verdict

PAIR = ("tea", "cup")


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ({"detail": "there is no law"}, "there is no law"),
        (
            {
                "quantity": Quantity.EPSILON,
                "claimed": 2.0,
                "found": 1.5,
                "pair": PAIR,
                "scope": "all",
            },
            "epsilon 2 claimed, 1.5 found: 'tea' against 'cup'; all",
        ),
        (
            {"quantity": Quantity.DELTA, "claimed": 0.01, "found": 0.02, "between": (0.015, 0.03)},
            "delta 0.01 claimed, about 0.02 found (between 0.015 and 0.03)",
        ),
        (
            {
                "quantity": Quantity.LOSS,
                "claimed": 2.0,
                "found": 1.0,
                "lower_bound": True,
                "pair": PAIR,
                "scope": "3 pairs",
            },
            "a loss of at least 1 shown, 2 allowed: 'tea' against 'cup' (3 pairs)",
        ),
        (
            {
                "detail": "it fits",
                "quantity": Quantity.P_VALUE,
                "claimed": 1e-7,
                "found": 0.5,
                "tests": 4,
            },
            "it fits (p-value 0.5 of 4 tests, alarm below 1e-07)",
        ),
    ],
)
def test_words_follow_the_numbers(numbers, words):
    finding = Finding("law", Verdict.PASS, **numbers)
    assert finding.summary == words
    assert finding.to_dict()["summary"] == words


def test_an_infinite_loss_is_plain_json():
    finding = Finding(
        "law",
        Verdict.FAIL,
        "the output gives the input away",
        quantity=Quantity.EPSILON,
        claimed=1.0,
        found=math.inf,
        between=(0.5, math.inf),
    )
    values = json.loads(json.dumps(finding.to_dict(), allow_nan=False))
    assert (values["found"], values["between"]) == ("infinite", [0.5, "infinite"])
