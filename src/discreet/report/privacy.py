"""What a mechanism does to words, as three histograms."""

from pathlib import Path

from discreet.evaluation.privacy_report import PrivacyReport
from discreet.report.histograms import Histogram, plot_histograms


def plot_privacy(report: PrivacyReport, path: Path, title: str) -> None:
    """Histograms of N_x, S_x and S*_y in a PNG, SVG or PDF file."""
    panels = [
        Histogram(
            "$N_x$: is the word kept?",
            "probability that a word stays as it is",
            report.words.keep,
            report.sample.weights,
        ),
        Histogram(
            "$S_x$: what may it become?",
            f"number of outputs that cover {report.share}",
            report.words.options,
            report.sample.weights,
            counts=True,
            most=report.space_words,
        ),
        Histogram(
            "$S^*_y$: what may it have been?",
            f"number of inputs that cover {report.share}",
            report.outputs.inputs,
            report.seen,
            counts=True,
            most=report.space_words,
        ),
    ]
    plot_histograms(path, title, panels, "words")
