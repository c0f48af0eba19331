"""What is wrong, for people, and what tells one problem from another.

How old something is, and when it was seen, is another number each time and tells of nothing new. A
text that is said once, and not in every cycle, is known again by what is left without those.
"""

import re
from typing import Final, NamedTuple

_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z|\b\d+ ms\b")


class Problem(NamedTuple):
    """Something to tell of once."""

    text: str
    turn: str  # the same as long as it is the same problem


def problem_of(text: str) -> Problem:
    """The problem that *text* tells of; moments in it are no other problem."""
    return Problem(text, _MOMENT.sub("...", text))
