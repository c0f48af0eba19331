"""Tells users on the API server what is decided and done: Events, conditions, status of quotas.

What to say is worked out by the engine's thread, once something has changed, and is written by
tasks of the event loop. Nothing that decides waits for it, and none of it is needed to go on after
a restart but the nominations, which are therefore written first.
"""

import random
import time
from collections import deque
from collections.abc import Callable
from typing import Final, Literal, TypeAlias

from fairlead.cluster.kubernetes.acting.acts import Bind, Evict, Outcome
from fairlead.cluster.kubernetes.client.access import Access
from fairlead.cluster.kubernetes.client.session import Session
from fairlead.cluster.kubernetes.engine.engine import Carried, Engine
from fairlead.cluster.kubernetes.reporting.outbox import LaneName, Outbox
from fairlead.cluster.kubernetes.reporting.reports import (
    EventReason,
    ObjectStatus,
    PodEvent,
    PodStatus,
    Report,
    Subject,
    event_name,
)
from fairlead.cluster.kubernetes.reporting.rule_sets import ObjectStatuses
from fairlead.cluster.kubernetes.reporting.waiting_pods import WaitingPods, bounded
from fairlead.cluster.kubernetes.reporting.words import Words
from fairlead.cluster.kubernetes.reporting.writer import Pace, ReportCounts, Writer, kind_of
from fairlead.model.plan import Evict as EvictDecision
from fairlead.model.plan import Move as MoveDecision
from fairlead.model.plan import Plan
from fairlead.model.state import ClusterState

EventsWanted: TypeAlias = Literal["changes", "all"]
"""Changes: evictions, and waits whose reason changed. All: also each pod that starts."""

WAITS_PER_SECOND: Final = 20.0
_STARTS_AT_ONCE: Final = 16
_PROMPT_AT_ONCE: Final = 4
_MOST: Final[dict[LaneName, int]] = {"prompt": 10_000, "waits": 20_000, "starts": 10_000}
_MOST_AHEAD: Final = 200  # reasons to wait that are in words before they can be written
_DEADLINE_S: Final = 10.0
_OBJECTS_EVERY_MS: Final = 1000


class Reporter:
    """Takes note of plans and outcomes, and writes what users are to see of them."""

    def __init__(
        self,
        access: Access,
        words: Words,
        *,
        events: EventsWanted,
        hindrance: Callable[[], str],
        waits_per_second: float = WAITS_PER_SECOND,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 10**6,
    ) -> None:
        """Write nothing yet. While *hindrance* says why, such as not leading, nothing is written.

        *now_ms* is the time of outcomes; plans have their own.
        """
        self.counts = ReportCounts()
        self._access = access
        self._words = words
        self._has_starts = events == "all"
        self._hindrance = hindrance
        self._waits_per_second = waits_per_second
        self._now_ms = now_ms
        self._outbox = Outbox(_MOST)
        self._waiting = WaitingPods(words)
        self._unwritten: deque[Report] = deque()  # from the event loop to the engine's thread
        self._object_statuses = ObjectStatuses()
        self._statuses: dict[Subject, ObjectStatus] = {}  # as written last
        self._looked: tuple[ClusterState, int] | None = None  # of which they are
        self._looked_ms = 0

    def planned(self, engine: Engine, plan: Plan, carried: Carried, took_s: float) -> None:  # noqa: ARG002
        """Work out what to say after a plan. Called by the engine's thread."""
        self._forget_unwritten()
        for lane, report in self._waiting.reports(engine, plan, carried.decisions):
            self._put(lane, report)
        self._report_more(engine, plan.taken_ms)
        if not plan.is_cut:
            self._report_objects(engine, plan.taken_ms)

    def rested(self, engine: Engine, now_ms: int) -> None:
        """Say what was put off. Called by the engine's thread."""
        self._forget_unwritten()
        if not self._hindrance():
            self._report_more(engine, now_ms)
            self._report_objects(engine, now_ms)

    def ended(self, outcome: Outcome) -> None:
        """Say what was done. Called by the event loop."""
        if outcome.result != "done":
            return
        act, decision = outcome.act, outcome.act.order.decision
        if isinstance(act, Bind):
            if self._has_starts:
                text = f"Successfully assigned {act.target} to {act.node}"
                self._put("starts", self._event(act, "Scheduled", text, act.node))
        elif isinstance(act, Evict) and isinstance(decision, EvictDecision | MoveDecision):
            text = bounded(self._words.evicted(decision))
            self._put("prompt", self._event(act, "Preempted", text, str(act.order.number)))

    async def run(self) -> None:
        """Write what is to be said until the task is cancelled."""
        paces: dict[LaneName, Pace] = {
            "prompt": Pace(_PROMPT_AT_ONCE),
            "waits": Pace(1, self._waits_per_second),
        }
        if self._has_starts:
            paces["starts"] = Pace(_STARTS_AT_ONCE)
        connections = sum(each.at_once for each in paces.values())
        session = Session(self._access, connections=connections, deadline_s=_DEADLINE_S)
        writer = Writer(
            session,
            self._outbox,
            self.counts,
            paces=paces,
            hindrance=self._hindrance,
            given_up=self._give_up,
            random=random.random,
        )
        try:
            await writer.run()
        finally:
            await session.close()

    def _event(self, act: Bind | Evict, reason: EventReason, text: str, *parts: str) -> PodEvent:
        now_ms = self._now_ms()
        return PodEvent(
            pod=act.target,
            name=event_name(act.target, reason, *parts),
            type="Normal",
            reason=reason,
            message=text,
            first_ms=now_ms,
            at_ms=now_ms,
        )

    def _report_more(self, engine: Engine, now_ms: int) -> None:
        """Say why further workloads wait, as far as it can be written soon."""
        room = _MOST_AHEAD - self._outbox.waiting("waits")
        for lane, report in self._waiting.more(engine, now_ms, room):
            self._put(lane, report)

    def _report_objects(self, engine: Engine, now_ms: int) -> None:
        """Say what queues hold, if that may have changed; at most once a second."""
        seen = engine.state, engine.state.moment
        if seen == self._looked or now_ms < self._looked_ms + _OBJECTS_EVERY_MS:
            return
        self._looked, self._looked_ms = seen, now_ms
        statuses = {each.subject: each for each in self._object_statuses.of(engine)}
        for subject, status in statuses.items():
            if self._statuses.get(subject) != status:
                self._put("prompt", status)
        self._statuses = statuses

    def _put(self, lane: LaneName, report: Report) -> None:
        if not self._outbox.put(lane, report):
            self._give_up(report)

    def _give_up(self, report: Report) -> None:
        self.counts.dropped[kind_of(report)] += 1
        if not isinstance(report, PodEvent):  # an Event that is late is worth nothing
            self._unwritten.append(report)

    def _forget_unwritten(self) -> None:
        """Let what could not be written be said again when it is next looked at."""
        while self._unwritten:
            report = self._unwritten.popleft()
            if isinstance(report, PodStatus):
                self._waiting.forget(report.pod.uid)
            elif isinstance(report, ObjectStatus):
                self._statuses.pop(report.subject, None)
                self._looked = None
