"""The piece of text behind a document, kept so that a line can be found when one is needed."""

from abc import ABC, abstractmethod
from itertools import islice

from fairlead.manifest.text.collector import paused_collector
from fairlead.manifest.text.json_locate import JsonLocator
from fairlead.manifest.text.locate import Locator
from fairlead.manifest.text.path import Path
from fairlead.manifest.text.yaml_nodes import compose_yaml


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
        with paused_collector():
            if self._locator is None:
                self._locator = self._make_locator(self._text)
            return self.first_line + self._locator.line_of(path)

    @abstractmethod
    def _make_locator(self, text: str) -> Locator | JsonLocator: ...


class YamlPiece(Piece):
    """The text between two ``---``, which may hold several documents if ``...`` parts them."""

    def __init__(self, file: str, first_line: int, text: str, index: int) -> None:
        """Remember that the value is the one at *index* in *text*."""
        super().__init__(file, first_line, text)
        self._index = index

    def _make_locator(self, text: str) -> Locator:
        return Locator(next(islice(compose_yaml(text), self._index, None)))


class JsonPiece(Piece):
    """The text of one JSON value."""

    def _make_locator(self, text: str) -> JsonLocator:
        return JsonLocator(text)
