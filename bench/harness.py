"""Times a piece of work on a noisy machine and sets the figure beside its goal.

Other programs only ever make a run slower, so the best of several runs is the figure.
CPU time is what the goals speak of; wall time is shown to tell waiting from working.
This module judges nothing: a figure over its goal is reported, not raised.
"""

import gc
import time
from collections.abc import Callable, Sequence

import msgspec

Work = Callable[[], object]
Preparation = Callable[[], Work]

BATCH_NS = 10_000_000  # a run shorter than this is repeated within one measurement

NUMBERS = (1, 2, 3, 4, 6)  # the columns of the table that are set to the right


class AbsentInputError(Exception):
    """What a benchmark measures on is not on this machine; the message says what and where."""


class Benchmark(msgspec.Struct, frozen=True, kw_only=True):
    """A named piece of work with the figure that it should reach."""

    name: str
    goal_cpu_ms: float | None  # None: watched, without a goal
    peer: str  # the figure of a comparable program, as text; "" when there is none
    operations: int  # how many operations one call of the work does
    prepare: Preparation


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """What one benchmark measured, per operation."""

    name: str
    cpu_ms: float
    wall_ms: float
    goal_cpu_ms: float | None
    peer: str
    peak_mib: float | None = None  # the most memory that its process held; None: not looked at

    @property
    def ratio(self) -> float | None:
        """Measured over goal: 1.0 or less is within it."""
        return None if self.goal_cpu_ms is None else self.cpu_ms / self.goal_cpu_ms


_registered: list[Benchmark] = []


def benchmark(
    name: str, *, goal_cpu_ms: float | None = None, peer: str = "", operations: int = 1
) -> Callable[[Preparation], Preparation]:
    """Register a function that prepares the input and returns the work to be timed.

    The preparation is not timed. The work is called many times and must leave its input
    as it found it. With *operations*, figures and goal are per operation, not per call.
    """

    def register(prepare: Preparation) -> Preparation:
        _registered.append(
            Benchmark(
                name=name,
                goal_cpu_ms=goal_cpu_ms,
                peer=peer,
                operations=operations,
                prepare=prepare,
            )
        )
        return prepare

    return register


def registered(only: str = "") -> list[Benchmark]:
    """Return the benchmarks whose name contains *only*, in the order of registration."""
    return [each for each in _registered if only in each.name]


def measure(each: Benchmark, repeats: int) -> Figure:
    """Prepare, warm up, and return the best of *repeats* measurements.

    CPU and wall time are each the best on their own. Cost: about *repeats* times the
    work, or *repeats* times 10 ms when the work is shorter than that.
    """
    assert repeats > 0
    work = each.prepare()
    _time(work, 1)  # the first call fills caches and compiles patterns
    calls = _calls_per_batch(work)
    times_ns = [_time(work, calls) for _ in range(repeats)]
    operations = calls * each.operations
    return Figure(
        name=each.name,
        cpu_ms=min(cpu_ns for cpu_ns, _ in times_ns) / operations / 1e6,
        wall_ms=min(wall_ns for _, wall_ns in times_ns) / operations / 1e6,
        goal_cpu_ms=each.goal_cpu_ms,
        peer=each.peer,
    )


def _calls_per_batch(work: Work) -> int:
    cpu_ns, _ = _time(work, 1)
    return max(1, BATCH_NS // max(1, cpu_ns))


def _time(work: Work, calls: int) -> tuple[int, int]:
    """Return CPU and wall time of that many calls, in nanoseconds."""
    gc.collect()  # garbage of the preparation is not this work's to collect
    wall_ns = time.perf_counter_ns()
    cpu_ns = time.process_time_ns()
    for _ in range(calls):
        work()
    return time.process_time_ns() - cpu_ns, time.perf_counter_ns() - wall_ns


def table(figures: Sequence[Figure]) -> str:
    """Lay the figures out for people, one line each, with a last word: ok or over."""
    head = ("benchmark", "CPU ms", "wall ms", "goal ms", "ratio", "", "MiB", "peer")
    rows = [head, *map(_row, figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    return "\n".join(_line(row, widths) for row in rows)


def _row(figure: Figure) -> tuple[str, ...]:
    ratio = figure.ratio
    return (
        figure.name,
        _milliseconds(figure.cpu_ms),
        _milliseconds(figure.wall_ms),
        "-" if figure.goal_cpu_ms is None else _milliseconds(figure.goal_cpu_ms),
        "-" if ratio is None else f"{ratio:.2f}",
        "" if ratio is None else "ok" if ratio <= 1 else "over",
        "-" if figure.peak_mib is None else f"{figure.peak_mib:.0f}",
        figure.peer or "-",
    )


def _milliseconds(value_ms: float) -> str:
    return f"{value_ms:.4f}" if value_ms < 1 else f"{value_ms:.2f}"


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = [
        cell.rjust(width) if column in NUMBERS else cell.ljust(width)
        for column, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]
    return "  ".join(cells).rstrip()
