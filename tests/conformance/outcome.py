"""What one comparison with a recorded answer came to."""

from typing import Literal

import msgspec


class Outcome(msgspec.Struct, frozen=True):
    """One case of one kind: what was expected, what came out, and how to count it."""

    id: str
    kind: str
    status: Literal["passed", "failed", "apart", "unbuilt"]
    expected: str = ""
    got: str = ""
    note: str = ""
