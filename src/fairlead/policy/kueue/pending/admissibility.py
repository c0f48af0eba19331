"""Which workloads may not queue, and which admitted ones must leave, before quota is looked at."""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.holds import HELD_AFTER_FAILURE
from fairlead.model.plan import Evict, Reason
from fairlead.model.queue import ClusterQueue
from fairlead.model.state import ClusterState
from fairlead.model.workload import KueueWorkload, Workload
from fairlead.policy.kueue.workloads import local_queue_name
from fairlead.policy.obstacles import UNSUPPORTED_CONSTRAINT, obstacle_reason

DEACTIVATED: Final = "Deactivated"
MISCONFIGURED: Final = "Misconfigured"
SUSPENDED: Final = "Suspended"
BACK_OFF: Final = "BackOff"
_TOPOLOGY: Final = "topologyRequest"


class Admissibility:
    """Checks workloads of one state at one moment."""

    def __init__(self, state: ClusterState, now_ms: int) -> None:
        """Check nothing yet; queues and catalogue stay as they are, *now_ms* may be set later."""
        self._state = state
        self.now_ms = now_ms
        self._known: dict[tuple[QueueName, str, str], Reason | None] = {}  # by its queues

    def inadmissible_reason(self, workload: Workload) -> Reason | None:
        """Return why *workload* may not queue; None if it may.

        In this order: an obstacle or its owner, its queues, what it requests; at last that the
        caller holds it after a failure. Other workloads pass it then, also with StrictFIFO, as they
        pass one in Kueue that backs off: it has left its queue for a while.
        """
        if not workload.active:
            return obstacle_reason(workload) or _deactivated(workload)
        extension = workload.extension
        assert isinstance(extension, KueueWorkload), workload.name
        return (
            self._of_queues(workload, extension)
            or (misconfigured(extension.misconfigured) if extension.misconfigured else None)
            or self._of_time(extension)
            or unsupported_topology(workload)
            or self._of_holds(workload)
        )

    def _of_queues(self, workload: Workload, extension: KueueWorkload) -> Reason | None:
        key = workload.queue, workload.namespace, extension.local_queue
        if key not in self._known:
            refusals = chain(
                self._of_local_queue(workload, extension), self._of_cluster_queue(workload)
            )
            self._known[key] = next(refusals, None)
        return self._known[key]

    def _of_local_queue(self, workload: Workload, extension: KueueWorkload) -> Iterator[Reason]:
        local = self._state.catalogue.local_queues.get(local_queue_name(workload))
        if local is not None:
            if local.stopped or local.drained:
                yield Reason(code=SUSPENDED, queue=QueueName(f"{local.namespace}/{local.name}"))
        elif not extension.local_queue:
            yield misconfigured("it names no LocalQueue")
        else:
            yield misconfigured(f"LocalQueue {local_queue_name(workload)} does not exist")

    def _of_cluster_queue(self, workload: Workload) -> Iterator[Reason]:
        queue = self._state.queues.get(workload.queue)
        rules = queue.extension if queue else None
        if not isinstance(rules, ClusterQueue):
            yield misconfigured(f"ClusterQueue {workload.queue} does not exist")
            return
        if rules.stop_policy != "None":
            yield Reason(code=SUSPENDED, queue=workload.queue)
        for name in _missing_flavors(self._state, rules):
            yield misconfigured(
                f"ResourceFlavor {name} of ClusterQueue {workload.queue} does not exist"
            )
        labels = self._state.catalogue.namespace_labels(workload.namespace)
        selector = rules.namespace_selector
        if selector is None or not selector.matches(labels):
            yield misconfigured(
                f"ClusterQueue {workload.queue} does not select namespace {workload.namespace}"
            )

    def _of_time(self, extension: KueueWorkload) -> Reason | None:
        until_ms = extension.back_off_until_ms
        if until_ms is None or until_ms <= self.now_ms:
            return None
        return Reason(code=BACK_OFF, remaining_ms=until_ms - self.now_ms)

    def _of_holds(self, workload: Workload) -> Reason | None:
        if workload.name not in self._state.holds.workloads:
            return None
        return Reason(code=HELD_AFTER_FAILURE, queue=workload.queue)


def unsupported_topology(workload: Workload) -> Reason | None:
    """Return that *workload* requests a topology, which Fairlead does not model; None: it does not.

    Constraints about nodes, which Kueue does not choose, do not matter.
    """
    for pod_set in workload.pod_sets:
        if _TOPOLOGY in pod_set.constraints.unsupported:
            return Reason(code=UNSUPPORTED_CONSTRAINT, names=(_TOPOLOGY,))
    return None


def _deactivated(workload: Workload, queue: QueueName | None = None) -> Reason:
    """Return who deactivated *workload*: without names its owner did."""
    extension = workload.extension
    cause = extension.deactivated_by if isinstance(extension, KueueWorkload) else ""
    return Reason(code=DEACTIVATED, queue=queue, names=(cause,) if cause else ())


def is_active(state: ClusterState, rules: ClusterQueue) -> bool:
    """Return whether a ClusterQueue takes part at all: it is not stopped, and has its flavors."""
    return rules.stop_policy == "None" and not _missing_flavors(state, rules)


def _missing_flavors(state: ClusterState, rules: ClusterQueue) -> list[str]:
    """Return the flavors that are named and do not exist, if any flavors are known."""
    known = state.catalogue.flavors
    named = [name for group in rules.resource_groups for name in group.flavors]
    return [name for name in named if known and name not in known]


def misconfigured(what: str) -> Reason:
    """Return that *what* is wrong with the objects, so that the workload cannot be admitted."""
    return Reason(code=MISCONFIGURED, names=(what,))


CLUSTER_QUEUE_STOPPED: Final = "ClusterQueueStopped"
LOCAL_QUEUE_STOPPED: Final = "LocalQueueStopped"


def drained(state: ClusterState, names: Iterable[WorkloadName]) -> list[Evict]:
    """Return which of *names* have to be evicted and are not yet, by name.

    Nor those that the caller holds as victims. Cost: a look at each.
    """
    found, held = [], state.holds.victim_workloads()
    for name in names:
        code = drain_code(state, state.workloads[name])
        if code is not None and name not in held:
            run = state.runs[name]
            staying = [pod for pod, at in run.pods.items() if at.phase != "leaving"]
            found.append((name, code, tuple(run.pod_sets.in_order(staying))))
    return [
        Evict(
            workload=name,
            pods=pods,
            beneficiary=None,
            reason=_drain_reason(state.workloads[name], code),
        )
        for name, code, pods in sorted(found)
        if pods
    ]


def _drain_reason(workload: Workload, code: str) -> Reason:
    if code == DEACTIVATED:
        return _deactivated(workload, workload.queue)
    return Reason(code=code, queue=workload.queue)


def drain_code(state: ClusterState, workload: Workload) -> str | None:
    """Return why an admitted workload has to leave without being preempted; None: it need not."""
    if not workload.active and workload.obstacle is None:  # an obstacle only prevents the start
        return DEACTIVATED
    queue = state.queues.get(workload.queue)
    rules = queue.extension if queue else None
    if isinstance(rules, ClusterQueue) and rules.stop_policy == "HoldAndDrain":
        return CLUSTER_QUEUE_STOPPED
    local = state.catalogue.local_queues.get(local_queue_name(workload))
    return LOCAL_QUEUE_STOPPED if local is not None and local.drained else None
