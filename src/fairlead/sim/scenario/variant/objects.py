"""Objects of the peers that stand for parts of a scenario, and findings about them.

What a scenario says in its own words becomes the objects that users would write. The readers of
manifests check them like any other object: each knows from where in the scenario it was made, so
that whatever is found in it is reported there.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path as FilePath
from typing import Final, NamedTuple

import msgspec

from fairlead.errors import Finding, Severity
from fairlead.manifest.finding import Findings
from fairlead.manifest.text.documents import Document, Source
from fairlead.manifest.text.files import STDIN
from fairlead.manifest.text.path import Path, path_text, quote
from fairlead.manifest.text.piece import Piece
from fairlead.manifest.text.values import Mapping
from fairlead.sim.scenario.form.scenario_form import SpecForm

_NOWHERE: Final[Path] = ("spec",)
_FIX: Final = (
    "name a file or folder that exists and that you may read, seen from this file's folder"
)


class _FileWithoutLines(Piece):
    """A scenario file whose text is not at hand."""

    def __init__(self, file: str) -> None:
        self._file = file

    @property
    def file(self) -> str:
        return self._file

    def line_of(self, path: Path) -> None:
        """Return None: a path has no line."""


def source_without_lines(file: str) -> Source:
    """Return the source of a scenario that was read before from *file*."""
    return Source(piece=_FileWithoutLines(file), path=())


class MadeObject(NamedTuple):
    """An object, and where in the scenario it comes from; None: from nowhere in particular."""

    value: Mapping
    origin: Path | None
    below: Path = ()  # the part of the object that stands in the scenario as it is
    unwritten: tuple[Path, ...] = ()  # parts of it that the scenario does not ask for

    def document(self, scenario: Source) -> Document:
        """Return the object as a document; findings about it point into *scenario*."""
        return Document(source=MadeSource.of(self, scenario), value=self.value)


class MadeSource(Source, frozen=True, kw_only=True):
    """The place in a scenario of an object that was made from it."""

    kind: str
    below: Path
    is_written: bool  # whether the object comes from somewhere in the scenario
    unwritten: tuple[Path, ...]

    @classmethod
    def of(cls, made: MadeObject, scenario: Source) -> "MadeSource":
        """Return where *made* comes from in *scenario*."""
        return cls(
            piece=scenario.piece,
            path=(*scenario.path, *(made.origin or _NOWHERE)),
            kind=str(made.value["kind"]),
            below=made.below,
            is_written=made.origin is not None,
            unwritten=made.unwritten,
        )

    def locate(self, path: Path) -> int | None:
        """Return the line, from 1, of what *path* of the object was made from."""
        return super().locate(self._in_scenario(path))

    def path_text(self, path: Path = ()) -> str:
        """Write what *path* of the object was made from, as seen from the root of the scenario."""
        return super().path_text(self._in_scenario(path))

    def report(
        self,
        findings: Findings,
        severity: Severity,
        code: str,
        path: Path,
        message: str,
        fix: str = "",
    ) -> None:
        """Put a remark about what *path* was made from into *findings*.

        Advice about what the scenario does not say is left out: its user cannot follow it.
        """
        if severity == "advice" and (not self.is_written or path in self.unwritten):
            return
        if not self._is_as_written(path):
            message += f" ({path_text(path)} of the {self.kind} that stands for it)"
        super().report(findings, severity, code, path, message, fix)

    def _is_as_written(self, path: Path) -> bool:
        return bool(self.below) and path[: len(self.below)] == self.below

    def _in_scenario(self, path: Path) -> Path:
        return path[len(self.below) :] if self._is_as_written(path) else ()


def manifest_file(folder: str, named: str) -> str:
    """Return what is read for a manifest that is *named* in a scenario in *folder*: files only."""
    file = str(FilePath(folder) / named)
    return f"./{STDIN}" if file == STDIN else file


def reported_where_named(
    findings: Iterable[Finding], spec: SpecForm, folder: str, source: Source
) -> Iterator[Finding]:
    """Yield *findings*; a finding about a whole input is moved to where *spec* names it.

    The file of a folder that cannot be read stays where it is: the scenario does not name it.
    """
    places = {manifest_file(folder, name): place for place, name in enumerate(spec.manifests)}
    for found in findings:
        place = places.get(found.file)
        if found.code != "unreadable" or found.line is not None or place is None:
            yield found
            continue
        path: Path = ("spec", "manifests", place)
        yield msgspec.structs.replace(
            found,
            file=source.file,
            line=source.locate(path),
            path=source.path_text(path),
            message=f"found the manifest {quote(spec.manifests[place])}, which {found.message}",
            fix=_FIX,
        )
