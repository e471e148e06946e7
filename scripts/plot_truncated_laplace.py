"""Draw the delta that the truncated Laplace paper claims beside the one that holds.

Run it after the mechanism changed; needs matplotlib.

    python scripts/plot_truncated_laplace.py [docs/images/truncated-laplace-delta.png]
"""

import math
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from discreet.mechanisms.word import _box

HERE = Path(__file__).parent.parent / "docs" / "images" / "truncated-laplace-delta.png"
DIMENSIONS = np.unique(np.round(np.geomspace(1, 1000, 61))).astype(int)
LOOKS = {0.1: ("-", "o", "0.0"), 1.0: ("--", "s", "0.35"), 5.0: (":", "^", "0.5")}
LOWEST = 1e-12


def true_delta(epsilon: float, log_delta: float, dimension: int) -> float:
    """At least the delta of the paper's noise: the worst shift over k equal coordinates.

    All distances are in units of the clipping norm; nan outside the range of the paper's formula.
    """
    share = epsilon / (2.0 * math.exp(log_delta / dimension) * math.sqrt(dimension))
    if share >= 1:
        return math.nan
    rate, width = epsilon / (2.0 * math.sqrt(dimension)), -math.log1p(-share)
    counts = np.unique(np.geomspace(1, dimension, 40).astype(int))
    exponents = counts * _box.coordinate_exponent(rate * 2.0 / np.sqrt(counts), width)
    return -math.expm1(-float(exponents.max()))


def panel(axes: Axes, title: str, log_claim: "np.ndarray") -> None:
    """Claimed and true delta over the dimension."""
    claim = np.exp(np.maximum(log_claim, -700))
    axes.plot(DIMENSIONS, claim, color="0.0", linewidth=3.5, alpha=0.35, solid_capstyle="butt")
    shown = np.flatnonzero(claim > 3 * LOWEST)[-1]
    axes.annotate(
        "claimed",
        (DIMENSIONS[shown * 2 // 3], claim[shown * 2 // 3]),
        xytext=(8, 6),
        textcoords="offset points",
    )
    for epsilon, (line, marker, grey) in LOOKS.items():
        truth = [true_delta(epsilon, log, d) for log, d in zip(log_claim, DIMENSIONS, strict=True)]
        axes.plot(
            DIMENSIONS,
            truth,
            linestyle=line,
            marker=marker,
            markevery=5,
            markersize=5,
            color=grey,
            label=f"true, epsilon = {epsilon:g}",
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylim(LOWEST, 3)
    axes.set_xlim(1, 1000)
    axes.set_xlabel("dimension of the vectors")
    axes.set_title(title, fontsize=10.5)
    axes.grid(visible=True, color="0.9")
    axes.set_axisbelow(True)


def main(path: Path) -> None:
    """Write the picture."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 4.0), sharey=True)
    panel(left, "the paper's setting: claimed delta = 4^-d", -DIMENSIONS * math.log(4.0))
    panel(right, "claimed delta = 1e-5", np.full(len(DIMENSIONS), math.log(1e-5)))
    left.set_ylabel("delta")
    right.legend(loc="lower right", frameon=False, fontsize=9)
    figure.suptitle("Truncated Laplace, published noise: claimed and true delta", fontsize=12)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
