"""Kills a program that writes into a store, again and again, and looks at what is left.

``python -m tests.store.crashes --points 1000`` ends with 1 at the first file that is not as it
should be, and names the seed; the same seed kills after the same waits, though a machine is never
twice the same. After every kill: SQLite and we find nothing wrong in the file, every batch is there
that was said to be safe, and at most one more, whole. The next writer goes on with the same file;
every tenth begins a new one, so that making a file is interrupted, too.
"""

import argparse
import os
import signal
import sys
import tempfile
import time
from itertools import chain
from pathlib import Path
from random import Random

from fairlead.model.axes import QueueName
from fairlead.store.file.usage_store import UsageStore
from fairlead.usage.entries import Entry, Granted, Held
from fairlead.usage.ledger import Ledger
from fairlead.usage.queue_use import Usage
from fairlead.usage.settings import UsageRules

START_MS = 1_770_000_000_000
STEP_MS = 1_800_000  # 48 batches are a day, after which a checkpoint is saved
QUEUES = [QueueName(f"queue-{number}") for number in range(20)]
POINTS_PER_FILE = 10
RULES = UsageRules(half_life_ms=86_400_000)


def batch(number: int) -> list[Entry]:
    """The entries of one batch: some of one moment, and now and then an act."""
    at_ms = START_MS + number * STEP_MS
    entries: list[Entry] = [
        Held(at_ms=at_ms, queue=queue, amounts=(number, 2**30 + number)) for queue in QUEUES
    ]
    if number % 7 == 0:
        times = (number, 0)
        entries.append(
            Granted(at_ms=at_ms, queue=QUEUES[0], resource_time=times, who="ann", reason="crash")
        )
    return entries


def write_on(path: Path, report: int) -> None:
    """Append batch after batch, and say the number of each as soon as it is safe."""
    with UsageStore.open(path, resources=("cpu", "memory")) as store:
        newest_ms = store.newest_ms
        number = 0 if newest_ms is None else (newest_ms - START_MS) // STEP_MS + 1
        while True:
            store.append(batch(number))
            os.write(report, b"%d\n" % number)
            if number % 5 == 0:
                store.save_snapshot(store.ledger(RULES, START_MS + number * STEP_MS), RULES)
            number += 1


def killed_after(path: Path, wait_s: float) -> int:
    """Start a writer, kill it, and return the last number that it said; -1 if none."""
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
        said = pipe.read().split()
    return int(said[-1]) if said else -1


def batches_in(path: Path) -> int:
    """How many whole batches a file has; raises if it is not whole ones, or damaged."""
    if not path.exists():
        return 0
    with UsageStore.open(path, resources=("cpu", "memory")) as store:
        store.check()
        entries = list(store.entries())
        count = 0 if not entries else (entries[-1].at_ms - START_MS) // STEP_MS + 1
        assert entries == list(chain.from_iterable(map(batch, range(count)))), "a batch is broken"
        now_ms = START_MS + count * STEP_MS
        found = store.ledger(RULES, now_ms).usage(now_ms)
    assert found == plain_usage(entries, now_ms), "the snapshot is of something else"
    return count


def plain_usage(entries: list[Entry], now_ms: int) -> Usage:
    """What a ledger says that takes everything."""
    ledger = Ledger(("cpu", "memory"), RULES.window, half_life_ms=RULES.half_life_ms)
    for entry in entries:
        ledger.take(entry)
    return ledger.usage(now_ms)


def survive(points: int, seed: int, folder: Path) -> str:
    """Kill so many times; return what happened, or raise AssertionError or StoreError."""
    random = Random(seed)
    before = batches = unsaid = 0
    for point in range(points):
        path = folder / f"use-{point // POINTS_PER_FILE}.db"
        if point % POINTS_PER_FILE == 0:
            before = 0
        said = killed_after(path, random.uniform(0, 0.06)) + 1
        found = batches_in(path)
        least = max(said, before)
        assert least <= found <= least + 1, f"{least} batches were safe, {found} are there"
        batches += found - before
        unsaid += found - least
        before = found
    return f"{points} kills in {batches} batches; {unsaid} were safe before they were said to be"


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
