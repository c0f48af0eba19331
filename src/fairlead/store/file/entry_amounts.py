"""Checks the amounts of entries, and converts them to the resources of a store."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from fairlead.errors import UsageError
from fairlead.usage.entries import Capacity, Entry, Granted, Guarantee, Held
from fairlead.usage.lanes import TOO_MUCH
from fairlead.usage.ledger import check_amount, check_grant


def check_amounts(entries: Sequence[Entry], resources: tuple[str, ...]) -> None:
    """Raise UsageError for an amount that no ledger takes, or for more amounts than resources.

    Fewer amounts are fine: the missing ones are 0.
    """
    count = len(resources)
    for entry in entries:
        match entry:
            case Held() | Capacity() | Guarantee():
                if len(entry.amounts) > count:
                    _check_count(len(entry.amounts), resources)
                for amount in entry.amounts:
                    if amount is not None and not 0 <= amount < TOO_MUCH:
                        check_amount(amount)
            case Granted():
                _check_count(len(entry.resource_time), resources)
                check_grant(entry)


def fit_resources(
    entries: Iterable[Entry], resources: tuple[str, ...], wanted: tuple[str, ...]
) -> Iterator[Entry]:
    """Yield *entries* about *resources* as entries about *wanted*, which includes them all.

    Amounts of added resources are 0.
    """
    places = [resources.index(name) if name in resources else None for name in wanted]
    if places == list(range(len(resources))):
        yield from entries
        return
    for entry in entries:
        match entry:
            case Held() | Capacity() | Guarantee():
                amounts = tuple(0 if at is None else entry.amounts[at] for at in places)
                yield msgspec.structs.replace(entry, amounts=amounts)
            case Granted():
                times = tuple(0 if at is None else entry.resource_time[at] for at in places)
                yield msgspec.structs.replace(entry, resource_time=times)
            case _:
                yield entry


def _check_count(count: int, resources: tuple[str, ...]) -> None:
    if count > len(resources):
        raise UsageError(
            f"an entry has {count} amounts, but there are {len(resources)} resources: "
            f"{', '.join(resources)}"
        )
