"""Plain aligned tables, as kubectl prints them: no lines, nothing cut off."""

from collections.abc import Sequence

from fairlead.cli.display_width import display_width
from fairlead.explain.printable import printable


def table_text(rows: Sequence[Sequence[str]], *, left: int = 1, indent: str = "") -> str:
    """Return *rows* with aligned columns, the first *left* ones to the left, numbers to the right.

    A column without any text below its title is left out. A cell is one line, whatever is in it.
    """
    if not rows:
        return ""
    columns = [list(map(printable, column)) for column in zip(*rows, strict=True)]
    kept = [
        (column, at < left) for at, column in enumerate(columns) if at < left or any(column[1:])
    ]
    padded = [_padded(column, is_left) for column, is_left in kept]
    return "\n".join((indent + "  ".join(row)).rstrip() for row in zip(*padded, strict=True))


def _padded(column: Sequence[str], is_left: bool) -> list[str]:
    widths = list(map(display_width, column))
    widest = max(widths)
    blanks = [" " * (widest - width) for width in widths]
    return [
        f"{text}{blank}" if is_left else f"{blank}{text}"
        for text, blank in zip(column, blanks, strict=True)
    ]
