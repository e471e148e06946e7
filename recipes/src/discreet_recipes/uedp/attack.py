"""The attack of the UeDP recipe: canaries against the published figure, and against the certified.

The data is constructed, as a guarantee is for all data; see :mod:`discreet.audit.training`.
"""

from dataclasses import replace

from discreet.audit.training import audit_training
from discreet.training.user_entity.trainer import Rules
from discreet_recipes.record import Finding, Headline, Record

# The paper's constants; caps of 1 let a small crowd have the weights of a large one.
_PAPER = Rules(
    algorithm="published",
    user_rate=0.05,
    entity_rate=0.5,
    noise=2.0,
    population=60,
    user_cap=1,
    entity_cap=1,
    sentence_cap=1,
)


def add_attack(record: Record, certified: Rules, steps: int, runs: int) -> None:
    """A lower bound on epsilon from canaries, beside what is claimed.

    Args:
        record: Where it goes.
        certified: Rules of certified training,
        steps: and how many it has.
        runs: Of the published algorithms, with a canary each.
    """
    optimized = replace(_PAPER, algorithm="published-optimized")
    rows = [
        *record.part("attack-simple", lambda: _played(_PAPER, 50, 1, runs)),
        *record.part("attack-optimized", lambda: _played(optimized, 50, 1, runs)),
        *record.part("attack-certified", lambda: _played(certified, steps, 100)),
    ]
    record.add_table(
        "attack",
        "What canaries show of epsilon, and what is claimed",
        [
            "algorithm",
            "canaries are",
            "steps",
            "claimed",
            "shown at least",
            "right",
            "contradicted",
        ],
        [
            [*row[:5], f"{row[5]:,} of {row[6]:,} guesses", "yes" if row[7] else "no"]
            for row in rows
        ],
        "Published: the paper's rates 0.05 and 0.5, noise 2, delta 1e-5, 60 users who all hold "
        "the canary. The lower bound has confidence 95 %; a claim counts as contradicted if the "
        "guesses have a probability below 0.001 under it.",
    )
    for algorithm, _, made, claimed, lower, _, _, broken in rows[:2]:
        record.findings.append(
            Finding(
                f"the epsilon of {algorithm} training after {made} steps, against canaries",
                f"{claimed:.2f}",
                f"at least {lower:.2f}",
                "does not hold" if broken else "not settled",
                "weights of a trained model tell which entities were in the data better than the "
                "claim allows",
                main=algorithm == "published",
            )
        )
    algorithm, _, made, claimed, lower, *_ = rows[0]
    held = [row for row in rows if row[0] == "certified"]
    strongest = max(held, key=lambda row: row[4])
    record.headlines.append(
        Headline(
            "attack",
            f"canaries against {algorithm} training, {made} steps at the paper's constants",
            f"epsilon is at least {lower:.2f} where {claimed:.2f} is claimed; certified training "
            f"stays below its figure ({strongest[4]:.2f} shown, {strongest[3]:.2f} proven)",
        )
    )


def _played(
    rules: Rules, steps: int, canaries: int, runs: int = 1
) -> list[list[str | int | float | bool]]:
    found = audit_training(rules, steps=steps, canaries=canaries, runs=runs, seed=1)
    return [
        [rules.algorithm, what, steps, one.claimed, one.lower, one.correct, one.guesses, one.broken]
        for what, one in found.items()
    ]
