"""Kills a program that writes into a store, again and again, and looks at what is left.

``python -m tests.store.crashes --points 1000`` ends with 1 at the first file that is not as it
should be, and names the seed; the same seed kills after the same waits, though a machine is never
twice the same. The writer appends, also to the past, saves snapshots, and rolls up. After every
kill: SQLite and we find nothing wrong in the file, every batch is there that was said to be safe,
and at most one more, whole. What is rolled up has the sums that it had. The next writer goes on
with the same file; every 25th begins a new one, so that making a file is interrupted, too.
"""

import argparse
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from random import Random
from typing import NamedTuple

from fairlead.model.axes import QueueName
from fairlead.store.file.usage_store import UsageStore
from fairlead.usage.entries import Entry, Granted, Held
from fairlead.usage.ledger import Ledger
from fairlead.usage.queue_use import Usage
from fairlead.usage.settings import DAY_MS, UsageRules
from fairlead.usage.window import Tumbling

START_MS = 1_770_000_000_000
STEP_MS = 7_200_000  # 12 batches are a day, after which a checkpoint is saved
PAST_STEPS = 20  # so far back the past is mostly rolled up, of which a day is kept as it is
SIZE = 1_000_000  # so much that what a roll-up may lose is nothing beside one batch
QUEUES = [QueueName(f"queue-{number}") for number in range(20)]
POINTS_PER_FILE = 25
LONGEST_WAIT_S = 0.06
RULES = UsageRules(window=Tumbling(10_000 * DAY_MS))


class Killed(NamedTuple):
    """What a writer said before it was killed."""

    batches: int  # that were safe
    doing: str  # what it had begun


def batch(number: int) -> list[Entry]:
    """The entries of one batch: some of one moment, now and then an act, or some of the past."""
    at_ms = START_MS + number * STEP_MS
    entries: list[Entry] = [
        Held(at_ms=at_ms, queue=queue, amounts=(number * SIZE, number)) for queue in QUEUES
    ]
    if number % 7 == 0:
        times = (number * SIZE * STEP_MS, 0)
        entries.append(
            Granted(at_ms=at_ms, queue=QUEUES[0], resource_time=times, who="ann", reason="crash")
        )
    return [*past_of(number), *entries]


def past_of(number: int) -> list[Entry]:
    """What a batch says of the past: that a queue of which nobody knew held something then."""
    if number % 3 or number < PAST_STEPS:
        return []
    queue = QueueName(f"late-{number}")
    at_ms = START_MS + (number - PAST_STEPS) * STEP_MS + 1
    return [
        Held(at_ms=at_ms, queue=queue, amounts=(number * SIZE, 0)),
        Held(at_ms=at_ms + STEP_MS // 2, queue=queue, amounts=(0, 0)),
    ]


def write_on(path: Path, report: int) -> None:
    """Append batch after batch; say what is begun, and the number of each as soon as it is safe."""
    with UsageStore.open(path, resources=("cpu", "memory")) as store:
        newest_ms = store.newest_ms
        number = 0 if newest_ms is None else (newest_ms - START_MS) // STEP_MS + 1
        while True:
            now_ms = START_MS + number * STEP_MS
            os.write(report, b"past\n" if past_of(number) else b"append\n")
            store.append(batch(number))
            os.write(report, b"%d\n" % number)
            if number % 5 == 0:
                store.save_snapshot(store.ledger(RULES, now_ms), RULES)
            if past_of(number):
                os.write(report, b"roll-up\n")
                store.roll_up(now_ms, DAY_MS)
            number += 1


def killed_after(path: Path, wait_s: float) -> Killed:
    """Start a writer, kill it, and return what it said."""
    reading, writing = os.pipe()
    writer = os.fork()
    if writer == 0:
        try:
            os.close(reading)
            write_on(path, writing)
        finally:
            os._exit(1)  # never reached but by an error, which the parent finds out
    os.close(writing)
    time.sleep(wait_s)
    os.kill(writer, signal.SIGKILL)
    _, status = os.waitpid(writer, 0)
    if os.WIFEXITED(status):
        raise AssertionError("the writer failed by itself")
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read().decode().split()
    numbers = [int(word) for word in said if word.isdecimal()]
    return Killed(numbers[-1] + 1 if numbers else 0, said[-1] if said else "")


def batches_in(path: Path) -> int:
    """How many whole batches a file has; raises if it is not whole ones, or damaged."""
    if not path.exists():
        return 0
    with UsageStore.open(path, resources=("cpu", "memory")) as store:
        store.check()
        entries = list(store.entries())
        count = 0 if not entries else (entries[-1].at_ms - START_MS) // STEP_MS + 1
        now_ms = START_MS + count * STEP_MS
        found = store.ledger(RULES, now_ms).usage(now_ms)
    written = sorted(chain.from_iterable(map(batch, range(count))), key=lambda entry: entry.at_ms)
    raw_ms = now_ms - STEP_MS - DAY_MS
    assert list(after(entries, raw_ms)) == list(after(written, raw_ms)), "a batch is broken"
    wanted = plain_usage(written, now_ms)
    assert_nearly(plain_usage(entries, now_ms), wanted, count, "a roll-up is broken")
    assert_nearly(found, wanted, count, "the snapshot is of something else")
    return count


def after(entries: list[Entry], at_ms: int) -> Iterator[Entry]:
    """Those of *entries* that are later than *at_ms*."""
    return (entry for entry in entries if entry.at_ms > at_ms)


def assert_nearly(found: Usage, wanted: Usage, count: int, otherwise: str) -> None:
    """Everybody used the same but for what *count* roll-ups may lose, which is no whole batch."""
    assert found.queues.keys() == wanted.queues.keys(), otherwise
    most = 4 * DAY_MS * count
    assert not count or most < SIZE * STEP_MS // 2
    for name, use in wanted.queues.items():
        for one, other in zip(found.queues[name].all, use.all, strict=True):
            assert abs(one - other) <= most, otherwise


def plain_usage(entries: list[Entry], now_ms: int) -> Usage:
    """What a ledger says that takes everything."""
    ledger = Ledger(("cpu", "memory"), RULES.window)
    for entry in entries:
        ledger.take(entry)
    return ledger.usage(now_ms)


def survive(points: int, seed: int, folder: Path) -> str:
    """Kill so many times; return what happened, or raise AssertionError or StoreError."""
    random = Random(seed)
    before = batches = unsaid = 0
    doing = Counter[str]()
    for point in range(points):
        path = folder / f"use-{point // POINTS_PER_FILE}.db"
        if point % POINTS_PER_FILE == 0:
            before = 0
        said = killed_after(path, random.uniform(0, LONGEST_WAIT_S))
        found = batches_in(path)
        least = max(said.batches, before)
        assert least <= found <= least + 1, f"{least} batches were safe, {found} are there"
        batches += found - before
        unsaid += found - least
        before = found
        doing[said.doing] += 1
    return (
        f"{points} kills in {batches} batches, {doing['roll-up']} of them in roll-ups and "
        f"{doing['past']} in the past; {unsaid} batches were safe before they were said to be"
    )


def main() -> int:
    """Do what the arguments ask for and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.store.crashes")
    parser.add_argument("--points", type=int, default=50)
    parser.add_argument("--seed", type=int, default=8)
    arguments = parser.parse_args()
    sys.stdout.write(f"seed {arguments.seed}\n")
    with tempfile.TemporaryDirectory() as folder:
        sys.stdout.write(survive(arguments.points, arguments.seed, Path(folder)) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
