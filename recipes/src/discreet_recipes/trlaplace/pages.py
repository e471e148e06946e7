"""The tables, the plot and the claims of the recipe trlaplace, from what it measured."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.report.plots import Curve
from discreet.report.tables import Cell
from discreet_recipes.record import Record, verdict
from discreet_recipes.trlaplace.setting import TrLaplaceSetting
from discreet_recipes.trlaplace.sizes import PAPER_EPSILONS, TrLaplaceOptions

# Table 2 and 3 of the paper, GloVe, Yelp: N_w by epsilon.
PUBLISHED = {
    name: dict(zip(PAPER_EPSILONS, values, strict=True))
    for name, values in {
        "gaussian": (0.144, 0.381, 0.608, 0.694, 0.708, 0.725, 0.708, 0.739),
        "laplace": (0.052, 0.138, 0.525, 0.646, 0.691, 0.721, 0.704, 0.699),
        "truncated-laplace": (0.705, 0.721, 0.722, 0.725, 0.724, 0.700, 0.712, 0.740),
    }.items()
}
_PLAIN_AUTO_ENCODED = 0.706
_REWRITTEN = ("loss", "ROUGE-1", "BLEU", "N_w", "BERTScore")
_NAMES = ("N_w", "ROUGE-1", "BLEU", "BERTScore", "fluency", "accuracy")
_SPREAD = "sd of accuracy"

Rows = dict[TrLaplaceSetting, dict[str, Any]]
"""A row of figures for each setting."""


@dataclass(frozen=True)
class Measured:
    """What the recipe found."""

    privacy: Rows
    """In the first space."""
    other_spaces: dict[str, Rows]
    """The privacy test in the others, by their names."""
    utility: dict[str, Rows]
    """By task; the first setting is the published box."""
    plain: dict[str, dict[str, float]]
    """By task: the figures of the unprotected text."""
    auto_encoder: dict[str, dict[TrLaplaceSetting | None, dict[str, Any]]]
    """By space; None is without noise."""


def add_tables(record: Record, measured: Measured, seeds: int) -> None:
    """The privacy test, the utility test of each task, and the curve of kept words."""
    record.add_table(
        "privacy",
        "Privacy test: how often a word stays, and among how many it hides",
        [
            {
                **_setting(s),
                "notion": row["notion"],
                "delta that holds": _delta(row),
                "N_w": row["keep"],
                "S_w": row["options"],
                "N_w in the paper": _in_the_paper(s),
            }
            for s, row in measured.privacy.items()
        ],
        "N_w: mean probability that a word of public text comes out unchanged, before rewriting. "
        "S_w: median size of the smallest set of outputs with 95 % of the probability (from draws "
        "where the law has no formula: then at most the number of draws). The paper's N_w is of "
        "Yelp after its auto-encoder.",
    )
    for name, by_setting in measured.other_spaces.items():
        record.add_table(
            f"privacy-{name}",
            f"The same in the space {name}",
            [
                {
                    **_setting(s),
                    "delta that holds": _delta(row),
                    "N_w": row["keep"],
                    "S_w": row["options"],
                    "N_w in the first space": measured.privacy[s]["keep"],
                }
                for s, row in by_setting.items()
            ],
        )
    for task, by_setting in measured.utility.items():
        rows: list[dict[str, Cell]] = [
            {
                **_setting(s),
                "delta that holds": _delta(row),
                "text": stage,
                "loss": row["loss"] if stage == "rewritten" else None,
                **{name: row[f"{stage} {name}"] for name in _NAMES},
                **({_SPREAD: _spread(row[f"{stage} accuracy sd"], seeds)} if seeds > 1 else {}),
            }
            for s, row in by_setting.items()
            for stage in ("released", "rewritten")
        ]
        base = measured.plain[task]
        top = (1.0, 100.0, 100.0, 1.0, base["cross_entropy"], base["accuracy"])
        rows.append(
            {"mechanism": "none", "text": "original", **dict(zip(_NAMES, top, strict=True))}
        )
        record.add_table(
            f"utility-{task}",
            f"Utility test on {task}",
            rows,
            f"Means over {seeds} rewriters, and over as many draws of the noise."
            if seeds > 1
            else "",
        )
    kept: dict[str, dict[float, float]] = {}
    for s, row in measured.privacy.items():
        published = ", delta does not hold" if s.calibration == "published" else ""
        kept.setdefault(s.mechanism + published, {})[s.epsilon] = row["keep"]
    record.add_plot(
        "kept-words",
        "How often a word stays as it is",
        ("epsilon (of cmp and santext: per unit of distance)", "N_w"),
        [Curve(label, tuple(some), tuple(some.values())) for label, some in kept.items()],
        "N_w against epsilon, a curve for each mechanism.",
        log_x=True,
    )


_SECONDS = {"processor_seconds": "of the processor", "noise_seconds": "of them noise"}


def add_auto_encoder(
    record: Record, measured: Measured, task: str, options: TrLaplaceOptions
) -> None:
    """The paper's Tables 1 to 3 and 5: its auto-encoder without noise, and with some."""
    rows: list[dict[str, Cell]] = []
    for space, by_setting in measured.auto_encoder.items():
        for setting, row in by_setting.items():
            if setting is None:
                first: dict[str, Cell] = {"mechanism": "none", "epsilon": "infinity"}
            else:
                first = {**_setting(setting), "delta that holds": _delta(row)}
            rows.append(
                {
                    "space": space,
                    **first,
                    **{name: row[name] for name in _REWRITTEN},
                    "seconds an epoch": round(row["epoch_seconds"], 2),
                    **{
                        words: round(row[name], 2)
                        for name, words in _SECONDS.items()
                        if name in row
                    },
                    "N_w in the paper": _PLAIN_AUTO_ENCODED
                    if setting is None
                    else PUBLISHED[setting.mechanism].get(setting.epsilon),
                }
            )
    record.add_table(
        "auto-encoder",
        f"The paper's auto-encoder on {task}: words released go in, the original is to come out",
        rows,
        f"Trained on {options.auto_texts:,} public texts at most for {options.auto_epochs} "
        f"epoch(s), measured on {options.compared:,} protected ones at most. It may write the "
        "words of its public text, all others are lost also without noise. The paper's N_w is of "
        "Yelp with GloVe.",
    )
    for space, by_setting in measured.auto_encoder.items():
        plain = by_setting[None]
        box = {s.epsilon: row for s, row in by_setting.items() if s and "truncated" in s.mechanism}
        if not box:
            continue
        least = min(box)
        record.add_claim(
            f"{space}: the auto-encoder reads the published box at epsilon {least:g} as well as "
            "text without noise",
            "loss 2.98 against 3.07, N_w 0.705 against 0.706 (Yelp, GloVe, epsilon 0.05)",
            f"loss {box[least]['loss']:.2f} against {plain['loss']:.2f}, N_w "
            f"{box[least]['N_w']:.3f} against {plain['N_w']:.3f}",
            verdict(box[least]["N_w"] > plain["N_w"] - 0.05),
            "noise of this size leaves no word where it was, so there is nothing to read; delta "
            f"that holds is {_delta(box[least])}",
            main=space == next(iter(measured.auto_encoder)),
        )
    _add_seconds(record, [row for some in measured.auto_encoder.values() for row in some.items()])


def _add_seconds(
    record: Record, rows: Sequence[tuple[TrLaplaceSetting | None, dict[str, Any]]]
) -> None:
    """Table 5, by the time of the processor, which other work on the machine does not change."""
    spent: dict[str, list[float]] = {}
    for setting, row in rows:
        if setting is not None and "noise_seconds" in row:
            spent.setdefault(setting.mechanism, []).append(row["noise_seconds"])
    box, others = spent.pop("truncated-laplace", []), spent
    if not box or not others:
        return
    plain = [row["processor_seconds"] for setting, row in rows if setting is None]
    means = {name: float(np.mean(some)) for name, some in others.items()}
    record.add_claim(
        "truncated Laplace noise costs no more time in an epoch than other noise",
        "Table 5",
        f"of {np.mean(plain):.1f} s of the processor in an epoch without noise, noise adds "
        + ", ".join(f"{name} {mean:.2f} s" for name, mean in means.items())
        + f", truncated-laplace {np.mean(box):.2f} s",
        verdict(float(np.mean(box)) <= 1.1 * max(means.values())),
        "sampled by the inverse of its distribution function, where the paper rejects",
    )


def _spread(deviation: float, seeds: int) -> float:
    """The standard deviation over seeds as other pages have it, of that about the seeds' mean.

    >>> _spread(float(np.std([0.1, 0.3])), 2)  # stdev([0.1, 0.3])
    0.1414
    """
    return round(deviation * math.sqrt(seeds / (seeds - 1)), 4)


def _setting(setting: TrLaplaceSetting) -> dict[str, Cell]:
    return {
        "mechanism": setting.mechanism,
        "calibration": setting.calibration,
        "epsilon": setting.epsilon,
    }


def _delta(row: dict[str, Any]) -> str:
    return "no guarantee" if row["true_epsilon"] is None else f"{row['true_delta']:.3g}"


def _in_the_paper(setting: TrLaplaceSetting) -> float | None:
    if (setting.mechanism, setting.calibration) == ("truncated-laplace", "certified"):
        return None
    return PUBLISHED.get(setting.mechanism, {}).get(setting.epsilon)


def add_claims(record: Record, measured: Measured, epsilons: Sequence[float]) -> None:
    """Each claim of the paper beside what was measured."""
    privacy = measured.privacy
    _add_claims_of_the_box(record, privacy, epsilons)
    names = ("laplace", "gaussian", "truncated-laplace")
    high = max(e for e in (*epsilons, 100.0) if TrLaplaceSetting("laplace", e) in privacy)
    far = {name: privacy[TrLaplaceSetting(name, high)]["keep"] for name in names}
    record.add_claim(
        "Truncated Laplace beats Laplace and Gaussian at the same guarantee",
        "at every epsilon below 1",
        ", ".join(f"{n} {v:.3f}" for n, v in far.items())
        + f" of the words kept at epsilon {high:g}",
        verdict(far["truncated-laplace"] > max(far["laplace"], far["gaussian"]) + 0.02),
        "with a box that keeps delta the noise is Laplace noise for all practical purposes",
        main=True,
    )
    record.add_key_figure(
        "utility",
        f"words of public text kept at the guarantee ({high:g}, 1e-5) a word",
        ", ".join(f"{n} {v:.2f}" for n, v in far.items()),
    )
    if any(measured.utility.values()):
        _add_utility_claims(record, measured)


def _add_claims_of_the_box(
    record: Record, privacy: Mapping[TrLaplaceSetting, Any], epsilons: Sequence[float]
) -> None:
    """Those of the published mechanism, at epsilons where it is defined."""
    within = [
        e for e in epsilons if TrLaplaceSetting("truncated-laplace", e, "published") in privacy
    ]
    if not within:
        return
    at = 0.1 if 0.1 in within else min(within)
    box = privacy[TrLaplaceSetting("truncated-laplace", at, "published")]
    delta = 1.0 if box["true_epsilon"] is None else box["true_delta"]
    record.add_claim(
        "Truncated Laplace noise is (epsilon, 4^-d)-DP",
        "delta = 4^-d",
        f"delta = {delta:.3g} at epsilon {at:g}",
        # 4^-d is at most 1/16: every space has two dimensions or more.
        verdict(delta <= 1 / 16),
        "the part of one box outside the other is a set of slabs, not a small cube",
        main=True,
    )
    kept = max(
        privacy[TrLaplaceSetting("truncated-laplace", e, "published")]["keep"] for e in within
    )
    record.add_claim(
        f"At epsilon {min(within):g} to {max(within):g} it keeps about 70 % of the words",
        "N_w = 0.70 to 0.74 (GloVe, Yelp)",
        f"at most {kept:.3f}",
        verdict(kept > 0.5),
        "with the noise of its own theorem nearly no word survives in this space; the paper "
        "measures after an auto-encoder and does not say that its training text was public",
    )


def _add_utility_claims(record: Record, measured: Measured) -> None:
    rows = [row for some in measured.utility.values() for row in some.values()]
    gains = [row["rewritten N_w"] - row["released N_w"] for row in rows]
    smoother = [row["released fluency"] - row["rewritten fluency"] for row in rows]
    record.add_claim(
        "Rewriting makes fluent text of what was released",
        "loss and ROUGE-1 near the unprotected ones",
        f"{np.mean(smoother):.2f} nats a word more fluent on average; words restored: "
        f"{min(gains):+.3f} to {max(gains):+.3f}",
        verdict(min(smoother) > 0 and min(gains) > 0, in_part=True),
        "a rewriter cannot bring back what the noise destroyed; where nothing was kept it "
        "writes the most frequent words",
    )
    lines, falls = [], []
    for task, some in measured.utility.items():
        if not some:
            continue
        scores = [row["rewritten accuracy"] for row in some.values()]
        plain = measured.plain[task]["accuracy"]
        falls.append(scores[0] < plain - 0.05)
        lines.append(
            f"{task}: published box {scores[0]:.3f}, best setting {max(scores):.3f}, unprotected "
            f"{plain:.3f}"
        )
    record.add_claim(
        "Downstream accuracy hardly falls",
        "close to the unprotected baseline at epsilon below 1",
        "; ".join(lines),
        verdict(not any(falls), in_part=not all(falls)),
        "at canonical epsilons where accuracy survives (100 a word) the guarantee means little; "
        "metric mechanisms state their loss per distance instead",
        main=True,
    )
