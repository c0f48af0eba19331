"""What a pod costs its quota, and which resources it names.

Mostly that is what its node is charged. The plugin adds requests up in a way of its own, and looks
at a resource that a pod names even if it names it with 0.
"""

from typing import Final, NamedTuple

from fairlead.model.axes import Amounts, WorkloadName
from fairlead.model.state import ClusterState
from fairlead.model.workload import ElasticPods, Workload

_SPARE: Final = 1_000  # workloads that are gone may be remembered, so that forgetting is rare
CORE: Final = ("cpu", "memory", "ephemeral-storage")


class Charge(NamedTuple):
    """What one pod of a set costs, an entry per axis, and the axes that it names."""

    amounts: Amounts
    named: frozenset[int]


class _Known(NamedTuple):
    workload: Workload
    charges: tuple[Charge, ...]  # of a pod of each set
    serial: int


class Charges:
    """The charges of all workloads of one state, worked out once for each."""

    def __init__(self, state: ClusterState, *, as_plugin: bool) -> None:
        """Charge as the plugin does, or what a node is charged."""
        self._state = state
        self._as_plugin = as_plugin
        self._known: dict[WorkloadName, _Known] = {}
        self._last_serial = 0

    def of(self, workload: Workload, pod_set: int) -> Charge:
        """Return what a pod of a set of *workload* costs."""
        return self._of(workload).charges[pod_set]

    def serial(self, workload: Workload) -> int:
        """Return a number that *workload* has as long as nothing about it changes."""
        return self._of(workload).serial

    def _of(self, workload: Workload) -> "_Known":
        known = self._known.get(workload.name)
        if known is None or known.workload is not workload:
            self._forget_who_is_gone()
            charges = tuple([self._charge(workload, at) for at in range(len(workload.pod_sets))])
            self._last_serial += 1
            known = _Known(workload, charges, self._last_serial)
            self._known[workload.name] = known
        return known

    def _forget_who_is_gone(self) -> None:
        there = self._state.workloads
        if len(self._known) > 2 * len(there) + _SPARE:
            self._known = {name: each for name, each in self._known.items() if name in there}

    def beyond_node(self, workload: Workload, pod_set: int) -> Amounts | None:
        """Return by how much the charge is more than the node's; None: it is the same."""
        if not self._as_plugin or _plugin_requests(workload, pod_set) is None:
            return None
        state = self._state
        node = state.axes.charge(state.resources, workload.pod_sets[pod_set].requests)
        own = self.of(workload, pod_set).amounts
        return tuple([a - b for a, b in zip(own, node, strict=True)])

    def _charge(self, workload: Workload, pod_set: int) -> Charge:
        state, axes = self._state, self._state.axes
        amounts = axes.charge(state.resources, workload.pod_sets[pod_set].requests)
        written = _plugin_requests(workload, pod_set)
        if written is None:
            return Charge(amounts, frozenset([at for at, amount in enumerate(amounts) if amount]))
        on_axis = {axes.index(resource): amount for resource, amount in written.items()}
        named = frozenset([at for at in on_axis if at is not None])
        if self._as_plugin:
            amounts = tuple([on_axis.get(at, 0) for at in range(len(axes))])
        return Charge(amounts, named)


def _plugin_requests(workload: Workload, pod_set: int) -> dict[str, int] | None:
    own = workload.extension
    if isinstance(own, ElasticPods) and own.plugin_requests:
        return own.plugin_requests[pod_set]  # may name nothing: then it costs nothing
    return None
