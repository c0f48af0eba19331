"""From the sides of a comparison to its rows: means, differences, and how sure they are."""

from collections.abc import Mapping, Sequence
from typing import Final, Literal

import msgspec

from fairlead.sim.measures.spread import Spread, difference, spread
from fairlead.sim.report.measure_rows import shown_resources
from fairlead.sim.report.sides import (
    Better,
    ComparedRow,
    Comparison,
    Estimate,
    Side,
    check_comparable,
)

MOST_QUEUES: Final = 100
"""Queues with the largest parts of the cluster; the result's measures have the others."""

RESOURCE: Final = "{resource}"
Key = tuple[str, str, str]


class _Measure(msgspec.Struct, frozen=True):
    """A measure that is compared; its path has a place for the resource if it is about one."""

    path: str
    title: str
    form: str
    better: Better


_OF_CLUSTER: Final = (
    _Measure("utilisation/{resource}", "utilisation", "percent", "more"),
    _Measure("wait/mean_ms", "wait, mean", "ms", "less"),
    _Measure("wait/p50_ms", "wait, p50", "ms", "less"),
    _Measure("wait/p90_ms", "wait, p90", "ms", "less"),
    _Measure("wait/p99_ms", "wait, p99", "ms", "less"),
    _Measure("slowdown/mean", "slowdown, mean", "ratio", "less"),
    _Measure("finish_time_fairness/mean", "finish-time fairness, mean", "ratio", "less"),
    _Measure("finished", "jobs done", "count", "more"),
    _Measure("unstarted/jobs", "jobs never started", "count", "less"),
    _Measure("jain/{resource}", "Jain index", "ratio", "more"),
    _Measure("worst_deficit/{resource}", "worst deficit", "amount-time", "less"),
    _Measure("preemptions/evicted", "evictions", "count", "less"),
    _Measure("preemptions/moved", "moves", "count", "less"),
    _Measure("preemptions/node-lost", "node losses", "count", "less"),
    _Measure("lost/{resource}", "lost work", "amount-time", "less"),
)
_OF_QUEUE: Final = (
    _Measure(
        "backlogged/{resource}/received_to_entitled", "got of due while waiting", "percent", "even"
    ),
    _Measure("utilisation/{resource}", "part of the cluster", "percent", ""),
    _Measure("wait/p50_ms", "wait, p50", "ms", "less"),
    _Measure("wait/p90_ms", "wait, p90", "ms", "less"),
    _Measure("slowdown/mean", "slowdown, mean", "ratio", "less"),
    _Measure("backlogged/{resource}/worst_deficit", "worst deficit", "amount-time", "less"),
    _Measure("preemptions/evicted", "evictions", "count", "less"),
)
_UNKNOWN: Final = Estimate(mean=None, low=None, high=None, runs=0)


def compare(sides: Sequence[Side]) -> Comparison:
    """Compare each side with the first one, by pairs of equal seeds.

    Raises `ResultError` if they are not of the same work. Cost: measures x runs, and reading them.
    """
    check_comparable(sides)
    summaries = [{seed: run.summary for seed, run in side.runs.items()} for side in sides]
    first, *others = summaries
    about = next(iter(sides[0].runs.values())).about
    resources = shown_resources(
        about.resources, [each for by_seed in summaries for each in by_seed.values()]
    )
    table = _Table(
        [_by_key(spread(list(by_seed.values()))) for by_seed in summaries],
        [_by_key(difference(first, other)) for other in others],
        [each.name for each in resources],
    )
    queues = table.queues()
    return Comparison(
        scenario=about.scenario,
        seeds=sorted(first),
        resources=list(resources),
        sides=[side.about for side in sides],
        rows=[
            *table.rows("cluster", "", _OF_CLUSTER),
            *(row for name in queues[:MOST_QUEUES] for row in table.rows("queue", name, _OF_QUEUE)),
        ],
        queues_left_out=max(0, len(queues) - MOST_QUEUES),
    )


def _by_key(spreads: Sequence[Spread]) -> dict[Key, Estimate]:
    return {
        (each.scope, each.name, each.measure): Estimate(
            mean=each.mean, low=each.low, high=each.high, runs=each.runs
        )
        for each in spreads
    }


class _Table:
    """Finds the numbers of each row."""

    def __init__(
        self,
        sides: Sequence[Mapping[Key, Estimate]],
        differences: Sequence[Mapping[Key, Estimate]],
        resources: Sequence[str],
    ) -> None:
        self._sides = sides
        self._differences = differences
        self._resources = resources

    def queues(self) -> list[str]:
        """Return the queues that all sides have, those with the largest part first, then by name.

        Rule sets may have queues of their own above those of the scenario.
        """
        names = set.intersection(
            *({name for scope, name, _ in side if scope == "queue"} for side in self._sides)
        )
        kept = sorted(names, key=lambda name: (-self._part(name), name))[:MOST_QUEUES]
        return sorted(kept) + sorted(names - set(kept))

    def _part(self, name: str) -> float:
        found = [
            side.get(("queue", name, f"utilisation/{resource}"), _UNKNOWN).mean or 0.0
            for side in self._sides
            for resource in self._resources
        ]
        return max(found, default=0.0)

    def rows(
        self, scope: Literal["cluster", "queue"], name: str, measures: Sequence[_Measure]
    ) -> list[ComparedRow]:
        """Return the rows of the cluster or of one queue.

        What is defined nowhere is left out, and of a queue what is 0 on all sides.
        """
        found = []
        for measure in measures:
            is_of_resource = RESOURCE in measure.path
            for resource in self._resources if is_of_resource else [""]:
                key = (scope, name, measure.path.replace(RESOURCE, resource))
                sides = [side.get(key, _UNKNOWN) for side in self._sides]
                if all(each.mean is None for each in sides) or (
                    name and not any(each.mean for each in sides)
                ):
                    continue
                found.append(
                    ComparedRow(
                        scope=scope,
                        name=name,
                        measure=measure.path.replace(f"/{RESOURCE}", ""),
                        resource=resource,
                        title=measure.title,
                        form=measure.form,
                        better=measure.better,
                        sides=sides,
                        differences=[each.get(key, _UNKNOWN) for each in self._differences],
                    )
                )
        return found
