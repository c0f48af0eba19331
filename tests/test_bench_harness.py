"""The harness counts calls and operations rightly and lays the figures out as promised.

The clock is replaced: a test that reads the real one proves nothing.
"""

import gc
from collections.abc import Iterable, Iterator
from itertools import repeat
from pathlib import Path

import pytest

from bench import harness
from bench.harness import Benchmark, Figure, Work, benchmark, measure, registered, table


class Clock:
    """A clock that only the work moves: by these milliseconds of CPU, and 5 ms of wall time."""

    def __init__(self, cpu_ms: Iterable[int]) -> None:
        self.calls = 0
        self.cpu_ns = 0
        self.cpu_ms = iter(cpu_ms)

    def work(self) -> None:
        self.calls += 1
        self.cpu_ns += next(self.cpu_ms) * 1_000_000

    def process_time_ns(self) -> int:
        return self.cpu_ns

    def perf_counter_ns(self) -> int:
        return self.calls * 5_000_000


@pytest.fixture(autouse=True)
def little_to_collect() -> Iterator[None]:
    """Every repeat collects garbage first: slow among the objects of all other tests."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock(repeat(3))
    monkeypatch.setattr(harness, "time", clock)
    return clock


def a_benchmark(work: Work, operations: int = 1) -> Benchmark:
    return Benchmark(
        name="a", goal_cpu_ms=None, peer="", operations=operations, prepare=lambda: work
    )


def test_a_figure_is_the_time_of_one_call(clock: Clock) -> None:
    figure = measure(a_benchmark(clock.work), repeats=2)
    assert (figure.cpu_ms, figure.wall_ms) == (3.0, 5.0)


def test_a_figure_is_divided_by_the_operations_of_a_call(clock: Clock) -> None:
    figure = measure(a_benchmark(clock.work, operations=4), repeats=2)
    assert (figure.cpu_ms, figure.wall_ms) == (0.75, 1.25)


def test_short_work_is_called_until_ten_milliseconds_are_full(clock: Clock) -> None:
    """1 warm-up + 1 to learn the length + 2 repeats x (10 ms // 3 ms = 3) = 8 calls."""
    measure(a_benchmark(clock.work), repeats=2)
    assert clock.calls == 8


def test_the_best_repeat_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """20 ms is longer than a batch, so each repeat is one call; warm-up and first do not count."""
    clock = Clock([10, 20, 90, 40, 70])
    monkeypatch.setattr(harness, "time", clock)
    assert measure(a_benchmark(clock.work), repeats=3).cpu_ms == 40.0


def test_only_those_whose_name_contains_the_text_are_chosen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(harness, "_registered", [])
    for name in ("divide 1,000", "read 1,000", "divide 10,000"):
        benchmark(name)(lambda: lambda: None)
    assert [each.name for each in registered("divide")] == ["divide 1,000", "divide 10,000"]


def test_the_table_sets_each_figure_beside_its_goal_and_peer() -> None:
    figures = [
        Figure(
            name="divide",
            cpu_ms=3.0,
            wall_ms=3.5,
            goal_cpu_ms=4.0,
            peer="12-16 ms",
            peak_mib=35.4,
        ),
        Figure(name="one event", cpu_ms=0.03, wall_ms=0.03, goal_cpu_ms=0.02, peer=""),
        Figure(name="watched", cpu_ms=120.0, wall_ms=130.0, goal_cpu_ms=None, peer=""),
    ]
    assert table(figures).splitlines() == [
        "benchmark  CPU ms  wall ms  goal ms  ratio        MiB  peer",
        "divide       3.00     3.50     4.00   0.75  ok     35  12-16 ms",
        "one event  0.0300   0.0300   0.0200   1.50  over    -  -",
        "watched    120.00   130.00        -      -          -  -",
    ]


def test_every_module_of_benchmarks_is_found_by_its_name() -> None:
    """The runner imports bench_*.py only; a benchmark elsewhere would never be measured."""
    folder = Path(harness.__file__).parent
    elsewhere = [
        file.name
        for file in folder.glob("*.py")
        if "@benchmark(" in file.read_text(encoding="utf-8") and not file.name.startswith("bench_")
    ]
    assert elsewhere == []
