"""Reads the conditions in the status of an object: what holds now, since when and why."""

import msgspec

from fairlead.manifest.text.cursor import Cursor


class Condition(msgspec.Struct, frozen=True, kw_only=True):
    """One condition that holds."""

    reason: str
    since_ms: int | None


def read_true_conditions(status: Cursor) -> dict[str, Condition]:
    """Return the conditions below *status* that are ``True``, by type; false and unknown are out.

    Whoever writes a status may add to it, so fields that we do not know are no mistake.
    """
    found = {}
    for item in status.items("conditions"):
        item.ignore(*item.keys())
        name, is_true = item.text("type"), item.text("status") == "True"
        condition = Condition(
            reason=item.text("reason", ""), since_ms=item.timestamp("lastTransitionTime", None)
        )
        if is_true:
            found[name] = condition
    return found
