"""Places for several pods at once, once some holders have left.

Pods are put one after the other, the largest first, on nodes by name, and taken back where that
leads nowhere. After `STEPS` tries the search gives up. Pods that are alike go to the same or a
later node each; where all that are left are alike, the first try for them decides.

Where ports or the pods around matter too, and there would be room, each pod is put beside those
that were put before. That is dear, so no more than `STEPS` such tries are made for one claim.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from operator import add, sub
from typing import Final, TypeAlias

from msgspec.structs import replace

from fairlead.model.axes import Amounts
from fairlead.model.events import Placement, WorkloadStarted, WorkloadStopped
from fairlead.model.workload import PodSet
from fairlead.policy.elastic_quota.asker import Asker
from fairlead.policy.elastic_quota.desk import Desk
from fairlead.policy.elastic_quota.holders import Holder

STEPS: Final = 2_000
Rooms: TypeAlias = dict[str, list[int]]


class JointPlaces:
    """Looks for nodes for the pods of one workload."""

    def __init__(
        self, desk: Desk, askers: Sequence[Asker], *, later: bool, yields: bool = False
    ) -> None:
        """Look for *askers*; *later*, who is leaving has left. Cost: a look at each node.

        Who *yields* takes no room that a pod of another quota waits for, however unimportant.
        """
        self._desk = desk
        self._later = later
        self._askers = askers
        self._largest_first = self._alike_together()
        kinds = [_kind(askers[at]) for at in self._largest_first]
        self._surroundings_matter = any(desk.surroundings.matter(each) for each in askers)
        self._like_before = [a == b for a, b in zip(kinds, [None, *kinds], strict=False)]
        self._free: dict[str, Sequence[int]] = {
            name: desk.places.free(askers[0], name, later=later)
            for name in sorted(desk.state.nodes)
        }
        if yields:
            self._leave_to_others(askers[0])
        self._open = self._open_nodes()
        self._steps_left = STEPS
        self._dear_steps_left = STEPS

    def find(self, off: Collection[Holder]) -> tuple[str, ...] | None:
        """Return a node for each pod once *off* have left; None if none was found."""
        rooms = self._rooms(off)
        names = sorted(rooms)
        found: dict[int, str] = {}
        self._steps_left = STEPS
        if not self._put(0, names, rooms, found):
            return None
        if self._surroundings_matter:
            rooms = self._rooms(off)
            with self._desk.state.trial():
                self._stop([*off, *self._leaving(names)])
                if not self._put_beside(0, names, rooms, found):
                    return None
        return tuple([found[at] for at in range(len(self._askers))])

    def spare(
        self,
        nodes: Sequence[str],
        victims: Sequence[Holder],
        is_needed: Callable[[Holder], bool],
    ) -> list[Holder]:
        """Return *victims* without those who can stay while the pods are on *nodes*.

        The last is spared first. *is_needed* says whether one must leave for another reason, and
        hears of each once; who is not needed stays. Cost: a look at each victim.
        """
        rooms = self._rooms(victims)
        asked: Rooms = {}
        for asker, node in zip(self._askers, nodes, strict=True):
            rooms.setdefault(node, list(self._free[node]))
            before = asked.get(node) or [0] * len(asker.requests)
            asked[node] = list(map(add, before, asker.requests))
        off = dict.fromkeys(victims)
        for holder in reversed(victims):
            node = self._node_of(holder)
            room = list(map(sub, rooms[node], holder.requests)) if node in asked else None
            if room is not None and not _is_enough(asked[node], room):
                continue
            del off[holder]
            if not self.are_allowed(nodes, off) or is_needed(holder):
                off[holder] = None
            elif room is not None:
                rooms[node] = room
        return list(off)

    def are_allowed(self, nodes: Sequence[str], off: Collection[Holder]) -> bool:
        """Return whether ports and pods around allow the pods there, each beside the others.

        *off* have left. Whether there is room is not looked at.
        """
        if not self._surroundings_matter:
            return True
        with self._desk.state.trial():
            self._stop([*off, *self._leaving(nodes)])
            pairs = zip(self._askers, nodes, strict=True)
            return all(self._is_let_in(asker, node) for asker, node in pairs)

    def _rooms(self, off: Iterable[Holder]) -> Rooms:
        """Return what is free on nodes where a pod may fit, *off* being gone."""
        rooms = {name: list(self._free[name]) for name in self._open}
        for holder in off:
            node = self._node_of(holder)
            room = rooms.get(node) or self._free[node]
            rooms[node] = list(map(add, room, holder.requests))
        return rooms

    def _node_of(self, holder: Holder) -> str:
        name, pod = holder.key
        node = self._desk.state.runs[name].pods[pod].node
        assert node is not None, "who holds a node has one"
        return node

    def _open_nodes(self) -> list[str]:
        """Return nodes with room as they are: as many as there are pods, which is always enough.

        All of them, where more than room matters.
        """
        most = len(self._free) if self._surroundings_matter else len(self._askers)
        found: dict[str, None] = {}
        kinds = {_kind(each): each for each in self._askers}
        for asker in kinds.values():
            fitting = [name for name, room in self._free.items() if self._fits(asker, name, room)]
            found.update(dict.fromkeys(fitting[:most]))
        return list(found)

    def _leave_to_others(self, asker: Asker) -> None:
        for name, free in self._free.items():
            for other in self._desk.nominations.behind(asker, name):
                if other.queue not in (None, asker.queue):
                    free = tuple(map(sub, free, other.requests))
            self._free[name] = free

    def _alike_together(self) -> list[int]:
        """Return the places of the pods, the largest first and those next to each other alike."""
        kinds = list(dict.fromkeys([_kind(each) for each in self._askers]))
        kinds.sort(key=lambda kind: kind[0], reverse=True)
        return [at for kind in kinds for at, each in enumerate(self._askers) if _kind(each) == kind]

    def _put(self, done: int, names: Sequence[str], rooms: Rooms, found: dict[int, str]) -> bool:
        """Put the pods from the one at *done* on; True if all have a node in *found*."""
        if done == len(self._largest_first):
            return True
        at = self._largest_first[done]
        asker = self._askers[at]
        for name in self._left_for(done, names, found):
            if self._steps_left <= 0:
                return False
            room = rooms[name]
            if not self._fits(asker, name, room):
                continue
            self._steps_left -= 1
            rooms[name] = list(map(sub, room, asker.requests))
            found[at] = name
            if self._put(done + 1, names, rooms, found):
                return True
            rooms[name] = room
            if all(self._like_before[done + 1 :]):
                return False  # however equal pods are put, equally many find room
        return False

    def _put_beside(
        self, done: int, names: Sequence[str], rooms: Rooms, found: dict[int, str]
    ) -> bool:
        """Do the same where each pod must be allowed beside those that are there."""
        if done == len(self._largest_first):
            return True
        at = self._largest_first[done]
        asker, state = self._askers[at], self._desk.state
        for name in self._left_for(done, names, found):
            if self._dear_steps_left <= 0:
                return False
            room = rooms[name]
            if not self._fits(asker, name, room):
                continue
            self._dear_steps_left -= 1
            mark = state.mark()
            rooms[name] = list(map(sub, room, asker.requests))
            found[at] = name
            if self._is_let_in(asker, name) and self._put_beside(done + 1, names, rooms, found):
                state.keep(mark)
                return True
            state.roll_back(mark)
            rooms[name] = room
        return False

    def _left_for(self, done: int, names: Sequence[str], found: Mapping[int, str]) -> Sequence[str]:
        """Return the nodes to try: for a pod like the one before, none before that one's."""
        if not self._like_before[done]:
            return names
        return names[names.index(found[self._largest_first[done - 1]]) :]

    def _fits(self, asker: Asker, name: str, room: Sequence[int]) -> bool:
        node = self._desk.state.nodes[name]
        return (
            _is_enough(asker.requests, room)
            and self._desk.surroundings.node_defect(asker, node) is None
            and not self._desk.places.port_is_promised(asker, name)
        )

    def _is_let_in(self, asker: Asker, name: str) -> bool:
        """Put a pod on a node, if ports and the pods around allow it there."""
        desk = self._desk
        if desk.surroundings.defect(asker, desk.state.nodes[name]) is not None:
            return False
        desk.state.apply(
            WorkloadStarted(
                workload=asker.workload.name,
                placements=(Placement(asker.pod, name),),
                at_ms=desk.now_ms,
            )
        )
        return True

    def _stop(self, holders: Iterable[Holder]) -> None:
        for holder in dict.fromkeys(holders):
            name, pod = holder.key
            self._desk.state.apply(WorkloadStopped(workload=name, pods=(pod,)))

    def _leaving(self, nodes: Iterable[str]) -> list[Holder]:
        """Return who counts as gone from *nodes* already."""
        if not self._later:
            return []
        return [each for node in set(nodes) for each in self._desk.holders.leaving(node)]


def _kind(asker: Asker) -> tuple[Amounts, PodSet]:
    """Return all by which one pod differs from another of its workload."""
    return (asker.requests, replace(asker.pod_set, name="", count=1, pod_names=()))


def _is_enough(asked: Sequence[int], room: Sequence[int]) -> bool:
    return all(need <= there for need, there in zip(asked, room, strict=True) if need > 0)
