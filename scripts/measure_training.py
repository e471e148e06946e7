"""How much of what training gains certified training keeps: `docs/background/user-entity.md`.

    python scripts/measure_training.py DATA -o FOLDER [--set conll2003|agnews] [--start other|same]
        [--seeds 3] [--plain-seeds 3] [--epsilon 8] [--only NAME ...] [--workers 2] [--minutes 5]

One network (an AWD-LSTM of 3,000 public words) begins with public text: of another kind (``other``:
AG News for CoNLL-2003 and the reverse), or for CoNLL-2003 also of the same kind (``same``: three of
four of its validation documents). From there it is trained on the protected text without noise,
with entities masked, for users, and for users and entities. Rates were chosen on the ``dev`` text,
which is neither trained on nor tested on; it also ends the runs without noise. Every run is kept in
FOLDER, and none is made twice. A run that takes longer than ``--minutes`` stops where it is, and
goes on from there when the same command is given again.
"""

import argparse
import hashlib
import json
import math
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import stats

from discreet.models.awd_lstm import AwdLstm
from discreet.tensors import load_tensors, save_tensors
from discreet.training.user_entity.build import PublicWords
from discreet.training.user_entity.rules import Rules
from discreet.training.user_entity.trainer import UserEntityTrainer, quality
from discreet.training.user_entity.users import UserText
from discreet_recipes.uedp import start
from discreet_recipes.uedp.data import (
    AG_NEWS,
    CONLL,
    ag_news,
    ag_news_texts,
    as_users,
    conll,
    found_entities,
    public_conll,
)
from discreet_recipes.uedp.sizes import STANDARD

WORDS = 3000
NETWORK = start.sizes_of(STANDARD)
PUBLIC_STEPS = {"other": 240, "same": 50}
# Texts of the two files of AG News; of the second, the first are what is chosen and tested on.
NEWS, NEWS_TEST, NEWS_BOTH = 10_001, 2000, 7600
PLAIN = ("noiseless", "de-identified")
ALL = (*PLAIN, "user-level", "certified")
STEPS, MOST_STEPS = 40, 400  # with noise, and without, where the dev text says when to end
# What was chosen on the dev text; de-identified is trained as noiseless is.
CHOSEN: dict[str, dict[str, dict[str, Any]]] = {
    "conll2003": {
        "noiseless": {"user_rate": 0.1, "learning_rate": 0.005},
        "user-level": {"user_rate": 0.25, "learning_rate": 0.01},
        "certified": {
            "user_rate": 0.25, "learning_rate": 0.01, "holders": 2, "cell_clip": 0.25,
        },
    },
    "agnews": {
        "noiseless": {"user_rate": 0.025, "learning_rate": 0.008},
        "user-level": {"user_rate": 0.1, "learning_rate": 0.05},
        "certified": {
            "user_rate": 0.25, "learning_rate": 0.03,
            "one_cell": True, "holders": 1, "cell_clip": 1.0,
        },
    },
}  # fmt: skip
Users = tuple[UserText, ...]
_STATE = "run that goes on"


@dataclass(frozen=True)
class Texts:
    """What is trained on, chosen on and tested on."""

    private: Users
    dev: Users
    test: Users


def conll_texts(data: Path, words: PublicWords, masked: bool) -> Texts:
    def documents(part: str, *, masked: bool = False) -> Users:
        return conll(data, part, words.vocabulary, CONLL["all"], masked=masked)

    return Texts(
        private=documents("train", masked=masked),
        dev=tuple(user for place, user in enumerate(documents("valid")) if place % 4 == 0),
        test=documents("test"),
    )


def marked_news(data: Path, folder: Path) -> list[tuple[str, Any]]:
    """The texts of AG News with their entities, which are found once for a folder."""
    found: list[tuple[str, Any]] = []
    for part, most in (("dev", NEWS), ("test", NEWS_BOTH)):
        kept, texts = folder / f"agnews-{part}-{most}.json", ag_news_texts(data, part, most)
        if not kept.exists():
            kept.write_text(json.dumps(found_entities(texts)))
        found += list(zip(texts, json.loads(kept.read_text()), strict=True))
    return found


def news_texts(data: Path, words: PublicWords, folder: Path, masked: bool) -> Texts:
    """Every text is a user, with its sentences: nobody knows who wrote it."""
    found = marked_news(data, folder)

    def users(places: Sequence[int], *, masked: bool = False) -> Users:
        texts, entities = zip(*(found[place] for place in places), strict=True)
        return ag_news(
            texts,
            entities,
            places,
            words.vocabulary,
            AG_NEWS["all"],
            masked=masked,
            by_sentence=True,
        )

    half, end = NEWS + NEWS_TEST // 2, NEWS + NEWS_TEST
    private = [*range(NEWS), *range(end, len(found))]
    return Texts(
        private=users(private, masked=masked),
        dev=users(range(NEWS, half)),
        test=users(range(half, end)),
    )


def public_start(data: Path, folder: Path, words: PublicWords, which: str, kind: str) -> Path:
    """The file of the network that was trained on public text."""
    path = folder / f"start-{which}-{kind}.safetensors"
    if not path.exists():
        news = as_users(ag_news_texts(data, "dev", NEWS), words.vocabulary), PUBLIC_STEPS["other"]
        own = public_conll(data, words.vocabulary), PUBLIC_STEPS["same"]
        texts = {"conll2003": [news] if kind == "other" else [news, own], "agnews": [own]}[which]
        start.trained_on_public(path, words, NETWORK, texts)
    return path


def measured(model: AwdLstm, users: Sequence[UserText]) -> dict[str, float]:
    return {name: value for name, value in asdict(quality(model, users)).items() if value}


def run(
    rules: Rules,
    model: AwdLstm,
    texts: Texts,
    *,
    steps: int,
    seed: int,
    every: int,
    state: Path,
    seconds: float,
) -> dict[str, Any] | None:
    """A run and its figures; without noise it ends where the dev text says. None if not at its end.

    ``average`` is of the models of the second half of the steps: it costs nothing, since each of
    them is released.
    """
    trainer, until_worse = (
        UserEntityTrainer(rules, texts.private, model, seed=seed),
        not rules.private,
    )
    began, since = time.process_time(), time.monotonic()
    kept: dict[str, Any] = {"before": measured(model, texts.test), "dev": [], "seconds": 0.0}
    kept |= {"done": 0, "steps": 0, "after": kept["before"]}
    mean = {name: np.zeros(value.shape) for name, value in model.trainable().items()}
    best = measured(model, texts.dev)["perplexity"]
    if state.exists():
        arrays, kept = load_tensors(state, _STATE)
        best = min([best, *(point[1] for point in kept["dev"])])
        mean = {name: arrays.pop(f"mean {name}") for name in mean}
        trainer.server.restore(arrays)
    spent, ended = kept["seconds"], False
    for step in range(kept["done"], steps):
        trainer.step(step)
        if 2 * step >= steps:
            for name, value in model.trainable().items():
                mean[name] += value.numpy() / (steps - (steps + 1) // 2)
        last = step + 1 == steps
        if (step + 1) % every == 0 or last:
            now = measured(model, texts.dev)["perplexity"]
            kept["dev"].append([step + 1, now])
            print(f"  step {step + 1}: dev {now:.2f}", flush=True)
            if not until_worse or now < best:
                best, kept["steps"] = now, step + 1
                if last or until_worse:
                    kept["after"] = measured(model, texts.test)
            ended = until_worse and now > 1.01 * best
        kept |= {"done": step + 1, "seconds": spent + time.process_time() - began}
        if ended or last:
            break
        if time.monotonic() - since > seconds:
            arrays = trainer.server.state() | {f"mean {name}": mean[name] for name in mean}
            save_tensors(state, _STATE, arrays, kept, force=True)
            return None
    if rules.private:
        for name, value in model.trainable().items():
            value.copy_(torch.from_numpy(mean[name]))
        kept["average"] = measured(model, texts.test)
        kept["average dev"] = measured(model, texts.dev)["perplexity"]
    state.unlink(missing_ok=True)
    loss = rules.loss(steps)
    return kept | {
        "rules": asdict(rules),
        "dropped": asdict(trainer.dropped),
        "users": len(texts.private),
        "epsilon": None
        if loss is None
        else {k: v for k, v in asdict(loss).items() if v < math.inf},
    }


def rules_of(name: str, which: str, population: int) -> Rules:
    """The rules of an algorithm. Adam makes the size of the clipped sum no matter."""
    return Rules(
        algorithm=name, entity_rate=1.0, optimizer="adam", population=population,
        **CHOSEN[which].get(name, CHOSEN[which]["noiseless"]),
    )  # fmt: skip


def one(name: str, seed: int, options: argparse.Namespace) -> Path | None:
    """The file of one run, made if it is not there; None if it is not at its end."""
    torch.set_num_threads(1)
    words, masked = PublicWords.of_space("starter", WORDS), name == "de-identified"
    texts = (
        conll_texts(options.data, words, masked)
        if options.set == "conll2003"
        else news_texts(options.data, words, options.output, masked)
    )
    path = public_start(options.data, options.output, words, options.set, options.start)
    rules, steps = rules_of(name, options.set, len(texts.private)), MOST_STEPS
    if rules.private:
        steps = STEPS
        rules = rules.calibrated(steps, options.epsilon)
    digest = hashlib.blake2b(f"{rules.digest} {steps}".encode(), digest_size=4).hexdigest()
    kept = options.output / f"{options.set}-{options.start}-{name}-{digest}-{seed}.json"
    if not kept.exists():
        print(f"{kept.stem}: noise {rules.noise:.3f}", flush=True)
        found = run(
            rules, start.network(path, words, NETWORK), texts,
            steps=steps, seed=seed, every=max(1, steps // 8) if rules.private else 10,
            state=kept.with_suffix(".safetensors"), seconds=60 * options.minutes,
        )  # fmt: skip
        if found is None:
            return None
        kept.write_text(json.dumps(found) + "\n")
    return kept


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--set", choices=("conll2003", "agnews"), default="conll2003")
    parser.add_argument("--start", choices=("other", "same"), default="other")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--plain-seeds", type=int, default=3, help="of runs without noise")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--epsilon", type=float, default=8.0)
    parser.add_argument("--only", nargs="+", choices=ALL, default=ALL)
    parser.add_argument("--workers", type=int, default=1, help="runs at once, a core each")
    parser.add_argument("--minutes", type=float, default=math.inf, help="of one run, at a time")
    options = parser.parse_args()
    began = time.monotonic()
    options.output.mkdir(parents=True, exist_ok=True)
    # What the runs share is made before they begin.
    words = PublicWords.of_space("starter", WORDS)
    if options.set == "agnews":
        marked_news(options.data, options.output)
    public_start(options.data, options.output, words, options.set, options.start)
    runs = [
        (name, seed)
        for name in ALL
        if name in options.only
        for seed in range(options.plain_seeds if name in PLAIN else options.seeds)
        if seed >= options.first_seed
    ]
    if options.workers > 1:
        with ProcessPoolExecutor(options.workers, mp_context=get_context("spawn")) as pool:
            files = list(pool.map(one, *zip(*runs, strict=True), [options] * len(runs)))
    else:
        files = [one(*run, options) for run in runs]
    if None in files:
        sys.exit("not at its end: give the command again to go on")
    found = [json.loads(file.read_text()) for file in files if file is not None]
    for (name, seed), figures in zip(runs, found, strict=True):
        print(f"{name}, seed {seed}: {_figures(figures)}")
    by_name = {
        name: [figures for (other, _), figures in zip(runs, found, strict=True) if other == name]
        for name in options.only
    }
    for name, some in filter(lambda pair: pair[1], by_name.items()):
        print(f"{options.set}, {name}: {_together(some, by_name.get('noiseless', []))}")
    print(f"{(time.monotonic() - began) / 60:.1f} minutes")


def _figures(found: dict[str, Any]) -> str:
    """Of one run: perplexity of all words and of entities, at the start, after it, averaged."""
    shown = [found[which] for which in ("before", "after", "average") if which in found]
    all_words, entities = (
        " -> ".join(f"{one.get(words, np.nan):.2f}" for one in shown)
        for words in ("perplexity", "entities")
    )
    return (
        f"perplexity {all_words}, of entities {entities}; {found['steps']} steps; "
        f"dropped {found['dropped']['sentences']:,}; {found['seconds']:.0f} s"
    )


def _together(runs: Sequence[dict[str, Any]], noiseless: Sequence[dict[str, Any]]) -> str:
    """Of all seeds: means with intervals of 95 %, if seeds are normal."""
    after = {
        words: np.array([found["after"].get(words, np.nan) for found in runs])
        for words in ("perplexity", "entities")
    }
    said = [f"perplexity {_mean(after['perplexity'])}, of entities {_mean(after['entities'])}"]
    if noiseless:
        began = np.array([found["before"]["perplexity"] for found in runs])
        best = np.mean([found["after"]["perplexity"] for found in noiseless])
        said.append(f"share {_mean((began - after['perplexity']) / (began - best))}")
    return "; ".join([*said, f"{len(runs)} seeds"])


def _mean(values: NDArray[np.float64]) -> str:
    if len(values) < 2:
        return f"{values.mean():.3f}"
    error = values.std(ddof=1) / math.sqrt(len(values))
    return f"{values.mean():.3f} ± {stats.t.ppf(0.975, len(values) - 1) * error:.3f}"


if __name__ == "__main__":
    main()
