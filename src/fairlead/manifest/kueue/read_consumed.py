"""Reads what a LocalQueue had used when Kueue last wrote it into its status.

Kueue counts past use in billionths of a core, so the amounts are finer than those of requests.
"""

from fractions import Fraction

from fairlead.manifest.text.cursor import Cursor

_BILLIONTHS = 10**9


def read_consumed(top: Cursor) -> tuple[tuple[tuple[str, int], ...], int | None]:
    """Read ``status.fairSharing.admissionFairSharingStatus``: what was used, and as of when.

    In billionths, by resource, sorted; nothing and None if it is not there. What is finer is cut.
    """
    at = top
    for key in ("status", "fairSharing", "admissionFairSharingStatus"):
        at = at.mapping(key)
        at.ignore(*at.keys())  # whoever writes a status may add to it
    resources = at.mapping("consumedResources")
    consumed = [(name, _amount(resources, name)) for name in sorted(resources.keys())]
    return tuple(each for each in consumed if each[1]), at.timestamp("lastUpdate", None)


def _amount(resources: Cursor, name: str) -> int:
    amount = resources.fraction(name, Fraction(0))
    if amount >= 0:
        return int(amount * _BILLIONTHS)
    resources.error(
        name,
        "out-of-range",
        "found less than 0, expected 0 or more: past use only fades",
        "remove admissionFairSharingStatus, and Kueue writes it anew",
    )
    return 0
