"""Series that are there, and have no number in them that is an amount."""

from collections.abc import Mapping

import pytest

from fairlead.errors import StoreError
from fairlead.store.feed.reading import Reading
from fairlead.store.prometheus.history import PrometheusHistory
from fairlead.usage.queue_use import Charge
from fairlead.usage.settings import PrometheusSource, UsageRules
from fairlead.usage.window import Tumbling
from tests.store.loopback_server import Request, Response, serving
from tests.store.told_series import Series, labels, range_of

MINUTE = 60_000
START = 1_767_225_600_000  # 2026-01-01T00:00:00Z
NOW = START + 3 * MINUTE
HELD = "kai_queue_allocated_gpus"
CAPACITY = 'sum(kube_node_status_capacity{resource="nvidia_com_gpu"})'
DUE = "kai_queue_deserved_gpus"
A, B = labels(queue_name="a"), labels(queue_name="b")
EIGHT: Series = {(): lambda _: 8}
# KAI tells of every queue and resource, also that it holds none.
NONE_OF_THE_REST: dict[str, Series] = {
    f"kai_queue_{what}_{resource}": {A: lambda _: 0}
    for what in ("allocated", "quota")
    for resource in ("cpu_cores", "memory_bytes")
}


def fetched(told: Mapping[str, Series], charge: Charge = "all") -> tuple[Reading, str]:
    """What is made of the series of each query, and the name of the server."""

    def answer(request: Request) -> Response:
        return range_of(told.get(request.fields["query"], {}), request)

    rules = UsageRules(window=Tumbling(1000 * MINUTE, START - MINUTE), charge=charge)
    with serving(answer) as url:
        history = PrometheusHistory(PrometheusSource(url=url), rules, {})
        return history.read(NOW), f"Prometheus at {url}"


@pytest.mark.parametrize("text", ["NaN", "+Inf", "-Inf", "-1"])
@pytest.mark.parametrize("until_ms", [NOW, START + MINUTE], ids=["to the end", "and then silent"])
def test_samples_without_a_usable_number_are_not_called_absent(text: str, until_ms: int) -> None:
    held: Series = {A: lambda at_ms: text if at_ms <= until_ms else None}
    found, server = fetched({HELD: held, CAPACITY: EIGHT})
    shown = {"+Inf": "Infinity", "-Inf": "-Infinity"}.get(text, text)
    [problem] = found.problems
    assert problem == (
        f"{server} has samples of what queues held between 2026-01-01T00:00:00Z and "
        "2026-01-01T00:03:00Z, but no usable number among them, only such as "
        f"{shown} for queue a at 2026-01-01T00:00:00Z; look at what is scraped"
    )
    assert found.newest_ms is None


def test_without_any_series_that_is_told() -> None:
    [problem] = fetched({CAPACITY: EIGHT})[0].problems
    assert "has no series of what queues held between 2026-01-01T00:00:00Z" in problem
    assert problem.endswith("is it the right server, and are queues scraped?")


def test_a_queue_without_a_number_beside_one_with_some() -> None:
    """What a said before its NaN goes on; b never said anything."""
    held: Series = {A: lambda at_ms: 1 if at_ms == START else "NaN", B: lambda _: "NaN"}
    found, server = fetched({HELD: held, CAPACITY: EIGHT, **NONE_OF_THE_REST})
    says = f"{server} says NaN for queue"
    no_amount = f"in {HELD}, which is no amount"
    assert found.problems == (
        f"{says} a at 2026-01-01T00:01:00Z {no_amount}; the amount before it was kept",
        f"{says} b at 2026-01-01T00:00:00Z {no_amount}; nothing else is told there",
    )


def test_a_capacity_without_a_number() -> None:
    found, server = fetched({HELD: {A: lambda _: 1}, CAPACITY: {(): lambda _: "NaN"}})
    assert found.problems[-1] == (
        f"{server} has samples of the capacity of nvidia.com/gpu ({CAPACITY}), but no usable "
        "number among them, only such as NaN at 2026-01-01T00:00:00Z; what queues held of it "
        "cannot be counted"
    )


def test_guarantees_without_a_number() -> None:
    told = {HELD: {A: lambda _: 1}, CAPACITY: EIGHT, DUE: {A: lambda _: "NaN"}, **NONE_OF_THE_REST}
    with pytest.raises(StoreError) as problem:
        fetched(told, "over-quota")
    assert f"({DUE}), but no usable number among them, only such as NaN for queue a" in str(
        problem.value
    )
    told[DUE] = {A: lambda _: -1}  # KAI's way to say that there is no limit
    assert fetched(told, "over-quota")[0].problems == ()


@pytest.mark.parametrize("capacity", [EIGHT, {}], ids=["with capacity", "without"])
def test_series_that_name_no_queue_are_not_called_absent(capacity: Series) -> None:
    found, server = fetched({HELD: {(): lambda _: 1}, CAPACITY: capacity})
    assert found.problems == (
        (
            f"{server} has series of what queues held between 2026-01-01T00:00:00Z and "
            "2026-01-01T00:03:00Z, but none with the label queue_name, such as in "
            f"{HELD}; let what is scraped, or the query, keep that label"
        ),
    )


def test_series_that_name_no_queue_beside_a_resource_whose_series_do() -> None:
    found, server = fetched({HELD: {(): lambda _: 1}, CAPACITY: EIGHT, **NONE_OF_THE_REST})
    assert found.problems == (
        f"{server} has series without the label queue_name in {HELD}; left out",
        (
            f"{server} has series of what queues held of nvidia.com/gpu ({HELD}), but none with "
            "the label queue_name; nothing is known of its use"
        ),
    )


def test_a_resource_of_which_nothing_at_all_is_told_is_no_resource_that_nobody_used() -> None:
    found, server = fetched(NONE_OF_THE_REST)
    assert found.problems == (
        (
            f"{server} has no series of what queues held of nvidia.com/gpu ({HELD}), and has no "
            f"series of the capacity of nvidia.com/gpu ({CAPACITY}); nothing is known of its use"
        ),
    )
    told = {HELD: {A: lambda _: 0}, **NONE_OF_THE_REST}  # a cluster without GPUs
    assert fetched(told)[0].problems == ()
