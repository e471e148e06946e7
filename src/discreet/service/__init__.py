"""HTTP: texts sanitised for programs that ask, and a gateway in front of language models.

:func:`discreet.service.app.application` makes the ASGI application from a :class:`Policy`, and
:func:`discreet.service.run.serve` runs it. Whatever goes wrong, the text does not pass, and no
message, log or metric holds a word of it.
"""

from discreet.service.policy import Policy

__all__ = ["Policy"]
