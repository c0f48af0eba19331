"""How a recorder continues an existing file: after a gap, with the levels that differ."""

from collections.abc import Iterator

import msgspec

from fairlead.model.axes import Limits, QueueName
from fairlead.store.file.usage_store import UsageStore
from fairlead.store.recording.state_levels import StateLevels, changed_entries
from fairlead.usage.entries import Capacity, Entry, Gap, Guarantee, Held


def entries_to_take_over(store: UsageStore, levels: StateLevels, at_ms: int) -> list[Entry]:
    """What makes *levels*, on the resources of *store*, hold there from *at_ms* on.

    Nothing in the store is later than that. Users who held something are told to hold nothing: what
    a state holds is told of nobody in particular.
    """
    nothing = (0,) * len(store.resources)
    held = {}
    guarantees: dict[QueueName, Limits] = {}
    capacity: tuple[int, ...] = ()
    users: list[Entry] = []
    for entry in store.entries(at_ms + 1):
        match entry:
            case Held(user=""):
                held[entry.queue] = entry.amounts
            case Held():
                users.append(msgspec.structs.replace(entry, at_ms=at_ms, amounts=nothing))
            case Guarantee():
                guarantees[entry.queue] = entry.amounts
                held.setdefault(entry.queue, nothing)
            case Capacity():
                capacity = entry.amounts
    before = StateLevels(held=held, guarantees=guarantees, capacity=capacity)
    return [*users, *changed_entries(before, levels, at_ms)]


def gaps_before(
    store: UsageStore, at_ms: int, gap_after_ms: int, known_ms: int | None = None
) -> list[Entry]:
    """The time of which nothing is known before *at_ms*, if it is longer than *gap_after_ms*.

    *known_ms* is a look that found nothing changed, and was not written down.

    Law: no gap reaches back before the newest level, so what was imported after the last look is
    kept. What administrators wrote meanwhile stays: gaps end a millisecond before it.
    """
    last_ms = _last_known_ms(store, known_ms)
    if last_ms is None or at_ms - last_ms <= gap_after_ms:
        return []
    return list(_gaps_between(last_ms, store.moments_after(last_ms), at_ms))


def _last_known_ms(store: UsageStore, known_ms: int | None) -> int | None:
    """Return the last observation: of a level, of no change, or the end of a gap."""
    looks_ms = (store.observed_ms, store.newest_level_ms, known_ms)
    last_ms = max((each for each in looks_ms if each is not None), default=None)
    if last_ms is None:
        return None
    ends_ms = [each.at_ms for each in store.entries(last_ms + 1) if isinstance(each, Gap)]
    return max([last_ms, *ends_ms])


def _gaps_between(last_ms: int, moments_ms: list[int], at_ms: int) -> Iterator[Gap]:
    for moment_ms in moments_ms:
        if moment_ms - 1 > last_ms:
            yield Gap(at_ms=moment_ms - 1, since_ms=last_ms)
        last_ms = moment_ms
    if at_ms > last_ms:
        yield Gap(at_ms=at_ms, since_ms=last_ms)
