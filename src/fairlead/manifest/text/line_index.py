"""The lines of a text that has plain line ends, as editors count them."""

from itertools import accumulate

_STEP = 4096  # characters; one number is kept for each step


def line_at(text: str, at: int) -> int:
    """Return the line, counted from 0, of the character at *at*. Cost: linear."""
    return text.count("\n", 0, at)


class LineIndex:
    """Counts the line ends before a place. Cost: one look at the text, then bounded."""

    def __init__(self, text: str) -> None:
        """Index *text*."""
        self._text = text
        counts = (text.count("\n", at, at + _STEP) for at in range(0, len(text), _STEP))
        self._before = list(accumulate(counts, initial=0))

    def line_at(self, at: int) -> int:
        """Return the line, counted from 0, of the character at *at*."""
        step = at // _STEP
        return self._before[step] + self._text.count("\n", step * _STEP, at)
