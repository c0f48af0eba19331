"""What an order is on the server, and how to find out whether it took effect.

Pods are bound and evicted one by one. Under Kueue's rules an order is one write of the status of a
Workload. What rule sets want to remember is written to the objects too, as a wish: nothing depends
on it while the scheduler runs.
"""

from collections.abc import Mapping
from functools import partial
from typing import Final, NamedTuple, Protocol

from fairlead.model.axes import WorkloadName
from fairlead.model.events import MemoryChanged
from fairlead.model.execution.executor import Order
from fairlead.model.memory import KaiMemory
from fairlead.model.plan import Decision, Reserve, Start
from fairlead.model.workload import PodId
from tests.manifest.translate.api_server import (
    POD,
    ApiServer,
    Key,
    Object,
    condition,
    is_terminating,
    timestamp,
)
from tests.manifest.translate.kai_world import GPU_GROUP
from tests.manifest.translate.kai_world import GROUP as KAI_GROUP
from tests.manifest.translate.kueue_world import WORKLOAD, admit, holds

_STALE: Final = "kai.scheduler/stale-podgroup-timestamp"


class Done(NamedTuple):
    """What the server did as it was asked to; the object as it is then, if it is still there."""

    value: Object | None


class Acts(Protocol):
    """How a rule set's orders are carried out."""

    def pieces(self, order: Order) -> list[tuple[PodId, ...]]:
        """Return the pods of an order in the parts that have an outcome each."""

    def carry_out(self, order: Order, pods: tuple[PodId, ...]) -> Done | None:
        """Do it; None if the server refuses."""

    def has_effect(self, order: Order, pod: PodId) -> bool:
        """Return whether the server shows what was ordered."""

    def write_down(self, decision: Decision) -> list[Object]:
        """Write what a decision leaves to be remembered; return the objects as they are then."""

    def write_memory(self, memory: MemoryChanged) -> list[Object]:
        """Write what a plan leaves to be remembered; return the objects as they are then."""


class PodActs:
    """Orders about pods, which are known by their uids."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server

    def pieces(self, order: Order) -> list[tuple[PodId, ...]]:
        return [(pod,) for pod in order.pods()]

    def carry_out(self, order: Order, pods: tuple[PodId, ...]) -> Done | None:
        uid = pods[0]
        if order.verb == "evict":
            return Done(self._server.evict(uid))  # a pod that is not there has left
        place = next(each for each in order.placements if each.pod == uid)
        devices = place.share.devices if place.share else ()

        def mark(pod: Object) -> None:
            labels = pod["metadata"]["labels"]
            if len(devices) == 1:
                labels[GPU_GROUP] = f"g{devices[0]}"
            for device in devices if len(devices) > 1 else ():
                labels[f"{GPU_GROUP}/g{device}"] = f"g{device}"

        bound = self._server.bind(uid, place.node or "", mark)
        return None if bound is None else Done(bound)

    def has_effect(self, order: Order, pod: PodId) -> bool:
        key = self._server.by_uid(POD, pod)
        if order.verb == "evict":
            return key is None or is_terminating(self._server.objects[key])
        place = next(each for each in order.placements if each.pod == pod)
        return key is not None and self._server.objects[key]["spec"].get("nodeName") == place.node

    def write_down(self, decision: Decision) -> list[Object]:
        """Nominate the pods of a reservation; KAI has none that lasts."""
        if not isinstance(decision, Reserve):
            return []
        written = []
        for place in decision.placements:
            key = self._server.by_uid(POD, place.pod)
            if key is not None:
                written.append(self._server.update(key, partial(_nominate, node=place.node)))
        return written

    def write_memory(self, memory: MemoryChanged) -> list[Object]:
        """Note on a KAI PodGroup since when it runs with too few pods."""
        namespace, _, name = memory.workload.partition("/")
        key = Key(KAI_GROUP, namespace, name)
        if key not in self._server.objects:
            return []
        remembered = memory.memory
        since_ms = remembered.stale_since_ms if isinstance(remembered, KaiMemory) else None

        def noted(group: Object) -> None:
            annotations = group["metadata"].setdefault("annotations", {})
            annotations.pop(_STALE, None)
            if since_ms is not None:
                annotations[_STALE] = timestamp(since_ms)

        return [self._server.update(key, noted)]


class WorkloadActs:
    """Orders about Kueue's Workloads, of which *seen* has the versions that were told of."""

    def __init__(self, server: ApiServer, seen: Mapping[Key, Object]) -> None:
        self._server = server
        self._seen = seen
        self._uids: dict[int, str] = {}  # of the workload of each order

    def pieces(self, order: Order) -> list[tuple[PodId, ...]]:
        seen = self._seen.get(_key(order.workload))
        self._uids[order.number] = seen["metadata"]["uid"] if seen else ""
        return [order.pods()]

    def carry_out(self, order: Order, pods: tuple[PodId, ...]) -> Done | None:
        workload = self._of(order)
        key = _key(order.workload)
        if workload is None:
            return None
        now_ms = self._server.now_ms
        if order.verb == "evict":

            def evicted(value: Object) -> None:
                condition(value, "Evicted", "True", now_ms, "Preempted")
                condition(value, "Preempted", "True", now_ms, "InClusterQueue")

            return Done(self._server.update(key, evicted)) if _is_admitted(workload) else None
        if _is_admitted(workload) or holds(workload, "Finished"):
            return None
        names = [pod.rpartition("-")[0] for pod in pods]
        counts = {name: names.count(name) for name in names}
        decision = order.decision
        assert isinstance(decision, Start)
        queue, flavors = str(decision.charged[0]), decision.flavors
        admitted = partial(admit, queue=queue, flavors=flavors, counts=counts, now_ms=now_ms)
        return Done(self._server.update(key, admitted))

    def has_effect(self, order: Order, pod: PodId) -> bool:
        workload = self._of(order)
        is_admitted = workload is not None and _is_admitted(workload)
        if order.verb == "evict":
            return not is_admitted or holds(workload or {}, "Evicted")
        if workload is None or not is_admitted:
            return False
        name, _, number = pod.rpartition("-")
        assignments = workload["status"]["admission"]["podSetAssignments"]
        return any(each["name"] == name and int(number) < each["count"] for each in assignments)

    def write_down(self, decision: Decision) -> list[Object]:
        """Note that a workload waits for others that give way to it."""
        key = _key(decision.workload)
        workload = self._server.objects.get(key)
        if not isinstance(decision, Reserve) or workload is None or _is_admitted(workload):
            return []
        at_ms, reason = self._server.now_ms, "WaitingForPreemptedWorkloads"
        return [
            self._server.update(
                key, lambda value: condition(value, "QuotaReserved", "False", at_ms, reason)
            )
        ]

    # The other rule sets write the memory to their objects.
    def write_memory(self, memory: MemoryChanged) -> list[Object]:  # noqa: ARG002
        """Write nothing: what Kueue's rules remember follows from their decisions."""
        return []

    def _of(self, order: Order) -> Object | None:
        """Return the workload of an order, if it is still the same object."""
        found = self._server.objects.get(_key(order.workload))
        is_same = found is not None and found["metadata"]["uid"] == self._uids[order.number]
        return found if is_same else None


def _nominate(pod: Object, node: str | None) -> None:
    pod["status"]["nominatedNodeName"] = node or ""


def _key(workload: WorkloadName) -> Key:
    namespace, _, name = workload.partition("/")
    return Key(WORKLOAD, namespace, name)


def _is_admitted(workload: Object) -> bool:
    return "admission" in workload["status"] and holds(workload, "QuotaReserved")
