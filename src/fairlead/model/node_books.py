"""The nodes of a state, who holds what on each, and what all of them offer.

A pod may be on a node that is not known (yet, or any more); it is booked there all the same.
"""

from operator import neg
from typing import TypeAlias

from fairlead.errors import StateError
from fairlead.model.axes import Amounts, WorkloadName
from fairlead.model.journal import Journal
from fairlead.model.node import Node
from fairlead.model.workload import PodId

PodKey: TypeAlias = tuple[WorkloadName, PodId]


class NodeBooks:
    """Nodes by name, and the pods on them. Every change goes through the journal."""

    def __init__(self, journal: Journal, resources: int):
        """Start without nodes; amounts have *resources* entries."""
        self.nodes: dict[str, Node] = {}
        self.capacity: list[int] = [0] * resources
        self._journal = journal
        self._resources = resources
        self._pods: dict[str, dict[PodKey, None]] = {}
        self._held: dict[str, list[int]] = {}
        self._leaving: dict[str, list[int]] = {}

    def held(self, node: str) -> Amounts:
        """Return what pods of ours hold on *node*, those that are leaving included."""
        return tuple(self._held.get(node, (0,) * self._resources))

    def leaving(self, node: str) -> Amounts:
        """Return the part of `held` whose pods were told to stop."""
        return tuple(self._leaving.get(node, (0,) * self._resources))

    def pods(self, node: str) -> list[PodKey]:
        """Return the pods on *node*, by workload and place in it."""
        return sorted(self._pods.get(node, ()))

    def booked(self) -> list[str]:
        """Return every node with a pod on it, known or not, by name."""
        return sorted(self._pods)

    def add(self, node: Node) -> None:
        """Take in a new node."""
        if node.name in self.nodes:
            raise StateError(f"node {node.name} was added before")
        self._check(node)
        self._journal.put(self.nodes, node.name, node)
        self._journal.add(self.capacity, node.offered())

    def change(self, node: Node) -> None:
        """Replace the facts of a node."""
        self._check(node)
        self._forget(node.name)
        self._journal.put(self.nodes, node.name, node)
        self._journal.add(self.capacity, node.offered())

    def remove(self, name: str) -> None:
        """Take a node away; pods on it stay booked."""
        self._forget(name)
        self._journal.drop(self.nodes, name)

    def place(self, node: str, pod: PodKey, requests: Amounts) -> None:
        """Book a pod on a node."""
        if node not in self._pods:
            self._journal.put(self._pods, node, {})
            self._journal.put(self._held, node, [0] * self._resources)
            self._journal.put(self._leaving, node, [0] * self._resources)
        self._journal.put(self._pods[node], pod, None)
        self._journal.add(self._held[node], requests)

    def leave(self, node: str, requests: Amounts) -> None:
        """Note that a pod on *node* was told to stop."""
        self._journal.add(self._leaving[node], requests)

    def release(self, node: str, pod: PodKey, requests: Amounts, *, leaving: bool) -> None:
        """Take a pod off its node."""
        self._journal.drop(self._pods[node], pod)
        if not self._pods[node]:
            self._journal.drop(self._pods, node)
            self._journal.drop(self._held, node)
            self._journal.drop(self._leaving, node)
            return
        less = tuple(map(neg, requests))
        self._journal.add(self._held[node], less)
        if leaving:
            self._journal.add(self._leaving[node], less)

    def _forget(self, name: str) -> None:
        old = self.nodes.get(name)
        if old is None:
            raise StateError(f"node {name} is not known")
        self._journal.add(self.capacity, map(neg, old.offered()))

    def _check(self, node: Node) -> None:
        sizes = {len(node.allocatable), len(node.occupied)}
        if sizes != {self._resources}:
            raise StateError(f"node {node.name} needs one amount per resource, {self._resources}")
