"""A real Prometheus server, and a ledger that took the same history as entries, say the same."""

from collections.abc import Iterator

import msgspec
import pytest

from fairlead.errors import StoreError
from fairlead.model.axes import QueueName
from fairlead.store.feed.reading import Reading
from fairlead.store.prometheus.client import MAX_POINTS
from fairlead.store.prometheus.history import PrometheusHistory
from fairlead.store.prometheus.kai_queries import RESOURCES
from fairlead.usage.entries import Gap
from fairlead.usage.ledger import Ledger
from fairlead.usage.settings import PrometheusSource, UsageRules
from fairlead.usage.window import Cron, Sliding, Tumbling, Window
from tests.store.kai_history import (
    DEPARTMENT,
    HOUR,
    HOURS,
    MINUTE,
    SILENT,
    START,
    A,
    B,
    entries,
    series,
)
from tests.store.prometheus_server import exposition, required_program, running, write_past

WINDOWS: dict[str, Window] = {
    "sliding": Sliding(6 * HOUR),
    "sliding beyond the beginning": Sliding(30 * HOUR),
    "tumbling": Tumbling(5 * HOUR, START + 7 * MINUTE),
    "cron": Cron("30 */5 * * *", "Europe/Berlin"),
}
MOMENTS = [START + each for each in (4 * HOUR, 8 * HOUR + 31 * MINUTE + 500, 12 * HOUR - 1234)]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server with the history; a sample counts for its own minute only."""
    binary = required_program()
    folder = tmp_path_factory.mktemp("prometheus")
    moments = range(START // 1000, (START + HOURS * HOUR) // 1000, 60)
    write_past(binary, folder, exposition(series(), moments))
    with running(binary, folder, lookback="30s") as address:
        yield address


def taken(rules: UsageRules, now_ms: int) -> Ledger:
    ledger = Ledger.by(RESOURCES, msgspec.structs.replace(rules, way="sampled"))
    for entry in entries():
        if entry.at_ms <= now_ms:
            ledger.take(entry)
    if (now_ms - START) // MINUTE in SILENT:
        ledger.take(Gap(at_ms=now_ms, since_ms=START + SILENT.start * MINUTE))
    return ledger


def source_of(url: str, **metrics: str) -> PrometheusSource:
    return PrometheusSource(url=url, metrics=tuple(metrics.items()))


def history_of(source: PrometheusSource, rules: UsageRules) -> PrometheusHistory:
    return PrometheusHistory(source, rules, {})


def told_by(source: PrometheusSource, rules: UsageRules, now_ms: int) -> Reading:
    return history_of(source, rules).read(now_ms)


def fetched(url: str, rules: UsageRules, now_ms: int, **metrics: str) -> Ledger:
    return told_by(source_of(url, **metrics), rules, now_ms).ledger


def known(parts: dict[QueueName, tuple[int, ...]]) -> dict[QueueName, tuple[int, ...]]:
    return {name: each for name, each in parts.items() if any(each)}


@pytest.mark.parametrize("window", WINDOWS.values(), ids=WINDOWS.keys())
@pytest.mark.parametrize("half_life_ms", [None, 2 * HOUR], ids=["no decay", "decay"])
def test_the_server_and_the_entries_give_the_same_billionths(
    url: str, window: Window, half_life_ms: int | None
) -> None:
    rules = UsageRules(window=window, half_life_ms=half_life_ms)
    for now_ms in MOMENTS:
        told = known(fetched(url, rules, now_ms).normalised(now_ms))
        assert told == known(taken(rules, now_ms).normalised(now_ms))
        assert set(told) == {A, B, DEPARTMENT}
        assert all(part > 0 for part in told[A])


@pytest.mark.parametrize("window", WINDOWS.values(), ids=WINDOWS.keys())
def test_use_above_the_guarantee_is_the_same_too(url: str, window: Window) -> None:
    rules = UsageRules(window=window, charge="over-quota")
    now_ms = MOMENTS[-1]
    told = fetched(url, rules, now_ms).normalised(now_ms, charge="over-quota")
    assert told == taken(rules, now_ms).normalised(now_ms, charge="over-quota")
    assert told[A][2] > 0
    assert told[B][1] == 0  # its memory has no limit


def test_many_small_fetches_equal_one(url: str) -> None:
    rules = UsageRules(window=Sliding(3 * HOUR), half_life_ms=HOUR, charge="over-quota")
    source = source_of(url)
    history = history_of(source, rules)
    now_ms = START + 4 * HOUR
    asked = 0
    while now_ms < START + 11 * HOUR:
        history.read(now_ms)
        now_ms += 37 * MINUTE + 11_000
        asked += 1
    ledger = history.read(now_ms).ledger
    assert asked > 5
    for charge in ("all", "over-quota"):
        at_once = fetched(url, rules, now_ms).normalised(now_ms, charge=charge)
        assert ledger.normalised(now_ms, charge=charge) == at_once


def test_what_fades_and_what_does_not_come_from_one_fetch(url: str) -> None:
    fading = UsageRules(window=Sliding(6 * HOUR), half_life_ms=HOUR)
    plain = UsageRules(window=Sliding(6 * HOUR))
    history = PrometheusHistory(source_of(url), fading, {}, keeps_plain=True)
    for now_ms in (MOMENTS[2], MOMENTS[0], MOMENTS[1]):  # the clock is set back once
        reading = history.read(now_ms)
        assert reading.plain is not None
        for ledger, rules in ((reading.ledger, fading), (reading.plain, plain)):
            assert ledger.usage(now_ms) == fetched(url, rules, now_ms).usage(now_ms)


def test_when_the_clock_was_set_back_all_is_fetched_again(url: str) -> None:
    rules = UsageRules(window=Sliding(3 * HOUR))
    source = source_of(url)
    history = history_of(source, rules)
    history.read(MOMENTS[2])
    ledger = history.read(MOMENTS[0]).ledger
    once = fetched(url, rules, MOMENTS[0])
    assert ledger.normalised(MOMENTS[0]) == once.normalised(MOMENTS[0])


def test_a_fine_resolution_is_fetched_in_pieces(url: str) -> None:
    """Ten hours, a sample a second, are 36,000 points: four requests for each query.

    What KAI calls a metric may be any query: these look back for nearly a minute.
    """
    rules = UsageRules(window=Tumbling(100 * HOUR, START), resolution_ms=1000)
    now_ms = START + 10 * HOUR + 500
    assert (now_ms - START) // 1000 > 3 * MAX_POINTS
    gpus = 'kube_node_status_capacity{resource=~"nvidia.*"}'
    metrics = {
        "gpuAllocationMetric": "last_over_time(kai_queue_allocated_gpus[59s500ms])",
        "gpuCapacityMetric": f"last_over_time({gpus}[59s500ms])",
        "cpuAllocationMetric": "absent_here",
        "memoryAllocationMetric": "absent_here",
    }
    told = fetched(url, rules, now_ms, **metrics).normalised(now_ms)
    whole = taken(rules, now_ms).normalised(now_ms)
    assert {name: parts[2] for name, parts in told.items()} == {
        name: parts[2] for name, parts in whole.items()
    }


def test_a_window_in_which_all_is_reported_has_no_problems(url: str) -> None:
    rules = UsageRules(window=Sliding(128 * MINUTE))
    source = source_of(url)
    now_ms = START + 7 * HOUR
    found = told_by(source, rules, now_ms)
    assert found.problems == ()
    assert found.newest_ms == now_ms


def test_until_when_the_server_knows(url: str) -> None:
    """Before the silence, in it, and beyond the end; the last sample is of the minute before."""
    source = source_of(url)
    rules = UsageRules(window=Sliding(20 * HOUR))
    newest = {
        minutes: told_by(source, rules, START + minutes * MINUTE).newest_ms
        for minutes in (479, 480, 500, 540, 719, 800)
    }
    in_minutes = {at: None if ms is None else (ms - START) // MINUTE for at, ms in newest.items()}
    assert in_minutes == {479: 479, 480: 479, 500: 479, 540: 540, 719: 719, 800: 719}


def test_what_is_not_there_is_told(url: str) -> None:
    rules = UsageRules(window=Sliding(HOUR))
    now_ms = START + 3 * HOUR
    source = source_of(url, gpuAllocationMetric="absent_here", cpuCapacityMetric="nor_this")
    found = told_by(source, rules, now_ms)
    without_capacity, without_use = found.problems
    assert "has no series of the capacity of cpu (sum(nor_this))" in without_capacity
    assert "has no series of what queues held of nvidia.com/gpu (absent_here)" in without_use
    assert found.newest_ms == now_ms  # of memory all is known


def test_a_time_before_everything_knows_nothing_and_says_so(url: str) -> None:
    source = source_of(url)
    found = told_by(source, UsageRules(), START - HOUR)
    assert found.newest_ms is None
    assert "has no series of what queues held between 2025-12-" in found.problems[0]


def test_charging_above_a_guarantee_that_is_not_reported_is_refused(url: str) -> None:
    rules = UsageRules(window=Sliding(HOUR), charge="over-quota")
    source = PrometheusSource(url=url, guarantee_metrics=(("gpu", "absent_here"),))
    history = history_of(source, rules)
    with pytest.raises(StoreError, match=r"absent_here\), and charge: over-quota needs one"):
        history.read(MOMENTS[0])


def test_series_without_a_queue_are_left_out_and_told(url: str) -> None:
    rules = UsageRules(window=Sliding(HOUR))
    source = source_of(url, gpuAllocationMetric="sum(kai_queue_allocated_gpus)")
    found = told_by(source, rules, MOMENTS[0])
    assert any("without the label queue_name" in problem for problem in found.problems)


def test_a_query_that_is_none_is_told_in_the_words_of_the_server(url: str) -> None:
    source = source_of(url, cpuAllocationMetric="held{")
    with pytest.raises(StoreError, match=r"reports an error: .*parse error"):
        told_by(source, UsageRules(), MOMENTS[0])


def test_a_setting_of_an_unknown_name_is_refused() -> None:
    source = source_of("http://h", diskAllocationMetric="x")
    with pytest.raises(StoreError, match="'diskAllocationMetric'"):
        history_of(source, UsageRules())
