"""A scenario that was read and checked, and the questions that can be asked of it."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from fairlead.errors import SimulationError
from fairlead.manifest.text.path import quote
from fairlead.manifest.text.suggest import did_you_mean
from fairlead.model.state import ClusterState
from fairlead.policy.contract import POLICY_NAMES, PolicyName
from fairlead.sim.scenario.form.scenario_form import PolicyForm, SpecForm
from fairlead.sim.scenario.work_part import JobList, TraceWork, WorkPart
from fairlead.sim.work.description import Backlog, expected_jobs


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
    """Return those of *names* that are of rule sets: a scenario can be read under them as well."""
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
