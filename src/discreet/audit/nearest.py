"""Is a release nothing but the nearest word of the noisy vector?

The guarantee of noise-then-nearest rests on the search seeing the noisy vector alone. Releases are
compared with the nearest words of noisy vectors that the audit draws and searches by itself: a
search that also looks at the input (to avoid it, for example) gives other frequencies.
"""

import numpy as np

from discreet.arrays import Generator, Ids, Rows
from discreet.audit.chance import same_rate_p_value
from discreet.audit.sampler import Misfit
from discreet.audit.subject import Subject, VectorStage
from discreet.spaces.neighbours import nearest_words

_LIKELY = 15
_GROUPS = 16


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
