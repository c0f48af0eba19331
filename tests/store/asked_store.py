"""A history with something of everything in it, and all that can be asked of its store."""

from pathlib import Path
from typing import NamedTuple

from fairlead.model.axes import QueueName
from fairlead.store.feed.store_origin import stored_reading
from fairlead.store.file.usage_store import UsageStore
from fairlead.usage.entries import Entry
from fairlead.usage.settings import UsageRules
from fairlead.usage.window import Tumbling
from tests.store.usage_entries import (
    DAY,
    HOUR,
    START,
    A,
    B,
    C,
    capacity,
    forgiven,
    gap,
    granted,
    guarantee,
    held,
    removed,
    renamed,
)

RULES = UsageRules(window=Tumbling(1_000 * DAY))  # exact, from a snapshot as from the entries
NOW = START + 60 * HOUR
HISTORY: list[Entry] = [
    capacity(0, 9_000, 9),
    guarantee(0, None, 1),
    *[held(step / 10, 1_000 * step, step % 5, queue=(A, B)[step % 2]) for step in range(1, 250)],
    held(25, 0, 2, queue=QueueName("lab")),
    granted(26, 5, 5),
    gap(26, 27),
    held(27, 1, 7, user="eve"),
    renamed(28, B, C),
    forgiven(29, A),
]
LATER: list[Entry] = [*[held(step / 10, 0, step % 3) for step in range(300, 480)], removed(50)]


class Answers(NamedTuple):
    """All that can be asked of a store, as text that tells every difference."""

    names: str
    moments: str
    entries: str
    later_entries: str
    audit: str
    reading: str
    ledger: str


def answers(path: Path) -> Answers:
    """What ``usage log``, ``export``, ``show`` and a plan read; raises StoreError."""
    with UsageStore.open(path, writes=False) as store:
        reading = stored_reading(store, RULES, NOW)
        around = [store.levels_around(START + hour * HOUR) for hour in (0, 20, 31, 45, 59)]
        return Answers(
            names=repr((store.resources, sorted(store.queue_names()))),
            moments=repr((store.newest_ms, store.newest_level_ms, store.observed_ms, around)),
            entries=repr((list(store.entries()), store.moments_after(START + 30 * HOUR))),
            later_entries=repr([list(store.entries(START + h * HOUR)) for h in (24, 45)]),
            audit=repr((store.audit(), store.imports())),
            reading=repr((reading.newest_ms, reading.acts, reading.ledger.usage(NOW))),
            ledger=repr(store.ledger(RULES, NOW).usage(NOW)),
        )
