"""A scenario that was read and checked: its variants, and its work with the sources of its jobs.

Descriptions of work count from the start of the simulation, but the simulation has a date.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from fairlead.errors import SimulationError
from fairlead.manifest.text.path import quote
from fairlead.manifest.text.suggest import did_you_mean
from fairlead.model.state import ClusterState
from fairlead.policy.contract import POLICY_NAMES, PolicyName
from fairlead.sim.engine.job import Job
from fairlead.sim.scenario.form.scenario_form import PolicyForm, SpecForm
from fairlead.sim.traces.jobs_of_trace import jobs_of_trace
from fairlead.sim.traces.trace_rules import TraceRules
from fairlead.sim.work.arrivals import At
from fairlead.sim.work.description import ArrivingWork, Backlog, expected_jobs
from fairlead.sim.work.source import WorkSource, make_source


class JobList(msgspec.Struct, frozen=True, kw_only=True, tag="jobs"):
    """Jobs that the scenario lists, in the order of submission."""

    name: str
    jobs: tuple[Job, ...]


class TraceWork(msgspec.Struct, frozen=True, kw_only=True, tag="trace"):
    """Jobs of a log."""

    name: str
    path: str
    rules: TraceRules
    jobs_at_most: int | None = None


WorkPart: TypeAlias = ArrivingWork | Backlog | JobList | TraceWork


def is_endless(part: WorkPart) -> bool:
    """Return whether a simulation of *part* alone would never be over."""
    match part:
        case JobList(jobs=jobs):
            return any(job.run_ms is None for job in jobs)
        case TraceWork():
            return False
        case _:
            runs_on = any(shape.run_ms is None for shape in part.shapes)
            return runs_on or (part.jobs_at_most is None and not _has_end(part))


def _has_end(part: ArrivingWork | Backlog) -> bool:
    match part:
        case ArrivingWork(arrivals=At()):
            return True
        case ArrivingWork(arrivals=arrivals):
            return not isinstance(arrivals, At) and arrivals.until_ms is not None
        case Backlog():
            return part.until_ms is not None


def _listed(work: JobList, start_ms: int) -> Iterator[Job]:
    replace = msgspec.structs.replace
    return (replace(job, submit_ms=job.submit_ms + start_ms) for job in work.jobs)


def _logged(work: TraceWork, start_ms: int) -> Iterator[Job]:
    """Read the log anew. Raises `TraceError` if it cannot be used."""
    return islice(jobs_of_trace(Path(work.path), work.rules, later_ms=start_ms), work.jobs_at_most)


def source_of(part: WorkPart, seed: int, start_ms: int) -> WorkSource:
    """Return the source of *part*; only the arguments, and the log of a trace, decide."""
    match part:
        case JobList():
            return WorkSource(part.name, partial(_listed, part, start_ms))
        case TraceWork():
            return WorkSource(part.name, partial(_logged, part, start_ms))
        case _:
            return make_source(part, seed, start_ms)


class Variant(msgspec.Struct, frozen=True, kw_only=True):
    """Rules under which the work is run."""

    name: str
    policy: PolicyName
    form: PolicyForm


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """What to simulate. Plain data: it can be sent to another process."""

    name: str
    file: str
    folder: str  # paths in the file are seen from it
    spec: SpecForm
    variants: tuple[Variant, ...]
    work: tuple[WorkPart, ...]
    log_jobs: dict[str, int] = {}  # how many jobs each log gave when it was checked, by source
    overrides: dict[str, Any] = {}  # settings of rule sets that were changed, by name

    @property
    def by_name(self) -> Mapping[str, Variant]:
        """The variants by name."""
        return {variant.name: variant for variant in self.variants}


def rule_sets(names: Sequence[str]) -> tuple[PolicyName, ...]:
    """Return the rule sets among *names*: a scenario can be read under them as well."""
    return tuple(policy for policy in POLICY_NAMES if policy in names)


def choose_variants(scenario: Scenario, names: Sequence[str]) -> tuple[Variant, ...]:
    """Return the variants that *names* mean, in their order; without names all of them.

    A name is that of a variant, or else of a rule set: then it means all variants of it. Raises
    `SimulationError` for one that is neither.
    """
    if not names:
        return scenario.variants
    chosen: dict[str, Variant] = {}
    for name in names:
        found = [scenario.by_name[name]] if name in scenario.by_name else []
        found = found or [each for each in scenario.variants if each.policy == name]
        if not found:
            known = dict.fromkeys((*scenario.by_name, *POLICY_NAMES))
            hint = did_you_mean(name, known) or f"expected one of: {', '.join(known)}"
            raise SimulationError(f"found the policy {quote(name)}; {hint}")
        chosen |= {each.name: each for each in found}
    return tuple(chosen.values())


def measured_queues(scenario: Scenario, state: ClusterState) -> dict[str, str | None]:
    """Return the parent of each queue, in the order of names; None: it is at the top."""
    if scenario.spec.queues:
        parents = {queue.name: queue.parent for queue in scenario.spec.queues}
    else:
        parents = {str(name): queue.parent for name, queue in state.queues.items()}
    return {name: parent if parent in parents else None for name, parent in sorted(parents.items())}


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
