"""Finding who must give way so that one job can have its place.

The pods of the claimant are solved one after the other, and what was found for the first ones is
kept. In a try nobody has a place by right: the victims leave, then they and the claimant are placed
again in the order of queues and jobs. Whoever gets its own place back was no victim; whoever gets
another one is moved; the rest is evicted. A judge says whether that may stand. Every try begins
from the state as the search found it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from typing import Final, NamedTuple, TypeAlias

from fairlead.model.axes import Amounts, WorkloadName
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId, PodKey
from fairlead.placement.find_node import NodeFinder
from fairlead.policy.kai.departures import Departures
from fairlead.policy.kai.node_crowds import Crowd, HelpfulNodes
from fairlead.policy.kai.place_again import PlaceAgain, is_same
from fairlead.policy.kai.place_balance import Moving, PlaceBalance
from fairlead.policy.kai.room_bound import Need, RoomBound
from fairlead.policy.kai.try_line import TryLine
from fairlead.policy.kai.victim_line import VictimLine
from fairlead.policy.kai.victim_steps import Group, VictimSteps

FEW_STEPS: Final = 16
"""After so many in vain it is asked which nodes may help. Most searches are over by then."""
MANY_STEPS: Final = 32
"""After so many it is asked whether more can help, which takes a look at every node."""


class Tried(NamedTuple):
    """What a try came to, if the claimant found its place: who lost it, and who is elsewhere."""

    asked: tuple[Group, ...]  # who left, in that order
    lost: Set[PodKey]
    moved: Set[PodKey]
    joined: Set[PodKey]  # pods of victims that had no place before and have one now
    grouped: tuple[Group, ...]  # all that was considered, whether or not it left


Judge: TypeAlias = Callable[[Tried], bool]
MayStand: TypeAlias = Callable[[Sequence[Group]], bool]
"""Whether a try in which these leave may stand, as far as that is plain before it is made."""


BoundFor: TypeAlias = Callable[[Sequence[PodId], PlaceBalance], MayStand]
"""Tells that of tries for the first pods of a claimant, with the places of the search."""


class _Prefix(NamedTuple):
    """The first pods of the claimant, and what is known when they are to be solved."""

    pods: tuple[PodId, ...]
    kept: tuple[Group, ...]  # whom the pods before the last of them needed
    need: Need  # how many places are lacking when these have left
    judge: Judge
    may_stand: MayStand


class VictimSearch:
    """Searches for one claimant; if it succeeds, the state holds what it found."""

    def __init__(
        self,
        state: ClusterState,
        finder: NodeFinder,
        line: TryLine,
        claimant: WorkloadName,
        pods: Sequence[PodId],
        *,
        now_ms: int,
        faithful: bool,
        note: Callable[[WorkloadName], None],
        bound_for: BoundFor,
        crowds: Callable[[], Mapping[str, Crowd]] | None = None,
        looks_first: bool = False,
    ) -> None:
        """Search in *state*, which is on trial, for a place for *pods* of *claimant*.

        *line* says in which order they are served in a try; *note* is told of every job before
        anything is done to it. By *bound_for* tries for the first pods are left out that cannot
        stand. *crowds* gives all who could be asked, and maybe more, while the state is as at the
        start; None: every step is taken, also where it is plain that none can help. *looks_first*:
        they are looked at before anybody is lined up, and not after a few steps.
        """
        self._state = state
        self._finder = finder
        self._line = line
        self._claimant = claimant
        self._pods = tuple(sorted(pods, key=state.workloads[claimant].pod_name))
        self._now_ms = now_ms
        self._bound_for = bound_for
        self._crowds = crowds
        self._looks_first = looks_first
        note(claimant)
        sets = state.workloads[claimant].pod_sets
        self._base = finder.nodes_with_room(sets.of(pod) for pod in self._pods)
        sizes = [finder.besides_shares(sets.of(pod)) for pod in self._pods]
        self._bound = RoomBound(sizes, finder.rooms(), self._base)
        self._balance = PlaceBalance(sizes, finder.rooms(), self._base, self._moving)
        self._departures = Departures(state, note, faithful=faithful)

    def run(
        self, line_up: Callable[[], VictimLine], judge_for: Callable[[Sequence[PodId]], Judge]
    ) -> Tried | None:
        """Return the try that stood, for all pods; None if there is none, and nothing is changed.

        *line_up* gives the candidates in the order of giving way; it and *judge_for* are asked
        while the state is as at the start.
        """
        steps = VictimSteps(line_up, self._freed)
        kept: tuple[Group, ...] = ()
        judges: list[tuple[Judge, MayStand]] = []
        stood: Tried | None = None
        for count in range(1, len(self._pods) + 1):
            if count > len(judges):
                self._departures.take_back()
                most = min(2 * count, len(self._pods))
                first = [self._pods[:n] for n in range(count, most + 1)]
                judges += [
                    (judge_for(pods), self._bound_for(pods, self._balance)) for pods in first
                ]
            self._keep(steps, kept)
            need = self._bound.need(count)
            prefix = _Prefix(self._pods[:count], kept, need, *judges[count - 1])
            stood = self._solve(steps, prefix)
            if stood is None:
                break
            gone = stood.lost | stood.moved
            kept = tuple([g for g in stood.asked if not gone.isdisjoint(g.members())])
        self._departures.end(stands=stood is not None)
        return stood

    def _solve(self, steps: VictimSteps, prefix: _Prefix) -> Tried | None:
        """Add victims until the pods have a place that may stand."""
        kept = prefix.kept
        if kept and self._bound.allows(prefix.need, {}) and prefix.may_stand(kept):
            stood, _ = self._attempt(prefix, (), tuple)
            if stood is not None:
                return stood
        helpful = self._helpful_nodes(prefix)
        if self._looks_first and not helpful.are_any():
            return None
        failed: set[tuple[int, ...]] = set()
        for number, at in enumerate(self._walk(steps, prefix.need, helpful)):
            if number == FEW_STEPS and not helpful.are_any():
                return None
            if number >= FEW_STEPS and not helpful.is_any_of(steps.nodes(at)):
                continue
            stood = self._take(steps, at, prefix, failed)
            if stood is not None:
                return stood
        return None

    def _helpful_nodes(self, prefix: _Prefix) -> HelpfulNodes:
        """Return the nodes that may help these pods if all leave who are there.

        Law: a step of a job that is on none of them leads to no try that stands.
        """

        def may_help(crowd: Crowd) -> bool:
            if not self._bound.allows(prefix.need, crowd.freed()):
                return False
            return prefix.may_stand((*prefix.kept, *crowd.groups()))

        return HelpfulNodes(lambda: self._all_crowds, may_help)

    @cached_property
    def _all_crowds(self) -> Mapping[str, Crowd] | None:
        if self._crowds is None:
            return None
        self._departures.take_back()
        crowds = self._crowds()
        self._bound.learn(self._finder.rooms(), crowds)
        return crowds

    def _walk(self, steps: VictimSteps, need: Need, helpful: HelpfulNodes) -> Iterator[int]:
        """Yield all steps from the first at which there may be room, as far as they may help."""
        yield from steps.again(need)
        while True:
            yield from steps.further()
            if steps.count() >= MANY_STEPS and self._have_all_who_help(steps, helpful):
                return
            self._departures.take_back()
            nodes = steps.make_more()
            if nodes is None:
                return
            self._bound.learn(self._finder.rooms(), nodes)

    def _have_all_who_help(self, steps: VictimSteps, helpful: HelpfulNodes) -> bool:
        """Return whether all have had their steps who are on a node that may help."""
        return helpful.are_known() and steps.have_all(helpful.members())

    def _take(
        self, steps: VictimSteps, at: int, prefix: _Prefix, failed: set[tuple[int, ...]]
    ) -> Tried | None:
        """Make the tries of one step; *failed* are those in which the claimant found no place.

        After one in which it found some and could not keep it no others are made. So none is left
        out unless it is plain of all that they cannot stand.
        """
        gatherings = steps.gatherings(at)
        tries = [m for m in gatherings if self._bound.allows(prefix.need, steps.freed(m))]
        if not tries:
            steps.close(at)
        tries = [more for more in tries if more not in failed]
        if not any(prefix.may_stand((*prefix.kept, *steps.groups(more))) for more in tries):
            return None
        for more in tries:
            stood, is_placed = self._attempt(
                prefix, steps.groups(more), lambda: steps.groups_until(at)
            )
            if stood is not None or is_placed:
                return stood
            failed.add(more)
        return None

    def _attempt(
        self,
        prefix: _Prefix,
        more: tuple[Group, ...],
        considered: Callable[[], tuple[Group, ...]],
    ) -> tuple[Tried | None, bool]:
        """Let those who are kept and *more* leave, and place everybody again.

        Returns the try if it stands, and whether the claimant found its place at all.
        """
        asked = (*prefix.kept, *more)
        self._line.begin()
        places = self._departures.places
        nodes = self._base | self._departures.let_leave(asked)
        again = PlaceAgain(self._state, self._finder, self._claimant, places, nodes, self._now_ms)
        victims = {group.job for group in asked}
        if not again.place(*self._line.line_up(prefix.pods, victims), victims):
            return None, False
        lost, moved = self._outcome(asked)
        grouped = (*prefix.kept, *considered())
        tried = Tried(asked, lost, moved, frozenset(again.joined), grouped)
        return (tried, True) if prefix.judge(tried) else (None, True)

    def _outcome(self, asked: Iterable[Group]) -> tuple[set[PodKey], set[PodKey]]:
        """Return who of those who left has no place now, and who has another."""
        lost: set[PodKey] = set()
        moved: set[PodKey] = set()
        for group in asked:
            run = self._state.runs.get(group.job)
            for key in group.members():
                now = run.pods.get(key[1]) if run else None
                if now is None:
                    lost.add(key)
                elif not is_same(self._departures.places[key], now):
                    moved.add(key)
        return lost, moved

    def _keep(self, steps: VictimSteps, kept: tuple[Group, ...]) -> None:
        """Let these victims be kept, and know what room that makes."""
        come, gone = steps.keep(kept)
        for group in gone:
            self._bound.unkeep(self._freed(group))
        for group in come:
            self._bound.keep(self._freed(group))

    def _freed(self, group: Group) -> list[tuple[str, Amounts]]:
        """Return what the pods of a group set free at most, with the node of each."""
        return [(each.node, each.freed) for each in self._moving(group) if each is not None]

    def _moving(self, group: Group) -> list[Moving | None]:
        """Return the pods of a group with what that means for nodes; None: it is on no node."""
        sets, finder = self._state.workloads[group.job].pod_sets, self._finder
        held = [(group.nodes[pod], sets.of(pod)) for pod in group.pods]
        return [
            None
            if node is None
            else Moving(node, finder.at_most_freed(each), finder.besides_shares(each))
            for node, each in held
        ]
