"""What the file of past use costs: a tick, a start, and a year of a thousand queues on disk.

``python -m bench.bench_usage_store`` prints sizes. It makes a twentieth of the year, 18 days, and
says what a year would be: entries before a roll-up are alike, so their size is multiplied. After a
roll-up a year has two weeks of raw entries, a snapshot, and 351 days rolled up; the size of such a
day is measured by rolling up all 18. ``--full`` makes the whole year instead, in a quarter of an
hour.
"""

import argparse
import tempfile
import time
from itertools import count
from pathlib import Path

from bench.harness import Work, benchmark
from fairlead.model.axes import QueueName
from fairlead.store.file.usage_store import UsageStore
from fairlead.usage.entries import Capacity, Entry, Held
from fairlead.usage.settings import DAY_MS, MINUTE_MS, WEEK_MS, UsageRules
from fairlead.usage.window import Sliding

RESOURCES = ("cpu", "memory", "gpu")
START_MS = 1_767_225_600_000
CAPACITY = (10_000_000, 2**46, 8_000_000)
STEP_MS = 30 * MINUTE_MS
YEAR_DAYS = 365
SCALE = 20
RULES = UsageRules(window=Sliding(WEEK_MS), half_life_ms=DAY_MS)


def _held(queue: int, at_ms: int, step: int) -> Held:
    size = (queue * 7 + step) % 5 + 1
    amounts = (size * 4_000, size * 2**34, size * 1_000)
    return Held(at_ms=at_ms, queue=QueueName(f"queue-{queue}"), amounts=amounts)


def _store(folder: str) -> UsageStore:
    store = UsageStore.open(Path(folder) / "use.db", resources=RESOURCES)
    store.append([Capacity(at_ms=START_MS, amounts=CAPACITY)])
    return store


@benchmark("usage store: tick of 3,000 queues x 3 resources, written and decayed", goal_cpu_ms=30)
def _tick() -> Work:
    folder = tempfile.TemporaryDirectory()
    store = _store(folder.name)
    steps = count()

    def work() -> None:
        assert folder.name
        step = next(steps)
        at_ms = START_MS + step * MINUTE_MS
        store.append([_held(queue, at_ms, step) for queue in range(3_000)], observed_ms=at_ms)
        store.ledger(RULES, at_ms)

    return work


def _write_days(store: UsageStore, queues: int, days: int) -> int:
    """Write so many days, every queue at a moment of its own in each half hour; count entries."""
    written = 0
    for day in range(days):
        entries: list[Entry] = [
            _held(queue, START_MS + step * STEP_MS + queue * STEP_MS // queues, step)
            for step in range(48 * day, 48 * day + 48)
            for queue in range(queues)
        ]
        store.append(entries)
        written += len(entries)
    return written


@benchmark(
    "usage store: start with 1,000 queues, two weeks raw, a snapshot 20,000 entries old",
    goal_cpu_ms=1_000,
)
def _start_after_ten_hours() -> Work:
    return _start(20 * STEP_MS)


# A recorder that saves now and then never starts like this; the cost is only watched.
@benchmark("usage store: the same start with a snapshot a day and 48,000 entries old")
def _start_after_a_day() -> Work:
    return _start(DAY_MS)


def _start(age_ms: int) -> Work:
    """Open a store and answer, from a snapshot of so long ago and all that came since."""
    folder = tempfile.TemporaryDirectory()
    days = YEAR_DAYS // SCALE
    now_ms = START_MS + days * DAY_MS
    with _store(folder.name) as store:
        _write_days(store, 1_000, days)
        store.roll_up(now_ms, 2 * WEEK_MS)
        store.save_snapshot(store.ledger(RULES, now_ms - age_ms), RULES)

    def work() -> None:
        with UsageStore.open(Path(folder.name) / "use.db", writes=False) as store:
            store.ledger(RULES, now_ms).normalised(now_ms)

    return work


def _megabytes(folder: str) -> float:
    return sum(file.stat().st_size for file in Path(folder).iterdir()) / 1e6


def main() -> None:
    """Print the size of a year before and after roll-up, and how long a start takes then."""
    parser = argparse.ArgumentParser(prog="python -m bench.bench_usage_store")
    parser.add_argument("--full", action="store_true", help="the whole year, not a twentieth")
    days = YEAR_DAYS if parser.parse_args().full else YEAR_DAYS // SCALE
    now_ms = START_MS + days * DAY_MS
    with tempfile.TemporaryDirectory() as folder:
        with _store(folder) as store:
            written = _write_days(store, 1_000, days)
        _print_before(_megabytes(folder), written, days)
        after = _rolled_up(folder, now_ms, 2 * WEEK_MS)
        with UsageStore.open(Path(folder) / "use.db") as store:
            store.save_snapshot(store.ledger(RULES, now_ms), RULES)
        snapshot = _megabytes(folder) - after
        print(f"the snapshot: {snapshot:.1f} MB; together {after + snapshot:.1f} MB")
        begin_s = time.process_time()
        with UsageStore.open(Path(folder) / "use.db", writes=False) as store:
            store.ledger(RULES, now_ms).normalised(now_ms)
        print(f"opened and answered in {time.process_time() - begin_s:.2f} s of CPU (goal 1)")
        if days < YEAR_DAYS:
            day = _rolled_up(folder, now_ms, 0) / days
            year = after + snapshot + day * (YEAR_DAYS - days)
            print(f"a year after roll-up, at {day:.3f} MB a day more: {year:.0f} MB (goal 50)")


def _print_before(size: float, written: int, days: int) -> None:
    print(
        f"{written:,} entries of {days} days: {size:.1f} MB, {size * 1e6 / written:.1f} each; "
        f"a year at that rate: {size * YEAR_DAYS / days:.0f} MB (goal 500)"
    )


def _rolled_up(folder: str, now_ms: int, keep_raw_ms: int) -> float:
    """Roll up what is older than that, print what came of it, and return megabytes."""
    begin_s = time.process_time()
    with UsageStore.open(Path(folder) / "use.db") as store:
        done = store.roll_up(now_ms, keep_raw_ms)
    spent_s = time.process_time() - begin_s
    size = _megabytes(folder)
    print(
        f"rolled up {done.entries_before:,} entries to {done.entries_after:,} "
        f"in {spent_s:.1f} s of CPU: {size:.1f} MB"
    )
    return size


if __name__ == "__main__":
    main()
