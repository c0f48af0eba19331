"""Something in a scenario that can be simulated, and whose results would mislead."""

from typing import NamedTuple

from fairlead.manifest.text.path import Path


class Doubt(NamedTuple):
    """Where it stands, its code, what was found, and how to mend it: a warning."""

    path: Path
    code: str
    message: str
    fix: str
