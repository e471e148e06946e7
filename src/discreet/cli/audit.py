"""``discreet audit``: does a mechanism keep its promise?"""

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli import _options as options
from discreet.cli._choice import WordChoice, label_shares
from discreet.cli._groups import group_of
from discreet.cli._settings import takes_settings
from discreet.cli._terminal import echo, echo_json, progress_bar
from discreet.errors import InvalidValue
from discreet.mechanisms.registry import DEFAULTS, FAMILIES, Entry, find, names
from discreet.settings import Declared, Setting

_DIMENSION = 16
_LABELS = 4
_PRIOR = (0.4, 0.3, 0.2, 0.1)
# Options about the material of one family.
_BELONGS = {
    "space": "word",
    "max_words": "word",
    "candidates": "document",
    "labels": "label",
    "label_prior": "label",
}


@dataclass(frozen=True)
class AnyChoice(WordChoice):
    """A mechanism of any family, and the public material that it is made from."""

    families = FAMILIES

    candidates: Annotated[
        Path | None,
        Setting(
            "Documents: a store that 'discreet train candidates' made; a small made-up one unless "
            "given."
        ),
    ] = None
    labels: Annotated[
        str | None,
        Setting(
            "Labels: all there are, with commas between them, or their number; "
            f"{_LABELS} unless given."
        ),
    ] = None
    label_prior: Annotated[
        str | None,
        Setting(
            "prior-response: PUBLIC guess at the share of each label, with commas between them; "
            "falling from 0.4 to 0.1 unless given."
        ),
    ] = None

    @classmethod
    def declared(cls) -> Iterable[Declared]:
        """The options of all families together."""
        length = f"Sentences: length of the vectors, {_DIMENSION} unless given; "
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

    def made(self) -> tuple[Any, str]:
        """The mechanism, and what a report calls it."""
        entry = find(self.name, what="--mechanism")
        for option in fields(self):
            family = _BELONGS.get(option.name, entry.family)
            if family != entry.family and getattr(self, option.name) != option.default:
                raise InvalidValue(
                    f"{self.flag(option.name)} is for a {family}; {entry.name} is for a "
                    f"{entry.family}: leave it out"
                )
        material, where = {
            "word": self._of_words,
            "sentence": self._of_vectors,
            "document": self._of_documents,
            "label": self._of_labels,
        }[entry.family](entry)
        with progress_bar("certifying the space, once") as show:
            given = {**self.settings, **material}
            return entry.build(given, progress=show, called=self.flag), f"{entry.name} {where}"

    def _of_words(self, _entry: Entry) -> tuple[dict[str, Any], str]:
        space = self.vocabulary()
        return {"space": space}, f"in the space {space.name} ({len(space):,} words)"

    def _of_vectors(self, _entry: Entry) -> tuple[dict[str, Any], str]:
        dimension = self.settings.get("dimension", _DIMENSION)
        return {"dimension": dimension}, f"in {dimension} dimensions"

    def _of_documents(self, _entry: Entry) -> tuple[dict[str, Any], str]:
        from discreet.audit.inputs import made_up_store
        from discreet.encoders.candidate_store import CandidateStore

        if self.candidates is None:
            return {"store": made_up_store()}, "with a small made-up store"
        store = CandidateStore.load(self.candidates)
        return {"store": store}, f"with the store {self.candidates.name}"

    def _of_labels(self, entry: Entry) -> tuple[dict[str, Any], str]:
        prior: tuple[float, ...] | None = None
        if self.label_prior is not None:
            prior = label_shares(self.label_prior, "--label-prior")
        elif self.labels is None and any(each.name == "prior" for each in entry.settings):
            prior = _PRIOR
        said = str(len(prior or range(_LABELS))) if self.labels is None else self.labels
        labels = int(said) if said.isdecimal() else said.split(",")
        count = labels if isinstance(labels, int) else len(labels)
        return {"labels": labels, "prior": prior}, f"of {count} labels"


def audit_mechanism(
    choice: AnyChoice,
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
    as_json: options.Json = False,
) -> None:
    """Check a mechanism against its own privacy statement: law, sampler, independence, black box.

    Takes every mechanism by its name: of words (in a --space), sentences (--dim), documents
    (--candidates) and labels (--labels). Prints a verdict for each check with the bound claimed and
    the bound found, and exits with 4 if any check fails. A sound mechanism fails at most once in a
    million audits. Reads no protected text.

    Example: discreet audit --mechanism santext --epsilon 8
    """
    if context.invoked_subcommand is not None:
        if not choice.is_empty or python is not None:
            raise InvalidValue(
                f"options before '{context.invoked_subcommand}' are for the audit of a mechanism; "
                "give its own options after it"
            )
        return
    from discreet.audit import audit as audited

    if python is None:
        built, title = choice.made()
    else:
        from discreet.audit.own import load_object

        if not choice.is_empty:
            raise InvalidValue(
                "--python names a finished object; leave out --mechanism and its options"
            )
        built, title = load_object(python), python
    with progress_bar("auditing") as show:
        report = audited(built, name=title, seed=seed, samples=samples, progress=show)
    if as_json:
        echo_json(report.to_dict())
    else:
        echo(*report.lines())
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
