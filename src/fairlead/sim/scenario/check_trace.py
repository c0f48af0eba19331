"""Whether the jobs of a log can run on the cluster of a scenario, before any of them does.

A job for a queue that does not exist would otherwise be met in the middle of a run, and rows that
give no job would be missed by nobody.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from fairlead.errors import Finding, Severity
from fairlead.manifest.text.path import quote
from fairlead.manifest.text.suggest import did_you_mean
from fairlead.sim.job import Job
from fairlead.sim.scenario.work_part import TraceWork
from fairlead.sim.traces.first_lines import first_lines
from fairlead.sim.traces.jobs_of_trace import CUT_OFF, jobs_of_trace
from fairlead.sim.traces.tally import BROKEN_ROW, TraceTally
from fairlead.sim.traces.trace_error import TraceError

MOST_QUEUES: Final = 20
"""Queues beyond these are only counted: they mostly have one cause."""


class Offer(NamedTuple):
    """What jobs can ask for under one rule set."""

    queues: set[str]
    resources: tuple[str, ...]


def trace_findings(work: TraceWork, offers: Sequence[Offer]) -> list[Finding]:
    """Return all that is wrong or doubtful about the log of *work*, and about its jobs.

    Cost: reading it.
    """
    path, tally = Path(work.path), TraceTally()
    try:
        jobs = islice(jobs_of_trace(path, work.rules, tally), work.jobs_at_most)
        asked = _asked_for(jobs)
        wrong = list(_unknown(work, asked, offers))
    except TraceError as refused:
        problem = refused.problem.removeprefix(f"{path}: ")
        return [_finding(path, "error", "unreadable", problem, refused.fix), *tally.findings]
    if not asked.queues and work.jobs_at_most != 0:
        message = f"found {tally.rows:,} rows, none of which gives a job"
        fix = "cut off less, or see below why they are dropped"
        wrong.append(_finding(path, "error", "no-objects", message, fix))
    return [*wrong, *tally.findings, *_left_out(tally)]


class _Asked(NamedTuple):
    """Which jobs ask for something: the first of them, and how many there are."""

    first: str
    jobs: int

    def __str__(self) -> str:
        more = f" and {self.jobs - 1:,} more" if self.jobs > 1 else ""
        return f"job {quote(self.first)}{more}"


class _AskedFor(NamedTuple):
    queues: Mapping[str, _Asked]
    resources: Mapping[str, _Asked]


def _asked_for(jobs: Iterable[Job]) -> _AskedFor:
    first_in: dict[str, str] = {}
    first_of: dict[str, str] = {}
    in_queues: Counter[str] = Counter()
    of_resources: Counter[str] = Counter()
    for job in jobs:
        first_in.setdefault(job.queue, job.name)
        in_queues[job.queue] += 1
        for resource in job.requests:
            first_of.setdefault(resource, job.name)
            of_resources[resource] += 1
    return _AskedFor(
        {name: _Asked(first, in_queues[name]) for name, first in first_in.items()},
        {name: _Asked(first, of_resources[name]) for name, first in first_of.items()},
    )


def _unknown(work: TraceWork, asked: _AskedFor, offers: Sequence[Offer]) -> Iterator[Finding]:
    """Tell what jobs ask for in vain; the first rule set that lacks something is enough."""
    path = Path(work.path)
    for offer in offers:
        queues = sorted(name for name in asked.queues if name not in offer.queues)
        resources = sorted(name for name in asked.resources if name not in offer.resources)
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
            yield _finding(path, "error", "missing-reference", message, "see those above")
        for name in resources:
            message = f"found {quote(name)} in {asked.resources[name]}, which no node has"
            fix = f"give it to nodes, or let jobs ask for {', '.join(offer.resources)}"
            yield _finding(path, "error", "missing-reference", message, fix)
        if queues or resources:
            return


def _left_out(tally: TraceTally) -> Iterator[Finding]:
    path = Path(tally.file)
    if tally.broken > len(tally.findings):
        message = f"found {tally.broken:,} broken rows of {tally.rows:,}, which are left out"
        yield _finding(path, "warning", BROKEN_ROW, message, "correct them; the first are told")
    for why, count in sorted(tally.dropped.items()):
        if count and why not in CUT_OFF:
            message = f"found {count:,} of {tally.rows:,} rows that give no job: they {why}"
            yield _finding(path, "advice", "dropped-rows", message, "see whether that is meant")


def _finding(
    path: Path, severity: Severity, code: str, message: str, fix: str, line: int | None = None
) -> Finding:
    return Finding(
        severity=severity, code=code, file=str(path), line=line, message=message, fix=fix
    )
