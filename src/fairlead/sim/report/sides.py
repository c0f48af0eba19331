"""Compares simulations of the same work: which runs with which, differences, and how sure they are.

A side has one run for every seed. Only runs of the same work can be compared: each run keeps marks
of its work. Other seeds, resources, work or time, and runs that were stopped, are refused. A
difference is that of pairs of runs with the same seed, so it does not depend on the work of a seed.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, Literal

import msgspec

from fairlead.errors import ResultError
from fairlead.model.duration import format_duration, moment_text
from fairlead.sim.fields import made_as
from fairlead.sim.measures.spread import Spread, difference, spread_of
from fairlead.sim.measures.summary import flat_measures
from fairlead.sim.report.lower_bounds import UNSTARTED, bound_of
from fairlead.sim.report.measure_rows import RESOURCE, shown_resources
from fairlead.sim.report.report_page import ShownResource
from fairlead.sim.report.verdicts import (
    Better,
    Estimate,
    Verdict,
    judged_by_unstarted,
    seeds_remark,
    verdict,
)
from fairlead.sim.results.about import HistoryMark, RunAbout
from fairlead.sim.results.read_result import StoredRun


class ComparedSide(msgspec.Struct, frozen=True, kw_only=True):
    """One set of rules and settings."""

    name: str
    variant: str
    policy: str
    settings: dict[str, str]
    history: HistoryMark | None  # None: nothing was used before the start


class ComparedRow(msgspec.Struct, frozen=True, kw_only=True):
    """One measure of the cluster or of a queue, on all sides."""

    scope: Literal["cluster", "queue"]
    name: str  # empty for the cluster
    measure: str  # the fields that lead to it in a summary, without the resource
    resource: str  # empty where it is not about one
    title: str
    form: str  # count, ms, ratio, percent, amount-time
    better: Better
    sides: list[Estimate]
    at_least: list[bool]  # of each side: jobs that never started count with their age
    differences: list[Estimate]  # from the first side, for each of the others
    verdicts: list[Verdict]  # what each difference means


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """All measures of all sides."""

    scenario: str
    seeds: list[int]
    is_random: bool  # False: nothing is drawn, so each difference is certain
    seeds_remark: str | None  # what so few seeds can hardly show, or need not
    resources: list[ShownResource]
    sides: list[ComparedSide]
    rows: list[ComparedRow]
    queues_left_out: int


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """Runs under the same rules and settings, by seed."""

    about: ComparedSide
    runs: Mapping[int, StoredRun]


def sides_of(place: str, runs: Sequence[StoredRun], variant: str | None = None) -> list[Side]:
    """Return the sides of one result, called *place*: one for each variant and its settings.

    With *variant* only that one, or those of the rule set of that name. Raises `ResultError`.
    """
    found: dict[str, dict[int, StoredRun]] = {}
    for run in _chosen(runs, variant):
        about = run.about
        name = _name(about)
        seeds = found.setdefault(name, {})
        if about.seed in seeds:
            raise ResultError(f"{place} has two runs of {name} with the seed {about.seed}")
        seeds[about.seed] = run
    if not runs:
        raise ResultError(f"{place} holds no run that can be compared: simulate again")
    if not found:
        has = ", ".join(dict.fromkeys(run.about.variant for run in runs))
        raise ResultError(f"{place} has no variant {variant}: it has {has}")
    return [Side(about=_about(name, seeds), runs=seeds) for name, seeds in found.items()]


def _chosen(runs: Sequence[StoredRun], variant: str | None) -> list[StoredRun]:
    if variant is None:
        return list(runs)
    by_name = [run for run in runs if run.about.variant == variant]
    return by_name or [run for run in runs if run.about.policy == variant]


def with_names(sides: Sequence[tuple[str, Side]]) -> list[Side]:
    """Return all sides, each with the place of its result, called after what sets them apart.

    That is the variant, the settings and the history that not all have, and the result where two
    are called alike.
    """
    settings = [set(_settings(side.about).items()) for _, side in sides]
    shared = set.intersection(*settings) if settings else set()
    names = [_name(side.about, shared) for _, side in sides]
    return [
        _called(side, f"{place}: {name}" if names.count(name) > 1 else name)
        for (place, side), name in zip(sides, names, strict=True)
    ]


def _called(side: Side, name: str) -> Side:
    about = msgspec.structs.replace(side.about, name=name)
    return msgspec.structs.replace(side, about=about)


def check_comparable(sides: Sequence[Side]) -> None:
    """Raise `ResultError` unless there are two sides at least, all of the same work."""
    if len(sides) < 2:
        raise ResultError(
            "there is nothing to compare with: name two results, or one with several variants"
        )
    for side in sides:
        for run in side.runs.values():
            if not run.about.complete:
                raise ResultError(
                    f"{side.about.name}: the run {run.about.name} was stopped before its end, so "
                    "its numbers are of a shorter time: simulate again"
                )
    first, *others = sides
    for other in others:
        if sorted(first.runs) != sorted(other.runs):
            raise ResultError(
                f"{first.about.name} and {other.about.name} do not have the same seeds "
                f"({_listed(first.runs)} and {_listed(other.runs)}): simulate both with the same "
                "--seed and --seeds"
            )
        for seed, run in first.runs.items():
            _check_same_work(run, other.runs[seed])


def _check_same_work(one: StoredRun, two: StoredRun) -> None:
    differ = list(_differences(one.about, two.about))
    if differ:
        raise ResultError(
            f"{one.folder} and {two.folder} are not of the same work: they differ in "
            f"{', '.join(differ)}. Simulate both from the same work, with the same duration and "
            "loadFactor: only rules, queues, nodes and other settings may differ"
        )


def _differences(one: RunAbout, two: RunAbout) -> Iterator[str]:
    """Return what of the work is not the same."""
    if one.start_ms != two.start_ms:
        yield f"their start ({moment_text(one.start_ms)} and {moment_text(two.start_ms)})"
    if one.work.duration_ms != two.work.duration_ms:
        yield f"their duration ({_length(one)} and {_length(two)})"
    if one.resources != two.resources:
        yield f"their resources ({', '.join(one.resources)} and {', '.join(two.resources)})"
    here, there = one.work.sources, two.work.sources
    for name in here | there:
        if name not in here or name not in there:
            yield f"the work called {name}, which only one has"
        elif here[name] != there[name]:
            yield f"what the work called {name} is"


def _length(about: RunAbout) -> str:
    length_ms = about.work.duration_ms
    return "until all is done" if length_ms is None else format_duration(length_ms)


def _listed(seeds: Mapping[int, object]) -> str:
    return ", ".join(map(str, sorted(seeds)))


def _name(about: RunAbout | ComparedSide, shared: Collection[tuple[str, str]] = ()) -> str:
    own = [
        f"{name}={text}" for name, text in _settings(about).items() if (name, text) not in shared
    ]
    return " ".join([about.variant, *own])


def _settings(about: RunAbout | ComparedSide) -> dict[str, str]:
    """Return what was set by name, and with what it began as if that were set as well."""
    history = {} if about.history is None else {"history": about.history.short}
    return {**about.settings, **history}


def _about(name: str, runs: Mapping[int, StoredRun]) -> ComparedSide:
    about = next(iter(runs.values())).about
    return made_as(ComparedSide, about, name=name)


MOST_QUEUES: Final = 100
"""Queues with the largest parts of the cluster; the result's measures have the others."""

Key = tuple[str, str, str]


class _Measure(msgspec.Struct, frozen=True):
    """A measure that is compared; its path has a place for the resource if it is about one."""

    path: str
    title: str
    form: str
    better: Better

    @property
    def is_of_some_jobs(self) -> bool:
        """Whether jobs that never started are left out of it."""
        return self.path.startswith(("wait/", "slowdown/", "finish_time_fairness/"))


_OF_CLUSTER: Final = (
    _Measure("utilisation/{resource}", "utilisation", "percent", "more"),
    _Measure("goodput/{resource}", "goodput", "percent", "more"),
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
    _Measure("lost_by_cause/evicted/{resource}", "lost to evictions", "amount-time", "less"),
    _Measure("lost_by_cause/moved/{resource}", "lost to moves", "amount-time", "less"),
)
_UNKNOWN: Final = Estimate(mean=None, low=None, high=None, runs=0)


def compare(sides: Sequence[Side]) -> Comparison:
    """Compare each side with the first one, by pairs of equal seeds.

    Raises `ResultError` if they are not of the same work. Cost: measures x runs, and reading them.
    """
    check_comparable(sides)
    summaries = [{seed: run.summary for seed, run in side.runs.items()} for side in sides]
    measured = [
        {seed: dict(flat_measures(each)) for seed, each in by_seed.items()} for by_seed in summaries
    ]
    first, *others = measured
    about = next(iter(sides[0].runs.values())).about
    resources = shown_resources(
        about.resources, [each for by_seed in summaries for each in by_seed.values()]
    )
    is_random = any(run.about.is_random for side in sides for run in side.runs.values())
    table = _Table(
        [_by_key(spread_of(list(by_seed.values()))) for by_seed in measured],
        [_by_key(difference(first, other)) for other in others],
        [each.name for each in resources],
        is_random=is_random,
    )
    queues = table.queues()
    return Comparison(
        scenario=about.scenario,
        seeds=sorted(first),
        is_random=is_random,
        seeds_remark=seeds_remark(len(first), is_random=is_random),
        resources=list(resources),
        sides=[side.about for side in sides],
        rows=[
            *table.rows("cluster", "", _OF_CLUSTER),
            *(row for name in queues[:MOST_QUEUES] for row in table.rows("queue", name, _OF_QUEUE)),
        ],
        queues_left_out=max(0, len(queues) - MOST_QUEUES),
    )


def _by_key(spreads: Sequence[Spread]) -> dict[Key, Estimate]:
    return {(each.scope, each.name, each.measure): made_as(Estimate, each) for each in spreads}


class _Table:
    """Finds the numbers of each row."""

    def __init__(
        self,
        sides: Sequence[Mapping[Key, Estimate]],
        differences: Sequence[Mapping[Key, Estimate]],
        resources: Sequence[str],
        *,
        is_random: bool,
    ) -> None:
        self._is_random = is_random
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
        rows = [
            self._row(scope, name, measure, resource)
            for measure in measures
            for resource in (self._resources if RESOURCE in measure.path else [""])
        ]
        return [row for row in rows if _is_shown(row)]

    def _row(
        self, scope: Literal["cluster", "queue"], name: str, measure: _Measure, resource: str
    ) -> ComparedRow:
        unstarted = [side.get((scope, name, UNSTARTED), _UNKNOWN).mean or 0 for side in self._sides]
        bound = bound_of(measure.path) if any(unstarted) else None
        is_bounded = any((scope, name, bound) in side for side in self._sides)
        path = bound if bound is not None and is_bounded else measure.path
        key = (scope, name, path.replace(RESOURCE, resource))
        sides = [side.get(key, _UNKNOWN) for side in self._sides]
        differences = [each.get(key, _UNKNOWN) for each in self._differences]
        return ComparedRow(
            scope=scope,
            name=name,
            measure=path.replace(f"/{RESOURCE}", ""),
            resource=resource,
            title=measure.title,
            form=measure.form,
            better=measure.better,
            sides=sides,
            at_least=[is_bounded and count > 0 for count in unstarted],
            differences=differences,
            verdicts=self._verdicts(measure, sides, differences, unstarted),
        )

    def _verdicts(
        self,
        measure: _Measure,
        sides: Sequence[Estimate],
        differences: Sequence[Estimate],
        unstarted: Sequence[float],
    ) -> list[Verdict]:
        found = [
            verdict(measure.better, sides[0], other, difference, is_random=self._is_random)
            for other, difference in zip(sides[1:], differences, strict=True)
        ]
        if not measure.is_of_some_jobs:
            return found
        return [
            judged_by_unstarted(each, unstarted[0], other)
            for each, other in zip(found, unstarted[1:], strict=True)
        ]


def _is_shown(row: ComparedRow) -> bool:
    means = [side.mean for side in row.sides if side.mean is not None]
    return any(means) if row.scope == "queue" else bool(means)
