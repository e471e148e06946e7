"""Yue et al. (2021), "Differential Privacy for Text Analytics via Natural Text Sanitization"."""

from dataclasses import asdict
from functools import partial
from pathlib import Path

from discreet_recipes.guarantee import add_guarantee
from discreet_recipes.recipe import Say
from discreet_recipes.record import Record
from discreet_recipes.santext import RECIPE
from discreet_recipes.santext.bench import Bench
from discreet_recipes.santext.data import (
    BOTH,
    SanTextSetting,
    masked_at,
    order_at,
    settings_at,
    with_shares,
)
from discreet_recipes.santext.pages import Figures, add_pages
from discreet_recipes.santext.sizes import SanTextOptions
from discreet_recipes.santext.tuned import READ_JOINTLY, TunedBench
from discreet_recipes.santext.tuned_pages import Shown, add_shown

_LISTS = (
    *("epsilons", "noise_epsilons", "order_epsilons", "pair_epsilons", "piece_epsilons"),
    *(
        "tuned_epsilons",
        "mask_epsilons",
        "both_epsilons",
        "curve_steps",
        "shares",
        "probabilities",
        "influence_epsilon",
    ),
)
# What parts depend on, beside what their names say.
_SPACE = ("format", "vectors")
_SWEEP = (*_SPACE, "train", "seeds")
_SHARES = ("share", "probability")
_PAIRS = (*_SPACE, "encoder", "pairs", "pair_tests")
_PRETRAINING = (
    *("format", "piece vectors", "encoder", "reviews", "head_steps"),
    *("tuned", "tuned_seeds", "tuned_tests", "epochs", "tuned_batch", "tuned_rate"),
    *("corpus", "windows", "window", "pretraining_rate", "warmup"),
)
_ATTACKED = (*_PRETRAINING, "steps", "attacked", "share")


def run(data: Path, folder: Path, options: SanTextOptions, say: Say) -> Record:
    """Run the recipe and write its record."""
    size = options
    rows = (
        f"A bag of words has {size.train:,} training phrases of SST-2 and {size.seeds} seeds (rows "
        "and noise); the figure after ± is the standard deviation over seeds. Published and "
        "certified carry the same proven guarantee at the same epsilon."
    )
    bench = Bench(data, size, say)
    vectors = {"vectors": bench.words.fingerprint, "piece vectors": bench.pieces.fingerprint}
    settings = {**asdict(size), "format": 6, READ_JOINTLY: 2, **vectors}
    record = Record.of(RECIPE, folder, settings, say, rows, lists=_LISTS)
    part = record.part
    shared = partial(with_shares, w=size.share, p=size.probability)
    utility = {
        s.key: part(f"sst2-{s.part}", partial(bench.accuracy, s), _SWEEP)
        for s in (
            *shared(settings_at(size.epsilons)),
            *(SanTextSetting("cmp", e) for e in size.noise_epsilons),
            *shared(order_at(size.order_epsilons)),
        )
    }
    influence = [
        {"w": w, "p": p, "accuracy": part(f"sst2-{s.part}", partial(bench.accuracy, s), _SWEEP)}
        for w in size.shares
        for p in size.probabilities
        for s in [SanTextSetting("santext-plus", size.influence_epsilon, "published", w, p)]
    ]
    privacy = [
        {
            "epsilon": e,
            "calibration": c,
            **part(
                f"privacy-{c}-{e:g}",
                partial(bench.privacy, SanTextSetting("santext", e, c)),
                (*_SPACE, "words"),
            ),
        }
        for c in BOTH
        for e in size.epsilons
    ]
    frozen = () if size.joint_pairs else size.pair_epsilons
    pairs = {
        s.key: part(f"stsb-{s.part}", partial(bench.pearson, s), _PAIRS)
        for s in (shared(settings_at(frozen)) if frozen else ())
    }
    tuning = TunedBench(data, size, bench.words)
    tuned = {
        task: {
            s.key: [
                part(
                    f"tuned-{task}-{s.part}-{seed}",
                    partial(tuning.score, task, s, seed),
                    (*_SPACE, *tuning.uses(task)),
                )
                for seed in range(tuning.seeds(task))
            ]
            for s in shared(tuning.settings(task))
        }
        for task in tuning.tasks
    }
    both = [
        {
            "space": name,
            "epsilon": e,
            **part(
                f"both-{name}-{e:g}",
                partial(bench.both, name, e),
                (*_SWEEP, "words", *(("piece vectors",) if name == "pieces" else ())),
            ),
        }
        for name in ("words", "pieces")
        for e in size.both_epsilons
    ]
    pretraining = [
        {
            "epsilon": e,
            **part(
                f"pretraining-{e:g}",
                partial(bench.pretraining, e, size.steps, attack=True),
                _ATTACKED,
            ),
        }
        for e in size.piece_epsilons
    ]
    # A point of the curve that was attacked is not trained again.
    longer = [
        {
            **row,
            "steps": steps,
            **(
                {}
                if steps == size.steps
                else part(
                    f"pretraining-{row['epsilon']:g}-{steps}",
                    partial(bench.pretraining, row["epsilon"], steps, attack=False),
                    _PRETRAINING,
                )
            ),
        }
        for row in pretraining
        for steps in size.curve_steps
    ]
    masked = {
        s.key: part(f"masked-{s.part}", partial(bench.masked, s), _ATTACKED)
        for s in masked_at(size.mask_epsilons)
    }
    speed = part("speed", bench.speed, _SPACE)
    add_guarantee(
        record,
        "SanText at epsilon 8 protects each word by 8 times the distance",
        "proven by the triangle inequality, kappa = epsilon / 2",
        part("guarantee", bench.guarantee, _SPACE),
        "and looser than need be, which the certified calibration makes use of",
    )
    add_pages(record, size, Figures(utility, influence, privacy, pairs, pretraining, speed))
    tried = "-".join(f"{epsilon:g}" for epsilon in size.epsilons)
    examples = part(
        f"examples-{tried}", partial(bench.examples, size.epsilons), (*_SPACE, *_SHARES)
    )
    counts = part("vocabularies", bench.vocabularies, (*_SPACE, "piece vectors", "share"))
    add_shown(record, size, Shown(tuned, masked, both, longer, examples, counts))
    return record.finish()
