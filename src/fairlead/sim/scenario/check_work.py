"""Whether the work of a scenario can run on its cluster: the queues and the resources it names."""

from collections.abc import Iterator

from fairlead.manifest.text.path import Path, quote
from fairlead.manifest.text.suggest import did_you_mean
from fairlead.model.state import ClusterState
from fairlead.policy.names import PolicyName
from fairlead.sim.scenario.node_groups import Tell
from fairlead.sim.scenario.work_part import JobList, TraceWork, WorkPart
from fairlead.sim.work.name_pick import Drawn, InTurn, Names


def queues_for_jobs(state: ClusterState, policy: PolicyName) -> set[str]:
    """Return all names by which a job can say which queue it is for."""
    if policy == "kueue":
        doors = state.catalogue.local_queues.values()
        named = {f"{door.namespace}/{door.name}" for door in doors}
        return named | {door.cluster_queue for door in doors}
    return {name for name in state.queues if not state.children(name)}


def check_work(
    part: WorkPart, queues: set[str], resources: tuple[str, ...], path: Path, tell: Tell
) -> None:
    """Tell which queue or resource of *part* does not exist; a trace is checked when it runs."""
    for name, place in _queues(part):
        if name not in queues:
            message = f"found the queue {quote(name)}, which does not exist or runs no jobs"
            hint = did_you_mean(name, queues) or "name a queue with none below it"
            tell((*path, *place), "missing-reference", message, hint)
    for requests, place in _requests(part):
        for resource in requests:
            if resource not in resources:
                message = f"found {quote(resource)}, which no node has"
                hint = did_you_mean(resource, resources) or f"ask for {', '.join(resources)}"
                tell((*path, *place, "requests"), "missing-reference", message, hint)


def _queues(part: WorkPart) -> Iterator[tuple[str, Path]]:
    match part:
        case TraceWork():
            return
        case JobList(jobs=jobs):
            for name in sorted({job.queue for job in jobs}):
                yield name, ("jobs",)
        case _:
            for name in _each(part.queue):
                yield name, ("queue",)


def _each(names: Names) -> list[str]:
    match names:
        case str():
            return [names]
        case InTurn(names=listed):
            return list(listed)
        case Drawn(names=weighted):
            return [name for name, _ in weighted]


def _requests(part: WorkPart) -> Iterator[tuple[dict[str, int], Path]]:
    match part:
        case TraceWork():
            return
        case JobList(jobs=jobs):
            for job in jobs:
                yield job.requests, ("jobs",)
        case _:
            for place, shape in enumerate(part.shapes):
                yield shape.requests, ("shapes", place)
