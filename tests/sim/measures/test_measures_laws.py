"""The streamed measures equal the slow ones, add up, and do not depend on the order of ties."""

from collections.abc import Iterable
from itertools import groupby
from random import Random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fairlead.sim.engine.events import CapacityChanged, Stopped
from fairlead.sim.engine.job import Job
from fairlead.sim.measures.entitlement import EntitlementChange
from fairlead.sim.measures.series import QueueSeries
from fairlead.sim.measures.summary import JobMeasures, QueueMeasures, Summary, ToFairness
from tests.scale_examples import scale_examples
from tests.sim.measures.histories import (
    CAUSES,
    LEAVES,
    PARENTS,
    RESOURCES,
    RandomHistory,
    Told,
    histories,
    measure,
)
from tests.sim.measures.plain_measures import PlainMeasures, leaves, mean, quantile

TOPS = [name for name, parent in PARENTS.items() if parent is None]


def groups(summary: Summary, jobs: Iterable[Job]) -> list[tuple[JobMeasures, list[Job]]]:
    """Every group of the summary with its jobs."""
    everybody = list(jobs)
    plain = PlainMeasures([], 0)
    plain.jobs = everybody
    return [
        (summary.of_cluster, everybody),
        *((each, plain.of_queue(name)) for name, each in summary.of_queues.items()),
        *((e, [j for j in everybody if j.user == name]) for name, e in summary.of_users.items()),
        *((e, [j for j in everybody if j.kind == name]) for name, e in summary.of_kinds.items()),
    ]


@given(histories)
def test_every_group_tells_of_its_jobs_what_the_full_list_tells(
    history: RandomHistory,
) -> None:
    told, end_ms = history.told, history.end_ms
    summary, _ = measure(told, end_ms)
    plain = PlainMeasures(told, end_ms)
    for measured, jobs in groups(summary, plain.jobs):
        waits: list[float] = [*plain.waits(jobs)]
        ages = [end_ms - j.submit_ms for j in jobs if plain.first_start_ms(j) is None]
        finishes = [ms for job in jobs if (ms := plain.finish_ms(job)) is not None]
        assert (measured.submitted, measured.finished) == (len(jobs), len(finishes))
        wait = measured.wait
        assert (wait.jobs, wait.total_ms, wait.mean_ms) == (len(waits), sum(waits), mean(waits))
        assert [wait.p50_ms, wait.p90_ms, wait.p99_ms, wait.max_ms] == [
            quantile(waits, percent) for percent in (50, 90, 99, 100)
        ]
        bounds, known = measured.wait_at_least, sorted([*waits, *ages])
        assert (bounds.jobs, bounds.total_ms, bounds.mean_ms) == (
            len(known),
            sum(known),
            mean(known),
        )
        assert [bounds.p50_ms, bounds.p90_ms, bounds.max_ms] == [
            quantile(known, percent) for percent in (50, 90, 100)
        ]
        unstarted = measured.unstarted
        assert (unstarted.jobs, unstarted.total_age_ms) == (len(ages), sum(ages))
        assert unstarted.oldest_ms == max(ages, default=None)
        is_done = len(finishes) == len(jobs) > 0
        first_ms = min((job.submit_ms for job in jobs), default=0)
        assert measured.makespan_ms == (max(finishes) - first_ms if is_done else None)


@given(histories)
def test_every_ratio_of_a_group_is_that_of_the_full_list(history: RandomHistory) -> None:
    told, end_ms = history.told, history.end_ms
    summary, _ = measure(told, end_ms)
    plain = PlainMeasures(told, end_ms)
    for measured, jobs in groups(summary, plain.jobs):
        for ratios, values in (
            (measured.slowdown, plain.slowdowns(jobs)),
            (measured.finish_time_fairness, plain.finish_time_fairness(jobs)),
        ):
            assert ratios.jobs == len(values)
            assert ratios.mean == pytest.approx(mean(values))
            assert ratios.p90 == pytest.approx(quantile(values, 90))
            assert ratios.max == pytest.approx(quantile(values, 100))


@given(histories)
def test_every_group_has_the_resource_time_and_the_losses_of_its_jobs(
    history: RandomHistory,
) -> None:
    told, end_ms = history.told, history.end_ms
    summary, _ = measure(told, end_ms)
    plain = PlainMeasures(told, end_ms)
    stops = [each for each in told if isinstance(each, Stopped)]
    for measured, jobs in groups(summary, plain.jobs):
        names = {job.name for job in jobs}
        own = [stop for stop in stops if stop.job.name in names]
        for i, resource in enumerate(RESOURCES):
            allocated = plain.allocated(jobs, i, 0, end_ms)
            capacity = sum(plain.capacity(t, i) for t in range(end_ms))
            assert measured.allocated[resource] == allocated
            assert measured.utilisation[resource] == (allocated / capacity if capacity else None)
            lost = measured.lost[resource]
            good = (allocated - lost) / capacity if capacity else None
            assert measured.goodput[resource] == good
            assert lost == sum(stop.lost_ms * stop.job.requests[resource] for stop in own)
        for cause in CAUSES:
            pods = [stop.pods for stop in own if stop.cause == cause]
            assert measured.preemptions[cause] == len(pods)
            for resource in RESOURCES:
                assert measured.lost_by_cause[cause][resource] == sum(
                    stop.lost_ms * stop.job.requests[resource]
                    for stop in own
                    if stop.cause == cause
                )
            assert measured.preempted_pods[cause] == sum(pods)


@given(histories, st.sampled_from([0, 1, 4]))
def test_queues_are_compared_with_what_is_due_as_millisecond_by_millisecond(
    history: RandomHistory, period_ms: int
) -> None:
    told, end_ms = history.told, history.end_ms
    summary, _ = measure(told, end_ms, period_ms=period_ms)
    plain = PlainMeasures(told, end_ms)
    for queue, measured in summary.of_queues.items():
        for i, resource in enumerate(RESOURCES):
            due = plain.told_over("entitled", queue, i, 0, end_ms)
            assert measured.entitled[resource] == due
            span_ms, received, entitled, capacity, worst = plain.backlogged(queue, i, period_ms)
            found = measured.backlogged[resource]
            assert (found.span_ms, found.received, found.entitled) == (span_ms, received, entitled)
            assert found.share == (received / capacity if capacity else None)
            assert found.entitled_share == (entitled / capacity if capacity else None)
            assert found.received_to_entitled == (received / entitled if entitled else None)
            assert found.worst_deficit == (worst if span_ms else None)


@given(histories)
@settings(max_examples=scale_examples(40))
def test_the_time_to_fairness_is_that_of_looking_at_every_millisecond(
    history: RandomHistory,
) -> None:
    told, end_ms = history.told, history.end_ms
    summary, _ = measure(told, end_ms)
    plain = PlainMeasures(told, end_ms)
    for i, resource in enumerate(RESOURCES):
        contended = summary.of_cluster.contended[resource]
        assert contended.span_ms == sum(map(len, plain.contentions(i)))
        assert contended.to_fairness == to_fairness(plain, [*LEAVES], i)
        for queue, measured in summary.of_queues.items():
            assert measured.backlogged[resource].to_fairness == to_fairness(plain, [queue], i)


def to_fairness(plain: PlainMeasures, queues: list[str], resource: int) -> ToFairness:
    contentions, never_fair, longest_ms = plain.to_fairness(queues, resource)
    return ToFairness(contentions=contentions, never_fair=never_fair, longest_ms=longest_ms)


@given(histories)
def test_the_cluster_is_judged_by_its_leaves(history: RandomHistory) -> None:
    summary, _ = measure(history.told, history.end_ms)
    cluster = summary.of_cluster
    for resource in RESOURCES:
        found = {name: summary.of_queues[name].backlogged[resource] for name in LEAVES}
        behind = [each.worst_deficit for each in found.values() if each.worst_deficit is not None]
        assert cluster.worst_deficit[resource] == max(behind, default=None)
        assert cluster.jain[resource] == plain_jain(summary, list(LEAVES), resource)
        for name, queue in summary.of_queues.items():
            assert queue.jain[resource] == plain_jain(summary, leaves(name), resource)


def plain_jain(summary: Summary, queues: list[str], resource: str) -> object:
    found = [summary.of_queues[name].backlogged[resource] for name in queues]
    ratios = {
        place: each.received_to_entitled
        for place, each in enumerate(found)
        if each.received_to_entitled is not None
    }
    if len(ratios) < 2 or not any(ratios.values()):
        return None
    weights = {place: found[place].entitled for place in ratios}
    first = sum(weights[place] * ratio for place, ratio in ratios.items())
    second = sum(weights[place] * ratio**2 for place, ratio in ratios.items())
    return pytest.approx(first**2 / (sum(weights.values()) * second))


@given(histories)
def test_the_whole_is_the_sum_of_its_parts(history: RandomHistory) -> None:
    summary, _ = measure(history.told, history.end_ms)
    wholes: list[tuple[JobMeasures, list[JobMeasures]]] = [
        (summary.of_cluster, [summary.of_queues[name] for name in TOPS]),
        (summary.of_cluster, [summary.of_queues[name] for name in LEAVES]),
        (summary.of_cluster, list(summary.of_users.values())),
        (summary.of_cluster, list(summary.of_kinds.values())),
        (summary.of_queues["left"], [summary.of_queues[name] for name in ("a", "b")]),
        (summary.of_queues["right"], [summary.of_queues["c"]]),
    ]
    for whole, parts in wholes:
        assert whole.submitted == sum(part.submitted for part in parts)
        assert whole.wait.total_ms == sum(part.wait.total_ms for part in parts)
        for resource in RESOURCES:
            assert whole.allocated[resource] == sum(part.allocated[resource] for part in parts)
            assert whole.lost[resource] == sum(part.lost[resource] for part in parts)


@given(histories, st.integers(1, 30), st.sampled_from([2, 4, 10]))
def test_buckets_hold_what_the_full_list_has_between_their_ends(
    history: RandomHistory, horizon_ms: int, most_buckets: int
) -> None:
    told, end_ms = history.told, history.end_ms
    summary, series = measure(told, end_ms, horizon_ms=horizon_ms, most_buckets=most_buckets)
    plain = PlainMeasures(told, end_ms)
    begins_ms, lengths_ms = series.begins_ms(), series.lengths_ms()
    assert len(begins_ms) <= most_buckets
    assert sum(lengths_ms) == end_ms
    spans = [(begin, begin + length) for begin, length in zip(begins_ms, lengths_ms, strict=True)]
    for i, resource in enumerate(RESOURCES):
        assert list(series.capacity()[resource]) == [
            sum(plain.capacity(t, i) for t in range(*span)) for span in spans
        ]
        for queue in PARENTS:
            found = series.of_queue(queue)
            jobs = plain.of_queue(queue)
            allocated = [plain.allocated(jobs, i, *span) for span in spans]
            assert list(found.allocated[resource]) == allocated
            for field in ("entitled", "fair_share", "usage_e9"):
                assert list(getattr(found, field)[resource]) == [
                    plain.told_over(field, queue, i, *span) for span in spans
                ]
    check_conservation(summary, {queue: series.of_queue(queue) for queue in PARENTS})


def check_conservation(summary: Summary, series: dict[str, QueueSeries]) -> None:
    for queue, found in series.items():
        measured: QueueMeasures = summary.of_queues[queue]
        for resource in RESOURCES:
            assert sum(found.allocated[resource]) == measured.allocated[resource]
            assert sum(found.entitled[resource]) == measured.entitled[resource]
        assert sum(found.evictions) == sum(measured.preemptions.values())


def strand(each: Told) -> str:
    """Whose order among things of one time is kept: of one job, of what is due, of capacity."""
    if isinstance(each, EntitlementChange):
        return "due"
    return "capacity" if isinstance(each, CapacityChanged) else each.job.name


def shuffled(told: list[Told], seed: int) -> list[Told]:
    """Let things of the same millisecond come in another order that can be."""
    random = Random(seed)
    found: list[Told] = []
    for _, ties in groupby(told, key=lambda each: each.at_ms):
        group = list(ties)
        strands = {strand(each): [e for e in group if strand(e) == strand(each)] for each in group}
        order = [strand(each) for each in group]
        random.shuffle(order)
        found += [strands[name].pop(0) for name in order]
    return found


@given(histories, st.integers(0, 2**32))
def test_the_order_of_things_of_one_millisecond_changes_nothing(
    history: RandomHistory, seed: int
) -> None:
    told, end_ms = history.told, history.end_ms
    summary, series = measure(told, end_ms, most_buckets=4)
    again, same_series = measure(shuffled(told, seed), end_ms, most_buckets=4)
    assert msgspec.json.encode(again) == msgspec.json.encode(summary)
    for queue in PARENTS:
        assert same_series.of_queue(queue) == series.of_queue(queue)


def with_idle_moments(history: RandomHistory, seed: int) -> list[Told]:
    """The same history in which it is told again now and then what is known already."""
    random = Random(seed)
    told: list[Told] = []
    known: list[Told] = []  # of what is told last, one of each kind
    for at_ms in range(history.end_ms + 1):
        now = [each for each in history.told if each.at_ms == at_ms]
        told += now
        for each in now:
            if isinstance(each, EntitlementChange | CapacityChanged):
                known = [old for old in known if type(old) is not type(each)] + [each]
        if not now and random.random() < 0.5:
            told += [replace(each, at_ms=at_ms) for each in known]
    return told


@given(histories, st.integers(0, 2**32))
def test_telling_more_often_what_is_so_already_changes_nothing(
    history: RandomHistory, seed: int
) -> None:
    summary, series = measure(history.told, history.end_ms, most_buckets=4)
    again, same_series = measure(with_idle_moments(history, seed), history.end_ms, most_buckets=4)
    assert msgspec.json.encode(again) == msgspec.json.encode(summary)
    for queue in PARENTS:
        assert same_series.of_queue(queue) == series.of_queue(queue)


def later(each: Told, by_ms: int) -> Told:
    """The same thing at another time, with the job that it is about."""
    if isinstance(each, EntitlementChange | CapacityChanged):
        return replace(each, at_ms=each.at_ms + by_ms)
    job = replace(each.job, submit_ms=each.job.submit_ms + by_ms)
    return replace(each, at_ms=each.at_ms + by_ms, job=job)


@given(histories, st.integers(-1000, 10**12))
def test_when_it_begins_changes_nothing(history: RandomHistory, by_ms: int) -> None:
    told, end_ms = history.told, history.end_ms
    summary, series = measure(told, end_ms, most_buckets=4)
    moved = [later(each, by_ms) for each in told]
    again, same_series = measure(moved, end_ms + by_ms, start_ms=by_ms, most_buckets=4)
    assert (again.start_ms, again.end_ms) == (by_ms, end_ms + by_ms)
    assert replace(again, start_ms=0, end_ms=end_ms) == summary
    for queue in PARENTS:
        assert same_series.of_queue(queue) == series.of_queue(queue)


@given(histories)
def test_a_summary_survives_the_way_through_json(history: RandomHistory) -> None:
    summary, _ = measure(history.told, history.end_ms)
    assert msgspec.json.decode(msgspec.json.encode(summary), type=Summary) == summary
