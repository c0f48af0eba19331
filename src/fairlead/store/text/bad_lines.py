"""What is wrong in a text that is read line by line, told together and with a cure for each."""

from fairlead.errors import StoreError

MOST_SHOWN = 10
"""More bad lines than that are only counted: they mostly have one cause."""
MOST_CHARACTERS = 300
"""Of what is wrong in a line no more is shown: a line may have no end."""


class BadLines:
    """Collects the lines of one file that cannot be read."""

    def __init__(self, name: str) -> None:
        """Begin with nothing wrong; *name* is how the file is called in the messages."""
        self.count = 0
        self._name = name
        self._shown: list[str] = []

    def add(self, line: int, found: str, cure: str) -> None:
        """Note what is wrong in *line*, counted from 1, and what mends it."""
        self.count += 1
        if len(found) > MOST_CHARACTERS:
            half = MOST_CHARACTERS // 2  # the end says what was expected
            found = f"{found[:half]}...{found[-half:]}"
        if len(self._shown) < MOST_SHOWN:
            self._shown.append(f"{self._name}:{line}: {found}\n    fix: {cure}")

    def raise_if_any(self) -> None:
        """Raise StoreError with every line that was noted; nothing was imported."""
        if not self.count:
            return
        more = self.count - len(self._shown)
        end = [f"and {more} more that {'is' if more == 1 else 'are'} not shown"] if more else []
        lines = "1 line" if self.count == 1 else f"{self.count} lines"
        head = f"nothing was imported: {lines} of {self._name} cannot be read"
        raise StoreError("\n".join([head, *self._shown, *end]))
