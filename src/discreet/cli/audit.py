"""``discreet audit``: does a mechanism keep its promise?"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated, Any

import typer

from discreet.cli import _options as options
from discreet.cli._choice import WordChoice
from discreet.cli._groups import group_of
from discreet.cli._settings import takes_settings
from discreet.cli._terminal import progress_bar, show
from discreet.devices import prefer_device
from discreet.errors import InvalidValue
from discreet.mechanisms.material import DIMENSION, Material, misplaced
from discreet.mechanisms.registry import DEFAULTS, FAMILIES, find, names
from discreet.settings import Declared, Setting


@dataclass(frozen=True)
class AnyChoice(WordChoice):
    """A mechanism of any family."""

    families = FAMILIES

    @classmethod
    def declared(cls) -> Iterable[Declared]:
        """The options of all families together."""
        length = f"Sentences: length of the vectors, {DIMENSION} unless given; "
        return [
            replace(each, setting=replace(each.setting, help=length + each.setting.help))
            if each.name == "dimension"
            else each
            for each in super().declared()
            if each.name != "prior"  # --label-prior
        ]

    @classmethod
    def flag(cls, parameter: str) -> str:
        """What the command line calls a parameter of the mechanism."""
        return "--label-prior" if parameter == "prior" else super().flag(parameter)

    @classmethod
    def _listed(cls) -> str:
        each = "; ".join(f"for a {family}: {', '.join(names(family))}" for family in FAMILIES)
        return f"Any mechanism. {each[0].upper()}{each[1:]}. {DEFAULTS['word']} unless given."

    def made(self, material: Material) -> tuple[Any, str]:
        """The mechanism, and what a report calls it."""
        entry = find(self.name, what="--mechanism")
        for name in ("space", "max_words"):
            if entry.family != "word" and getattr(self, name) is not None:
                raise misplaced(self.flag(name), "word", entry)
        public, where = material.of(entry, self.settings, self.vocabulary)
        with progress_bar("certifying the space, once") as bar:
            given = {**self.settings, **public}
            return entry.build(given, progress=bar, called=self.flag), f"{entry.name} {where}"


def audit_mechanism(
    choice: AnyChoice,
    material: Material,
    context: typer.Context,
    python: Annotated[
        str | None,
        Setting(
            "Audit your own object instead: it has .statement and .release(ids, rng), and if "
            "possible .space, .log_probabilities(ids) or .log_density(values, outputs).",
            metavar="MODULE:OBJECT",
        ),
    ] = None,
    samples: Annotated[
        int, Setting("Draws of each input looked at; more find smaller faults.")
    ] = 20_000,
    seed: Annotated[int | None, Setting("Repeat an audit with the same draws.", at_least=0)] = None,
    device: options.Device = "auto",
    as_json: options.Json = False,
) -> None:
    """Check a mechanism against its own privacy statement: law, sampler, independence, black box.

    Takes every mechanism by its name: of words (in a --space), sentences (--dim), documents
    (--candidates) and labels (--labels). Prints a verdict for each check with the bound claimed and
    the bound found, and exits with 4 if any check fails. A sound mechanism fails at most once in a
    million audits. Reads no protected text.

    Example: discreet audit --mechanism santext --epsilon 8
    """
    prefer_device(device)
    chosen = not choice.is_empty or material != Material()
    if context.invoked_subcommand is not None:
        if chosen or python is not None:
            raise InvalidValue(
                f"options before '{context.invoked_subcommand}' are for the audit of a mechanism; "
                "give its own options after it"
            )
        return
    from discreet.audit import audit as audited
    from discreet.audit.own import load_object

    if python is None:
        built, title = choice.made(material)
    else:
        if chosen:
            raise InvalidValue(
                "--python names a finished object; leave out --mechanism and its options"
            )
        built, title = load_object(python), python
    with progress_bar("auditing") as bar:
        report = audited(built, name=title, seed=seed, samples=samples, progress=bar)
    show(report.to_dict(), report.lines(), as_json=as_json)
    report.require()


# Without a command it audits a mechanism, by its own options.
audit = typer.Typer(
    cls=group_of(
        {
            "training": (
                "discreet.cli.audit_training:audit_training",
                "Canaries in user and entity training.",
            )
        }
    ),
    add_completion=False,
    rich_markup_mode=None,
)
audit.callback(invoke_without_command=True)(takes_settings(audit_mechanism))
