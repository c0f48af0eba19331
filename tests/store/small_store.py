"""Small stores in folders of their own, and plain ledgers to compare them with."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from fairlead.store.file.usage_store import UsageStore
from fairlead.usage.entries import Entry
from fairlead.usage.ledger import Ledger
from fairlead.usage.settings import UsageRules
from fairlead.usage.window import Sliding, Tumbling
from tests.store.usage_entries import DAY, HOUR, RESOURCES, START

RULES = [
    UsageRules(window=Sliding(2 * DAY)),
    UsageRules(window=Sliding(5 * DAY), half_life_ms=DAY),
    UsageRules(window=Tumbling(3 * DAY, START)),
    UsageRules(window=Sliding(2 * DAY), way="sampled", resolution_ms=HOUR),
]


@contextmanager
def a_store(entries: Sequence[Entry] = ()) -> Iterator[UsageStore]:
    """A new store in a folder of its own; what Hypothesis calls cannot share a fixture's."""
    with (
        tempfile.TemporaryDirectory() as folder,
        UsageStore.open(Path(folder) / "use.db", resources=RESOURCES) as store,
    ):
        # Nothing crashes here, and waiting for the disk would be most of the time.
        store._connection.execute("PRAGMA synchronous = OFF")
        store.append(entries)
        yield store


def ledger_of(entries: Sequence[Entry], rules: UsageRules) -> Ledger:
    ledger = Ledger(
        RESOURCES,
        rules.window,
        half_life_ms=rules.half_life_ms,
        way=rules.way,
        resolution_ms=rules.resolution_ms,
    )
    for entry in entries:
        ledger.take(entry)
    return ledger
