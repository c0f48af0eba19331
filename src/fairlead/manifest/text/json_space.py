"""White space between the parts of a JSON text."""

import re
from typing import Final

SPACE: Final = r"[ \t\n\r]*+"  # as a part of a pattern

_SPACE = re.compile(SPACE)


def after_space(text: str, at: int) -> int:
    """Return where the next thing that is no white space begins, from *at* on."""
    space = _SPACE.match(text, at)
    assert space is not None, "the pattern matches nothing as well"
    return space.end()
