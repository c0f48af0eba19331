"""Objects of the peers that stand for parts of a scenario, and findings about them told as of it.

What a scenario says in its own words becomes the objects that users would write, and the readers of
those check it. Each object stands on a line of its own, so that a line tells what it was made from.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path as FilePath
from typing import Any, Final, NamedTuple

import msgspec

from fairlead.errors import Finding
from fairlead.manifest.text.documents import Source
from fairlead.manifest.text.files import STDIN
from fairlead.manifest.text.path import Path, path_text, quote
from fairlead.sim.scenario.form.scenario_form import SpecForm

_ENCODER: Final = msgspec.json.Encoder(decimal_format="number")
_NOWHERE: Final[Path] = ("spec",)
_PLAIN_STEP: Final = re.compile(r"\.([A-Za-z0-9_-]+)")


class MadeObject(NamedTuple):
    """An object, and where in the scenario it comes from; None: from nowhere in particular."""

    value: Mapping[str, Any]
    origin: Path | None
    below: Path = ()  # the part of the object that stands in the scenario as it is
    unwritten: tuple[Path, ...] = ()  # parts of it that nobody asked for


def text_of(objects: Iterable[MadeObject]) -> str:
    """Return *objects* as JSON, one a line."""
    return "".join(f"{_ENCODER.encode(each.value).decode()}\n" for each in objects)


def told_of_scenario(
    findings: Iterable[Finding], name: str, objects: Sequence[MadeObject], source: Source
) -> list[Finding]:
    """Return *findings* with those about the text *name* moved to where its objects come from.

    Advice about what comes from nowhere is left out: no user can follow it. What would be told
    twice, because several objects come from one place, is told once.
    """
    told: dict[Finding, None] = {}
    other_place = re.compile(re.escape(name) + ":([0-9]+)")
    for found in findings:
        message = other_place.sub(
            lambda place: _place(objects[int(place[1]) - 1], source), found.message
        )
        finding = msgspec.structs.replace(found, message=message)
        if finding.file != name:
            told[finding] = None
            continue
        made = objects[(finding.line or 1) - 1]
        if finding.severity != "advice" or _is_written(finding, made):
            told[_moved(finding, made, source)] = None
    return list(told)


def _place(made: MadeObject, source: Source) -> str:
    """Say where in the scenario an object comes from, as findings about two objects do."""
    return f"{source.file}:{source.locate(made.origin or _NOWHERE)}"


def _is_written(finding: Finding, made: MadeObject) -> bool:
    return made.origin is not None and finding.path not in map(path_text, made.unwritten)


def _moved(finding: Finding, made: MadeObject, source: Source) -> Finding:
    origin = made.origin or _NOWHERE
    start = path_text(made.below)
    kept = bool(made.below) and finding.path.startswith(start)
    rest = finding.path.removeprefix(start) if kept else ""
    message = finding.message
    if not kept:
        message += f" ({finding.path} of the {made.value['kind']} that stands for it)"
    return msgspec.structs.replace(
        finding,
        file=source.file,
        line=source.locate((*origin, *_PLAIN_STEP.findall(rest))),
        path=path_text(origin) + rest,
        message=message,
    )


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
