"""Whether the jobs of a log can run on the cluster of a scenario, before any of them does.

A job for a queue that does not exist would otherwise be found in the middle of a run, and rows that
give no job would go unnoticed.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from fairlead.errors import Finding, Severity
from fairlead.manifest.text.path import quote
from fairlead.manifest.text.suggest import did_you_mean
from fairlead.sim.engine.job import Job
from fairlead.sim.fields import MORE_THAN_ANY, MOST_BASE_UNITS
from fairlead.sim.scenario.check.work import Gang, JobNames, Lack, LackKind, Offer, Room
from fairlead.sim.scenario.scenario import TraceWork
from fairlead.sim.traces.jobs_of_trace import CUT_OFF, jobs_of_trace
from fairlead.sim.traces.read_rows import BROKEN_ROW, TraceTally
from fairlead.sim.traces.trace_format import first_lines
from fairlead.sim.traces.trace_job import TraceError

_Key = TypeVar("_Key")

MOST_QUEUES: Final = 20
"""Queues beyond these are only counted: they mostly have one cause."""

MOST_SIZES: Final = 3
"""Sizes of pods beyond these are only counted, for the same reason."""

LOG_FIXES: Final[Mapping[LackKind, str]] = {
    "pod": "split such jobs into smaller pods with podAtMost of the trace, or add a larger node",
    "gang": "let such jobs begin with fewer pods by gang: false of the trace, or add nodes",
    "queue": "let the queue and its parents hold more, or send such jobs to another one",
}
_BEYOND: Final[Mapping[LackKind, str]] = {
    "pod": "sizes of pods that no node holds",
    "gang": "sizes of gangs that all nodes together do not hold",
    "queue": "sizes of jobs that their queues may not hold",
}


class CheckedTrace(NamedTuple):
    """What is wrong or doubtful about a log and its jobs, and how many of these there are."""

    findings: list[Finding]
    jobs: int


def check_trace(
    work: TraceWork, offers: Sequence[Offer], room: Room, names: JobNames
) -> CheckedTrace:
    """Look at all jobs in the log of *work*.

    *room* is what bounds jobs. *names* takes notice of every job. Cost: reading it.
    """
    path, tally = Path(work.path), TraceTally()
    try:
        jobs = islice(jobs_of_trace(path, work.rules, tally), work.jobs_at_most)
        asked = _asked_for(jobs, lambda name: names.notice(name, work.name))
        wrong = list(_unknown(work, asked, offers))
    except TraceError as refused:
        problem = refused.problem.removeprefix(f"{path}: ")
        unreadable = _finding(path, "error", "unreadable", problem, refused.fix)
        return CheckedTrace([unreadable, *tally.findings], 0)
    is_empty = not asked.queues and work.jobs_at_most != 0
    if is_empty:
        message = f"found {tally.rows:,} rows, none of which gives a job"
        wrong.append(_finding(path, "error", "no-objects", message, _fix_of_none(tally)))
    wrong += _beyond_all(path, asked)
    if not wrong:
        wrong += _too_large(work, asked, room)
    left_out = _left_out(tally, "warning" if is_empty else "advice")
    given = sum([each.jobs for each in asked.queues.values()])
    return CheckedTrace([*wrong, *tally.findings, *left_out], given)


class _Asked(NamedTuple):
    """Which jobs ask for something: the first of them, and how many there are."""

    first: str
    jobs: int

    def __str__(self) -> str:
        more = f" and {self.jobs - 1:,} more" if self.jobs > 1 else ""
        return f"job {quote(self.first)}{more}"


class _Size(NamedTuple):
    """What decides whether a job can run; its gang is ``pods`` of ``requests`` each."""

    queue: str
    pods: int
    requests: tuple[tuple[str, int], ...]


class _AskedFor(NamedTuple):
    queues: Mapping[str, _Asked]
    sizes: Mapping[_Size, _Asked]

    def resources(self) -> dict[str, _Asked]:
        """Return the jobs that request each resource."""
        found: dict[str, _Asked] = {}
        for size, asked in self.sizes.items():
            for resource, _ in size.requests:
                _add(found, resource, asked)
        return found


def _add(found: dict[_Key, _Asked], key: _Key, asked: _Asked) -> None:
    before = found.get(key)
    jobs = asked.jobs + (0 if before is None else before.jobs)
    found[key] = _Asked((before or asked).first, jobs)


def _asked_for(jobs: Iterable[Job], notice: Callable[[str], None]) -> _AskedFor:
    first_of: dict[tuple[str, int, tuple[tuple[str, int], ...]], str] = {}
    counts: Counter[tuple[str, int, tuple[tuple[str, int], ...]]] = Counter()
    for job in jobs:
        name = job.name
        notice(name)
        # A plain tuple: logs are long, and have few sizes.
        size = job.queue, job.min_pods, tuple(job.requests.items())
        first_of.setdefault(size, name)
        counts[size] += 1
    sizes = {_Size(*size): _Asked(first, counts[size]) for size, first in first_of.items()}
    queues: dict[str, _Asked] = {}
    for size, asked in sizes.items():  # in the order of their first jobs
        _add(queues, size.queue, asked)
    return _AskedFor(queues, sizes)


def _beyond_all(path: Path, asked: _AskedFor) -> Iterator[Finding]:
    """Report the first pod of each resource that requests more than there can be.

    No row does, but what a trace does not say may be counted for each GPU of a large job.
    """
    reported: set[str] = set()
    for size, each in asked.sizes.items():
        for resource, amount in size.requests:
            if amount > MOST_BASE_UNITS and resource not in reported:
                reported.add(resource)
                message = f"found a pod with {amount:.1e} of {quote(resource)} in {each}, "
                fix = "write less in missing of the trace"
                yield _finding(path, "error", "out-of-range", message + MORE_THAN_ANY, fix)


def _too_large(work: TraceWork, asked: _AskedFor, room: Room) -> Iterator[Finding]:
    """Report the first jobs that can never run, and how many more sizes there are."""
    path, preemptible = Path(work.path), work.rules.preemptible
    lacking: dict[Lack, _Asked] = {}
    for size, each in asked.sizes.items():
        gang = Gang(dict(size.requests), size.pods, preemptible=preemptible)
        for lack in room.lacks(gang, [size.queue]):
            _add(lacking, lack, each)
    for kind, fix in LOG_FIXES.items():
        found = [(lack, each) for lack, each in lacking.items() if lack.kind == kind]
        for lack, each in found[:MOST_SIZES]:
            message = f"found {lack.what} in {each}: {lack.waits}"
            yield _finding(path, "warning", "unusable", message, fix)
        if len(found) > MOST_SIZES:
            message = f"found {len(found) - MOST_SIZES:,} more {_BEYOND[kind]}"
            yield _finding(path, "warning", "unusable", message, "see the findings above")


def _unknown(work: TraceWork, asked: _AskedFor, offers: Sequence[Offer]) -> Iterator[Finding]:
    """Report what jobs request in vain; the first rule set that lacks something is enough."""
    path = Path(work.path)
    of_resources = asked.resources()
    for offer in offers:
        queues = sorted(name for name in asked.queues if name not in offer.queues)
        resources = sorted(name for name in of_resources if name not in offer.resources)
        lines = first_lines(path, work.rules, queues) if queues else {}
        for name in queues[:MOST_QUEUES]:
            message = f"found the queue {quote(name)} of {asked.queues[name]}, "
            message += "which does not exist or runs no jobs"
            hint = did_you_mean(name, offer.queues)
            fix = "name another in queues of the trace (named, others), or add it to the queues"
            fix = f"{hint} {fix}" if hint else fix
            yield _finding(path, "error", "missing-reference", message, fix, lines.get(name))
        if len(queues) > MOST_QUEUES:
            message = f"found {len(queues) - MOST_QUEUES:,} more queues that do not exist"
            yield _finding(path, "error", "missing-reference", message, "see the findings above")
        for name in resources:
            message = f"found {quote(name)} in {of_resources[name]}, which no node has"
            others = f", or let jobs ask for {', '.join(offer.resources)}"
            fix = "give it to nodes" + (others if offer.resources else "")
            yield _finding(path, "error", "missing-reference", message, fix)
        if queues or resources:
            return


def _fix_of_none(tally: TraceTally) -> str:
    """Return what helps where no row gives a job: what is not cut off has a finding of its own."""
    kinds = {why in CUT_OFF for why, count in tally.dropped.items() if count}
    if kinds == {True} and not tally.broken:
        return "cut off less"
    see = "see below why they give none"
    return f"cut off less, or {see}" if True in kinds else see


def _left_out(tally: TraceTally, severity: Severity) -> Iterator[Finding]:
    path = Path(tally.file)
    if tally.broken > len(tally.findings):
        message = f"found {tally.broken:,} broken rows of {tally.rows:,}, which are left out"
        yield _finding(path, "warning", BROKEN_ROW, message, "correct them; the first are listed")
    for why, count in sorted(tally.dropped.items()):
        if count and why not in CUT_OFF:
            message = f"found {count:,} of {tally.rows:,} rows that give no job: they {why}"
            yield _finding(path, severity, "dropped-rows", message, "see whether that is meant")


def _finding(
    path: Path, severity: Severity, code: str, message: str, fix: str, line: int | None = None
) -> Finding:
    return Finding(
        severity=severity, code=code, file=str(path), line=line, message=message, fix=fix
    )
