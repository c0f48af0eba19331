"""The shortcuts of KAI's rules: what the plain answer would be instead of each of them."""

from collections.abc import Mapping, Sequence, Set
from typing import Any, Final

from bench.ablation.shortcut import Replacement, Shortcut
from bench.ablation.workloads import AblationWorkload, decided, simulated
from bench.bench_claims import large_gang_500, nothing_to_take, reclaim_hundred
from fairlead.model.axes import QueueName
from fairlead.policy.kai.actions.prefilter import TryEveryTurn
from fairlead.policy.kai.fair_share.shares import KaiShares
from fairlead.policy.kai.incremental.pending_queues import IncrementalPendingQueues
from fairlead.policy.kai.incremental.shares import IncrementalShares
from fairlead.policy.kai.incremental.sources import (
    IncrementalCandidates,
    IncrementalIncompleteGangs,
)
from fairlead.policy.kai.jobs.stale_gangs import find_incomplete
from fairlead.policy.kai.ordering.pending_jobs import PendingJobs
from fairlead.policy.kai.ordering.queue_order import queue_numbers
from fairlead.policy.kai.policy import _LastPlan
from fairlead.policy.kai.pruning.moves import FirstVictims, MoveBound, MoveBounds
from fairlead.policy.kai.pruning.prefilter import (
    ActionBounds,
    InfeasibleClasses,
)
from fairlead.policy.kai.pruning.room import RoomBound
from fairlead.policy.kai.victims.candidates import EvictionOrder
from fairlead.policy.kai.victims.reschedule import Evictions, Reschedule
from fairlead.policy.kai.victims.solver import VictimSteps


def _yes(*_args: Any, **_named: Any) -> bool:
    return True


def _no(*_args: Any, **_named: Any) -> bool:
    return False


def _nothing(*_args: Any, **_named: Any) -> None:
    return None


def _empty(*_args: Any, **_named: Any) -> Set[Any]:
    return frozenset()


def _first_victims(self: FirstVictims, most: Any, division: Any, candidates: Any) -> Any:
    """Order the victims anew."""
    filters = [(leaf, _yes) for leaf in division.leaves]
    draw, numbers = division.draw, division.numbers
    order = EvictionOrder(self._state, candidates, filters, draw, numbers, most)
    found = []
    while (candidate := order.pop()) is not None:
        found.append(candidate)
    return found


def _move_bound(self: MoveBounds, first: Any) -> MoveBound:
    self._pods.clear()
    return MoveBound(self._finder.rooms(), self._all_pods(first))


def _divide(self: IncrementalShares) -> None:
    """Divide all; what depends on it still learns which queues changed."""
    state = self._state
    if state.layout.moment != self._layout:
        self._begin()
    self.changes.log()
    total = state.total()
    for row in KaiShares(state, total, self._k).rows():
        before = self.shares.get(row.queue)
        self.shares[row.queue] = row
        if before is None or total != self._total or before.fair_share != row.fair_share:
            self.numbers[row.queue] = queue_numbers(state, row, total, self._units)
            self.entitled.touch(row.queue)
    self._total = total


def _pending_anew(self: IncrementalPendingQueues) -> Mapping[QueueName, Any]:
    moment = self._state.touched.moment
    if self._read_at != moment:
        self._begin()
        self._read_at = moment
    return self._queues


_catch_up = IncrementalCandidates._catch_up  # noqa: SLF001  it is replaced


def _candidates_anew(self: IncrementalCandidates) -> None:
    if self._read_at != self._state.touched.moment:
        self._read_at = None
    _catch_up(self)


def _incomplete(self: IncrementalIncompleteGangs) -> Any:
    return find_incomplete(self._state)


_evict = Evictions.evict


def _evict_all(self: Evictions, groups: Sequence[Any]) -> set[str]:
    self.undo()
    return _evict(self, groups)


_keep = VictimSteps.keep


def _keep_and_forget(self: VictimSteps, kept: Any) -> Any:
    """Forget the steps at each pod of the preemptor."""
    changed = _keep(self, kept)
    self._forget()
    return changed


class _NoMisfits(set[Any]):
    """Remembers nothing."""

    def add(self, _shape: Any) -> None:
        """Forget it."""


_reschedule = Reschedule.__init__


def _reschedule_without_misfits(self: Reschedule, *args: Any) -> None:
    _reschedule(self, *args)
    self._misfits = _NoMisfits()


def _off(name: str, lines: int, *replacements: tuple[Any, str, Any]) -> Shortcut:
    return Shortcut(name, lines, tuple([Replacement(*each) for each in replacements]))


SHORTCUTS: Final[tuple[Shortcut, ...]] = (
    # pruning: of one search
    _off("room bound", 130, (RoomBound, "allows", _yes)),
    # pruning: of one action
    _off("class filter", 70, (ActionBounds, "turn_filter", lambda *_: TryEveryTurn())),
    _off("move bound", 370, (ActionBounds, "_may_moving_help", _yes)),
    _off("first victims kept", 230, (FirstVictims, "first", _first_victims)),
    _off("move bound kept", 30, (MoveBounds, "bound", _move_bound)),
    _off("infeasible classes", 60, (InfeasibleClasses, "all", _empty)),
    # incremental
    _off("shares", 170, (IncrementalShares, "catch_up", _divide)),
    _off("pending queues", 160, (IncrementalPendingQueues, "queues", _pending_anew)),
    _off("candidates", 130, (IncrementalCandidates, "_catch_up", _candidates_anew)),
    _off("incomplete gangs", 30, (IncrementalIncompleteGangs, "read", _incomplete)),
    # in the rules
    _off("last plan", 20, (_LastPlan, "may_serve", _no)),
    _off("elastic growth", 25, (PendingJobs, "_plan_growth", _nothing)),
    _off("closed steps", 40, (VictimSteps, "close", _nothing)),
    _off("steps kept", 40, (VictimSteps, "keep", _keep_and_forget)),
    _off("shared evictions", 25, (Evictions, "evict", _evict_all)),
    _off("misfits of a scenario", 25, (Reschedule, "__init__", _reschedule_without_misfits)),
)

WORKLOADS: Final[tuple[AblationWorkload, ...]] = (
    simulated("month", "kai", days=1),
    simulated("philly", "kai", days=3, from_day=30),
    simulated("philly", "kai", days=5, from_day=62),
    decided("reclaim among 8,000", reclaim_hundred),
    decided("2,000 that may not reclaim", nothing_to_take),
    decided("a gang over 500 nodes", large_gang_500),
)
