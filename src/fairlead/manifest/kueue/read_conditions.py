"""Reads the conditions in the status of an object: what holds now, since when and why."""

from collections.abc import Mapping

import msgspec

from fairlead.manifest.text.cursor import Cursor


class Condition(msgspec.Struct, frozen=True, kw_only=True):
    """One condition that holds, or is known not to."""

    reason: str
    since_ms: int | None


class Conditions(msgspec.Struct, frozen=True, kw_only=True):
    """The conditions of an object by type; unknown ones are in neither."""

    true: Mapping[str, Condition]
    false: Mapping[str, Condition]


def read_conditions(status: Cursor) -> Conditions:
    """Read the conditions below *status*.

    Whoever writes a status may add to it, so fields that we do not know are no mistake.
    """
    found: dict[str, dict[str, Condition]] = {"True": {}, "False": {}}
    for item in status.items("conditions"):
        item.ignore(*item.keys())
        name, holds = item.text("type"), item.text("status")
        condition = Condition(
            reason=item.text("reason", ""), since_ms=item.timestamp("lastTransitionTime", None)
        )
        if holds in found:
            found[holds][name] = condition
    return Conditions(true=found["True"], false=found["False"])
