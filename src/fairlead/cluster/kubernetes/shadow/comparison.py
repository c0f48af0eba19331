"""Compares what a plan would do with what the running scheduler does.

The plan is made of the state as it was before the news, so both have decided about the same. What
the running scheduler did and the plan did not is a difference at once. What the plan would do and
the running scheduler has not done may only be late: it becomes a difference when some time has
passed and the plans still say so.
"""

from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal, TypeAlias, assert_never

import msgspec

from fairlead.cluster.kubernetes.shadow.standing import News
from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.plan import Decision, Evict, Move, Reserve, Start, Unknown, Wait
from fairlead.model.run import Placed
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId, PodKey
from fairlead.policy.obstacles import OTHER_SCHEDULER

PATIENCE_MS: Final = 10_000
MOST_DIFFERENCES: Final = 1000

DifferenceKind: TypeAlias = Literal["started", "not-started", "not-evicted"]
"""Started: the running scheduler started a pod that Fairlead would not. Not started, not evicted:
Fairlead would have."""


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """One pod about which the two schedulers decided otherwise."""

    kind: DifferenceKind
    workload: WorkloadName
    pod: str
    queue: QueueName
    node: str | None  # where it was, or would be, started, or would be evicted
    since_ms: int
    decision: Decision | None  # Fairlead's, with its reason; None: the plan did not mention it


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What the plans say since when, and the running scheduler has not done."""

    decision: Start | Evict | Move
    node: str | None
    since_ms: int
    is_counted: bool = False


WishKey: TypeAlias = tuple[Literal["start", "evict"], PodKey]


class Comparison:
    """What both schedulers did alike and otherwise since the beginning."""

    def __init__(self) -> None:
        """Begin with nothing compared."""
        self.since_ms: int | None = None
        self.counts: Counter[str] = Counter()
        self.differences: deque[Difference] = deque(maxlen=MOST_DIFFERENCES)
        self.longest_lag_ms = 0  # of a start on which both agree
        self._wishes: dict[WishKey, Wish] = {}

    def open_wishes(self) -> Mapping[WishKey, Wish]:
        """Return what Fairlead would do now, and the running scheduler has not done."""
        return self._wishes

    def compare(
        self, state: ClusterState, decided: Sequence[Decision], news: News, now_ms: int
    ) -> None:
        """Take in *news*, and what Fairlead *decided* before them. *state* may be either."""
        self.since_ms = now_ms if self.since_ms is None else self.since_ms
        wanted = _wanted(decided)
        decisions = {each.workload: each for each in decided}
        for key, placed in news.started.items():
            self._compare_start(state, key, placed, wanted, decisions, now_ms)
        for key in news.leaving:
            if ("evict", key) in wanted:
                self.counts["evicted by both"] += 1
        done: set[WishKey] = {("start", key) for key in news.started}
        done |= {("evict", key) for key in news.leaving}
        self._wish({key: each for key, each in wanted.items() if key not in done}, now_ms)
        self._count_old_wishes(state, now_ms)

    def _compare_start(
        self,
        state: ClusterState,
        key: PodKey,
        placed: Placed,
        wanted: Mapping[WishKey, tuple[Start | Evict | Move, str | None]],
        decisions: Mapping[WorkloadName, Decision],
        now_ms: int,
    ) -> None:
        wish = self._wishes.get(("start", key))
        found = wanted.get(("start", key))
        if found is not None or wish is not None:
            self.counts["started by both"] += 1
            node = found[1] if found is not None else wish.node if wish is not None else None
            self.counts["on the same node"] += node == placed.node
            if wish is not None:
                self.longest_lag_ms = max(self.longest_lag_ms, now_ms - wish.since_ms)
            return
        obstacle = state.workloads[key[0]].obstacle
        if obstacle is not None and obstacle.code == OTHER_SCHEDULER:
            return
        decision = decisions.get(key[0])
        if isinstance(decision, Unknown):
            self.counts["started, which Fairlead cannot judge"] += 1
        else:
            self._differ(state, "started", key, placed.node, now_ms, decision)

    def _wish(
        self, wanted: Mapping[WishKey, tuple[Start | Evict | Move, str | None]], now_ms: int
    ) -> None:
        before = self._wishes
        self._wishes = {}
        for key, (decision, node) in wanted.items():
            known = before.get(key)
            self._wishes[key] = Wish(
                decision=decision,
                node=node,
                since_ms=now_ms if known is None else known.since_ms,
                is_counted=known is not None and known.is_counted,
            )

    def _count_old_wishes(self, state: ClusterState, now_ms: int) -> None:
        for (verb, key), wish in self._wishes.items():
            if wish.is_counted or now_ms - wish.since_ms < PATIENCE_MS:
                continue
            self._wishes[verb, key] = msgspec.structs.replace(wish, is_counted=True)
            kind: DifferenceKind = "not-started" if verb == "start" else "not-evicted"
            self._differ(state, kind, key, wish.node, wish.since_ms, wish.decision)

    def _differ(
        self,
        state: ClusterState,
        kind: DifferenceKind,
        key: PodKey,
        node: str | None,
        since_ms: int,
        decision: Decision | None,
    ) -> None:
        workload = state.workloads[key[0]]
        self.counts[kind] += 1
        self.differences.append(
            Difference(
                kind=kind,
                workload=workload.name,
                pod=workload.pod_name(key[1]),
                queue=workload.queue,
                node=node,
                since_ms=since_ms,
                decision=decision,
            )
        )


def _wanted(
    decided: Iterable[Decision],
) -> dict[WishKey, tuple[Start | Evict | Move, str | None]]:
    """Return what is to be done to each pod, and on which node."""
    wanted: dict[WishKey, tuple[Start | Evict | Move, str | None]] = {}
    for decision in decided:
        match decision:
            case Start():
                for place in decision.placements:
                    wanted["start", (decision.workload, place.pod)] = decision, place.node
            case Evict() | Move():
                for pod in _evicted(decision):
                    wanted["evict", (decision.workload, pod)] = decision, None
            case Reserve() | Wait() | Unknown():
                pass
            case _:
                assert_never(decision)
    return wanted


def _evicted(decision: Evict | Move) -> Iterable[PodId]:
    if isinstance(decision, Evict):
        return decision.pods
    return [each.pod for each in decision.origins]
