"""Other packages on the same bench: each in an environment of its own, through its own interface.

A peer is installed only when that is asked for, from the configured package index, at the version
that is named here. It then runs without a network. Its law is written down nowhere, so the attacker
is the one that watches, whose success is a lower bound. What a peer passes in clear is what it
returns unchanged at an epsilon so small that nothing should be left. A peer that cannot run is a
row that says why.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from discreet.attacks.outcome import bootstrapped
from discreet.attacks.survivors import survivors
from discreet.attacks.watching import Watcher
from discreet.evaluation.comparison.bench import SAMPLES, Bench, plain, share_of

_DRIVER = Path(__file__).with_name("peer_driver.py")
_WORD = re.compile(r"\w+|[^\w\s]")
_NOTHING = 1e-3
"""An epsilon at which nothing of a word should be left."""
# Peers take up to a quarter of a second for a word. Beside the words of the texts: what part of as
# many the attacker releases, and what part is for what passes in clear; and words of a single text.
_OWN, _CLEAR, _LONGEST = 2, 6, 60
_MOST_TEXTS, _FEWEST_TEXTS = 100, 10
_TIME_IS_OVER = -24  # what a process ends with that has used up its time (SIGXCPU)
MINUTES = 6
"""Of computing that a peer may take for everything, once it is installed."""
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
_WAIT_MINUTES = 20  # for installing, and for the six minutes on a machine that has other work


@dataclass(frozen=True)
class Peer:
    """Another package.

    Attributes:
        package: Its name on the package index.
        version: The one that is compared.
        settings: Its mechanisms (empty where it has one) and the epsilons at which each is tried.
        needs: Data that it would fetch by itself, as a place under the home folder; without it the
            peer is not even installed.
    """

    package: str
    version: str
    settings: tuple[tuple[str, float], ...]
    needs: str | None = None

    @property
    def name(self) -> str:
        """With its version."""
        return f"{self.package} {self.version}"


PEERS = (
    Peer(
        "mldp-text",
        "0.1.2",
        (("multivariate_calibrated", 15.0), ("multivariate_calibrated", 25.0), ("tem", 10.0)),
    ),
    Peer(
        "dp-diffractor",
        "0.2.1",
        (("", 1.0), ("", 3.0)),
        ".cache/diffractor/glove-commoncrawl-30.txt",
    ),
    Peer(
        "dpmlm",
        "1.3.0",
        (("", 50.0), ("", 100.0)),
        ".cache/huggingface/hub/models--FacebookAI--roberta-base",
    ),
)

Say = Callable[[str], None]
Words = list[str]


class _CannotRun(Exception):
    """Why a peer has no figures."""


@dataclass(frozen=True)
class _Asked:
    """What a peer is to release at one setting."""

    mechanism: str
    epsilon: float
    texts: Sequence[Words]
    own: Sequence[Words]
    clear: Sequence[Words]

    def lines(self) -> list[str]:
        """For the driver, a text each."""
        parts = ((self.epsilon, (*self.texts, *self.own)), (_NOTHING, self.clear))
        return [
            json.dumps({"mechanism": self.mechanism, "epsilon": epsilon, "words": words})
            for epsilon, texts in parts
            for words in texts
        ]


@dataclass(frozen=True)
class _Answered:
    """What a peer released within its time, text by text, and how long each took."""

    ready: float
    words: Sequence[Words]
    seconds: Sequence[float]


def peer_jobs(
    bench: Bench, folder: Path, say: Say, peers: Sequence[Peer] = PEERS
) -> list[tuple[str, Callable[[], Mapping[str, Any]]]]:
    """What measures each peer at its settings, under its name.

    Args:
        bench: Where.
        folder: Where environments are made.
        say: Called before anything is installed.
        peers: Which.
    """
    return [(peer.name, partial(_measured, bench, peer, folder, say)) for peer in peers]


def _measured(bench: Bench, peer: Peer, folder: Path, say: Say) -> dict[str, Any]:
    """The rows of a peer. One process does all of it: some take minutes to begin."""
    longest = min(bench.effort.longest, _LONGEST)
    words = bench.effort.asked
    texts = _first(bench.task.texts[: bench.reading.count], longest, words, _FEWEST_TEXTS)
    own = _first(bench.task.public, longest, words // _OWN)
    clear = _first(bench.task.texts, longest, words // _CLEAR)
    asked = [
        _Asked(mechanism, epsilon, *map(_all_words, (texts, own, clear)))
        for mechanism, epsilon in peer.settings
    ]
    rows = [
        {"label": f"{peer.name} {one.mechanism}".strip(), "epsilon": one.epsilon, "peer": True}
        for one in asked
    ]
    try:
        python = _environment(peer, folder, say)
        answered = _run(peer, [line for one in asked for line in one.lines()], python)
    except _CannotRun as why:
        return {"rows": [{**row, "note": f"cannot run here: {why}"} for row in rows]}
    measured, first = [], 0
    for row, one in zip(rows, asked, strict=True):
        count = len(one.lines())
        part = slice(first, first + count)
        own_part = _Answered(answered.ready, answered.words[part], answered.seconds[part])
        measured.append({**row, **_figures(bench, texts, one, own_part)})
        first += count
    return {"rows": measured}


def _figures(
    bench: Bench, originals: Sequence[str], asked: _Asked, answered: _Answered
) -> dict[str, Any]:
    texts, own, released = asked.texts, asked.own, answered.words
    count = len(asked.lines())
    if len(released) < count:
        done = f"{len(released)} of {count} texts in {MINUTES} minutes of computing"
        return {"note": f"did not finish: {done}, of which it took {answered.ready:.0f} s to begin"}
    rng = np.random.default_rng(bench.effort.seed)
    theirs, rest = released[: len(texts)], released[len(texts) :]
    named, total = Watcher.of(own, rest[: len(own)]).hits(texts, theirs)
    if not total.sum():
        return {
            "note": "cannot run here: its releases cannot be laid beside the texts word by word"
        }
    kept, of = Watcher({}).hits(asked.clear, rest[len(own) :])
    written = [" ".join(words) for words in theirs]
    shown, had = survivors(originals, written)
    attackers = {"watching": bootstrapped((named, total), share_of, rng)}
    if had.any():
        attackers["identifiers"] = bootstrapped((shown, had), share_of, rng)
    # A model would have learnt from far fewer texts here than from our own releases. What the
    # encoder finds alike in a text and its release does not depend on how many there are.
    alike = bench.reading.alike(originals, written)
    utility = {name: bootstrapped(columns, share_of, rng) for name, columns in alike}
    # The first text of a setting is the one that makes its mechanism ready.
    words = sum(len(each) for each in released[1:])
    return {
        "utility": plain(utility),
        "attackers": plain(attackers),
        "words": int(total.sum()),
        "speed": words / max(sum(answered.seconds[1:]), 1e-9),
        "samples": [text[:400] for text in written[:SAMPLES]],
        "statement": "as its authors state it; not checked here",
        "note": f"{100 * kept.sum() / max(1, of.sum()):.0f} of 100 words pass in clear; "
        f"{len(texts)} texts, of each at most {_LONGEST} words; "
        f"begins after {answered.ready:.0f} s",
    }


def _first(texts: Sequence[str], longest: int, words: int, fewest: int = 1) -> list[str]:
    """The beginnings of the first texts: about so many words, but neither few texts nor many."""
    ends = [
        [word.end() for word in islice(_WORD.finditer(text), longest)]
        for text in texts[:_MOST_TEXTS]
    ]
    enough = int(np.searchsorted(np.cumsum([len(each) for each in ends]), words)) + 1
    chosen = ends[: max(enough, fewest)]
    return [text[: each[-1]] if each else "" for text, each in zip(texts, chosen, strict=False)]


def _all_words(texts: Sequence[str]) -> list[Words]:
    return [_WORD.findall(text.lower()) for text in texts]


def _environment(peer: Peer, folder: Path, say: Say) -> Path:
    """The interpreter of the peer's environment, made now unless it is there."""
    if peer.needs is not None and not (Path.home() / peer.needs).exists():
        raise _CannotRun(f"it would fetch data from the network that is not here (~/{peer.needs})")
    place = folder / peer.name.replace(" ", "-")
    python = place / ("Scripts" if os.name == "nt" else "bin") / "python"
    done = place / "installed"
    if done.is_file():
        return python
    say(f"installing {peer.name} into an environment of its own, {place}")
    place.parent.mkdir(parents=True, exist_ok=True)
    wanted = f"{peer.package}=={peer.version}"
    for command in (
        [sys.executable, "-m", "venv", "--clear", str(place)],
        [str(python), "-m", "pip", "install", "-q", wanted],
    ):
        _, ended = _called(command, "it cannot be installed")
        if not ended:
            raise _CannotRun(f"it could not be installed within {_WAIT_MINUTES} minutes")
    done.write_text(wanted)
    return python


def _run(peer: Peer, lines: Sequence[str], python: Path) -> _Answered:
    """The releases of texts by a process of the peer's own, as many as it makes in its time."""
    first = json.dumps({"peer": peer.package, "seconds": 60 * MINUTES})
    asked = "\n".join([first, *lines]) + "\n"
    written, ended = _called([str(python), str(_DRIVER)], "it stopped", asked)
    # What was being written when the time was over does not count.
    told = written[: written.rfind("\n") + 1].splitlines()
    try:
        ready = float(json.loads(told[0])["ready"]) if told else 60.0 * MINUTES
        answers = [json.loads(line) for line in told[1:]]
        released = [list(map(str, answer["words"])) for answer in answers]
        seconds = [float(answer["seconds"]) for answer in answers]
    except (ValueError, KeyError, TypeError):
        raise _CannotRun("what it answered cannot be read") from None
    if ended and len(released) != len(lines):
        raise _CannotRun("it did not answer for every text")
    return _Answered(ready, released, seconds)


def _called(command: Sequence[str], problem: str, given: str = "") -> tuple[str, bool]:
    """What a command writes, and whether it ended within its time.

    Why it failed is told by the kind of error, never by its text.
    """
    own = {"HF_HUB_OFFLINE": "1"}
    if given:  # what runs a peer has one core and no network, which what installs it needs
        own |= dict.fromkeys(("http_proxy", "https_proxy"), "http://127.0.0.1:9")
        own |= dict.fromkeys(_ONE_THREAD, "1")
    try:
        done = subprocess.run(
            command,
            input=given.encode(),
            capture_output=True,
            env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | own,
            timeout=60 * _WAIT_MINUTES,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        return (late.stdout or b"").decode("utf-8", "replace"), False
    except OSError as error:
        raise _CannotRun(f"{problem} ({type(error).__name__})") from None
    if done.returncode == _TIME_IS_OVER:
        return done.stdout.decode("utf-8", "replace"), False
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace")
        kinds = re.findall(r"^(?:[\w.]*\.)?(\w*(?:Error|Exception|NotFound))\b", said, re.M)
        raise _CannotRun(f"{problem} ({kinds[-1] if kinds else 'no reason given'})")
    return done.stdout.decode("utf-8", "replace"), True
