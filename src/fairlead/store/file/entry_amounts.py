"""Converts the amounts of entries to other resources, such as those of a store."""

from collections.abc import Iterable, Iterator

import msgspec

from fairlead.usage.entries import Capacity, Entry, Granted, Guarantee, Held


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
