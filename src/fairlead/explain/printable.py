"""Names and sentences as a terminal may show them, though anybody can write names into a file."""

from fairlead.manifest.text.path import quote


def printable(text: str) -> str:
    r"""Return *text* with ``\n``, ``\u001b`` and the like in the place of what is not printable.

    Law: the result is one line, and equals *text* where that is printable. Written as in findings.
    """
    if text.isprintable():
        return text
    return "".join([each if each.isprintable() else quote(each)[1:-1] for each in text])
