"""Whether other pods leave a volume to a pod, and a node has room to attach one more.

A claim that is ReadWriteOncePod is for one pod of the whole cluster. A node attaches a limited
number of volumes of a driver; a volume that several of its pods use is attached once.

Like room, this is evaluated at two times: *now* all pods count that are there or are to come, and
terminating ones too; *later* these are gone. Pods of other schedulers count in the same way. While
nothing is asked nothing is counted; from then on the change log of the books lists the nodes to
look at again, and pods that no other pod can meet over a volume are left out.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias

from fairlead.model.node import Node
from fairlead.model.state import ClusterState, pods_on_node
from fairlead.model.workload import VolumeNeeds

VolumeRoom: TypeAlias = Literal["now", "later", "no"]


class _User(NamedTuple):
    """A pod on a node, and what it has there."""

    name: str
    needs: VolumeNeeds
    is_leaving: bool


class VolumeUse:
    """The volumes that pods of one state use, through all its changes."""

    def __init__(self, state: ClusterState) -> None:
        """Follow *state*; nothing is read yet."""
        self._state = state
        self._moment: int | None = None  # None: nothing was read
        self._users: dict[str, list[_User]] = {}  # by node
        self._holders: dict[str, dict[str, None]] = {}  # to the nodes where a claim is used alone

    def defect(self, node: Node, needs: VolumeNeeds) -> str | None:
        """Return why a pod cannot use its volumes on *node*, not even later; None: it can.

        The text follows "3 of 8 nodes".
        """
        return self._defect(node, needs, now=False)

    def is_free_now(self, node: Node, needs: VolumeNeeds) -> bool:
        """Return whether a pod can use its volumes on *node* as of now."""
        return self._defect(node, needs, now=True) is None

    def _defect(self, node: Node, needs: VolumeNeeds, *, now: bool) -> str | None:
        self._catch_up()
        for claim in needs.exclusive:
            holder = self._holder(claim, now=now)
            if holder is not None:
                return f"wait for pod {holder}, which alone may use the claim {claim}"
        if needs.attached and node.attach_limits:
            return self._attach_defect(node, needs, now=now)
        return None

    def _holder(self, claim: str, *, now: bool) -> str | None:
        """Return a pod that uses a claim for one pod; the first by name, so that ties have none."""
        return min(
            [
                user.name
                for node in self._holders.get(claim, ())
                for user in self._users[node]
                if claim in user.needs.exclusive and (now or not user.is_leaving)
            ],
            default=None,
        )

    def _attach_defect(self, node: Node, needs: VolumeNeeds, *, now: bool) -> str | None:
        attached = {
            each
            for user in self._users.get(node.name, ())
            if now or not user.is_leaving
            for each in user.needs.attached
        }
        wanted = {*needs.attached} - attached
        for driver in sorted({driver for driver, _ in wanted}):
            limit = node.attach_limits.get(driver)
            there = [each for each in attached | wanted if each[0] == driver]
            if limit is not None and len(there) > limit:
                return f"have no room for another volume of {driver}"
        return None

    def _catch_up(self) -> None:
        books = self._state.books
        if self._moment is None:
            nodes = list(dict.fromkeys([*books.booked(), *books.nodes_asked_about()]))
        elif self._moment == books.changes.moment:
            return
        else:
            nodes = books.changes.since(self._moment)
        self._moment = books.changes.moment
        for node in nodes:
            self._look_at(node)

    def _look_at(self, node: str) -> None:
        for user in self._users.pop(node, ()):
            for claim in user.needs.exclusive:
                self._holders[claim].pop(node, None)
        users = list(self._users_on(node))
        if users:
            self._users[node] = users
        for user in users:
            for claim in user.needs.exclusive:
                self._holders.setdefault(claim, {})[node] = None

    def _users_on(self, node: str) -> Iterator[_User]:
        state = self._state
        for (name, pod), is_leaving in pods_on_node(state, node):
            workload = state.workloads[name]
            needs = workload.pod_sets.of(pod).constraints.volumes
            if needs is not None and needs.meets_pods:
                full = f"{workload.namespace}/{workload.pod_name(pod)}"
                yield _User(full, needs, is_leaving)
        for foreign in state.books.asked_about(node):
            if foreign.volumes is not None:
                yield _User(foreign.name, foreign.volumes, foreign.leaving)
