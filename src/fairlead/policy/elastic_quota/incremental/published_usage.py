"""The published status of all quotas, followed through the changes of a state.

A live scheduler publishes it once a second while pods come and go. Summing 5,000 pods each time
takes 50 ms, in which nothing is planned; following the few that changed takes 0.6 ms.
"""

from typing import NamedTuple

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.state import ClusterState
from fairlead.policy.elastic_quota.quota.shares import nothing_used, running_charges
from fairlead.policy.elastic_quota.quota.usage import Charge, Charges


class _Counted(NamedTuple):
    """The pods of a workload as they were counted."""

    queue: QueueName
    charges: tuple[Charge, ...]


class _OnAxis:
    """What the pods of a namespace use on one axis, and how many of them name it."""

    def __init__(self) -> None:
        self.amount = 0
        self.pods = 0


class PublishedUsage:
    """`published_used` of one state, at the cost of the workloads that changed."""

    def __init__(self, state: ClusterState) -> None:
        """Follow *state*; nothing is read yet."""
        self.state = state
        self._charges = Charges(state, as_plugin=True)
        self._read_at: int | None = None  # None: nothing was read
        self._counted: dict[WorkloadName, _Counted] = {}
        self._used: dict[QueueName, dict[int, _OnAxis]] = {}

    def used(self) -> dict[QueueName, dict[str, int]]:
        """Return ``status.used`` of every quota, in base units by resource."""
        self._catch_up()
        resources = [axis.resource for axis in self.state.axes.axes]
        used = nothing_used(self.state)
        for name, own in used.items():
            for at, held in self._used.get(name, {}).items():
                if held.pods:
                    own[resources[at]] = held.amount
        return {name: dict(sorted(own.items())) for name, own in used.items()}

    def _catch_up(self) -> None:
        touched = self.state.touched
        if self._read_at is not None and touched.remembers(self._read_at):
            names = touched.since(self._read_at)
        else:
            self._counted.clear()
            self._used.clear()
            names = list(self.state.runs)
        self._read_at = touched.moment
        for name in names:
            self._read(name)

    def _read(self, name: WorkloadName) -> None:
        before = self._counted.pop(name, None)
        if before is not None:
            self._count(before, -1)
        charges = tuple(running_charges(self.state, self._charges, name))
        if charges:
            now = self._counted[name] = _Counted(self.state.workloads[name].queue, charges)
            self._count(now, 1)

    def _count(self, counted: _Counted, sign: int) -> None:
        own = self._used.setdefault(counted.queue, {})
        for charge in counted.charges:
            for at in charge.named:
                held = own.get(at) or own.setdefault(at, _OnAxis())
                held.amount += sign * charge.amounts[at]
                held.pods += sign
