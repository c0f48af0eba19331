"""Finding the victims for one preemptor.

The pods of the preemptor are solved one after the other; victims found for the first pods are kept.
A *scenario* evicts some candidates and places them and the preemptor again, in the order of queues
and jobs, so that no pod has a right to its old place. A candidate that gets its own place back was
no victim; one that gets another place is moved; the rest is evicted. A validator says whether the
scenario may stand. Every scenario begins from the state as the search found it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from typing import NamedTuple, Protocol, TypeAlias

from fairlead.model.axes import Amounts, WorkloadName
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId, PodKey
from fairlead.placement.find_node import NodeFinder
from fairlead.placement.node_room import NodeRoom
from fairlead.policy.kai.victims.candidates import VictimGroup
from fairlead.policy.kai.victims.eviction_order import EvictionOrder
from fairlead.policy.kai.victims.reschedule import Evictions, Reschedule, ServiceOrder, is_same
from fairlead.policy.kai.victims.steps import Freed, FreedByNode, Lacking, VictimSteps


class Scenario(NamedTuple):
    """The outcome of evicting some candidates, if the preemptor found its place."""

    evicted: tuple[VictimGroup, ...]  # to make room, in that order
    lost: Set[PodKey]  # those of them without a place at the end
    moved: Set[PodKey]  # those of them with another place
    joined: Set[PodKey]  # pods of victims that had no place before and have one now
    considered: tuple[VictimGroup, ...]  # all groups of the search so far


Validator: TypeAlias = Callable[[Scenario], bool]


class SearchBounds(Protocol):
    """Says of scenarios of one search whether there may be room, before they are simulated."""

    def learn(self, rooms: Mapping[str, NodeRoom], nodes: Iterable[str]) -> None:
        """Read what is free on *nodes* when the search begins, before they are asked about."""

    def keep(self, freed: Freed) -> None:
        """Note that more pods have left from now on."""

    def unkeep(self, freed: Freed) -> None:
        """Note that pods are back where they were: the inverse of `keep`."""

    def lacking(self, count: int) -> Lacking:
        """Return how many places the first *count* pods lack, with the kept victims."""

    def allows(self, need: Lacking, more: FreedByNode) -> bool:
        """Return whether there may be as many places as are *lacking* when *more* is set free."""


NewBounds: TypeAlias = Callable[[Sequence[Amounts], Mapping[str, NodeRoom], Set[str]], SearchBounds]
"""Makes the bounds for pods of these sizes; the nodes in the set are open without victims."""


class NoBounds:
    """The plain answer: every scenario is simulated."""

    def __init__(
        self, sizes: Sequence[Amounts], rooms: Mapping[str, NodeRoom], base: Set[str]
    ) -> None:
        """Look at nothing."""

    def learn(self, rooms: Mapping[str, NodeRoom], nodes: Iterable[str]) -> None:
        """Nothing to read."""

    def keep(self, freed: Freed) -> None:
        """Nothing to note."""

    def unkeep(self, freed: Freed) -> None:
        """Nothing to note."""

    def lacking(self, count: int) -> Lacking:
        """Return nothing."""
        return ()

    def allows(self, need: Lacking, more: FreedByNode) -> bool:
        """Return that there may be."""
        return True


class _Prefix(NamedTuple):
    """The first pods of the preemptor, and what is known when they are to be solved."""

    pods: tuple[PodId, ...]
    kept: tuple[VictimGroup, ...]  # the victims of the pods before the last of them
    validator: Validator
    lacking: Lacking  # with the kept victims


class VictimSolver:
    """Searches for one preemptor; if it succeeds, the state holds what it found."""

    def __init__(
        self,
        state: ClusterState,
        finder: NodeFinder,
        order: ServiceOrder,
        preemptor: WorkloadName,
        pods: Sequence[PodId],
        *,
        now_ms: int,
        faithful: bool,
        touch: Callable[[WorkloadName], None],
        new_bounds: NewBounds,
    ) -> None:
        """Search in *state*, which is on trial, for a place for *pods* of *preemptor*.

        *order* is the service order of a scenario. *touch* is called for every job before anything
        is done to it. Scenarios for which there is no room by the bounds are left out.
        """
        self._state = state
        self._finder = finder
        self._order = order
        self._preemptor = preemptor
        self._pods = tuple(sorted(pods, key=state.workloads[preemptor].pod_name))
        self._now_ms = now_ms
        touch(preemptor)
        sets = state.workloads[preemptor].pod_sets
        self._base = finder.nodes_with_room(sets.of(pod) for pod in self._pods)
        sizes = [finder.besides_shares(sets.of(pod)) for pod in self._pods]
        self._bounds = new_bounds(sizes, finder.rooms(), self._base)
        self._evictions = Evictions(state, touch, faithful=faithful)

    def run(
        self,
        new_order: Callable[[], EvictionOrder],
        validator_for: Callable[[Sequence[PodId]], Validator],
    ) -> Scenario | None:
        """Return the scenario that stood, for all pods; None: there is none, nothing is changed.

        *new_order* and *validator_for* are called while the state is as at the start.
        """
        steps = VictimSteps(new_order, self._freed)
        kept: tuple[VictimGroup, ...] = ()
        validators: list[Validator] = []
        stood: Scenario | None = None
        for count in range(1, len(self._pods) + 1):
            if count > len(validators):
                self._evictions.undo()
                most = min(2 * count, len(self._pods))
                prefixes = [self._pods[:n] for n in range(count, most + 1)]
                validators += [validator_for(pods) for pods in prefixes]
            self._keep(steps, kept)
            lacking = self._bounds.lacking(count)
            prefix = _Prefix(self._pods[:count], kept, validators[count - 1], lacking)
            stood = self._solve(steps, prefix)
            if stood is None:
                break
            gone = stood.lost | stood.moved
            kept = tuple([g for g in stood.evicted if not gone.isdisjoint(g.members())])
        self._evictions.end(stands=stood is not None)
        return stood

    def _solve(self, steps: VictimSteps, prefix: _Prefix) -> Scenario | None:
        """Add victims until the pods have a place that may stand."""
        if prefix.kept and self._bounds.allows(prefix.lacking, {}):
            stood, _ = self._simulate(prefix, (), tuple)
            if stood is not None:
                return stood
        failed: set[tuple[int, ...]] = set()
        for at in self._walk(steps, prefix.lacking):
            stood = self._take(steps, at, prefix, failed)
            if stood is not None:
                return stood
        return None

    def _keep(self, steps: VictimSteps, kept: Iterable[VictimGroup]) -> None:
        """Keep these victims from now on and no others."""
        added, removed = steps.keep(kept)
        for group in removed:
            self._bounds.unkeep(self._freed(group))
        for group in added:
            self._bounds.keep(self._freed(group))

    def _freed(self, group: VictimGroup) -> Freed:
        """Return what the pods of a group set free at most, with the node of each."""
        sets = self._state.workloads[group.job].pod_sets
        held = [(group.nodes[pod], sets.of(pod)) for pod in group.pods]
        return [(node, self._finder.at_most_freed(each)) for node, each in held if node is not None]

    def _walk(self, steps: VictimSteps, lacking: Lacking) -> Iterator[int]:
        """Yield all steps from the first one at which there may be room."""
        yield from steps.again(lacking)
        while True:
            yield from steps.further()
            self._evictions.undo()
            nodes = steps.make_more()
            if nodes is None:
                return
            self._bounds.learn(self._finder.rooms(), nodes)

    def _take(
        self, steps: VictimSteps, at: int, prefix: _Prefix, failed: set[tuple[int, ...]]
    ) -> Scenario | None:
        """Simulate the scenarios of one step, except those that *failed* for want of a place.

        After one in which the preemptor found a place that may not stand no other is simulated.
        """
        allows, need = self._bounds.allows, prefix.lacking
        scenarios = [more for more in steps.gatherings(at) if allows(need, steps.freed(more))]
        if not scenarios:
            steps.close(at)
        for more in [more for more in scenarios if more not in failed]:
            stood, is_placed = self._simulate(
                prefix, steps.groups(more), lambda: steps.groups_until(at)
            )
            if stood is not None or is_placed:
                return stood
            failed.add(more)
        return None

    def _simulate(
        self,
        prefix: _Prefix,
        more: tuple[VictimGroup, ...],
        considered: Callable[[], tuple[VictimGroup, ...]],
    ) -> tuple[Scenario | None, bool]:
        """Evict the kept victims and *more*, and place all of them and the preemptor again.

        Returns the scenario if it stands, and whether the preemptor found its place at all.
        """
        evicted = (*prefix.kept, *more)
        self._order.begin()
        places = self._evictions.places
        nodes = self._base | self._evictions.evict(evicted)
        again = Reschedule(self._state, self._finder, self._preemptor, places, nodes, self._now_ms)
        victims = {group.job for group in evicted}
        if not again.place(*self._order.of(prefix.pods, victims), victims):
            return None, False
        lost, moved = self._outcome(evicted)
        seen = (*prefix.kept, *considered())
        scenario = Scenario(evicted, lost, moved, frozenset(again.joined), seen)
        return (scenario, True) if prefix.validator(scenario) else (None, True)

    def _outcome(self, evicted: Iterable[VictimGroup]) -> tuple[set[PodKey], set[PodKey]]:
        """Return the evicted pods that have no place now, and those that have another."""
        lost: set[PodKey] = set()
        moved: set[PodKey] = set()
        for group in evicted:
            run = self._state.runs.get(group.job)
            for key in group.members():
                now = run.pods.get(key[1]) if run else None
                if now is None:
                    lost.add(key)
                elif not is_same(self._evictions.places[key], now):
                    moved.add(key)
        return lost, moved
