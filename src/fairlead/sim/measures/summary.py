"""All measures of one run as data: for the cluster, its queues, users and kinds of jobs.

Sums are whole numbers: resource-time in base units x ms, times in ms. Only ratios are floats. What
is not defined, such as the wait of jobs that did not start, is None.
"""

from collections.abc import Iterator, Mapping
from typing import Literal, TypeAlias, cast

import msgspec


class Waits(msgspec.Struct, frozen=True, kw_only=True):
    """From submission to the first start."""

    jobs: int
    total_ms: int
    mean_ms: float | None
    p50_ms: int | None
    p90_ms: int | None
    p99_ms: int | None
    max_ms: int | None


class Unstarted(msgspec.Struct, frozen=True, kw_only=True):
    """Jobs that had not started at the end, with their age then."""

    jobs: int
    total_age_ms: int
    oldest_ms: int | None


class Ratios(msgspec.Struct, frozen=True, kw_only=True):
    """A ratio that every job that is done has, unless it is not defined for it."""

    jobs: int
    mean: float | None
    p90: float | None
    max: float | None


class ToFairness(msgspec.Struct, frozen=True, kw_only=True):
    """How long until the share received was near the one due, and stayed so."""

    contentions: int
    never_fair: int  # contentions that ended before
    longest_ms: int | None  # of the others


class Backlogged(msgspec.Struct, frozen=True, kw_only=True):
    """One resource of a queue over the time in which it requested more than it had."""

    span_ms: int
    received: int
    entitled: int
    share: float | None  # received, as a part of the cluster
    entitled_share: float | None
    received_to_entitled: float | None
    worst_deficit: int | None
    to_fairness: ToFairness


class Contended(msgspec.Struct, frozen=True, kw_only=True):
    """One resource of the cluster over the time in which there was not enough of it for all."""

    span_ms: int
    to_fairness: ToFairness  # of all leaves at once


class JobMeasures(msgspec.Struct, frozen=True, kw_only=True):
    """What the jobs of a group came to."""

    submitted: int
    finished: int
    wait: Waits  # of the jobs that started
    wait_at_least: Waits  # of all: a job that never started waited until the end at least
    unstarted: Unstarted
    slowdown: Ratios
    finish_time_fairness: Ratios
    makespan_ms: int | None
    allocated: dict[str, int]
    utilisation: dict[str, float | None]  # allocated, as a part of the cluster's capacity
    goodput: dict[str, float | None]  # the same without what was lost
    preemptions: dict[str, int]  # by cause: how often pods of a job lost their places
    preempted_pods: dict[str, int]
    lost: dict[str, int]  # resource-time of work that had to be done anew
    lost_by_cause: dict[str, dict[str, int]]  # the same by cause, then by resource


class QueueMeasures(JobMeasures, frozen=True, kw_only=True):
    """What a queue and all beneath it came to."""

    entitled: dict[str, int]
    backlogged: dict[str, Backlogged]
    jain: dict[str, float | None]  # among the leaves beneath it


class ClusterMeasures(JobMeasures, frozen=True, kw_only=True):
    """What all jobs came to."""

    capacity: dict[str, int]
    entitled: dict[str, int]  # of the queues at the top together
    contended: dict[str, Contended]
    jain: dict[str, float | None]  # among all leaves
    worst_deficit: dict[str, int | None]  # of the leaf that fell behind the furthest


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """Every measure of one simulation, in the order of names."""

    start_ms: int
    end_ms: int
    of_cluster: ClusterMeasures
    of_queues: dict[str, QueueMeasures]
    of_users: dict[str, JobMeasures]
    of_kinds: dict[str, JobMeasures]


Scope: TypeAlias = Literal["cluster", "queue", "user", "kind"]
Key: TypeAlias = tuple[Scope, str, str]
"""Scope, name (empty for the cluster), and the fields that lead to the number, as wait/p90_ms."""

SCOPES: tuple[Scope, ...] = ("cluster", "queue", "user", "kind")


def flat_measures(summary: Summary) -> Iterator[tuple[Key, float | None]]:
    """Yield every number of a summary with where it stands; None is one that is not defined."""
    tree = msgspec.to_builtins(summary)
    for measure, value in _numbers(tree["of_cluster"], ""):
        yield ("cluster", "", measure), value
    for scope, groups in (("queue", "of_queues"), ("user", "of_users"), ("kind", "of_kinds")):
        for name, group in tree[groups].items():
            for measure, value in _numbers(group, ""):
                yield (cast(Scope, scope), name, measure), value


def _numbers(tree: Mapping[str, object], path: str) -> Iterator[tuple[str, float | None]]:
    for field, value in tree.items():
        if isinstance(value, dict):
            yield from _numbers(value, f"{path}{field}/")
        else:
            assert value is None or isinstance(value, int | float)
            yield f"{path}{field}", value
