"""Refuses single entries that no ledger would take, before they come into a store."""

from collections.abc import Sequence

from fairlead.errors import UsageError
from fairlead.usage.entries import Capacity, Entry, Granted, Guarantee, Held


def check_entries(entries: Sequence[Entry], resources: tuple[str, ...]) -> None:
    """Raise UsageError for an amount that is less than nothing or of no known resource.

    Fewer amounts than resources are fine: of those that came later there is 0.
    """
    count = len(resources)
    for entry in entries:
        match entry:
            case Held(amounts=amounts) if len(amounts) == count and min(amounts, default=0) >= 0:
                pass  # nearly all entries of a tick, and fine
            case Held() | Capacity() | Guarantee():
                _check_count(len(entry.amounts), resources)
                for amount in entry.amounts:
                    if amount is not None and amount < 0:
                        raise UsageError(f"{amount} of a resource is less than nothing")
            case Granted():
                _check_count(len(entry.resource_time), resources)


def _check_count(count: int, resources: tuple[str, ...]) -> None:
    if count > len(resources):
        raise UsageError(
            f"an entry has {count} amounts, but there are {len(resources)} resources: "
            f"{', '.join(resources)}"
        )
