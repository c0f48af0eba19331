"""Which axes past use does not count on, although somebody might think so."""

from collections.abc import Sequence

from fairlead.store.feed.usage_vector import places_of
from fairlead.usage.ledger import Ledger


def uncounted(axes: Sequence[str], ledger: Ledger, as_of_ms: int) -> list[str]:
    """What to tell about *axes* without a record, or with use of which nobody told the whole."""
    return [*_unrecorded(axes, ledger), *_without_capacity(axes, ledger, as_of_ms)]


def unknown_axes(
    axes: Sequence[str], ledger: Ledger, as_of_ms: int, step_ms: int
) -> tuple[str, ...]:
    """Those of *axes* of which no part can be told, because there is no whole.

    Where there will be one in *step_ms*, if all goes on, the window has only begun, and nothing was
    used in it yet. Cost: that of the ledger's sum of the capacity, whatever the queues.
    """
    unknown = set(ledger.unknown(as_of_ms))
    if unknown:
        unknown.intersection_update(ledger.unknown(as_of_ms + step_ms))
    return tuple(
        axis
        for axis, places in zip(axes, places_of(axes, ledger.resources), strict=True)
        if all(ledger.resources[place] in unknown for place in places)
    )


def _unrecorded(axes: Sequence[str], ledger: Ledger) -> list[str]:
    return [
        f"of {axis} no use is recorded; it counts as none"
        for axis, places in zip(axes, places_of(axes, ledger.resources), strict=True)
        if not places
    ]


def _without_capacity(axes: Sequence[str], ledger: Ledger, as_of_ms: int) -> list[str]:
    unknown = set(ledger.unknown(as_of_ms))
    if not unknown:
        return []
    queues = ledger.usage(as_of_ms).queues.values()
    return [
        f"of {axis} use is recorded, but not how much of it the cluster had; it counts as none"
        for axis, places in zip(axes, places_of(axes, ledger.resources), strict=True)
        if places
        and all(ledger.resources[place] in unknown for place in places)
        and any(use.all[place] > 0 for use in queues for place in places)
    ]
