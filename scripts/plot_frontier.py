"""The figure of the guide "Choose a mechanism" and of the README, from what was measured.

    python scripts/plot_frontier.py REPORT [-o docs/images/frontier.png]

REPORT is what scripts/compare_standard.py wrote: for each data set a folder with comparison.json.
A panel for each: upwards what is left of the use, to the right what the best attacker names.
"""

import argparse
import json
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from discreet.report.notes import Note, write_notes
from discreet.report.plots import write_figure

PANELS = {"agnews": "AG News", "sst2": "SST-2", "reuters50": "Reuters 50"}
STYLES = {
    "near-words": ("near words", "#0b5394", "o", "-"),
    "near-words:guide=ngram": ("near words, guided", "#3d85c6", "s", "-"),
    "near-words:near=2": ("near words, two near", "#6fa8dc", "D", "-"),
    "near-words:near=1:outputs=63985": ("near words, any word comes out", "#9fc5e8", "v", "-"),
    "santext": ("SanText, certified", "#b45f06", "^", "--"),
    "santext:calibration=published": ("SanText, as published", "#e69138", "<", "--"),
    "santext-plus": ("SanText+", "#783f04", "P", "--"),
    "cmp": ("CMP", "#38761d", "X", ":"),
    "uniform": ("uniform", "0.5", "+", ":"),
}


def main() -> None:
    """Draw it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("report", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=Path("docs/images/frontier.png"))
    given = parser.parse_args()
    found = {
        name: json.loads((given.report / name / "comparison.json").read_text("utf-8"))
        for name in PANELS
        if (given.report / name / "comparison.json").is_file()
    }
    figure = Figure(figsize=(4.2 * len(found), 5.0), layout="constrained")
    panels, notes = figure.subplots(1, len(found), squeeze=False)[0], []
    for axes, (name, values) in zip(panels, found.items(), strict=True):
        notes.append(draw(axes, values))
        axes.set_title(f"{PANELS[name]}: {values['measure']}, {values['texts']:,} texts")
    shown: dict[str, Any] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            shown.setdefault(label, handle)
    figure.legend(shown.values(), shown.keys(), loc="outside lower center", ncols=4, fontsize=9)
    for axes, own in zip(panels, notes, strict=True):  # when all else has its place
        write_notes(axes, own)
    write_figure(given.output, figure)


def draw(axes, values) -> list[Note]:
    """One data set; what is to be written beside its points."""
    measure, points, notes = values["measure"], [], []
    for label, (name, colour, mark, line) in STYLES.items():
        own = [row for row in values["rows"] if row["label"] == label]
        own = sorted((named(row), row["utility"][measure]["value"], row) for row in own)
        if not own:
            continue
        x, y, _ = zip(*own, strict=True)
        axes.plot(x, y, color=colour, marker=mark, linestyle=line, label=name, markersize=6)
        points += zip(x, y, strict=True)
        notes += [
            Note(place, height, f"{row['epsilon']:g}", colour)
            for place, height, row in own
            if row["epsilon"] is not None
        ]
    best: list[tuple[float, float]] = []
    for x, y in sorted(points, key=lambda point: (point[0], -point[1])):
        if not best or y > best[-1][1]:
            best.append((x, y))
    x, y = zip(*best, strict=True)
    axes.step(x, y, where="post", color="0.88", linewidth=7, zorder=0, label="what nothing beats")
    raw = values["raw"]["utility"][measure]["value"]
    axes.plot(
        [1.0], [raw], color="black", marker="*", markersize=10, linestyle="", label="raw text"
    )
    axes.set(xlabel="words that the best attacker names", xlim=(0, 1.05))
    axes.set_ylabel(f"{measure} of what was released")
    axes.grid(alpha=0.25)
    return notes


def named(row) -> float:
    """The success of the best attacker on words."""
    tried = ("exact", "contextual", "watching")
    return max(row["attackers"][name]["value"] for name in tried if name in row["attackers"])


if __name__ == "__main__":
    main()
