"""Which devices pods share on each node, kept up to date node by node.

What a pod has of a device depends on the other pods of its node and on nothing elsewhere, so that
a change on one node leaves all others as they are.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from typing import NamedTuple

from fairlead.manifest.core.objects import NodeObject, PodObject, full_name, is_placed, pod_id
from fairlead.manifest.finding import Findings
from fairlead.manifest.kai.assembly.jobs import Job
from fairlead.manifest.kai.devices.assigned_shares import NodeShares, holds_devices, shares_on_node
from fairlead.manifest.translate.family import DeviceChanges, Remarks, UnitChange, UnitContent
from fairlead.model.axes import WorkloadName
from fairlead.model.device_share import DeviceShare
from fairlead.model.workload import PodId


class _OnNode(NamedTuple):
    """The pods of one node that hold devices, by full name."""

    own: dict[str, tuple[PodObject, WorkloadName]]
    foreign: dict[str, PodObject]


class NodeDevices:
    """The pods that share devices, by node, and what each of them has of its node."""

    def __init__(self) -> None:
        """Begin without pods."""
        self.shares: dict[str, DeviceShare] = {}  # of our pods, by full name
        self._charged: dict[PodId, PodObject] = {}  # foreign pods that hold devices
        self._nodes: dict[str, _OnNode] = {}

    def charged(self, pod: PodObject) -> PodObject:
        """Return a foreign pod with every device that it holds among its requests."""
        return self._charged.get(pod_id(pod), pod) if self._charged else pod

    def update_devices(
        self,
        units: Sequence[UnitChange[Job]],
        changed: Set[str],
        node_of: Callable[[str], NodeObject | None],
        remarks: Remarks,
    ) -> DeviceChanges:
        """Share out devices again on the nodes *changed*, and where pods of *units* are or were.

        Returns the workloads and foreign pods that have others than before. *node_of* gives a node
        by name; None: it is not there. Cost: the pods of *units*, and those that share on these
        nodes.
        """
        touched = set(changed & self._nodes.keys())
        for each in units:
            touched.update(self._drop(each.before))
        for each in units:
            touched.update(self._put(each.after))
        workloads: set[WorkloadName] = set()
        foreign: set[PodId] = set()
        for name in sorted(touched):
            on_node, node = self._nodes[name], node_of(name)
            devices = remarks.note(("devices", name), partial(_shares_on, on_node, node))
            workloads.update(self._update_shares(on_node, devices.ours))
            foreign.update(self._update_foreign(devices.foreign))
            if not (on_node.own or on_node.foreign):
                del self._nodes[name]
        return DeviceChanges(workloads, foreign)

    def _update_shares(
        self, on_node: _OnNode, shares: Mapping[str, DeviceShare]
    ) -> Iterator[WorkloadName]:
        for name, (_, workload) in on_node.own.items():
            if self.shares.get(name) != shares[name]:
                self.shares[name] = shares[name]
                yield workload

    def _update_foreign(self, pods: Iterable[PodObject]) -> Iterator[PodId]:
        for pod in pods:
            if self._charged.get(pod_id(pod)) != pod:
                self._charged[pod_id(pod)] = pod
                yield pod_id(pod)

    def _drop(self, found: UnitContent[Job]) -> Iterator[str]:
        """Forget the pods of a unit that hold devices; yields the nodes that they are on."""
        for node, name, _, _ in _holders(found):
            self.shares.pop(name, None)
            self._nodes[node].own.pop(name, None)
            yield node
        for node, name, pod in _foreign_holders(found):
            self._charged.pop(pod_id(pod), None)
            self._nodes[node].foreign.pop(name, None)
            yield node

    def _put(self, found: UnitContent[Job]) -> Iterator[str]:
        """Take in the pods of a unit that hold devices; yields the nodes that they are on."""
        for node, name, pod, workload in _holders(found):
            self._nodes.setdefault(node, _OnNode({}, {})).own[name] = pod, workload
            yield node
        for node, name, pod in _foreign_holders(found):
            self._nodes.setdefault(node, _OnNode({}, {})).foreign[name] = pod
            yield node


def _shares_on(on_node: _OnNode, node: NodeObject | None, findings: Findings) -> NodeShares:
    own = [pod for pod, _ in on_node.own.values()]
    return shares_on_node(own, [*on_node.foreign.values()], node, findings)


def _holders(found: UnitContent[Job]) -> Iterator[tuple[str, str, PodObject, WorkloadName]]:
    for job in found.parts:
        for pod in job.pods:
            if pod.gpu_share and pod.node is not None and is_placed(pod):
                yield pod.node, full_name(pod), pod, WorkloadName(job.name)


def _foreign_holders(found: UnitContent[Job]) -> Iterator[tuple[str, str, PodObject]]:
    for pod in found.foreign:
        if pod.node is not None and holds_devices(pod):
            yield pod.node, full_name(pod), pod
