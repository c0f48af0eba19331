"""A small record of past use for tests of the command line, and the moment that it ends."""

from collections.abc import Sequence
from pathlib import Path

from fairlead.model.axes import QueueName
from fairlead.store.file.usage_store import UsageStore
from fairlead.usage.entries import Capacity, Entry, Held

HOUR_MS = 3_600_000
NOW = "2026-11-16T08:00:00Z"
NOW_MS = 1_794_816_000_000
RESOURCES = ("cpu", "memory", "nvidia.com/gpu")


def capacity(hours_ago: int, gpus: int) -> Capacity:
    return Capacity(at_ms=NOW_MS - hours_ago * HOUR_MS, amounts=(64_000, 2**38, gpus * 1000))


def held(hours_ago: int, queue: str, gpus: int) -> Held:
    at_ms = NOW_MS - hours_ago * HOUR_MS
    return Held(at_ms=at_ms, queue=QueueName(queue), amounts=(0, 0, gpus * 1000))


def write_past(
    folder: Path, entries: Sequence[Entry], *, observed_hours_ago: int | None = None
) -> str:
    """Write a record and return its name; without a look, its last entry is what is known."""
    observed_ms = None if observed_hours_ago is None else NOW_MS - observed_hours_ago * HOUR_MS
    path = folder / "past.db"
    with UsageStore.open(path, resources=RESOURCES) as store:
        store.append(entries, observed_ms=observed_ms)
    return str(path)
