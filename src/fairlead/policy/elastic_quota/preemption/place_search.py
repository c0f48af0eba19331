"""Nodes for several pods, one after the other, taken back where that leads nowhere.

Pods that are alike stand next to each other and go to the same or a later node each. Where all
that are left are alike, the first try for them decides, unless more than room matters.

The search is bounded: beyond what a first walk takes (each kind past each of its nodes, each pod
once), `LOOKS` looks at a node are made. Then it gives up, though there may be a way.
"""

from collections.abc import Callable, Sequence
from operator import sub
from typing import Final, NamedTuple, TypeAlias

from fairlead.model.axes import Amounts

LOOKS: Final = 20_000
Rooms: TypeAlias = dict[str, list[int]]


class PodToPut(NamedTuple):
    """A pod, and the nodes where it may be if there is room; those alike share one sequence."""

    requests: Amounts
    nodes: Sequence[str]


class Guests(NamedTuple):
    """Lets pods in beside others: the pod at a place in the order, on a node, if it is allowed."""

    let_in: Callable[[int, str], bool]
    take_back: Callable[[], None]  # who was let in last


class PlaceSearch:
    """The search for nodes for some pods, in their order."""

    def __init__(self, pods: Sequence[PodToPut], rooms: Rooms, guests: Guests | None) -> None:
        """Put *pods* where there is room; *guests* are asked too, None: only room matters.

        *rooms* is changed.
        """
        self._pods = pods
        self._rooms = rooms
        self._guests = guests
        before = [None, *[pod.nodes for pod in pods]]
        self._like_before = [pod.nodes is nodes for pod, nodes in zip(pods, before, strict=False)]
        self._last_run = len(pods) - 1
        while self._last_run > 0 and self._like_before[self._last_run]:
            self._last_run -= 1
        kinds = [pod for pod, is_like in zip(pods, self._like_before, strict=True) if not is_like]
        self._looks_left = LOOKS + len(pods) + sum([len(pod.nodes) for pod in kinds])
        self._put: list[tuple[int, list[int]]] = []  # which of its nodes, and the room before

    def find(self) -> list[str] | None:
        """Return a node for each pod, in their order; None if none was found."""
        first = 0
        while len(self._put) < len(self._pods):
            done = len(self._put)
            at = self._next(done, first)
            if at is not None:
                is_next_alike = done + 1 < len(self._pods) and self._like_before[done + 1]
                first = at if is_next_alike else 0
            elif self._looks_left < 0 or not self._is_another_way():
                return None
            else:
                first = self._take_back() + 1
        return [pod.nodes[at] for pod, (at, _) in zip(self._pods, self._put, strict=True)]

    def _next(self, done: int, first: int) -> int | None:
        """Put the pod at *done* on one of its nodes from *first* on; None if there is none."""
        requests, nodes = self._pods[done]
        for at in range(first, len(nodes)):
            self._looks_left -= 1
            if self._looks_left < 0:
                return None
            room = self._rooms[nodes[at]]
            if is_enough(requests, room) and self._is_let_in(done, nodes[at]):
                self._rooms[nodes[at]] = list(map(sub, room, requests))
                self._put.append((at, room))
                return at
        return None

    def _is_let_in(self, done: int, node: str) -> bool:
        return self._guests is None or self._guests.let_in(done, node)

    def _is_another_way(self) -> bool:
        """Take back the pods that cannot do better; True if one is left that may."""
        while self._guests is None and len(self._put) > self._last_run:
            self._take_back()  # however equal pods are put, equally many find room
        return bool(self._put)

    def _take_back(self) -> int:
        """Take the last pod that was put back; returns on which of its nodes it was."""
        at, room = self._put.pop()
        self._rooms[self._pods[len(self._put)].nodes[at]] = room
        if self._guests is not None:
            self._guests.take_back()
        return at


def is_enough(asked: Sequence[int], room: Sequence[int]) -> bool:
    """Return whether *room* is enough; what is not *asked* for is not looked at."""
    return all(need <= there for need, there in zip(asked, room, strict=True) if need > 0)
