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
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from discreet.attacks.outcome import Estimate, bootstrapped
from discreet.attacks.survivors import survivors
from discreet.attacks.watching import Watcher
from discreet.evaluation.comparison.bench import SAMPLES, Bench

_DRIVER = Path(__file__).with_name("peer_driver.py")
_WORD = re.compile(r"\w+|[^\w\s]")
_NOTHING = 1e-3
"""An epsilon at which nothing of a word should be left."""
_OWN = 150
_CLEAR = 40
_MINUTES = 20


@dataclass(frozen=True)
class Peer:
    """Another package.

    Attributes:
        package: Its name on the package index.
        version: The one that is compared.
        mechanism: Which of its mechanisms, where it has several.
        epsilons: At which it is tried.
        needs: Data that it would fetch by itself, as a place under the home folder; without it the
            peer is not even installed.
    """

    package: str
    version: str
    mechanism: str
    epsilons: tuple[float, ...]
    needs: str | None = None

    @property
    def label(self) -> str:
        """For tables."""
        return f"{self.package} {self.version}" + (f" {self.mechanism}" if self.mechanism else "")


PEERS = (
    Peer("mldp-text", "0.1.2", "multivariate_calibrated", (15.0, 25.0)),
    Peer("mldp-text", "0.1.2", "tem", (10.0,)),
    Peer("dp-diffractor", "0.2.1", "", (1.0, 3.0), ".cache/diffractor/glove-commoncrawl-30.txt"),
    Peer(
        "dpmlm",
        "1.3.0",
        "",
        (50.0, 100.0),
        ".cache/huggingface/hub/models--FacebookAI--roberta-base",
    ),
)

Say = Callable[[str], None]


class _CannotRun(Exception):
    """Why a peer has no figures."""


def peer_jobs(
    bench: Bench, folder: Path, say: Say, peers: Sequence[Peer] = PEERS
) -> list[tuple[str, Callable[[], Mapping[str, Any]]]]:
    """What measures each peer at each epsilon, under its name.

    Args:
        bench: Where.
        folder: Where environments are made.
        say: Called before anything is installed.
        peers: Which.
    """

    def job(peer: Peer, epsilon: float) -> Callable[[], Mapping[str, Any]]:
        return lambda: _measured(bench, peer, epsilon, folder, say)

    return [(f"{peer.label} epsilon {e:g}", job(peer, e)) for peer in peers for e in peer.epsilons]


def _measured(bench: Bench, peer: Peer, epsilon: float, folder: Path, say: Say) -> dict[str, Any]:
    row: dict[str, Any] = {"label": peer.label, "epsilon": epsilon, "peer": True}
    try:
        python = _environment(peer, folder, say)
        return {**row, **_figures(bench, peer, epsilon, python)}
    except _CannotRun as why:
        return {**row, "note": f"cannot run here: {why}"}


def _figures(bench: Bench, peer: Peer, epsilon: float, python: Path) -> dict[str, Any]:
    rng = np.random.default_rng(bench.effort.seed)
    few = min(bench.effort.encoded, len(bench.task.texts))
    texts = [_words(text, bench.effort.longest) for text in bench.task.texts[:few]]
    own = [_words(text, bench.effort.longest) for text in bench.task.public[:_OWN]]
    # One process for all of it: some take minutes to begin.
    asked = [(epsilon, words) for words in (*texts, *own)]
    asked += [(_NOTHING, words) for words in texts[:_CLEAR]]
    start = perf_counter()
    released = _run(peer, asked, python)
    seconds = perf_counter() - start
    theirs, rest = released[: len(texts)], released[len(texts) :]
    watched, clear = rest[: len(own)], rest[len(own) :]
    named, total = Watcher.of(own, watched).hits(texts, theirs)
    if not total.sum():
        raise _CannotRun("its releases cannot be laid beside the texts word by word")
    kept, of = Watcher({}).hits(texts[:_CLEAR], clear)
    written = [" ".join(words) for words in theirs]
    shown, had = survivors([" ".join(words) for words in texts], written)
    attackers = {"watching": _share(named, total, rng)}
    if had.any():
        attackers["identifiers"] = _share(shown, had, rng)
    # A model of words would have learnt from far fewer texts here than of our own releases; what
    # the encoder reads are as many, and the same ones, in every row.
    read = bench.by_encoder(written)
    utility = {name: _share(*columns, rng) for name, columns in read}
    words = sum(len(each) for _, each in asked)
    return {
        "utility": {name: list(_plain(each)) for name, each in utility.items()},
        "attackers": {name: list(_plain(each)) for name, each in attackers.items()},
        "words": int(total.sum()),
        "speed": words / max(seconds, 1e-9),
        "samples": [text[:400] for text in written[:SAMPLES]],
        "statement": "as its authors state it; not checked here",
        "note": f"{100 * kept.sum() / max(1, of.sum()):.0f} of 100 words pass in clear (unchanged "
        f"at epsilon {_NOTHING:g}); {len(texts)} texts; the attacker only watches, which is a "
        "lower bound",
    }


def _words(text: str, most: int) -> list[str]:
    return _WORD.findall(text.lower())[:most]


def _share(hits: Any, count: Any, rng: np.random.Generator) -> Estimate:
    return bootstrapped((hits, count), lambda a, b: a / np.maximum(b, 1e-9), rng)


def _plain(each: Estimate) -> tuple[float, float, float]:
    return each.value, each.low, each.high


def _environment(peer: Peer, folder: Path, say: Say) -> Path:
    """The interpreter of the peer's environment, made now unless it is there."""
    if peer.needs is not None and not (Path.home() / peer.needs).exists():
        raise _CannotRun(f"it would fetch data from the network that is not here (~/{peer.needs})")
    place = folder / f"{peer.package}-{peer.version}"
    python = place / ("Scripts" if os.name == "nt" else "bin") / "python"
    done = place / "installed"
    if done.is_file():
        return python
    say(f"installing {peer.package} {peer.version} into an environment of its own, {place}")
    place.parent.mkdir(parents=True, exist_ok=True)
    wanted = f"{peer.package}=={peer.version}"
    for command in (
        [sys.executable, "-m", "venv", "--clear", str(place)],
        [str(python), "-m", "pip", "install", "-q", wanted],
    ):
        _called(command, "it cannot be installed")
    done.write_text(wanted)
    return python


def _run(peer: Peer, texts: Sequence[tuple[float, Sequence[str]]], python: Path) -> list[list[str]]:
    """The release of each text at its epsilon, by a process of the peer's own."""
    asked = [json.dumps({"peer": peer.package, "mechanism": peer.mechanism})]
    asked += [json.dumps({"epsilon": each, "words": list(words)}) for each, words in texts]
    answered = _called([str(python), str(_DRIVER)], "it stopped", "\n".join(asked) + "\n")
    try:
        released = [list(map(str, json.loads(line)["words"])) for line in answered.splitlines()]
    except (ValueError, KeyError, TypeError):
        released = []
    if len(released) != len(texts):
        raise _CannotRun("it did not answer for every text")
    return released


def _called(command: Sequence[str], problem: str, given: str = "") -> str:
    """What a command writes; why it failed is told by the kind of error, never by its text."""
    offline = {"HF_HUB_OFFLINE": "1"}
    if given:  # what runs a peer has no network; what installs it needs one
        offline |= dict.fromkeys(("http_proxy", "https_proxy"), "http://127.0.0.1:9")
    try:
        done = subprocess.run(
            command,
            input=given,
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | offline,
            timeout=60 * _MINUTES,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise _CannotRun(f"it took more than {_MINUTES} minutes") from None
    except OSError as error:
        raise _CannotRun(f"{problem} ({type(error).__name__})") from None
    if done.returncode != 0:
        kinds = re.findall(r"^(?:[\w.]*\.)?(\w*(?:Error|Exception|NotFound))\b", done.stderr, re.M)
        raise _CannotRun(f"{problem} ({kinds[-1] if kinds else 'no reason given'})")
    return done.stdout
