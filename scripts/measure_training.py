"""How much of what training gains certified training keeps: `docs/background/user-entity.md`.

    python scripts/measure_training.py DATA -o FOLDER [--set conll2003|agnews] [--start other|same]
        [--seeds 3] [--epsilon 8] [--only NAME ...] [--workers 2] [--minutes 5]

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
from dataclasses import asdict, dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch

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

WORDS = 3000
PUBLIC_STEPS = {"other": 240, "same": 50}
# Texts of the two files of AG News; of the second, the first are what is chosen and tested on.
NEWS, NEWS_TEST, NEWS_BOTH = 10_001, 2000, 7600
ALL = ("noiseless", "de-identified", "user-level", "certified")
Users = tuple[UserText, ...]
_STATE = "run that goes on"


@dataclass(frozen=True)
class Texts:
    """What is trained on, with and without entities masked, chosen on and tested on."""

    private: Users
    masked: Users
    dev: Users
    test: Users


def marked_conll(data: Path, part: str, words: PublicWords) -> Users:
    return conll(data, part, words, CONLL["all"])


def conll_texts(data: Path, words: PublicWords) -> Texts:
    validation = marked_conll(data, "valid", words)
    return Texts(
        private=marked_conll(data, "train", words),
        masked=conll(data, "train", words, CONLL["all"], masked=True),
        dev=tuple(user for place, user in enumerate(validation) if place % 4 == 0),
        test=marked_conll(data, "test", words),
    )


def news_texts(data: Path, words: PublicWords, folder: Path) -> Texts:
    """Every text is a user, with its sentences: nobody knows who wrote it."""
    found = []
    for part, most in (("dev", NEWS), ("test", NEWS_BOTH)):
        kept, texts = folder / f"agnews-{part}-{most}.json", ag_news_texts(data, part, most)
        if not kept.exists():
            kept.write_text(json.dumps(found_entities(texts)))
        found += list(zip(texts, json.loads(kept.read_text()), strict=True))

    def users(places: Sequence[int], *, masked: bool = False) -> Users:
        texts, entities = zip(*(found[place] for place in places), strict=True)
        return ag_news(
            texts, entities, places, words, AG_NEWS["all"], masked=masked, by_sentence=True
        )

    half, end = NEWS + NEWS_TEST // 2, NEWS + NEWS_TEST
    private = [*range(NEWS), *range(end, len(found))]
    return Texts(
        private=users(private),
        masked=users(private, masked=True),
        dev=users(range(NEWS, half)),
        test=users(range(half, end)),
    )


def public_start(data: Path, folder: Path, words: PublicWords, which: str, kind: str) -> Path:
    """The file of the network that was trained on public text."""
    path = folder / f"start-{which}-{kind}.safetensors"
    if not path.exists():
        news = as_users(ag_news_texts(data, "dev", NEWS), words), PUBLIC_STEPS["other"]
        own = public_conll(data, words), PUBLIC_STEPS["same"]
        texts = {"conll2003": [news] if kind == "other" else [news, own], "agnews": [own]}[which]
        start.trained_on_public(path, words, texts)
    return path


def measured(model: AwdLstm, users: Sequence[UserText]) -> dict[str, float]:
    return {name: value for name, value in asdict(quality(model, users)).items() if value}


def run(
    rules: Rules,
    users: Users,
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
    trainer, until_worse = UserEntityTrainer(rules, users, model, seed=seed), not rules.private
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
        "users": len(users),
        "epsilon": None
        if loss is None
        else {k: v for k, v in asdict(loss).items() if v < math.inf},
    }


def rules_of(population: int, options: argparse.Namespace) -> dict[str, tuple[Rules, int]]:
    """The rules and steps of every algorithm. Adam makes the size of the clipped sum no matter."""
    plain = Rules(
        algorithm="noiseless", user_rate=options.plain_rate,
        learning_rate=options.plain_learning_rate, optimizer="adam", population=population,
    )  # fmt: skip
    private = replace(
        plain, user_rate=options.rate, entity_rate=1.0, learning_rate=options.learning_rate,
        clip=1.0, holders=options.holders, cells=options.cells, cell_clip=options.cell_ratio,
        one_cell=options.one_cell,
    )  # fmt: skip
    return {
        "noiseless": (plain, options.most_steps),
        "de-identified": (replace(plain, algorithm="de-identified"), options.most_steps),
        "user-level": (replace(private, algorithm="user-level"), options.steps),
        "certified": (replace(private, algorithm="certified"), options.steps),
    }


def texts_of(options: argparse.Namespace) -> tuple[PublicWords, Texts]:
    words = PublicWords.of_space("starter", WORDS)
    if options.set == "conll2003":
        return words, conll_texts(options.data, words)
    return words, news_texts(options.data, words, options.output)


def one(name: str, seed: int, options: argparse.Namespace) -> Path | None:
    """The file of one run, made if it is not there; None if it is not at its end."""
    torch.set_num_threads(1)
    words, texts = texts_of(options)
    path = public_start(options.data, options.output, words, options.set, options.start)
    rules, steps = rules_of(len(texts.private), options)[name]
    if rules.private:
        rules = rules.calibrated(steps, options.epsilon)
    digest = hashlib.blake2b(f"{rules.digest} {steps}".encode(), digest_size=4).hexdigest()
    kept = options.output / f"{options.set}-{options.start}-{name}-{digest}-{seed}.json"
    if not kept.exists():
        print(f"{kept.stem}: noise {rules.noise:.3f}", flush=True)
        found = run(
            rules, texts.masked if name == "de-identified" else texts.private,
            start.network(path, words), texts,
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
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--epsilon", type=float, default=8.0)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--most-steps", type=int, default=400, help="without noise")
    parser.add_argument("--rate", type=float, default=0.25)
    parser.add_argument("--plain-rate", type=float, default=0.1, help="without noise")
    parser.add_argument("--plain-learning-rate", type=float, default=0.005)
    parser.add_argument("--learning-rate", type=float, default=0.01)
    parser.add_argument("--holders", type=int, default=2)
    parser.add_argument("--cells", type=int, default=1)
    parser.add_argument("--cell-ratio", type=float, default=0.25)
    parser.add_argument("--one-cell", action="store_true")
    parser.add_argument("--only", nargs="+", default=ALL)
    parser.add_argument("--workers", type=int, default=1, help="runs at once, a core each")
    parser.add_argument("--minutes", type=float, default=math.inf, help="of one run, at a time")
    options = parser.parse_args()
    began = time.monotonic()
    options.output.mkdir(parents=True, exist_ok=True)
    words, _ = texts_of(options)  # what the runs share is made before they begin
    public_start(options.data, options.output, words, options.set, options.start)
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    runs = [(name, seed) for name in ALL if name in options.only for seed in seeds]
    if options.workers > 1:
        with ProcessPoolExecutor(options.workers, mp_context=get_context("spawn")) as pool:
            files = list(pool.map(one, *zip(*runs, strict=True), [options] * len(runs)))
    else:
        files = [one(*run, options) for run in runs]
    if None in files:
        sys.exit("not at its end: give the command again to go on")
    found = [json.loads(file.read_text()) for file in files if file is not None]
    made = list(zip(runs, found, strict=True))
    best = [figures["after"]["perplexity"] for (name, _), figures in made if name == ALL[0]]
    for (name, seed), figures in made:
        say(f"{options.set} from {options.start}, {name}, seed {seed}", figures, best)
    print(f"{(time.monotonic() - began) / 60:.1f} minutes")


def say(name: str, found: dict[str, Any], noiseless: Sequence[float]) -> None:
    shown = [found[which] for which in ("before", "after", "average") if which in found]
    all_words, entities = (
        " -> ".join(f"{one.get(words, np.nan):.2f}" for one in shown)
        for words in ("perplexity", "entities")
    )
    began = shown[0]["perplexity"]
    gain = began - np.mean(noiseless) if noiseless else np.nan
    shares = [(began - one["perplexity"]) / gain for one in shown[1:]]
    print(
        f"{name}: perplexity {all_words}, of entities {entities}; {found['steps']} steps; "
        f"dropped {found['dropped']['sentences']:,}; {found['seconds']:.0f} s; "
        f"share {' '.join(f'{share:.3f}' for share in shares)}",
        flush=True,
    )


if __name__ == "__main__":
    main()
