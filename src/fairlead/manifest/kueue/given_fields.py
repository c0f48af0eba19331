"""Notes which fields an object has, for remarks that are made once all objects are known."""

from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.path import Path


def given_fields(at: Cursor, *keys: str) -> tuple[Path, ...]:
    """Return where those of *keys* are that *at* has; they count as known fields."""
    at.ignore(*keys)
    return tuple((*at.path(), key) for key in keys if at.has(key))
