"""For the site: examples in docstrings (``>>>``) become blocks of code, not quotations.

And a field of settings shows its default, not all that is said of the setting.
"""

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"^(>>> .*(?:\n.+)*)", re.M)


class FencedExamples(griffe.Extension):
    """Puts fences around the examples of every docstring that the site shows."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change one docstring, and the values that are shown beside it."""
        if obj.docstring:
            obj.docstring.value = EXAMPLE.sub(r"```pycon\n\1\n```", obj.docstring.value)
        if isinstance(obj, griffe.Attribute):
            obj.value = default_of(obj.value)
        elif isinstance(obj, griffe.Function):
            for parameter in obj.parameters:
                parameter.default = default_of(parameter.default)


def default_of(value: Any) -> Any:
    """``2`` of ``Setting("Passes over the rows.").default(2)``; of all else, that itself."""
    is_setting = isinstance(value, griffe.ExprCall) and str(value.function).endswith(".default")
    return value.arguments[0] if is_setting else value
