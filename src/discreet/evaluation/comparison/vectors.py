"""Sentence vectors on the same page: at which epsilon a search among released vectors works.

Recall of the 10 true nearest neighbours, for every sentence mechanism at several epsilons and
dimensions; beside it how often whoever has the list of texts says which one a vector is of.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.encoders.maps import PublicMap
from discreet.errors import InvalidValue
from discreet.mechanisms.registry import entries
from discreet.mechanisms.sentence import unit_rows
from discreet.release.search_quality import neighbours_kept

DIMENSIONS = (16, 64, 256)
EPSILONS = (10.0, 50.0, 200.0, 500.0)
_DELTA = 1e-6
_FEWEST = 50


@dataclass(frozen=True)
class VectorRow:
    """One mechanism at one setting.

    Attributes:
        mechanism: Its name.
        epsilon: Of its notion: per radian, or between any two sentences.
        dimension: Of what is released.
        any_two: The largest loss between any two sentences, which can be compared.
        recall: Of the 10 nearest neighbours.
        without_noise: The same after the map alone.
        recognised: How often the nearest text of the list is the very one.
        texts: Among how many.
    """

    mechanism: str
    epsilon: float
    dimension: int
    any_two: float
    recall: float
    without_noise: float
    recognised: float
    texts: int


def vector_rows(
    encode: Callable[[Sequence[str]], Any],
    texts: Sequence[str],
    *,
    dimensions: Sequence[int] = DIMENSIONS,
    epsilons: Sequence[float] = EPSILONS,
    seed: int = 0,
) -> list[VectorRow]:
    """Measure every sentence mechanism.

    Args:
        encode: Makes vectors of texts.
        texts: Different ones; blank ones are left out.
        dimensions: Of what is released; larger ones than the encoder's are left out.
        epsilons: To try.
        seed: For the noise.
    """
    vectors = np.asarray(encode(different_texts(texts)))
    truth, rng = unit_rows(vectors), np.random.default_rng(seed)
    rows = []
    for dimension in dimensions:
        if dimension > vectors.shape[1]:
            continue
        mapped = unit_rows(PublicMap.random(vectors.shape[1], dimension).apply(vectors))
        bare = neighbours_kept(truth, mapped)
        for entry in entries("sentence"):
            takes = {declared.name for declared in entry.settings}
            for epsilon in epsilons:
                given = {"dimension": dimension, "epsilon": epsilon}
                built = entry.build(given | ({"delta": _DELTA} if "delta" in takes else {}))
                released = built.release(mapped, rng)
                nearest = (released @ mapped.T).argmax(axis=1)
                statement = built.statement
                most = statement.epsilon
                if statement.metric is not None:
                    most = statement.epsilon * statement.metric.farthest + statement.slack
                rows.append(
                    VectorRow(
                        entry.name,
                        epsilon,
                        dimension,
                        float(most),
                        neighbours_kept(truth, released),
                        bare,
                        float((nearest == np.arange(len(mapped))).mean()),
                        len(mapped),
                    )
                )
    return rows


def different_texts(texts: Sequence[str]) -> list[str]:
    """Those that a search is tried among; refuses too few of them."""
    different = list(dict.fromkeys(text for text in texts if text.strip()))
    if len(different) < _FEWEST:
        raise InvalidValue(
            f"search can be measured on at least {_FEWEST} different texts; got {len(different)}"
        )
    return different
