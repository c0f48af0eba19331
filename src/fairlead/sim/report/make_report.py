"""The document of a report page, made from the runs of a result.

A chart holds a handful of colours. So queues are shown by levels: those at the top, then inside
each inner queue, and all leaves at once; in each group the largest are drawn by themselves and the
others together.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final

import msgspec

from fairlead.sim.fields import made_as
from fairlead.sim.measures.series import KINDS, Columns, QueueSeries, Series
from fairlead.sim.measures.summary import Summary
from fairlead.sim.report.measure_rows import measure_columns, measure_tables, shown_resources
from fairlead.sim.report.report_page import (
    Lines,
    ListedEvictions,
    PlacedQueue,
    Points,
    QueueGroup,
    QueueLines,
    ReportPage,
    RunPage,
    ShownResource,
    WaitBins,
)
from fairlead.sim.results.eviction_table import EvictionRow
from fairlead.sim.results.read_result import StoredRun

MOST_MEMBERS: Final = 8
"""Queues in one chart, the one for all others included."""


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """Queues of one chart, by name."""

    title: str
    parent: str | None
    members: tuple[str, ...]
    others: tuple[str, ...]


class QueueTree:
    """The queues of a run, in the order of names, with those beneath each."""

    def __init__(self, parents: Mapping[str, str | None]) -> None:
        """Read the tree of queues."""
        self.parents = parents
        self.children: dict[str | None, list[str]] = {}
        for name in sorted(parents):
            self.children.setdefault(parents[name], []).append(name)

    def leaves(self) -> list[str]:
        """Return the queues that have none beneath them."""
        return [name for name in sorted(self.parents) if name not in self.children]

    def inner(self) -> list[str]:
        """Return the queues that have some, from the top down."""
        found, level = [], self.children.get(None, [])
        while level:
            inner = [name for name in level if name in self.children]
            found += inner
            level = [child for name in inner for child in self.children[name]]
        return found


def queue_groups(
    parents: Mapping[str, str | None], weights: Mapping[str, float], most: int
) -> tuple[list[Group], int]:
    """Return at most *most* groups, and how many more there would be.

    The first one has the queues at the top, or of the first level at which there are several. A
    queue alone in its group is not worth a chart, unless there is no other. Of too many groups
    the ones whose queue has the least weight are left out.
    """
    tree = QueueTree(parents)
    groups = [_group("queues at the top", None, tree.children.get(None, []), weights)]
    groups += [
        _group(f"inside {name}", name, tree.children[name], weights) for name in tree.inner()
    ]
    if tree.inner():
        groups.append(_group("all leaves", None, tree.leaves(), weights))
    groups = [group for group in groups if len(group.members) > 1] or groups[:1]
    heaviest = sorted(groups[1:], key=lambda each: -weights.get(each.parent or "", 0.0))
    kept = {group.title for group in [groups[0], *heaviest[: most - 1]]}
    shown = [group for group in groups if group.title in kept]
    return shown, len(groups) - len(shown)


def queue_weights(summaries: Sequence[Summary], resources: Sequence[str]) -> dict[str, float]:
    """Return how much each queue matters: its largest part of the cluster, held or due.

    It is summed over runs, so that the same queues have the same colours in all of them.
    """
    weights: dict[str, float] = {}
    for summary in summaries:
        for name, row in summary.of_queues.items():
            parts = [
                max(row.allocated[each], row.entitled[each]) / summary.of_cluster.capacity[each]
                for each in resources
                if summary.of_cluster.capacity[each]
            ]
            weights[name] = weights.get(name, 0.0) + max(parts, default=0.0)
    return weights


def _group(
    title: str, parent: str | None, names: Sequence[str], weights: Mapping[str, float]
) -> Group:
    """Return the group of *names*; if there are too many, the light ones are its others."""
    if len(names) <= MOST_MEMBERS:
        return Group(title=title, parent=parent, members=tuple(names), others=())
    by_weight = sorted(names, key=lambda name: (-weights.get(name, 0.0), name))
    kept = set(by_weight[: MOST_MEMBERS - 1])
    return Group(
        title=title,
        parent=parent,
        members=tuple(name for name in names if name in kept),
        others=tuple(name for name in names if name not in kept),
    )


def fewer_buckets(column: Sequence[int], together: int) -> list[int]:
    """Make one bucket of each *together* neighbours; the last may have fewer.

    Law: the sum stays the same, exactly. Cost: linear.
    """
    assert together > 0
    if together == 1:
        return list(column)
    return [sum(column[at : at + together]) for at in range(0, len(column), together)]


def how_many_together(buckets: int, most: int) -> int:
    """How many neighbours must become one so that at most *most* buckets remain."""
    assert most > 0
    return max(1, -(-buckets // most))


LONGEST_SENTENCE: Final = 400


class _Thinned:
    """Keeps at most so many rows: whenever there are too many, every other one goes.

    So what is kept is every 2^n-th, spread over all of the time, and memory is bounded.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._step = 1
        self.total = 0
        self.kept: list[EvictionRow] = []

    def add(self, row: EvictionRow) -> None:
        if self.total % self._step == 0:
            self.kept.append(row)
            if len(self.kept) > self._most:
                self.kept = self.kept[::2]
                self._step *= 2
        self.total += 1


def listed_evictions(
    rows: Iterable[EvictionRow], places: Mapping[str, int], start_ms: int, most: int
) -> ListedEvictions:
    """Return at most *most* of *rows*; *places* says where each queue stands.

    Equal sentences are kept once. Cost: linear in the rows; memory: *most* of them.
    """
    assert most > 0
    thinned = _Thinned(most)
    for row in rows:
        thinned.add(row)
    kept = thinned.kept
    sentences: dict[str, int] = {}
    why = [sentences.setdefault(_short(row.sentence), len(sentences)) for row in kept]
    return ListedEvictions(
        total=thinned.total,
        at_ms=[row.at_ms - start_ms for row in kept],
        job=[row.job for row in kept],
        queue=[places.get(row.queue) for row in kept],
        pods=[row.pods for row in kept],
        cause=[row.cause for row in kept],
        beneficiary=[row.beneficiary or "" for row in kept],
        why=why,
        sentences=list(sentences),
    )


def _short(sentence: str) -> str:
    if len(sentence) <= LONGEST_SENTENCE:
        return sentence
    return sentence[: LONGEST_SENTENCE - 1] + "…"


SECOND_MS: Final = 1000
MINUTE_MS: Final = 60 * SECOND_MS
HOUR_MS: Final = 60 * MINUTE_MS
DAY_MS: Final = 24 * HOUR_MS
EDGES_MS: Final = (
    *(SECOND_MS * each for each in (1, 3, 10, 30)),
    *(MINUTE_MS * each for each in (1, 3, 10, 30)),
    *(HOUR_MS * each for each in (1, 2, 4, 8)),
    *(DAY_MS * each for each in (1, 2, 4, 7, 14, 30)),
)
"""Where bins end; a wait of just that length is in the next one, and the last has no end."""


class WaitCounter:
    """Counts waits of the cluster and of each queue with all queues above it."""

    def __init__(self, places: Mapping[str, int], parents: Mapping[int, int | None]) -> None:
        """*places* has the place of each queue by name, *parents* that above it."""
        self._places = places
        self._parents = parents
        self._cluster = [0] * (len(EDGES_MS) + 1)
        self._queues: dict[int, list[int]] = {}

    def add(self, queue: str, wait_ms: int) -> None:
        """Count the wait of one job. Cost: the depth of its queue."""
        at = bisect_right(EDGES_MS, wait_ms)
        self._cluster[at] += 1
        place = self._places.get(queue)
        while place is not None:
            counts = self._queues.get(place)
            if counts is None:
                counts = self._queues[place] = [0] * len(self._cluster)
            counts[at] += 1
            place = self._parents[place]

    def bins(self) -> dict[str, WaitBins]:
        """Return the counts by place; that of the cluster has no name."""
        of_queues = {str(at): WaitBins(counts=self._queues[at]) for at in sorted(self._queues)}
        return {"": WaitBins(counts=self._cluster), **of_queues}


PERCENT_E9: Final = 10**7
"""Usage is stored in thousand millionths of the cluster, and shown in percent."""


class LineMaker:
    """Reads the series of one run in longer buckets, each of several of its own."""

    def __init__(self, series: Series, resources: Sequence[ShownResource], together: int) -> None:
        """Make one bucket of each *together*."""
        self._series = series
        self._resources = resources
        self._together = together
        self._lengths_ms = fewer_buckets(series.lengths_ms(), together)

    @property
    def buckets(self) -> int:
        """How many points each line has."""
        return len(self._lengths_ms)

    def capacity(self) -> dict[str, Points]:
        """Return what the cluster had."""
        columns = self._series.capacity()
        return {
            each.name: self._points(self._merged(columns[each.name]), each.scale)
            for each in self._resources
        }

    def of_queues(self, names: Sequence[str]) -> Lines:
        """Return what *names* had together."""
        found = [self._series.of_queue(name) for name in names]
        return {each.name: self._lines(found, each) for each in self._resources}

    def _lines(self, found: Sequence[QueueSeries], resource: ShownResource) -> QueueLines:
        lines = {}
        for kind in KINDS:
            columns: list[Columns] = [getattr(each, kind) for each in found]
            merged = [self._merged(each[resource.name]) for each in columns]
            total = merged[0] if len(merged) == 1 else list(map(sum, zip(*merged, strict=True)))
            if any(total):
                scale = PERCENT_E9 if kind == "usage_e9" else resource.scale
                lines[kind.removesuffix("_e9")] = self._points(total, scale)
        return msgspec.convert(lines, QueueLines)

    def _merged(self, column: Sequence[int]) -> list[int]:
        return fewer_buckets(column, self._together)

    def _points(self, column: Sequence[int], scale: int) -> Points:
        """Return averages in shown units; 0 where no time passed."""
        return [
            rounded(total / (length_ms * scale)) if length_ms else 0
            for total, length_ms in zip(column, self._lengths_ms, strict=True)
        ]


@lru_cache(maxsize=65_536)  # what a queue holds or is due is often the same for long
def rounded(value: float) -> float:
    """Return *value* with four digits that count, which no chart shows apart from the true one.

    Whole numbers become integers, which are shorter in a document.
    """
    short = float(f"{value:.4g}")
    return int(short) if short.is_integer() else short


MOST_NUMBERS: Final = 400_000
"""In all lines of a page together: about 2.4 MB of text at six letters each."""

MOST_BUCKETS: Final = 480  # of a line: about two of a screen's points each
ENOUGH_BUCKETS: Final = 120  # with so many, every queue has lines rather than longer ones
FEWEST_BUCKETS: Final = 60
MOST_GROUPS: Final = (16, 8, 4, 2, 1)  # of a run; the largest that keeps lines long enough
MOST_RUNS: Final = 32
MOST_EVICTIONS: Final = 6_000  # on a page; each run has its part of them
MOST_EVICTIONS_OF_RUN: Final = 2_000


def make_report(
    scenario: str, runs: Sequence[StoredRun], *, is_complete: bool = True
) -> ReportPage:
    """Return what a page shows of *runs*, which are of one scenario and in their order.

    *is_complete* says whether these are all runs that were asked for, each until its end.

    Equal runs give equal documents. Cost: reading the runs once, one after the other.
    """
    shown = runs[:MOST_RUNS]
    summaries = [run.summary for run in shown]
    resources = shown_resources(runs[0].about.resources, summaries) if runs else ()
    weights = queue_weights(summaries, [each.name for each in resources])
    groups, drawn, buckets = _fitting(shown, resources, weights)
    return ReportPage(
        scenario=scenario,
        resources=list(resources),
        columns=measure_columns(),
        wait_edges_ms=list(EDGES_MS),
        runs=[
            _RunMaker(run, resources, buckets, len(shown)).page(*own, names)
            for run, own, names in zip(shown, groups, drawn, strict=True)
        ],
        runs_left_out=len(runs) - len(shown),
        complete=is_complete,
    )


def _fitting(
    runs: Sequence[StoredRun], resources: Sequence[ShownResource], weights: dict[str, float]
) -> tuple[list[tuple[list[Group], int]], list[set[str]], int]:
    """Return the groups of each run, its queues with lines, and the buckets that fit on a page.

    If all queues fit, each has lines, so that a small one can be looked at; else those of groups.
    """
    groups: list[tuple[list[Group], int]] = []
    drawn: list[set[str]] = []
    lines = 1
    for most in MOST_GROUPS:
        groups = [queue_groups(run.about.parents, weights, most) for run in runs]
        together = sum(1 for own, _ in groups for group in own if group.others)
        drawn = [{name for group in own for name in group.members} for own, _ in groups]
        everything = [set(run.about.parents) for run in runs]
        if _lines(everything, together, resources) * ENOUGH_BUCKETS <= MOST_NUMBERS:
            drawn = everything
        lines = _lines(drawn, together, resources)
        if lines * FEWEST_BUCKETS <= MOST_NUMBERS:
            break
    return groups, drawn, min(MOST_BUCKETS, max(FEWEST_BUCKETS, MOST_NUMBERS // lines))


def _lines(drawn: Sequence[set[str]], together: int, resources: Sequence[ShownResource]) -> int:
    """Return how many lines there are of the queues *drawn* and those drawn *together*."""
    return max(1, (sum(map(len, drawn)) + together) * len(resources) * len(KINDS))


class _RunMaker:
    """Makes the part of one run."""

    def __init__(
        self, run: StoredRun, resources: Sequence[ShownResource], buckets: int, runs: int
    ) -> None:
        self._run = run
        self._resources = resources
        self._most_evictions = min(MOST_EVICTIONS_OF_RUN, MOST_EVICTIONS // runs)
        series: Series = run.series
        self._together = how_many_together(len(series.begins_ms()), buckets)
        self._lines = LineMaker(series, resources, self._together)
        self._bucket_ms = series.bucket_ms * self._together
        self._places = {name: at for at, name in enumerate(run.about.parents)}

    def page(self, groups: Sequence[Group], left_out: int, drawn: set[str]) -> RunPage:
        about = self._run.about
        names = list(about.parents)
        return made_as(
            RunPage,
            about,
            bucket_ms=self._bucket_ms,
            buckets=self._lines.buckets,
            queues=self._queues(),
            groups=[self._group(group) for group in groups],
            groups_left_out=left_out,
            lines={
                str(at): self._lines.of_queues([name])
                for at, name in enumerate(names)
                if name in drawn
            },
            capacity=self._lines.capacity(),
            waits=self._waits(),
            evictions=self._evictions(),
            measures=measure_tables(self._run.summary, self._resources),
        )

    def _queues(self) -> list[PlacedQueue]:
        parents = self._run.about.parents.items()
        return [
            PlacedQueue(name=name, parent=None if parent is None else self._places[parent])
            for name, parent in parents
        ]

    def _group(self, group: Group) -> QueueGroup:
        return QueueGroup(
            title=group.title,
            parent=None if group.parent is None else self._places[group.parent],
            members=[self._places[name] for name in group.members],
            others=[self._places[name] for name in group.others],
            others_lines=self._lines.of_queues(group.others) if group.others else {},
        )

    def _waits(self) -> dict[str, WaitBins]:
        parents = {at: queue.parent for at, queue in enumerate(self._queues())}
        counter = WaitCounter(self._places, parents)
        for job in self._run.jobs():
            if job.first_start_ms is not None:
                counter.add(job.queue, job.first_start_ms - job.submit_ms)
        return counter.bins()

    def _evictions(self) -> ListedEvictions:
        rows = self._run.evictions()
        return listed_evictions(rows, self._places, self._run.about.start_ms, self._most_evictions)
