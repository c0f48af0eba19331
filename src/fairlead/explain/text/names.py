"""Names in sentences and tables: printable, and only the first few of many."""

from collections.abc import Sequence

from fairlead.manifest.text.path import quote


def printable(text: str) -> str:
    r"""Return *text* with ``\n``, ``\u001b`` and the like in the place of what is not printable.

    Law: the result is one line, and equals *text* where that is printable. Written as in findings.
    """
    if text.isprintable():
        return text
    return "".join([each if each.isprintable() else quote(each)[1:-1] for each in text])


MOST_NAMES = 3


def first_few(names: Sequence[str]) -> str:
    """Return at most `MOST_NAMES` of *names*, then ``and 5 more``."""
    left_out = len(names) - MOST_NAMES
    return ", ".join([*names[:MOST_NAMES], *([f"and {left_out} more"] if left_out > 0 else ())])
