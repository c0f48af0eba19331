"""Entries that were written for other resources, or in another order, than a store has."""

from collections.abc import Iterable, Iterator

import msgspec

from fairlead.usage.entries import Capacity, Entry, Granted, Guarantee, Held


def fit_resources(
    entries: Iterable[Entry], resources: tuple[str, ...], wanted: tuple[str, ...]
) -> Iterator[Entry]:
    """Yield *entries* of *resources* as entries of *wanted*, which has all of them and maybe more.

    Of what they do not know there was 0.
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
