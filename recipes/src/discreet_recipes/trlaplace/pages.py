"""The tables, the plot and the claims of the recipe trlaplace, from what it measured."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.report.plots import Curve
from discreet.report.tables import Cell
from discreet_recipes.record import Record, verdict
from discreet_recipes.trlaplace.data import PAPER_EPSILONS, Setting

# Table 2 and 3 of the paper, GloVe, Yelp: N_w by epsilon.
PUBLISHED = {
    "gaussian": {0.05: 0.144, 0.1: 0.381, 1.0: 0.708, 10: 0.708},
    "laplace": {0.05: 0.052, 0.1: 0.138, 1.0: 0.691, 10: 0.704},
    "truncated-laplace": {0.05: 0.705, 0.1: 0.721, 1.0: 0.724, 10: 0.712},
}
_NAMES = ("N_w", "ROUGE-1", "BLEU", "BERTScore", "fluency", "accuracy")

Rows = dict[Setting, dict[str, Any]]
"""A row of figures for each setting."""


@dataclass(frozen=True)
class Measured:
    """What the recipe found."""

    privacy: Rows
    utility: dict[str, Rows]
    """By task; the first setting is the published box."""
    plain: dict[str, dict[str, float]]
    """By task: the figures of the unprotected text."""


def add_tables(record: Record, measured: Measured) -> None:
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
    for task, found in measured.utility.items():
        rows: list[dict[str, Cell]] = [
            {
                **_setting(s),
                "delta that holds": _delta(row),
                "text": stage,
                "loss": row["loss"] if stage == "rewritten" else None,
                **{name: row[f"{stage} {name}"] for name in _NAMES},
            }
            for s, row in found.items()
            for stage in ("released", "rewritten")
        ]
        base = measured.plain[task]
        top = (1.0, 100.0, 100.0, 1.0, base["cross_entropy"], base["accuracy"])
        rows.append(
            {"mechanism": "none", "text": "original", **dict(zip(_NAMES, top, strict=True))}
        )
        record.add_table(f"utility-{task}", f"Utility test on {task}", rows)
    kept: dict[str, dict[float, float]] = {}
    for s, row in measured.privacy.items():
        published = ", delta does not hold" if s.calibration == "published" else ""
        kept.setdefault(s.mechanism + published, {})[s.epsilon] = row["keep"]
    record.add_plot(
        "kept-words",
        "How often a word stays as it is",
        ("epsilon (of cmp and santext: per unit of distance)", "N_w"),
        [Curve(label, tuple(some), tuple(some.values())) for label, some in kept.items()],
        "N_w against epsilon for six mechanisms: nothing is kept below epsilon 10",
        log_x=True,
    )


def _setting(setting: Setting) -> dict[str, Cell]:
    return {
        "mechanism": setting.mechanism,
        "calibration": setting.calibration,
        "epsilon": setting.epsilon,
    }


def _delta(row: dict[str, Any]) -> str:
    return "no guarantee" if row["true_epsilon"] is None else f"{row['true_delta']:.3g}"


def _in_the_paper(setting: Setting) -> float | None:
    if (setting.mechanism, setting.calibration) == ("truncated-laplace", "certified"):
        return None
    return PUBLISHED.get(setting.mechanism, {}).get(setting.epsilon)


def add_claims(record: Record, measured: Measured) -> None:
    """Each claim of the paper beside what was measured."""
    privacy = measured.privacy
    box = privacy[Setting("truncated-laplace", 0.1, "published")]
    delta = 1.0 if box["true_epsilon"] is None else box["true_delta"]
    record.add_claim(
        "Truncated Laplace noise is (epsilon, 4^-d)-DP",
        "delta = 4^-d",
        f"delta = {delta:.3g} at epsilon 0.1",
        # 4^-d is at most 1/16: every space has two dimensions or more.
        verdict(delta <= 1 / 16),
        "the part of one box outside the other is a set of slabs, not a small cube",
        main=True,
    )
    kept = max(
        privacy[Setting("truncated-laplace", e, "published")]["keep"] for e in PAPER_EPSILONS
    )
    record.add_claim(
        "At epsilon 0.05 to 20 it keeps about 70 % of the words",
        "N_w = 0.70 to 0.74 (GloVe, Yelp)",
        f"at most {kept:.3f}",
        verdict(kept > 0.5),
        "with the noise of its own theorem nearly no word survives in this space; the paper "
        "measures after an auto-encoder and does not say that its training text was public",
    )
    names = ("laplace", "gaussian", "truncated-laplace")
    far = {name: privacy[Setting(name, 100.0)]["keep"] for name in names}
    record.add_claim(
        "Truncated Laplace beats Laplace and Gaussian at the same guarantee",
        "at every epsilon below 1",
        ", ".join(f"{n} {v:.3f}" for n, v in far.items()) + " of the words kept at epsilon 100",
        verdict(far["truncated-laplace"] > max(far["laplace"], far["gaussian"]) + 0.02),
        "with a box that keeps delta the noise is Laplace noise for all practical purposes",
        main=True,
    )
    record.add_key_figure(
        "utility",
        "words of public text kept at the guarantee (100, 1e-5) a word",
        ", ".join(f"{n} {v:.2f}" for n, v in far.items()),
    )
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
        found = [row["rewritten accuracy"] for row in some.values()]
        plain = measured.plain[task]["accuracy"]
        falls.append(found[0] < plain - 0.05)
        lines.append(
            f"{task}: published box {found[0]:.3f}, best setting {max(found):.3f}, unprotected "
            f"{plain:.3f}"
        )
    record.add_claim(
        "Downstream accuracy hardly falls",
        "close to the unprotected baseline at epsilon below 1",
        "; ".join(lines),
        verdict(False, in_part=not all(falls)),
        "at canonical epsilons where accuracy survives (100 a word) the guarantee means little; "
        "metric mechanisms state their loss per distance instead",
        main=True,
    )
