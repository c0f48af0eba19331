"""The metrics of a live scheduler: what its queues have, and what it does.

Numbers of the state are made into text by the engine's thread, once a second at most, after a plan
or while nothing is to be planned. A scrape gets the last text, with counters that need no state.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from decimal import Decimal
from itertools import product
from math import inf
from typing import Final, get_args

from fairlead.cluster.kubernetes.acting.acts import Bind, Evict, Outcome, Result
from fairlead.cluster.kubernetes.engine.engine import Carried, Engine
from fairlead.cluster.kubernetes.reporting.writer import ReportCounts
from fairlead.errors import FairleadError
from fairlead.model.plan import LeftPending, Plan
from fairlead.store.metrics.exposition import exposition
from fairlead.store.metrics.family import Family, Histogram, single
from fairlead.store.metrics.registry import state_families

RENDER_EVERY_MS: Final = 1000
_PLAN_BOUNDS_S: Final = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, inf)
_VERBS: Final = ("bind", "evict")
_DECISIONS: Final = ("start", "reserve", "evict", "move", "overtaken")


class LiveMetrics:
    """Takes note of plans and outcomes, and answers scrapes."""

    def __init__(
        self,
        *,
        is_leader: Callable[[], bool],
        awaited: Callable[[], Sequence[str]],
        reports: ReportCounts,
        more: Callable[[], Sequence[Family]] = tuple,
    ) -> None:
        """Begin with nothing counted.

        *awaited* are the kinds of object of which what is known is not of now. *more* is asked at
        each scrape, as the others are, and must not touch the state.
        """
        self._is_leader = is_leader
        self._awaited = awaited
        self._reports = reports
        self._more = more
        self._state_text = b""
        self._rendered_ms = -RENDER_EVERY_MS
        self._plan_counts = [0] * len(_PLAN_BOUNDS_S)
        self._plan_s = 0.0
        # Each is written by one thread only: the engine's the first two, the event loop the last.
        self._decisions = Counter(dict.fromkeys(_DECISIONS, 0))
        self._given: Counter[str] = Counter()
        self._ended = Counter(dict.fromkeys(product(_VERBS, get_args(Result)), 0))

    def planned(self, engine: Engine, plan: Plan, carried: Carried, took_s: float) -> None:
        """Count a plan and its decisions. Called by the engine's thread."""
        self._plan_counts[bisect_left(_PLAN_BOUNDS_S, took_s)] += 1
        self._plan_s += took_s
        for each in carried.decisions:
            if not isinstance(each, LeftPending):
                self._decisions[type(each).__name__.lower()] += 1
        self._decisions["overtaken"] += carried.overtaken
        for batch in carried.batches:
            verb = "bind" if isinstance(batch[0], Bind) else "evict"
            self._given[verb] += len(batch)
        self._render(engine, plan.taken_ms)

    def rested(self, engine: Engine, now_ms: int) -> None:
        """Take the numbers of the state. Called by the engine's thread."""
        self._render(engine, now_ms)

    def ended(self, outcome: Outcome) -> None:
        """Count what became of an act. Called by the event loop."""
        if isinstance(outcome.act, Bind | Evict):
            verb = "bind" if isinstance(outcome.act, Bind) else "evict"
            self._ended[verb, outcome.result] += 1

    def text(self) -> bytes:
        """Return all metrics. Called by any thread."""
        return self._state_text + exposition(self.families())

    def _render(self, engine: Engine, now_ms: int) -> None:
        if now_ms < self._rendered_ms + RENDER_EVERY_MS:
            return
        self._rendered_ms = now_ms
        try:
            families = state_families(engine.state, engine.settings, None)
        except FairleadError:  # there is nothing to divide yet
            families = []
        self._state_text = exposition(families)

    def families(self) -> list[Family | Histogram]:
        """Return the numbers that need no state. Called by any thread."""
        return [
            self._plans(),
            _counter(
                "fairlead_decisions_total",
                "Decisions of plans that were carried out, or overtaken by the cluster",
                "decision",
                self._decisions,
            ),
            self._acts(),
            self._unfinished(),
            single(
                "fairlead_leader",
                "1 while this process is the one that acts",
                int(self._is_leader()),
            ),
            single(
                "fairlead_stale_kinds",
                "Kinds of object of which what is known is not of now",
                len(self._awaited()),
            ),
            *self._of_reports(),
            *self._more(),
        ]

    def _plans(self) -> Histogram:
        return Histogram(
            name="fairlead_plan_duration_seconds",
            meaning="How long plans took",
            bounds=_PLAN_BOUNDS_S,
            counts=tuple(self._plan_counts),
            total=self._plan_s,
        )

    def _acts(self) -> Family:
        ended = sorted(dict(self._ended).items())
        return Family(
            name="fairlead_acts_total",
            meaning="Binds and evictions of pods, by what became of them",
            kind="counter",
            labels=("verb", "result"),
            samples=tuple([(key, Decimal(count)) for key, count in ended]),
        )

    def _unfinished(self) -> Family:
        ended = dict(self._ended)
        left = {
            verb: self._given[verb] - sum(n for (own, _), n in ended.items() if own == verb)
            for verb in _VERBS
        }
        return Family(
            name="fairlead_acts_unfinished",
            meaning="Binds and evictions of pods that wait or are on their way",
            labels=("verb",),
            samples=tuple([((verb,), Decimal(max(0, count))) for verb, count in left.items()]),
        )

    def _of_reports(self) -> list[Family]:
        reports = self._reports
        about = "Events, and statuses of pods and queues,"
        return [
            _counter(
                "fairlead_reports_written_total", f"{about} written", "report", reports.written
            ),
            _counter(
                "fairlead_reports_failed_total",
                f"Attempts to write {about.lower().rstrip(',')} that failed",
                "report",
                reports.failed,
            ),
            _counter(
                "fairlead_reports_dropped_total",
                f"{about} given up",
                "report",
                reports.dropped,
            ),
        ]


def _counter(name: str, meaning: str, label: str, counts: Counter[str]) -> Family:
    known = sorted(dict(counts).items())  # another thread may count meanwhile
    return Family(
        name=name,
        meaning=meaning,
        kind="counter",
        labels=(label,),
        samples=tuple([((key,), Decimal(count)) for key, count in known]),
    )
