"""What it costs to begin with a past that Prometheus has: one week of 100 queues.

A real server is filled before the clock starts: a sample a minute of three resources, 3 million in
all, with changes every half hour. It shares the machine, and its time is in the wall time; the goal
of ten seconds is for that, so look at the wall time, too.
"""

import atexit
from collections.abc import Callable
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.harness import AbsentInputError, Work, benchmark
from fairlead.store.prometheus.history import PrometheusHistory
from fairlead.usage.settings import DAY_MS, PrometheusSource, UsageRules
from fairlead.usage.window import Sliding
from tests.store.prometheus_server import exposition, program, running, write_past

START_S = 1_767_225_600
MINUTE_S = 60
DAY_S = 24 * 60 * MINUTE_S
QUEUES = 100
ALLOCATED = {
    "kai_queue_allocated_cpu_cores": 8,
    "kai_queue_allocated_memory_bytes": 2**33,
    "kai_queue_allocated_gpus": 1,
}
CAPACITY = {"cpu": 10_000, "memory": 2**46, "gpu": 1_000}


def _history(days: int) -> PrometheusHistory:
    """Follows a server that knows so many days and a little more, until this process ends."""
    binary = program()
    if binary is None:
        raise AbsentInputError("no prometheus on the PATH, nor in PROMETHEUS_BIN")
    until_the_end = ExitStack()
    atexit.register(until_the_end.close)
    folder = Path(until_the_end.enter_context(TemporaryDirectory()))
    series = [
        (f'{metric}{{queue_name="queue-{queue}"}}', _held(queue, size))
        for metric, size in ALLOCATED.items()
        for queue in range(QUEUES)
    ]
    # A window begins in a bucket, which is fetched as a whole; the next minutes are fetched later.
    moments = range(START_S - days * DAY_S * 129 // 128, START_S + DAY_S // 4, MINUTE_S)
    write_past(binary, folder, exposition(series, moments))
    source = PrometheusSource(
        url=until_the_end.enter_context(running(binary, folder)),
        metrics=tuple((f"{axis}CapacityMetric", f"vector({CAPACITY[axis]})") for axis in CAPACITY),
        query_timeout_ms=60_000,  # other work on the machine must not end the measurement
    )
    rules = UsageRules(window=Sliding(days * DAY_MS))
    return PrometheusHistory(source, rules, {})


def _held(queue: int, size: int) -> Callable[[int], int]:
    return lambda at_s: (at_s // 1800 + queue * 7) % 5 * size


@benchmark("prometheus: back-fill of one week x 100 queues x 3 resources", goal_cpu_ms=10_000)
def _back_fill() -> Work:
    history = _history(7)

    def work() -> None:
        history.start_again()
        history.read(START_S * 1000)

    return work


@benchmark("prometheus: one more minute of 100 queues x 3 resources")
def _one_more_minute() -> Work:
    history = _history(1)
    moments = count(START_S, MINUTE_S)
    history.read(next(moments) * 1000)
    return lambda: history.read(next(moments) * 1000)
