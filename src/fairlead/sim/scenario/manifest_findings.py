"""Manifests of a scenario that cannot be read, told where the scenario names them."""

from collections.abc import Iterable, Iterator
from pathlib import Path as FilePath
from typing import Final

import msgspec

from fairlead.errors import Finding
from fairlead.manifest.text.documents import Source
from fairlead.manifest.text.files import STDIN
from fairlead.manifest.text.path import Path, quote
from fairlead.sim.scenario.scenario_form import SpecForm

_FIX: Final = (
    "name a file or folder that exists and that you may read, seen from this file's folder"
)


def manifest_file(folder: str, named: str) -> str:
    """Return what is read for a manifest that is *named* in a scenario in *folder*: files only."""
    file = str(FilePath(folder) / named)
    return f"./{STDIN}" if file == STDIN else file


def told_where_named(
    findings: Iterable[Finding], spec: SpecForm, folder: str, source: Source
) -> Iterator[Finding]:
    """Yield *findings* with those about whole inputs moved to where *spec* names them.

    The file of a folder that cannot be read stays where it is: nobody names it.
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
