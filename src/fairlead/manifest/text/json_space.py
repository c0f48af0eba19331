"""White space between the parts of a JSON text."""

import re

_SPACE = re.compile(r"[ \t\n\r]*")


def after_space(text: str, at: int) -> int:
    """Return where the next thing that is no white space begins, from *at* on."""
    space = _SPACE.match(text, at)
    assert space is not None, "the pattern matches nothing as well"
    return space.end()
