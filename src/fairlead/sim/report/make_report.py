"""From the runs of a result to the document of its page."""

from collections.abc import Sequence
from typing import Final

from fairlead.sim.measures.series import Series
from fairlead.sim.report.fewer_buckets import how_many_together
from fairlead.sim.report.listed_evictions import listed_evictions
from fairlead.sim.report.measure_rows import measure_columns, measure_tables
from fairlead.sim.report.queue_groups import Group, queue_groups, queue_weights
from fairlead.sim.report.report_page import (
    ListedEvictions,
    PlacedQueue,
    QueueGroup,
    ReportPage,
    RunPage,
    ShownResource,
    WaitBins,
)
from fairlead.sim.report.run_lines import KINDS, LineMaker
from fairlead.sim.report.shown_resources import shown_resources
from fairlead.sim.report.wait_bins import EDGES_MS, WaitCounter
from fairlead.sim.results.stored_run import StoredRun

MOST_NUMBERS: Final = 400_000
"""In all lines of a page together: about 2.4 MB of text at six letters each."""

MOST_BUCKETS: Final = 480  # of a line: about two of a screen's points each
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
    groups, buckets = _fitting(shown, resources, weights)
    return ReportPage(
        scenario=scenario,
        resources=list(resources),
        columns=measure_columns(),
        wait_edges_ms=list(EDGES_MS),
        runs=[
            _RunMaker(run, resources, buckets, len(shown)).page(*own)
            for run, own in zip(shown, groups, strict=True)
        ],
        runs_left_out=len(runs) - len(shown),
        complete=is_complete,
    )


def _fitting(
    runs: Sequence[StoredRun], resources: Sequence[ShownResource], weights: dict[str, float]
) -> tuple[list[tuple[list[Group], int]], int]:
    """Return the groups of each run and the number of buckets that together fit on a page."""
    groups: list[tuple[list[Group], int]] = []
    lines = 1
    for most in MOST_GROUPS:
        groups = [queue_groups(run.about.parents, weights, most) for run in runs]
        queues = sum(_drawn(own) for own, _ in groups)
        lines = max(1, queues * len(resources) * len(KINDS))
        if lines * FEWEST_BUCKETS <= MOST_NUMBERS:
            break
    return groups, min(MOST_BUCKETS, max(FEWEST_BUCKETS, MOST_NUMBERS // lines))


def _drawn(groups: Sequence[Group]) -> int:
    """Return how many queues have lines, those that are drawn as one included."""
    members = {name for group in groups for name in group.members}
    return len(members) + sum(1 for group in groups if group.others)


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

    def page(self, groups: Sequence[Group], left_out: int) -> RunPage:
        about = self._run.about
        drawn = sorted({self._places[name] for group in groups for name in group.members})
        names = list(about.parents)
        return RunPage(
            name=about.name,
            variant=about.variant,
            policy=about.policy,
            seed=about.seed,
            settings=about.settings,
            history=about.history,
            complete=about.complete,
            start_ms=about.start_ms,
            end_ms=about.end_ms,
            bucket_ms=self._bucket_ms,
            buckets=self._lines.buckets,
            queues=self._queues(),
            groups=[self._group(group) for group in groups],
            groups_left_out=left_out,
            lines={str(at): self._lines.of_queues([names[at]]) for at in drawn},
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
