"""What the SanText recipe shows of the fine-tuned encoder, of both spaces, and of examples."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.report.plots import Curve
from discreet_recipes.record import Record, verdict
from discreet_recipes.repeats import curve, plus_minus
from discreet_recipes.santext.data import BOTH, SanTextSetting, masked_at, settings_at
from discreet_recipes.santext.pages import ATTACKERS, interval
from discreet_recipes.santext.sizes import SanTextOptions

_SURE = 1.96
_OTHERS = {"original": "no pretraining", "plain": "plain pretraining"}
_PUBLISHED_GAINS = (
    "+1.2 to +1.8 points on SST-2 (600 million words)",
    "not considered: the paper compares with none",
)
_WORDS = {"sst2": "SST-2, accuracy", "qnli": "QNLI, accuracy", "stsb": "STS-B, Pearson"}


@dataclass(frozen=True)
class Shown:
    """Figures beside those of the sweep."""

    tuned: dict[str, dict[str, list[float]]]
    """By task and setting."""
    masked: dict[str, dict[str, Any]]
    """By setting: accuracy, and the defence against attackers."""
    both: list[dict[str, Any]]
    longer: list[dict[str, Any]]
    """Pretraining by epsilon and steps."""
    examples: list[dict[str, Any]]
    vocabularies: list[list[Any]]


def add_shown(record: Record, size: SanTextOptions, shown: Shown) -> None:
    """Table 1 with the encoder, Figures 4 and 5, Tables 2 and 4."""
    if shown.tuned:
        _tuned(record, size, shown.tuned)
    if shown.masked:
        _masked(record, size, shown.masked)
    if shown.both:
        _both(record, shown.both)
    if shown.longer:
        _steps(record, shown.longer)
    record.add_table(
        "vocabularies",
        f"Sizes of the vocabularies (the paper's Table 2), w = {size.share:g}",
        [
            {"space": name, "words": count, "sensitive": sensitive}
            for name, count, sensitive in shown.vocabularies
        ],
        "The paper takes the words of each data set, which says what is in it: SST-2 14,730, "
        "MedSTS 3,320, QNLI 88,159 with GloVe; 30,522 with BERT. Ours are chosen beforehand.",
    )
    if len(shown.examples) > 1:
        _examples(record, *shown.examples)


def _examples(record: Record, first: dict[str, Any], *others: dict[str, Any]) -> None:
    """The phrases as they are, then what becomes of them."""
    record.add_table(
        "examples",
        "Two public phrases, sanitised (the paper's Table 4)",
        [
            {"mechanism": "none", "first": first["texts"][0], "second": first["texts"][-1]},
            *(
                {
                    "mechanism": row["mechanism"],
                    "calibration": row["calibration"],
                    "epsilon": row["epsilon"],
                    "first": row["texts"][0],
                    "second": row["texts"][-1],
                }
                for row in others
            ),
        ],
    )


def _tuned(record: Record, size: SanTextOptions, tuned: dict[str, dict[str, list[float]]]) -> None:
    epsilons = sorted({*size.tuned_epsilons, *size.pair_epsilons})
    jointly = f"{size.pair_seeds} seed(s), read jointly"
    rows = {
        "sst2": f"{size.tuned:,} phrases of SST-2 at most, {size.epochs} epoch(s), "
        f"{size.tuned_seeds} seed(s)",
        size.pair_task: f"{size.pairs:,} pairs with a score, {size.pair_epochs} epoch(s), "
        f"{jointly}",
        "qnli": f"{size.qnli:,} pairs of QNLI, two thirds of them to train on, "
        f"{size.qnli_epochs} epoch(s), {jointly}",
    }
    record.add_table(
        "tuned",
        "Table 1 with the fine-tuned encoder",
        [
            {
                "mechanism": s.mechanism,
                "calibration": s.calibration if s.epsilon else None,
                "epsilon": s.epsilon or None,
                **{
                    _WORDS.get(task, f"{task}, Pearson"): plus_minus(scores[s.key])
                    if s.key in scores
                    else None
                    for task, scores in tuned.items()
                },
            }
            for s in settings_at(epsilons)
            if any(s.key in scores for scores in tuned.values())
        ],
        f"{size.encoder}, all weights; {'; '.join(rows[task] for task in tuned)}.",
    )
    if "sst2" not in tuned:
        return
    sst2 = tuned["sst2"]
    last = size.tuned_epsilons[-1]
    both = [
        float(np.mean(sst2[SanTextSetting("santext", last, c).key]))
        for c in ("published", "certified")
    ]
    plain = float(np.mean(sst2[SanTextSetting("unsanitised").key]))
    record.add_claim(
        f"encoder fine-tuned on {size.tuned:,} phrases of SST-2: certified SanText is 10 points "
        f"above published at epsilon {last:g}",
        "not considered: kappa = epsilon / 2",
        f"certified {both[1]:.3f}, published {both[0]:.3f}, unsanitised {plain:.3f}; "
        f"{size.tuned_seeds} seed(s)",
        verdict(both[1] >= both[0] + 0.1, in_part=both[1] > both[0])
        if size.tuned_seeds > 1
        else "not settled",
        main=True,
    )


def _masked(record: Record, size: SanTextOptions, masked: dict[str, dict[str, Any]]) -> None:
    """Figure 4: the fine-tuned encoder against the masked model, and against better attackers."""
    plain, *rows = masked_at(size.mask_epsilons)
    # The same words are attacked in every row, so what is missed without noise is the same too.
    unprotected = masked[rows[0].key]["defence"]["unprotected"]
    defences = {s: masked[s.key]["defence"] for s in rows} | {plain: {"mask": unprotected}}
    record.add_table(
        "masked",
        "Accuracy against the mask-inference attacker (the paper's Figure 4, SST-2)",
        [
            {
                "mechanism": s.mechanism,
                "calibration": s.calibration if s.epsilon else None,
                "epsilon": s.epsilon or None,
                "accuracy ± sd": plus_minus(masked[s.key]["accuracy"]),
                **{
                    f"defence: {words}": interval(some.get(name))
                    for name, words in ATTACKERS.items()
                    if name != "unprotected"
                },
            }
            for s, some in defences.items()
        ],
        f"SanText in the space of the encoder's own tokens. {size.encoder}, all weights, on "
        f"{size.tuned:,} phrases, {size.epochs} epoch(s), {size.tuned_seeds} seed(s), "
        f"{size.tuned_tests} to test on; {size.attacked:,} words attacked by a masked model that "
        f"read public text as it is for {size.steps} steps. Defence: the share of words that an "
        "attacker does not name (95 % interval).",
    )
    means = {s: float(np.mean(masked[s.key]["accuracy"])) for s in defences}
    points = {
        c: sorted((defences[s]["mask"]["value"], means[s]) for s in rows if s.calibration == c)
        for c in BOTH
    }
    record.add_plot(
        "masked",
        "Accuracy against defence (the mask-inference attacker)",
        ("defence rate", "accuracy"),
        [
            Curve(c, tuple(x for x, _ in some), tuple(y for _, y in some))
            for c, some in points.items()
        ],
        "Accuracy against the defence rate of the masked model, a curve for each calibration.",
        level=("unsanitised", means[plain]),
    )
    published = [s for s in rows if s.calibration == "published"]
    last = published[-1]
    gained = defences[last]["mask"]["value"] - unprotected["value"]
    record.add_claim(
        f"published SanText at epsilon {last.epsilon:g} of the token matrix: far more words are "
        "missed by the masked model, for little accuracy",
        "20 points more words, 4 points of accuracy at epsilon 16 (Figure 4)",
        f"{100 * gained:+.1f} points of words missed, {100 * (means[last] - means[plain]):+.1f} "
        f"points of accuracy; {size.tuned_seeds} seed(s)",
        verdict(
            gained >= 0.2 and means[last] >= means[plain] - 0.04,
            in_part=gained > 0,
        ),
    )
    both = [defences[s].get("informed", defences[s]["bayes"]) for s in published]
    fooled = [defences[s]["mask"] for s in published]
    record.add_claim(
        "the masked model measures what an attacker gets from the released text",
        "the only attacker of Figure 4",
        "words missed, masked model and who inverts the mechanism as well: "
        + ", ".join(
            f"{s.epsilon:g}: {mask['value']:.3f} and {own['value']:.3f}"
            for s, mask, own in zip(published, fooled, both, strict=True)
        ),
        verdict(not any(own["high"] < mask["low"] for mask, own in zip(fooled, both, strict=True))),
        "it does not look at the released word, which an attacker has",
        main=True,
    )


def _both(record: Record, both: list[dict[str, Any]]) -> None:
    record.add_table(
        "both-spaces",
        "What one released word tells in both spaces (Figure 5; published SanText, SST-2)",
        [
            {
                "space": row["space"],
                "epsilon": row["epsilon"],
                "mean N_x": row["keep"],
                "median S_x": row["options"],
                "median S*_y": row["inputs"],
                "accuracy ± sd": plus_minus(row["accuracy"]),
            }
            for row in both
        ],
        "words: the space of whole words; pieces: the encoder's own tokens. Epsilon is per unit of "
        "distance in each. Accuracy is that of a bag of words.",
    )
    spaces = dict.fromkeys(row["space"] for row in both)
    own = {name: [row for row in both if row["space"] == name] for name in spaces}
    record.add_plot(
        "both-spaces",
        "How often a word stays, and accuracy, in both spaces",
        ("epsilon per unit of distance", "N_x, accuracy"),
        [
            curve_of
            for name, rows in own.items()
            for curve_of in (
                Curve(
                    f"{name}: N_x",
                    tuple(row["epsilon"] for row in rows),
                    tuple(row["keep"] for row in rows),
                ),
                curve(f"{name}: accuracy", {row["epsilon"]: row["accuracy"] for row in rows}),
            )
        ],
        "The share of words that stay, and accuracy, against epsilon in both spaces.",
    )
    rises = all(
        list(map(key, rows)) == sorted(map(key, rows), reverse=falls)
        for rows in own.values()
        for key, falls in (
            (lambda row: row["keep"], False),
            (lambda row: row["options"], True),
            (lambda row: row["inputs"], True),
        )
    )
    record.add_claim(
        "as epsilon grows N_x grows and S_x and S*_y fall, in both spaces",
        "Figure 5",
        "; ".join(
            f"{name}: N_x {rows[0]['keep']:.3f} to {rows[-1]['keep']:.3f}, S_x "
            f"{rows[0]['options']:,.0f} to {rows[-1]['options']:,.0f}"
            for name, rows in own.items()
        ),
        verdict(rises),
    )


def _steps(record: Record, longer: list[dict[str, Any]]) -> None:
    """What pretraining on sanitised text gains over steps, with 95 % intervals over phrases."""

    def gain(row: dict[str, Any], other: str) -> tuple[float, float]:
        ahead = np.mean(row["sanitised"]["accuracy"]) - np.mean(row[other]["accuracy"])
        return float(ahead), _SURE * row[other]["error"]

    record.add_table(
        "pretraining-steps",
        "What pretraining on sanitised text gains over steps (accuracy, 95 % interval)",
        [
            {
                "epsilon": row["epsilon"],
                "steps": row["steps"],
                "accuracy ± sd": plus_minus(row["sanitised"]["accuracy"]),
                **{
                    f"over {words}": "{:+.3f} ± {:.3f}".format(*gain(row, other))
                    for other, words in _OTHERS.items()
                },
            }
            for row in longer
        ],
        "Plain pretraining has read the same public text for as many steps without noise.",
    )
    first = longer[0]["epsilon"]
    own = [row for row in longer if row["epsilon"] == first]
    record.add_plot(
        "pretraining-steps",
        f"What pretraining on sanitised text gains, epsilon {first:g}",
        ("steps", "accuracy gained"),
        [
            Curve(
                f"over {words}",
                tuple(float(row["steps"]) for row in own),
                tuple(gain(row, other)[0] for row in own),
                tuple(gain(row, other)[1] for row in own),
            )
            for other, words in _OTHERS.items()
        ],
        "Accuracy gained over no pretraining and over plain pretraining against steps.",
        log_x=True,
        level=("nothing", 0.0),
    )
    most = max(row["steps"] for row in longer)
    for (other, words), published in zip(_OTHERS.items(), _PUBLISHED_GAINS, strict=True):
        last = [gain(row, other) for row in longer if row["steps"] == most]
        mean, error = (float(np.mean(part)) for part in zip(*last, strict=True))
        settled = abs(mean) > error
        record.add_claim(
            f"pretraining on sanitised text gains over {words}, {most:,} steps",
            published,
            f"{100 * mean:+.1f} ± {100 * error:.1f} points on average over epsilon",
            verdict(mean > 0) if settled else "not settled",
            "the last point of the curve; 95 % interval over test phrases",
            main=other == "original",
        )
