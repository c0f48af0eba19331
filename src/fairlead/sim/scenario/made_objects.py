"""Objects of the peers that stand for parts of a scenario, and findings about them told as of it.

What a scenario says in its own words becomes the objects that users would write, and the readers of
those check it. Each object stands on a line of its own, so that a line tells what it was made from.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from fairlead.errors import Finding
from fairlead.manifest.text.documents import Source
from fairlead.manifest.text.path import Path, path_text

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
