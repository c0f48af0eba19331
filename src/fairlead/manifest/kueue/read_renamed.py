"""Reads a text whose field has another name in another version of its API."""

from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.path import quote


def read_renamed(at: Cursor, name: str, other_name: str) -> tuple[str, str]:
    """Read the field *name*, or else *other_name* with a warning; return its name and its text.

    Both with different texts is an error, because nobody can tell which is meant. "" if neither
    is there.
    """
    text, other_text = at.text(name, ""), at.text(other_name, "")
    if not other_text:
        return name, text
    if not text:
        at.warn(
            other_name,
            "other-version",
            f"found {other_name}, which this version of the API calls {name}; it was read",
            f"write {name}",
        )
        return other_name, other_text
    if text != other_text:
        at.error(
            other_name,
            "contradiction",
            f"found {quote(other_text)}, but {name} says {quote(text)}",
            f"remove {other_name}",
        )
    return name, text
