"""Who may not even queue up, and why: before any quota is looked at."""

from collections.abc import Iterator
from typing import Final

from fairlead.model.axes import QueueName
from fairlead.model.catalogue import LocalQueue
from fairlead.model.plan import Reason
from fairlead.model.queue import ClusterQueue
from fairlead.model.state import ClusterState
from fairlead.model.workload import KueueWorkload, Workload
from fairlead.policy.kueue.workload_facts import local_queue_name

DEACTIVATED: Final = "Deactivated"
MISCONFIGURED: Final = "Misconfigured"
SUSPENDED: Final = "Suspended"
BACK_OFF: Final = "BackOff"
UNSUPPORTED: Final = "UnsupportedConstraint"
_TOPOLOGY: Final = "topologyRequest"


class Door:
    """Looks at workloads of one state at one moment."""

    def __init__(self, state: ClusterState, now_ms: int) -> None:
        """Look at nothing yet."""
        self._state = state
        self._now_ms = now_ms
        self.looked_at_the_clock = False  # somebody may queue up later, with nothing else changed

    def refusal(self, workload: Workload) -> Reason | None:
        """Return why *workload* is kept out; None if it may queue up."""
        return next(self._refusals(workload), None)

    def _refusals(self, workload: Workload) -> Iterator[Reason]:
        """Yield what speaks against it: its owner, then its queues, then what it asks for."""
        if not workload.active:
            yield Reason(code=DEACTIVATED)
        extension = workload.extension
        assert isinstance(extension, KueueWorkload), workload.name
        yield from self._of_local_queue(workload, extension)
        yield from self._of_cluster_queue(workload)
        yield from self._of_time(extension)
        unsupported = {
            name for pod_set in workload.pod_sets for name in pod_set.constraints.unsupported
        }
        if _TOPOLOGY in unsupported:  # the others are about nodes, which Kueue does not choose
            yield Reason(code=UNSUPPORTED, names=(_TOPOLOGY,))

    def _of_local_queue(self, workload: Workload, extension: KueueWorkload) -> Iterator[Reason]:
        local = self.local_queue(workload)
        if local is not None:
            if local.stopped or local.drained:
                yield Reason(code=SUSPENDED, queue=QueueName(f"{local.namespace}/{local.name}"))
        elif not extension.local_queue:
            yield misconfigured("it names no LocalQueue")
        else:
            yield misconfigured(f"LocalQueue {local_queue_name(workload)} does not exist")

    def local_queue(self, workload: Workload) -> LocalQueue | None:
        """Return the LocalQueue that *workload* came through, if it is there."""
        return self._state.catalogue.local_queues.get(local_queue_name(workload))

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

    def _of_time(self, extension: KueueWorkload) -> Iterator[Reason]:
        until_ms = extension.back_off_until_ms
        if until_ms is not None and until_ms > self._now_ms:
            self.looked_at_the_clock = True
            yield Reason(code=BACK_OFF, remaining_ms=until_ms - self._now_ms)


def is_active(state: ClusterState, rules: ClusterQueue) -> bool:
    """Return whether a ClusterQueue takes part at all: it is not stopped, and has its flavors."""
    return rules.stop_policy == "None" and not _missing_flavors(state, rules)


def _missing_flavors(state: ClusterState, rules: ClusterQueue) -> list[str]:
    """Return the flavors that are named and not there, if anything is known of flavors."""
    known = state.catalogue.flavors
    named = [name for group in rules.resource_groups for name in group.flavors]
    return [name for name in named if known and name not in known]


def misconfigured(what: str) -> Reason:
    """Return that *what* is wrong with the objects, so that the workload cannot be admitted."""
    return Reason(code=MISCONFIGURED, names=(what,))
