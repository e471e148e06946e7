"""Does every position, every call and every worker get noise of its own?

The same input is released many times, and pairs of releases are compared: neighbours in a batch,
the same position in two calls, the same position in two forked workers. Under independence all of
them agree as often as two unrelated draws do. How often that is says the law, where there is one;
elsewhere it is measured on pairs of different positions in different calls.
"""

import multiprocessing
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats, Generator, Ids
from discreet.audit.chance import binomial_p_values, same_rate_p_value
from discreet.audit.sampler import Misfit
from discreet.audit.subject import Subject
from discreet.randomness import secure_generator

Array = NDArray[Any]
Draw = Callable[[Ids, Generator], Array]

_WORKERS = 2
_SECONDS = 120.0
_WORDS = 4
_CANDIDATES = 64
_PILOT = 16
_WANTED_CHANGES = 100
_MOST = 20


def check_independence(
    subject: Subject, inputs: Ids, draws: int, rng: Generator
) -> dict[str, list[Misfit] | str]:
    """Test positions, calls ("batches") and workers.

    Of the ``inputs`` those whose releases vary most are used, each drawn about ``draws`` times in a
    batch. ``rng`` is for the calls in this process; workers inherit a secure generator. Returns for
    each the results of its tests, or a sentence that says why there are none.
    """
    views: list[tuple[str, Draw, bool]] = [("release", subject.release, subject.discrete)]
    if subject.nearest_points is not None and subject.stage is not None:
        stage = subject.stage
        views.append(("noise", lambda ids, rng: stage.add_noise(stage.at(ids), rng), False))
    out: dict[str, Any] = {"positions": [], "batches": [], "workers": []}
    chosen, batches, calls = [], [], []
    for _, draw, discrete in views:
        words, size = lively(draw, inputs[:_CANDIDATES], draws, subject.has_law, discrete, rng)
        batch = np.repeat(words, size)
        chosen.append((words, size))
        batches.append((draw, batch))
        calls.append((draw(batch, rng), draw(batch, rng)))
    try:
        workers = in_workers(batches)
    except _NoWorkers as reason:
        workers, out["workers"] = [], str(reason)
    for view, (what, draw, discrete) in enumerate(views):
        (words, size), (first, second) = chosen[view], calls[view]
        for number, word in enumerate(words):
            part = slice(number * size, (number + 1) * size)
            a, b = first[part], second[part]
            expected = _collisions(subject, int(word)) if what == "release" else None
            compare = _same_outputs if discrete else _alike(draw, int(word), rng)
            unrelated = compare(a, np.roll(b, size // 2, axis=0))
            for where, x, y in (
                ("positions", a[0::2], a[1::2]),
                ("positions", a[: size // 2], a[size // 2 :]),
                ("batches", a, b),
            ):
                out[where] += _judge(what, int(word), compare(x, y), unrelated, expected)
            if workers:
                events = compare(*(worker[view][part] for worker in workers))
                out["workers"] += _judge(what, int(word), events, unrelated, expected)
    return out


Events = list[tuple[str, NDArray[np.bool_]]]


def _judge(
    what: str, word: int, events: Events, unrelated: Events, expected: float | None
) -> list[Misfit]:
    misfits = []
    for (name, seen), (_, usual) in zip(events, unrelated, strict=True):
        if expected is None:
            p, rate = same_rate_p_value(seen, usual), float(usual.mean())
        else:
            p, rate = float(binomial_p_values(int(seen.sum()), len(seen), expected)), expected
        told = f"{what}s {name} in {seen.mean():.2%} of pairs, unrelated ones in {rate:.2%}"
        misfits.append(Misfit(p, 1, word, told))
    return misfits


def _same_outputs(first: Array, second: Array) -> Events:
    return [("agree", first == second)]


def _alike(draw: Draw, word: int, rng: Generator) -> Callable[[Array, Array], Events]:
    """How two noisy vectors can be alike: the same, on one side, of similar length."""
    pilot = draw(np.full(256, word), rng)
    centre = pilot.mean(axis=0)
    lengths = np.linalg.norm(pilot - centre, axis=1)
    close = float(np.median(np.abs(lengths[::2] - lengths[1::2])))

    def compare(first: Array, second: Array) -> Events:
        x, y = first - centre, second - centre
        gap = np.abs(np.linalg.norm(x, axis=1) - np.linalg.norm(y, axis=1))
        return [
            ("are the same", (first == second).all(axis=1)),
            ("point to one side", np.einsum("ij,ij->i", x, y) > 0),
            ("are of one length", gap < close),
        ]

    return compare


def _collisions(subject: Subject, word: int) -> float | None:
    """The probability that two draws of a word agree, if the law says it."""
    if not subject.has_law:
        return None
    law: Floats = np.exp(subject.log_probabilities(np.array([word]))[0])
    return float((law**2).sum())


def lively(
    draw: Draw, candidates: Ids, draws: int, cheap: bool, discrete: bool, rng: Generator
) -> tuple[Ids, int]:
    """The inputs whose releases vary most, and how often to draw each."""
    if not discrete:
        return candidates[:_WORDS], draws - draws % 2
    table = draw(np.repeat(candidates, _PILOT), rng).reshape(len(candidates), _PILOT)
    kept = (table[:, 0::2] == table[:, 1::2]).mean(axis=1)
    words = candidates[np.argsort(kept, kind="stable")[:_WORDS]]
    vary = 1 - float(np.sort(kept)[: len(words)].mean())
    wanted = int(_WANTED_CHANGES / max(vary, 1e-3))
    size = min(max(draws, wanted), draws * (_MOST if cheap else 2))
    return words, size - size % 2


# -- workers -------------------------------------------------------------------------------------


class _NoWorkers(Exception):
    """Why workers could not be tried."""


def in_workers(batches: list[tuple[Draw, Ids]]) -> list[list[Array]]:
    """Release the same batches in forked workers that all inherit one secure generator.

    A mechanism that uses only the generator it is handed gets fresh noise in each worker, because
    secure generators take a new key after a fork. One that keeps a random state of its own, or uses
    a global one, repeats itself. Returns each worker's releases, batch by batch; the batches share
    their workers, because a fork of a large process takes long.
    """
    if "fork" not in multiprocessing.get_all_start_methods():
        raise _NoWorkers("this system cannot fork, so no worker can inherit a random state")
    context = multiprocessing.get_context("fork")
    rng = secure_generator()
    pipes, processes = [], []
    with warnings.catch_warnings():
        # Newer Pythons warn about forking beside threads; ours are idle at this point.
        warnings.simplefilter("ignore", DeprecationWarning)
        for _ in range(_WORKERS):
            here, there = context.Pipe(duplex=False)
            process = context.Process(target=_work, args=(there, batches, rng), daemon=True)
            process.start()
            there.close()
            pipes.append(here)
            processes.append(process)
    try:
        return [_received(pipe) for pipe in pipes]
    finally:
        for process in processes:
            process.join(1.0)
            if process.is_alive():
                process.terminate()


def _received(pipe: Any) -> list[Array]:
    if not pipe.poll(_SECONDS):
        raise _NoWorkers(f"a forked worker did not answer within {_SECONDS:.0f} seconds")
    try:
        answer = pipe.recv()
    except EOFError:
        raise _NoWorkers("a forked worker stopped without an answer") from None
    if isinstance(answer, str):
        raise _NoWorkers(f"a forked worker failed: {answer}")
    return [np.asarray(releases) for releases in answer]


def _work(pipe: Any, batches: list[tuple[Draw, Ids]], rng: Generator) -> None:
    try:
        pipe.send([draw(batch, rng) for draw, batch in batches])
    except (Exception, SystemExit) as error:
        pipe.send(f"{type(error).__name__}: {error}")
    finally:
        pipe.close()
