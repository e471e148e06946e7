"""The guarantee of a paper as a claim among others: what is stated, what an exact check finds."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.audit import audit
from discreet.mechanisms.document import DeepCandidate
from discreet_recipes.record import Record, verdict

_SAMPLES = 2000


def audited(mechanism: Any, inputs: NDArray[np.floating[Any]] | None = None) -> dict[str, Any]:
    """The widest check of the law that an audit made, and whether the whole of it passed."""
    report = audit(mechanism, inputs=inputs, seed=0, samples=_SAMPLES)
    # Every pair of a large vocabulary, where that is not what the other check looks at anyway; of
    # a very large one an audit leaves it out.
    made = {finding.check for finding in report.findings}
    finding = report.finding("law.all-pairs" if "law.all-pairs" in made else "law.inequality")
    return {
        "passed": report.passed,
        "claimed": finding.claimed,
        "found": finding.found,
        "over": finding.scope,
    }


def sentences_replaced(
    mechanism: DeepCandidate, vectors: ArrayLike, offsets: ArrayLike, pairs: int
) -> dict[str, Any]:
    """The largest change of the law when a sentence becomes one of another document, or opposite.

    Args:
        mechanism: whose law is computed.
        vectors: sentences as the mechanism gets them.
        offsets: where documents begin.
        pairs: how many replacements are tried.
    """
    rows, starts = np.asarray(vectors), np.asarray(offsets)
    rng = np.random.default_rng(0)
    largest = 0.0
    for number, document in enumerate(rng.integers(0, len(starts) - 1, pairs)):
        own = rows[starts[document] : starts[document + 1]]
        other, place = own.copy(), rng.integers(0, len(own))
        other[place] = -own[place] if number % 2 else rows[rng.integers(0, len(rows))]
        both = mechanism.log_probabilities(
            np.concatenate([own, other]), [0, len(own), 2 * len(own)]
        )
        largest = max(largest, float(np.abs(both[0] - both[1]).max()))
    return {
        "passed": largest <= mechanism.epsilon * (1 + 1e-9),
        "claimed": mechanism.epsilon,
        "found": largest,
        "over": f"{pairs:,} replacements of a sentence by one of another document or its opposite",
    }


def add_guarantee(
    record: Record, claim: str, published: str, checked: dict[str, Any], why: str = ""
) -> None:
    """The claim in the summary: stated, found by the check."""
    record.add_claim(
        claim,
        published,
        f"largest loss found {checked['found']:.4g} where {checked['claimed']:g} is stated: "
        f"{checked['over']}",
        verdict(checked["passed"]),
        why,
        main=True,
    )
