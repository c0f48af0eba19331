"""Places for several pods at once, once some holders have left.

Those come first that have the fewest nodes, then the largest; nodes are tried by name. How the
search for them goes and where it gives up is told in `place_search`.

Where ports or the pods around matter too, and there would be room, each pod is put beside those
that were put before. That is dear, so no more than `STEPS` such tries, and two for each pod, are
made for one claim. A pod that must be near another of its gang finds it only if that one comes
before.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from operator import add, sub
from typing import Final, TypeAlias

from msgspec.structs import replace

from fairlead.model.accounting.journal import Mark
from fairlead.model.axes import Amounts
from fairlead.model.events import Placement, WorkloadStarted, WorkloadStopped
from fairlead.model.workload import PodSet
from fairlead.policy.elastic_quota.asker import Asker
from fairlead.policy.elastic_quota.desk import Desk
from fairlead.policy.elastic_quota.holders import Holder
from fairlead.policy.elastic_quota.place_search import (
    Guests,
    PlaceSearch,
    PodToPut,
    Rooms,
    is_enough,
)

STEPS: Final = 2_000
Kind: TypeAlias = tuple[Amounts, PodSet]


class JointPlaces:
    """Looks for nodes for the pods of one workload."""

    def __init__(self, desk: Desk, askers: Sequence[Asker], *, later: bool) -> None:
        """Look for *askers*; *later*, who is leaving has left.

        Cost: for each kind of pod a look at each node.
        """
        self._desk = desk
        self._later = later
        self._askers = askers
        of_set = {each.set_index: each for each in askers}
        kind_of_set = {at: _kind(each) for at, each in of_set.items()}
        self._kinds = [kind_of_set[each.set_index] for each in askers]
        self._surroundings_matter = any(map(desk.places.neighbours_matter, of_set.values()))
        self._possible = {
            kind_of_set[at]: self._possible_nodes(each) for at, each in of_set.items()
        }
        self._order = self._hardest_first()
        self._free: dict[str, Sequence[int]] = {
            name: self._free_for_any(name) for name in sorted(desk.state.nodes)
        }
        self._open = self._open_nodes()
        self._dear_steps_left = STEPS + 2 * len(askers)

    @property
    def is_hopeless(self) -> bool:
        """Whether some pod could be on no node, even if all were empty."""
        return not all(self._possible.values())

    @property
    def needs_others(self) -> bool:
        """Whether a pod must be near others, so that there may be no place if too many leave."""
        return any(pod_set.constraints.pod_affinity for _, pod_set in self._possible)

    def find(self, off: Collection[Holder]) -> tuple[str, ...] | None:
        """Return a node for each pod once *off* have left; None if none was found."""
        if self.is_hopeless:
            return None
        found = self._search(self._rooms(off), None)
        if found is not None and self._surroundings_matter:
            found = self._find_beside(off)
        if found is None:
            return None
        by_pod = dict(zip(self._order, found, strict=True))
        return tuple([by_pod[at] for at in range(len(self._askers))])

    def has_room_for_hardest(self, node: str, off: Iterable[Holder]) -> bool:
        """Return whether the pod with the fewest nodes has room on *node* once *off* left it."""
        requests, _ = kind = self._kinds[self._order[0]]
        if node not in self._possible[kind]:
            return False
        room = self._free[node]
        for holder in off:
            room = list(map(add, room, holder.requests))
        return is_enough(requests, room)

    def spare(
        self,
        nodes: Sequence[str],
        victims: Sequence[Holder],
        is_needed: Callable[[Holder], bool],
    ) -> list[Holder]:
        """Return *victims* without those who can stay while the pods are on *nodes*.

        The last is spared first. *is_needed* says whether one must leave for another reason, and
        hears of each once; who is not needed stays. Cost: a look at each victim; where ports or the
        pods around matter, a trial for each, in which all victims leave and all pods start.
        """
        there: dict[str, list[Asker]] = {}
        for asker, node in zip(self._askers, nodes, strict=True):
            there.setdefault(node, []).append(asker)
        asked = {node: _total(askers) for node, askers in there.items()}
        rooms = {
            node: list(self._desk.places.free_together(askers, node, later=self._later))
            for node, askers in there.items()
        }
        for victim in victims:
            node = self.node_of(victim)
            if node in rooms:
                rooms[node] = list(map(add, rooms[node], victim.requests))
        off = dict.fromkeys(victims)
        for holder in reversed(victims):
            node = self.node_of(holder)
            room = list(map(sub, rooms[node], holder.requests)) if node in asked else None
            if room is not None and not is_enough(asked[node], room):
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
            node = self.node_of(holder)
            room = rooms.get(node) or self._free[node]
            rooms[node] = list(map(add, room, holder.requests))
        return rooms

    def _free_for_any(self, name: str) -> Amounts:
        """Return what is free on a node for whichever pods are put there.

        Before one that waited for it already fewer go, but it may be put elsewhere.
        """
        nominations, askers = self._desk.nominations, self._askers
        others = (each for each in askers if not nominations.was_nominated_to(each.key, name))
        return self._desk.places.free(next(others, askers[0]), name, later=self._later)

    def node_of(self, holder: Holder) -> str:
        """Return where *holder* is."""
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
        for kind, possible in self._possible.items():
            fitting = [name for name in possible if is_enough(kind[0], self._free[name])]
            found.update(dict.fromkeys(fitting[:most]))
        return list(found)

    def _possible_nodes(self, asker: Asker) -> dict[str, None]:
        """Return the nodes where a pod could be if nobody held them, by name."""
        desk = self._desk
        return dict.fromkeys(
            [
                name
                for name, node in sorted(desk.state.nodes.items())
                if desk.places.could_ever_hold(asker, node)
                and desk.surroundings.node_defect(asker, node) is None
                and desk.places.promised_defect(asker, name) is None
            ]
        )

    def _hardest_first(self) -> list[int]:
        """Return the places of the pods, the hardest to put first and those alike together."""
        kinds = sorted(self._possible, key=lambda kind: kind[0], reverse=True)
        kinds.sort(key=lambda kind: len(self._possible[kind]))
        places: dict[Kind, list[int]] = {kind: [] for kind in kinds}
        for at, kind in enumerate(self._kinds):
            places[kind].append(at)
        return [at for them in places.values() for at in them]

    def _search(self, rooms: Rooms, guests: Guests | None) -> list[str] | None:
        """Return a node for each pod in the order in which they are put."""
        names = sorted(rooms)
        nodes = {
            kind: [name for name in names if name in possible]
            for kind, possible in self._possible.items()
        }
        kinds = [self._kinds[at] for at in self._order]
        pods = [PodToPut(kind[0], nodes[kind]) for kind in kinds]
        return PlaceSearch(pods, rooms, guests).find()

    def _find_beside(self, off: Collection[Holder]) -> list[str] | None:
        """Do the same where each pod must be allowed beside those that are there."""
        if self._dear_steps_left <= 0:
            return None
        state = self._desk.state
        marks: list[Mark] = []

        def let_in(done: int, node: str) -> bool:
            if self._dear_steps_left <= 0:
                return False
            self._dear_steps_left -= 1
            mark = state.mark()
            if not self._is_let_in(self._askers[self._order[done]], node):
                state.roll_back(mark)
                return False
            marks.append(mark)
            return True

        rooms = self._rooms(off)
        with state.trial():
            self._stop([*off, *self._leaving(rooms)])
            return self._search(rooms, Guests(let_in, lambda: state.roll_back(marks.pop())))

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


def _total(askers: Sequence[Asker]) -> list[int]:
    return [sum(amounts) for amounts in zip(*[each.requests for each in askers], strict=True)]


def _kind(asker: Asker) -> Kind:
    """Return all by which one pod differs from another of its workload."""
    return (asker.requests, replace(asker.pod_set, name="", count=1, pod_ids=(), pod_names=()))
