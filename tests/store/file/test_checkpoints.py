"""Levels that were saved may be damaged or lost, and no answer depends on them."""

from itertools import groupby
from operator import attrgetter
from pathlib import Path

import pytest

from fairlead.errors import StoreError
from fairlead.model.axes import QueueName
from fairlead.store.file import checkpoints
from fairlead.store.file.journal import first_key
from fairlead.store.file.usage_store import UsageStore
from fairlead.usage.entries import Entry
from tests.store.page_bytes import varint
from tests.store.usage_entries import HOUR, RESOURCES, START, held

HOURS = 60
QUEUES = [QueueName(f"queue-{number}") for number in range(70)]
HISTORY = [
    held(hour, hour * 1_000 + 1, 7, queue=queue)
    for hour in range(HOURS)
    for queue in (QUEUES if hour == 0 else QUEUES[hour : hour + 1])
]


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file of a store with levels saved every hour, on several pages."""
    path = tmp_path_factory.mktemp("whole") / "use.db"
    with pytest.MonkeyPatch.context() as patch, UsageStore.open(path, resources=RESOURCES) as store:
        patch.setattr(checkpoints, "CHECKPOINT_MS", HOUR)
        store._connection.execute("PRAGMA synchronous = OFF")
        for _, entries in groupby(HISTORY, key=attrgetter("at_ms")):
            store.append(list(entries))
            with store._transaction():
                store._checkpoints.save_if_due()
        [(count,)] = store._connection.execute("SELECT count(*) FROM checkpoints")
        assert count == HOURS - 1
    return path.read_bytes()


def places(content: bytes, text: bytes) -> list[int]:
    return [at for at in range(len(content)) if content.startswith(text, at)]


def holding(hour: int) -> list[Entry]:
    """What every queue holds half an hour after *hour*, told of that moment, by name."""
    told = {}
    for entry in HISTORY:
        if entry.at_ms <= START + hour * HOUR:
            told[entry.queue] = held(hour + 0.5, *entry.amounts, queue=entry.queue)
    return [told[queue] for queue in sorted(told)]


def test_no_key_of_saved_levels_that_grew_leads_to_levels_of_later(
    content: bytes, tmp_path: Path
) -> None:
    """Each key in turn becomes that of 4.7 hours later, and what held just after it is asked for.

    Where it is the last of its page, SQLite goes back to it from the page behind, without looking.
    """
    path = tmp_path / "use.db"
    later = 1 << 12 + 24  # 2^24 ms
    damaged = 0
    for hour in range(1, HOURS):
        key = first_key(START + hour * HOUR)
        if key & later:
            continue
        for at in places(content, varint(key)):
            grown = varint(key | later)
            path.write_bytes(content[:at] + grown + content[at + len(grown) :])
            damaged += 1
            try:
                with UsageStore.open(path, writes=False) as store:
                    entries = list(store.entries(START + hour * HOUR + HOUR // 2))
            except StoreError:
                continue  # out of order, or the key of the row in the journal
            assert entries[: len(QUEUES)] == holding(hour), hour
    assert damaged >= 20
