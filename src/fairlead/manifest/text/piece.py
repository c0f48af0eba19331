"""The piece of text behind a document, kept so that a line can be found when one is needed."""

from abc import ABC, abstractmethod

from fairlead.manifest.text.json_locate import JsonLocator
from fairlead.manifest.text.locate import Locator
from fairlead.manifest.text.path import Path
from fairlead.manifest.text.yaml_nodes import Tally, compose_yaml


class Piece(ABC):
    """Where one value of a file was written. Parses its text again at the first question."""

    def __init__(self, file: str, first_line: int, text: str) -> None:
        """Remember the file, the line from 1 on which *text* begins in it, and the text."""
        self.file = file
        self.first_line = first_line
        self._text = text
        self._locator: Locator | JsonLocator | None = None

    def line_of(self, path: Path) -> int:
        """Return the line in the file, from 1, of *path* or of the nearest thing above it."""
        if self._locator is None:
            self._locator = self._make_locator(self._text)
        return self.first_line + self._locator.line_of(path)

    @abstractmethod
    def _make_locator(self, text: str) -> Locator | JsonLocator: ...


class YamlPiece(Piece):
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


class JsonPiece(Piece):
    """The text of one JSON value."""

    def _make_locator(self, text: str) -> JsonLocator:
        return JsonLocator(text)
