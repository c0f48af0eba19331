"""What in a scenario can be simulated and would mislead: fields and amounts without effect."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final

from fairlead.manifest.text.path import Path, quote
from fairlead.manifest.text.suggest import did_you_mean
from fairlead.sim.fields import as_written, short_name
from fairlead.sim.scenario.form.scenario_form import QueueForm, SpecForm
from fairlead.sim.scenario.form.work_form import WorkForm, written_jobs
from fairlead.sim.scenario.rule_set import RuleSet, ScenarioWarning
from fairlead.sim.scenario.variant.nodes import most_capacity
from fairlead.sim.scenario.variant.queue_tree import QUEUES, QueueTree, counted

_PODS: Final = "pods"
"""Every node takes some, whether it says how many or not."""


def quotas_of_nothing(spec: SpecForm) -> Iterator[ScenarioWarning]:
    """Yield amounts of inline queues of resources that no node ever has."""
    known = most_capacity(spec.cluster)
    for place, queue in enumerate(spec.queues):
        path = (*QUEUES, place)
        yield from _of_nothing((*path, "guaranteed"), queue.guaranteed, known)
        yield from _of_nothing((*path, "limit"), queue.limit, known)
        yield from _of_nothing((*path, "borrowLimit"), queue.borrow_limit, known)
        yield from _of_nothing((*path, "lendLimit"), queue.lend_limit, known)


def pods_of_nothing(work: Sequence[WorkForm], known: Collection[str]) -> Iterator[ScenarioWarning]:
    """Yield the ``podAtMost`` of logs whose resources are not *known* of nodes."""
    for place, source in enumerate(work):
        if source.trace is not None:
            path: Path = ("spec", "work", place, "trace", "podAtMost")
            yield from _of_nothing(path, source.trace.pod_at_most, known)


def _of_nothing(
    path: Path, amounts: Mapping[str, int] | None, known: Collection[str]
) -> Iterator[ScenarioWarning]:
    there = sorted(set(known) - {_PODS})
    for resource in amounts or ():
        if resource not in known and resource != _PODS:
            written = short_name(resource)
            message = f"found {quote(written)}, which no node ever has: it has no effect"
            named = f"name {', '.join(there)}" if there else "add it to the capacity of nodes"
            fix = did_you_mean(written, as_written(there)) or named
            yield ScenarioWarning((*path, written), "missing-reference", message, fix)


_GIVEN: Final[Mapping[str, Callable[[QueueForm], bool]]] = {
    "weight": lambda queue: queue.weight != 1,
    "priority": lambda queue: queue.priority is not None,
    "lendLimit": lambda queue: queue.lend_limit is not None,
    "minRuntime": lambda queue: queue.min_runtime_ms is not None,
}


def inexpressible(tree: QueueTree, rule_set: RuleSet) -> Iterator[tuple[Path, str]]:
    """Yield where the first field of each kind stands that *rule_set* has none for, and why."""
    for field in rule_set.fields_without_effect:
        queues = [queue for queue in tree.queues if _GIVEN[field](queue)]
        if queues:
            count = counted(len(queues), "queue")
            message = f"found {field} in {count}, which has no effect under {rule_set.name}"
            yield (*tree.path(queues[0]), field), message
    yield from rule_set.queue_advice(tree)


def evicted_all_the_same(work: Sequence[WorkForm], rule_set: RuleSet) -> Iterator[ScenarioWarning]:
    """Yield the first ``preemptible: false``, if *rule_set* evicts such jobs all the same."""
    if rule_set.keeps_non_preemptible:
        return
    policy = rule_set.name
    paths = list(_kept_jobs(work))
    if paths:
        field = "preemptible: false" + ("" if len(paths) == 1 else f" in {len(paths):,} places")
        message = f"found {field}, which has no effect under {policy}: "
        message += "such jobs are evicted as all others are"
        fix = f"remove it, or do not compare by it under {policy}"
        yield ScenarioWarning(paths[0], "no-effect", message, fix)


def _kept_jobs(work: Sequence[WorkForm]) -> Iterator[Path]:
    """Yield where it stands, of logs last."""
    for path, job in written_jobs(work):
        if not job.preemptible:
            yield (*path, "preemptible")
    for place, source in enumerate(work):
        if source.trace is not None and not source.trace.preemptible:
            yield ("spec", "work", place, "trace", "preemptible")
