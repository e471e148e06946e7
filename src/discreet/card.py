"""A card for notebooks: a heading, some lines and a table, every word of it escaped."""

from collections.abc import Mapping, Sequence
from html import escape

CAVEAT = "Caveat: "
"""How a line begins that must not be overlooked."""
_BOX = (
    "border:1px solid;border-radius:6px;padding:0.6em 0.9em;margin:0.3em 0;max-width:60em;"
    "overflow-wrap:anywhere;font-family:system-ui,sans-serif;font-size:0.95em"
)


def card(heading: str, facts: Mapping[str, object], lines: Sequence[str]) -> str:
    """HTML without anything that is loaded or run, in the colours of the page around it.

    Args:
        heading: what it is about.
        facts: short ones, by what they are.
        lines: longer ones. The first and every caveat are shown, the others on request.

    >>> card("a < b", {}, ["c & d"]).partition(";font-size:0.95em")[2]
    '"><strong>a &lt; b</strong><p>c &amp; d</p></div>'
    """
    rows = "".join(
        f'<tr><td>{escape(name)}</td><td style="padding-left:1em">{escape(str(value))}</td></tr>'
        for name, value in facts.items()
    )
    table = f"<table>{rows}</table>" if rows else ""
    shown = [*lines[:1], *(line for line in lines[1:] if line.startswith(CAVEAT))]
    folded = [line for line in lines if line not in shown]
    said = "".join(f"<p>{escape(line)}</p>" for line in shown)
    if folded:
        more = "".join(f"<li>{escape(line)}</li>" for line in folded)
        said += f"<details><summary>More</summary><ul>{more}</ul></details>"
    return f'<div style="{_BOX}"><strong>{escape(heading)}</strong>{table}{said}</div>'
