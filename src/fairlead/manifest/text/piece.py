"""Where a document comes from: a piece of a file's text, or a cluster.

The text is kept so that a line can be found when one is needed.
"""

from abc import ABC, abstractmethod

from fairlead.manifest.text.locate import JsonLocator, Locator
from fairlead.manifest.text.path import Path
from fairlead.manifest.text.yaml_nodes import Tally, compose_yaml


class Piece(ABC):
    """Where one value was written."""

    @property
    @abstractmethod
    def file(self) -> str:
        """The name of the file, or of the object of a cluster."""

    @abstractmethod
    def line_of(self, path: Path) -> int | None:
        """Return the line, from 1, of *path* or of the nearest thing above it; None: no lines."""


class ClusterPiece(Piece):
    """An object that a cluster holds, which has no lines."""

    def __init__(self, kind: str, names: tuple[str, ...]) -> None:
        """Remember the kind, namespace and name of the object, as far as they are known."""
        self._kind = kind
        self._names = names

    def __eq__(self, other: object) -> bool:
        """Return whether both are of one object, so that versions of it can be compared."""
        if not isinstance(other, ClusterPiece):
            return NotImplemented
        return (self._kind, self._names) == (other._kind, other._names)

    def __hash__(self) -> int:
        return hash((self._kind, self._names))

    @property
    def file(self) -> str:
        """What findings show as its place, such as ``cluster: Pod team-a/train-0``."""
        return f"cluster: {self._kind} {'/'.join(self._names)}".rstrip()

    def line_of(self, path: Path) -> None:
        """Return None: a path has no line."""


class TextPiece(Piece):
    """A part of a file's text. Parses it again at the first question."""

    def __init__(self, file: str, first_line: int, text: str) -> None:
        """Remember the file, the line from 1 on which *text* begins in it, and the text."""
        self._file = file
        self.first_line = first_line
        self._text = text
        self._locator: Locator | JsonLocator | None = None

    @property
    def file(self) -> str:
        """The name of the file, as the user gave it."""
        return self._file

    def line_of(self, path: Path) -> int:
        """Return the line in the file, from 1, of *path* or of the nearest thing above it."""
        if self._locator is None:
            self._locator = self._make_locator(self._text)
        return self.first_line + self._locator.line_of(path)

    @abstractmethod
    def _make_locator(self, text: str) -> Locator | JsonLocator: ...


class YamlPiece(TextPiece):
    """The text between two ``---``."""

    def _make_locator(self, text: str) -> Locator:
        root = compose_yaml(text, Tally())
        assert root is not None, "an empty text holds no object"
        return Locator(root)


class YamlItemPiece(YamlPiece):
    """The text of one item of a list of objects, dash included."""

    def __init__(self, file: str, first_line: int, text: str, path: Path) -> None:
        """Remember that the item stands at *path* in its document."""
        super().__init__(file, first_line, text)
        self._path = path

    def line_of(self, path: Path) -> int:
        """Return the line in the file, from 1, of a path in the document, at or below the item."""
        return super().line_of((0, *path[len(self._path) :]))


class JsonPiece(TextPiece):
    """The text of one JSON value."""

    def _make_locator(self, text: str) -> JsonLocator:
        return JsonLocator(text)
