"""What the record of use costs: a tick, the vector for a plan, a start, and making old entries few.

Every queue has a past of one change per half hour over a window of a week, so the buckets of the
sliding window are full; a half-life makes the numbers as long as they get.
"""

from itertools import count, cycle

from bench.harness import Work, benchmark
from fairlead.model.axes import QueueName
from fairlead.usage.entries import Capacity, Entry, Guarantee, Held
from fairlead.usage.ledger import Ledger
from fairlead.usage.roll_up import rolled_up
from fairlead.usage.settings import DAY_MS, MINUTE_MS, WEEK_MS, UsageRules
from fairlead.usage.snapshot import restored, snapshot
from fairlead.usage.window import Sliding

RESOURCES = ("cpu", "memory", "gpu")
RULES = UsageRules(window=Sliding(WEEK_MS), half_life_ms=DAY_MS)
START_MS = 1_767_225_600_000
STEP_MS = 30 * MINUTE_MS
CAPACITY = (10_000_000, 2**46, 8_000)
CHANGES = WEEK_MS // STEP_MS
DEPARTMENTS = 30


def _held(queue: int, at_ms: int, step: int) -> Held:
    size = (queue * 7 + step) % 5 + 1
    amounts = (size * 4_000, size * 2**34, size)
    return Held(at_ms=at_ms, queue=_name(queue), amounts=amounts)


def _name(queue: int) -> QueueName:
    return QueueName(f"queue-{queue}")


def _parents(queues: int) -> dict[QueueName, QueueName | None]:
    return {_name(queue): QueueName(f"department-{queue % DEPARTMENTS}") for queue in range(queues)}


def _tick(queues: int, step: int) -> list[Entry]:
    return [_held(queue, START_MS + step * STEP_MS, step) for queue in range(queues)]


def _ledger(queues: int, changes: int) -> Ledger:
    ledger = Ledger.by(RESOURCES, RULES)
    ledger.take(Capacity(at_ms=START_MS, amounts=CAPACITY))
    for queue in range(queues):
        ledger.take(Guarantee(at_ms=START_MS, queue=_name(queue), amounts=(8_000, None, 2)))
    for step in range(changes):
        for entry in _tick(queues, step):
            ledger.take(entry)
    return ledger


@benchmark("usage: vector of 1,000 queues x 3, 30 departments, asked again", goal_cpu_ms=5)
def _vector_again() -> Work:
    ledger, parents = _ledger(1_000, CHANGES), _parents(1_000)
    moments = count(START_MS + WEEK_MS)
    return lambda: ledger.normalised(next(moments), parents=parents)


@benchmark("usage: vector of 1,000 queues x 3, 30 departments, asked anew", goal_cpu_ms=5)
def _vector_anew() -> Work:
    """Windows that begin in two buckets by turns: nothing remembered is of use."""
    ledger, parents = _ledger(1_000, CHANGES), _parents(1_000)
    moments = cycle([START_MS + WEEK_MS + MINUTE_MS, START_MS + WEEK_MS + 5 * STEP_MS])
    return lambda: ledger.normalised(next(moments), parents=parents)


@benchmark("usage: tick of 1,000 queues x 3, and the vector right after", goal_cpu_ms=10 + 5)
def _tick_and_vector() -> Work:
    """The goals of a third of a large tick and of a vector, together."""
    ledger, parents = _ledger(1_000, CHANGES), _parents(1_000)
    steps = count(CHANGES)

    def work() -> None:
        step = next(steps)
        for entry in _tick(1_000, step):
            ledger.take(entry)
        ledger.normalised(START_MS + step * STEP_MS, parents=parents)

    return work


@benchmark("usage: report of 1,000 queues x 3 resources in resource-time")
def _report() -> Work:
    ledger = _ledger(1_000, CHANGES)
    moments = count(START_MS + WEEK_MS)
    return lambda: ledger.usage(next(moments))


@benchmark("usage: tick of 3,000 queues x 3 resources, all change", goal_cpu_ms=30)
def _large_tick() -> Work:
    ledger = _ledger(3_000, 48)
    steps = count(48)

    def work() -> None:
        for entry in _tick(3_000, next(steps)):
            ledger.take(entry)

    return work


@benchmark("usage: snapshot of 1,000 queues x 3 resources written")
def _snapshot() -> Work:
    ledger = _ledger(1_000, CHANGES)
    return lambda: snapshot(ledger)


@benchmark("usage: snapshot of 1,000 queues x 3 resources restored", goal_cpu_ms=500)
def _restored() -> Work:
    data = snapshot(_ledger(1_000, CHANGES))
    return lambda: restored(data, RESOURCES, RULES)


@benchmark("usage: roll-up of one week of 100 queues, by entry", operations=100 * CHANGES)
def _roll_up() -> Work:
    entries = [entry for step in range(CHANGES) for entry in _tick(100, step)]
    return lambda: rolled_up(entries, START_MS + WEEK_MS)
