"""What in a scenario can be simulated and would mislead: fields and amounts without effect."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from fairlead.manifest.text.path import Path, quote
from fairlead.manifest.text.suggest import did_you_mean
from fairlead.model.quantity import is_gpu
from fairlead.policy.contract import PolicyName
from fairlead.sim.scenario.form.fields import as_written, full_name, full_names
from fairlead.sim.scenario.form.scenario_form import QueueForm, SpecForm
from fairlead.sim.scenario.form.work_form import WorkForm, written_jobs
from fairlead.sim.scenario.variant.nodes import most_capacity
from fairlead.sim.scenario.variant.queue_tree import QUEUES, QueueTree


class Doubt(NamedTuple):
    """Where it stands, its code, what was found, and how to mend it: a warning."""

    path: Path
    code: str
    message: str
    fix: str


_PODS: Final = "pods"
"""Every node takes some, whether it says how many or not."""


def quotas_of_nothing(spec: SpecForm) -> Iterator[Doubt]:
    """Tell the amounts of inline queues that are of nothing that the nodes beside them have."""
    known = most_capacity(spec.cluster)
    for place, queue in enumerate(spec.queues):
        path = (*QUEUES, place)
        yield from _of_nothing((*path, "guaranteed"), queue.guaranteed, known)
        yield from _of_nothing((*path, "limit"), queue.limit, known)
        yield from _of_nothing((*path, "borrowLimit"), queue.borrow_limit, known)
        yield from _of_nothing((*path, "lendLimit"), queue.lend_limit, known)


def pods_of_nothing(work: Sequence[WorkForm], known: Collection[str]) -> Iterator[Doubt]:
    """Tell where pods of logs have at most so much of what is not *known* of nodes."""
    for place, source in enumerate(work):
        if source.trace is not None:
            path: Path = ("spec", "work", place, "trace", "podAtMost")
            yield from _of_nothing(path, source.trace.pod_at_most, known)


def _of_nothing(
    path: Path, amounts: Mapping[str, int] | None, known: Collection[str]
) -> Iterator[Doubt]:
    there = sorted(set(known) - {_PODS})
    for written in amounts or ():
        if full_name(written) not in known and written != _PODS:
            message = f"found {quote(written)}, which no node ever has: it has no effect"
            named = f"name {', '.join(there)}" if there else "add it to the capacity of nodes"
            fix = did_you_mean(written, as_written(there)) or named
            yield Doubt((*path, written), "missing-reference", message, fix)


_GIVEN: Final[Mapping[str, Callable[[QueueForm], bool]]] = {
    "weight": lambda queue: queue.weight != 1,
    "priority": lambda queue: queue.priority is not None,
    "lendLimit": lambda queue: queue.lend_limit is not None,
    "minRuntime": lambda queue: queue.min_runtime_ms is not None,
}
_INEXPRESSIBLE: Final[Mapping[PolicyName, tuple[str, ...]]] = {
    "kai": ("lendLimit",),
    "kueue": ("priority", "minRuntime"),
    "elastic-quota": ("weight", "priority", "lendLimit", "minRuntime"),
}


def inexpressible(tree: QueueTree, policy: PolicyName) -> Iterator[tuple[Path, str]]:
    """Yield where the first field of each kind stands that *policy* has none for, and why."""
    for field in _INEXPRESSIBLE[policy]:
        given = [queue for queue in tree.queues if _GIVEN[field](queue)]
        if given:
            message = f"found {field} in {_count(given)}, which has no effect under {policy}"
            yield (*tree.path(given[0]), field), message
    if policy == "elastic-quota":
        yield from _inner_queues(tree)
    if policy == "kai":
        yield from _other_resources(tree)


def _inner_queues(tree: QueueTree) -> Iterator[tuple[Path, str]]:
    """Tell that quotas form no tree."""
    inner = [queue for queue in tree.queues if not tree.is_leaf(queue)]
    if inner:
        message = f"found {_count(inner)} with others below, of which elastic-quota knows nothing"
        yield tree.path(inner[0]), message


def _other_resources(tree: QueueTree) -> Iterator[tuple[Path, str]]:
    """Tell that KAI's queues have cpu, memory and GPUs only; not of what no node has."""
    for queue in tree.queues:
        fields = (queue.guaranteed, queue.limit, queue.borrow_limit)
        for name in (name for amounts in fields for name in full_names(amounts)):
            if name in tree.most and name not in ("cpu", "memory") and not is_gpu(name):
                yield tree.path(queue), f"found {name}, which queues under kai have no quota of"
                return


def _count(queues: list[QueueForm]) -> str:
    return "1 queue" if len(queues) == 1 else f"{len(queues)} queues"


def evicted_all_the_same(work: Sequence[WorkForm], policy: PolicyName) -> Iterator[Doubt]:
    """Tell where the first ``preemptible: false`` stands, if *policy* does not know such jobs."""
    if policy == "kai":
        return
    paths = list(_kept_jobs(work))
    if paths:
        told = "preemptible: false" + ("" if len(paths) == 1 else f" in {len(paths):,} places")
        message = f"found {told}, which has no effect under {policy}: "
        message += "such jobs are evicted as all others are"
        fix = f"remove it, or do not compare by it under {policy}"
        yield Doubt(paths[0], "no-effect", message, fix)


def _kept_jobs(work: Sequence[WorkForm]) -> Iterator[Path]:
    """Yield where it stands, of logs last."""
    for path, job in written_jobs(work):
        if not job.preemptible:
            yield (*path, "preemptible")
    for place, source in enumerate(work):
        if source.trace is not None and not source.trace.preemptible:
            yield ("spec", "work", place, "trace", "preemptible")
