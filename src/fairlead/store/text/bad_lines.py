"""Mistakes in the lines of an imported text: where, what was found, and how to fix it."""

from fairlead.errors import StoreError
from fairlead.model.duration import moment_text

MOST_SHOWN = 10
"""More bad lines than that are only counted: they mostly have one cause."""
MOST_CHARACTERS = 300
"""Of what is wrong in a line no more is shown: a line may have no end."""

END_OF_TIME_MS = 7_289_654_400_000  # the first moment of the year 2201, as for --now


class BadLines:
    """Collects the lines of one file that cannot be read."""

    def __init__(self, name: str) -> None:
        """Begin with no mistakes; *name* is the name of the file in the messages."""
        self.count = 0
        self._name = name
        self._shown: list[str] = []

    def add(self, line: int, found: str, fix: str) -> None:
        """Note what is wrong in *line*, counted from 1, and how to fix it."""
        self.count += 1
        if len(found) > MOST_CHARACTERS:
            half = MOST_CHARACTERS // 2  # the end says what was expected
            found = f"{found[:half]}...{found[-half:]}"
        if len(self._shown) < MOST_SHOWN:
            self._shown.append(f"{self._name}:{line}: {found}\n    fix: {fix}")

    def raise_if_any(self) -> None:
        """Raise StoreError with every line that was noted; nothing was imported."""
        if not self.count:
            return
        more = self.count - len(self._shown)
        end = [f"and {more} more that {'is' if more == 1 else 'are'} not shown"] if more else []
        lines = "1 line" if self.count == 1 else f"{self.count} lines"
        head = f"nothing was imported: {lines} of {self._name} cannot be read"
        raise StoreError("\n".join([head, *self._shown, *end]))


def check_moment(at_ms: int, until_ms: int) -> None:
    """Raise ValueError for a time outside the years 1970 to 2200, or from *until_ms* on."""
    if not 0 <= at_ms < END_OF_TIME_MS:
        raise ValueError(f"found the time {at_ms}, expected milliseconds in the years 1970 to 2200")
    if at_ms >= until_ms:
        raise ValueError(
            f"found the time {at_ms}, which is {moment_text(at_ms)} and more than a day from now; "
            "if the clock is wrong, set the current time with --now"
        )
