"""For the site: examples in docstrings (``>>>``) become blocks of code, not quotations."""

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"^(>>> .*(?:\n.+)*)", re.M)


class FencedExamples(griffe.Extension):
    """Puts fences around the examples of every docstring that the site shows."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change one docstring."""
        if obj.docstring:
            obj.docstring.value = EXAMPLE.sub(r"```pycon\n\1\n```", obj.docstring.value)
