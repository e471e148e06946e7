"""The figure and the tables of the guide "Choose a mechanism", from what was measured.

    python scripts/plot_frontier.py REPORT [-o docs/images/frontier.png]

REPORT is what scripts/compare_standard.py wrote: for each data set a folder with comparison.json. A
panel for each: upwards what is left of the use, to the right what the best attacker names, or how
often the author is found. The tables are printed.
"""

import argparse
import json
import re
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from discreet.report.notes import Note, write_notes
from discreet.report.plots import write_figure

Row = dict[str, Any]
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
ADAPTIVE = "adaptive, macro-F1"
AUTHORSHIP = ("static, macro-F1", "static, top 5", ADAPTIVE, "adaptive, top 5")


def main() -> None:
    """Draw and print."""
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
    panels = figure.subplots(1, len(found), squeeze=False)[0]
    notes = [draw(*pair) for pair in zip(panels, found.items(), strict=True)]
    shown: dict[str, Any] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            shown.setdefault(label, handle)
    figure.legend(shown.values(), shown.keys(), loc="outside lower center", ncols=4, fontsize=9)
    for axes, own in zip(panels, notes, strict=True):  # when all else has its place
        write_notes(axes, own)
    write_figure(given.output, figure)
    print_tables(found)


# -- the figure ------------------------------------------------------------------------------------


def draw(axes: Any, panel: tuple[str, dict[str, Any]]) -> list[Note]:
    """One data set; what is to be written beside its points."""
    name, values = panel
    measure, authors = values["measure"], bool(values["authors"])
    points: list[tuple[float, float]] = []
    notes = []
    for label, (words, colour, mark, line) in STYLES.items():
        own = [row for row in values["rows"] if row["label"] == label]
        places = [(success(row, authors), row["utility"][measure]["value"]) for row in own]
        if not places:
            continue
        line = {"color": colour, "marker": mark, "linestyle": line, "markersize": 6}
        axes.plot(*zip(*sorted(places), strict=True), label=words, **line)
        points += places
        notes += [
            Note(x, y, f"{row['epsilon']:g}", colour)
            for (x, y), row in zip(places, own, strict=True)
            if row["epsilon"] is not None
        ]
    best: list[tuple[float, float]] = []
    for x, y in sorted(points, key=lambda point: (point[0], -point[1])):
        if not best or y > best[-1][1]:
            best.append((x, y))
    stairs = {"where": "post", "color": "0.88", "linewidth": 7, "zorder": 0}
    axes.step(*zip(*best, strict=True), label="what nothing beats", **stairs)
    raw = success(values["raw"], authors), values["raw"]["utility"][measure]["value"]
    star = {"color": "black", "marker": "*", "markersize": 10, "linestyle": ""}
    axes.plot(*[[each] for each in raw], label="raw text", **star)
    who = "how often the author is found (macro-F1)" if authors else "words that are named"
    axes.set(xlabel=who, xlim=(0, 1.05), ylabel=f"{measure} of what was released")
    axes.set_title(f"{PANELS[name]}: {values['texts']:,} texts")
    axes.grid(alpha=0.25)
    return notes


def success(row: Row, authors: bool) -> float:
    """Of the best attacker on authorship, or of the best on words."""
    if authors:
        return max(row["authorship"][name]["value"] for name in AUTHORSHIP if "F1" in name)
    return named(row)["value"]


def named(row: Row) -> Any:
    """What the best attacker on words names; the exact one sees all where nothing is protected."""
    tried = [row["attackers"].get(name) for name in ("exact", "contextual", "watching")]
    return max((each for each in tried if each), key=lambda each: each["value"])


# -- the tables ------------------------------------------------------------------------------------


def print_tables(found: dict[str, dict[str, Any]]) -> None:
    """Of texts with labels, of authors, and of other packages."""
    labelled = [name for name, values in found.items() if values["classes"]]
    parts = ("accuracy", "single words", "best attacker", "perplexity")
    head = [f"{PANELS[name]}: {part}" for name in labelled for part in parts]
    print_table(["mechanism", "epsilon", "loss", *head], _settings(found, labelled, _labelled))
    written = [name for name, values in found.items() if values["authors"]]
    head = ["similarity", "single words", "best attacker", *AUTHORSHIP]
    print_table(["mechanism", "epsilon", "loss", *head], _settings(found, written, _written))
    peers = {(r["label"], r["epsilon"]) for v in found.values() for r in v["rows"] if r["peer"]}
    head = [f"{PANELS[name]}: {part}" for name in found for part in ("similarity", "named", "note")]
    rows = [
        [
            key[0],
            f"{key[1]:g}",
            *(cell for name in found for cell in _peer(_row(found[name], key))),
        ]
        for key in sorted(peers)
    ]
    print_table(["package", "epsilon", *head], rows)


def _settings(found: dict[str, Any], names: list[str], cells: Any) -> list[list[str]]:
    rows: dict[Any, Row] = {}
    for name in names:
        for row in (found[name]["raw"], *found[name]["rows"]):
            if not row["peer"]:
                rows.setdefault((row["label"], row["epsilon"]), row)
    table = []
    for key, row in rows.items():
        loss = re.search(r"(?:words:|most) ([\d.]+)", row["statement"])
        table.append(
            [
                f"`{row['label']}`" if row["statement"] else "none",
                "" if row["epsilon"] is None else f"{row['epsilon']:g}",
                loss[1] if loss else "",
                *(cell for name in names for cell in cells(_row(found[name], key))),
            ]
        )
    return table


def _row(values: dict[str, Any], key: tuple[str, float | None]) -> Row:
    rows = (values["raw"], *values["rows"])
    return next((row for row in rows if (row["label"], row["epsilon"]) == key), {})


def _labelled(row: Row) -> list[str]:
    if not row:
        return [""] * 4
    use = row["utility"]
    perplexity = use.get("perplexity, smollm2", {}).get("value")
    return [
        f"{use['accuracy']['value']:.2f}",
        f"{row['attackers']['exact']['value']:.2f}",
        f"{named(row)['value']:.2f}",
        "" if perplexity is None else f"{perplexity:,.0f}",
    ]


def _written(row: Row) -> list[str]:
    if not row:
        return [""] * 7
    figures = [row["utility"]["similarity"], row["attackers"]["exact"], named(row)]
    figures += [row["authorship"][name] for name in AUTHORSHIP]
    return [f"{each['value']:.2f}" for each in figures]


def _peer(row: Row) -> list[str]:
    if not row or not row["attackers"]:
        return ["", "", row.get("note", "not tried")]
    similar, watched = row["utility"].get("similarity"), row["attackers"]["watching"]
    return ["" if similar is None else _interval(similar), _interval(watched), row["note"]]


def _interval(each: Any) -> str:
    return f"{each['value']:.2f} ({each['low']:.2f} to {each['high']:.2f})"


def print_table(columns: list[str], rows: list[list[str]]) -> None:
    """As Markdown."""
    print("| " + " | ".join(columns) + " |\n" + "|---" * len(columns) + "|")
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


if __name__ == "__main__":
    main()
