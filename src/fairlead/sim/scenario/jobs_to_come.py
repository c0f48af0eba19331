"""How many jobs a run will have, so that somebody who waits for it sees how far it is."""

from fairlead.sim.scenario.scenario import Scenario
from fairlead.sim.scenario.work_part import JobList, TraceWork, WorkPart
from fairlead.sim.work.description import Backlog
from fairlead.sim.work.expected_jobs import expected_jobs


def jobs_to_come(scenario: Scenario) -> int | None:
    """Return how many jobs all sources of *scenario* submit, by the mean where chance decides.

    None: one of them has no end, or others decide when it ends. Logs are not read again, so it is
    as many jobs as they had when they were checked. Cost: none to speak of.
    """
    counts = [_jobs_of(part, scenario) for part in scenario.work]
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def _jobs_of(part: WorkPart, scenario: Scenario) -> int | None:
    match part:
        case JobList(jobs=jobs):
            return len(jobs)
        case TraceWork(name=name):
            return scenario.log_jobs.get(name)
        case Backlog():
            return part.jobs_at_most if part.until_ms is None else None
        case _:
            return expected_jobs(part, scenario.spec.duration_ms)
