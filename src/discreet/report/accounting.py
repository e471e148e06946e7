"""What training costs, as a plot."""

from dataclasses import replace

from discreet.accounting.user_entity import UserEntityTraining
from discreet.report.plots import Curve, Plot

_POINTS = 16


def cost_plot(run: UserEntityTraining, delta: float) -> Plot:
    """Epsilon over steps, for a user, an entity and both together."""
    steps = sorted({max(1, round(run.steps * i / _POINTS)) for i in range(_POINTS + 1)})
    losses = [replace(run, steps=n).loss(delta) for n in steps]
    curves = tuple(
        Curve(label, tuple(map(float, steps)), tuple(getattr(loss, name) for loss in losses))
        for label, name in (("user", "user"), ("entity", "entity"), ("both together", "joint"))
    )
    title = f"What training costs, delta = {delta:.3g}"
    said = f"Epsilon rises with the number of steps, to {losses[-1].joint:.3g} for both together."
    return Plot("epsilon", title, "steps", "epsilon", curves, alternative=said)
