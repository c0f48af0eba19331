"""What a check has found, and what to do about it."""

from typing import Literal, TypeAlias

import msgspec

Level: TypeAlias = Literal["ok", "note", "warning", "error"]
"""Error: it does not work so. Warning: it may not. Note: good to know, or could not be checked."""


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was looked at."""

    check: str
    level: Level
    found: str
    cure: str = ""  # "": nothing is to be done
