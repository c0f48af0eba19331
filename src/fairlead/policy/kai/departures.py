"""Victims that have left their places for the sake of a try, and what that takes back.

Every try begins from the state as the search found it. But most of those who leave in one try leave
in the next one as well, in the same order; so only what the two do not have in common is undone.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from fairlead.model.accounting.journal import Mark
from fairlead.model.axes import WorkloadName
from fairlead.model.events import WorkloadDisplaced, WorkloadStopped
from fairlead.model.run import Placed
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodKey
from fairlead.policy.kai.victim_steps import Group


class _Left(NamedTuple):
    group: Group
    mark: Mark  # before it left
    nodes: set[str]  # that it had


class Departures:
    """Groups that have left one state, which is on trial, and where they had been."""

    def __init__(
        self, state: ClusterState, note: Callable[[WorkloadName], None], *, faithful: bool
    ) -> None:
        """Begin with nobody gone. *note* is told of every job before anything is done to it.

        *faithful*: what was only promised to a pod is held until it has left, as in KAI.
        """
        self.places: dict[PodKey, Placed] = {}
        """Where who left had been."""
        self._state = state
        self._note = note
        self._faithful = faithful
        self._left: list[_Left] = []
        self._start = state.mark()
        self._all_left: Mark | None = None  # the moment; None: nothing was done since the start

    def let_leave(self, groups: Sequence[Group]) -> set[str]:
        """Let these groups be gone and no others, and nothing else be done; returns their nodes.

        Law: the state is as if they had left one after the other at the start. Cost: the groups in
        which this differs from the time before, and what was done since; a glance at the others.
        """
        common = 0
        for left, group in zip(self._left, groups, strict=False):
            if left.group is not group and left.group != group:
                break
            common += 1
        self._return_from(common)
        for group in groups[common:]:
            mark = self._state.mark()
            self._left.append(_Left(group, mark, self._leave(group)))
        self._all_left = self._state.mark()
        return {node for left in self._left for node in left.nodes}

    def take_back(self) -> None:
        """Let the state be as it was at the start."""
        if self._all_left is not None:
            self._return_from(0)
            self._state.roll_back(self._start)
            self._start = self._state.mark()
            self._all_left = None

    def end(self, *, stands: bool) -> None:
        """Let all that was done stand, or nothing of it."""
        if stands:
            self._state.keep(self._start)
        else:
            self._state.roll_back(self._start)

    def _return_from(self, common: int) -> None:
        """Undo what was done since all had left, and let groups return from a place on."""
        if self._all_left is None:
            return
        returning = self._left[common:]
        self._state.roll_back(returning[0].mark if returning else self._all_left)
        for left in returning:
            for pod in left.group.members():
                del self.places[pod]
        del self._left[common:]

    def _leave(self, group: Group) -> set[str]:
        """Take the places of a group away; returns the nodes that it had."""
        state = self._state
        self._note(group.job)
        run = state.runs[group.job]
        places = {pod: run.pods[pod] for pod in group.pods}
        self.places |= {(group.job, pod): placed for pod, placed in places.items()}
        open_ended = [pod for pod, placed in places.items() if placed.phase == "reserved"]
        if self._faithful:
            open_ended = []
        if open_ended:  # what was only promised to it holds nothing
            state.apply(WorkloadStopped(workload=group.job, pods=tuple(open_ended)))
        rest = tuple([pod for pod in group.pods if pod not in open_ended])
        if rest:
            state.apply(WorkloadDisplaced(workload=group.job, pods=rest))
        return {placed.node for placed in places.values() if placed.node is not None}
