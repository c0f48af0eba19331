"""Brings the queues, nodes and foreign pods of a state in line with what they should be.

Each is compared with what the state holds; only differences become events.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import TypeVar

from fairlead.manifest.core.tree_checks import TreeObject, cycles
from fairlead.model.axes import QueueName
from fairlead.model.events import (
    ForeignPodChanged,
    ForeignPodRemoved,
    NodeAdded,
    NodeChanged,
    NodeRemoved,
    QueueChanged,
    QueueRemoved,
)
from fairlead.model.node import ForeignPod, Node
from fairlead.model.queue import Queue
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId

T = TypeVar("T", bound=TreeObject)


def align_queues(state: ClusterState, queues: Iterable[Queue]) -> None:
    """Let *state* have these *queues* and no others. None of them may be its own ancestor."""
    wanted = {queue.name: queue for queue in queues}
    for name in sorted(state.queues.keys() - wanted.keys()):
        state.apply(QueueRemoved(name))
    # Parents first: then the way up from each is as it will be, and never leads back to it.
    for queue in _parents_first(wanted):
        if state.queues.get(queue.name) != queue:
            state.apply(QueueChanged(queue))


def align_node(state: ClusterState, name: str, node: Node | None) -> None:
    """Let *state* know a node as it is; None: it is not there."""
    known = state.nodes.get(name)
    if node is None:
        if known is not None:
            state.apply(NodeRemoved(name))
    elif known is None:
        state.apply(NodeAdded(node))
    elif known != node:
        state.apply(NodeChanged(node))


def align_foreign_pod(state: ClusterState, pod: PodId, found: ForeignPod | None) -> None:
    """Let *state* know a foreign pod as it is; None: it holds nothing."""
    if found is not None:
        state.apply(ForeignPodChanged(found))
    elif pod in state.books.foreign:
        state.apply(ForeignPodRemoved(pod))


def without_cycles(objects: Mapping[str, T], accepted: Mapping[str, T]) -> dict[str, T]:
    """Return *objects* by name, those in a cycle as they were *accepted* before, or not at all.

    *accepted* is what was returned before, which has no cycle. Two parents that are swapped by two
    updates are a cycle in between. Until the second update is there, both queues stay as they were.
    """
    chosen = dict(objects)
    while found := cycles(list(chosen.values())):
        for each in chain.from_iterable(found):
            before = accepted.get(each.name)
            if before is None:
                del chosen[each.name]
            else:
                chosen[each.name] = before
    return chosen


def _parents_first(queues: Mapping[QueueName, Queue]) -> Iterator[Queue]:
    done: set[QueueName] = set()
    for queue in queues.values():
        line = [queue]
        while (above := line[-1].parent) is not None and above in queues and above not in done:
            line.append(queues[above])
        for each in reversed(line):
            if each.name not in done:
                done.add(each.name)
                yield each
