"""When to plan again, and how: as soon as something changed, not before it can matter.

A long plan is made in slices, so that the first pods are bound while the rest is planned. Reasons
for which workloads wait are worked out once a second at most, since nothing is decided by them.
"""

from typing import Final

import msgspec

from fairlead.model.plan import Plan

AT_MOST_STARTS: Final = 200
"""How many pods a slice of a plan starts."""
MOST_WAITING_BINDS: Final = 200
"""How many bindings may wait before planning pauses: a plan is only as good as what it knows."""
EXPLAIN_EVERY_MS: Final = 1000
LOOK_AGAIN_MS: Final = 1000
"""When a plan that depends on the time is made again, where it does not say until when it holds."""


class Due(msgspec.Struct, frozen=True):
    """A plan is to be made now, with or without reasons for what waits."""

    explain: bool


class Pacing:
    """What was planned last, and of which state."""

    def __init__(self) -> None:
        """Begin with nothing planned."""
        self._planned_moment = -1
        self._explained_moment = -1
        self._explained_ms = -EXPLAIN_EVERY_MS
        self._again_ms: int | None = None  # when time alone makes a plan due
        self._may_differ = True  # the last plan was cut, or could not be made

    def due(self, moment: int, now_ms: int, *, is_waiting: bool) -> Due | None:
        """Return which plan is to be made of a state of *moment*; None: none is due.

        *is_waiting*: some pod has no place.
        """
        is_timed = self._again_ms is not None and self._again_ms <= now_ms
        is_changed = self._may_differ or moment != self._planned_moment or is_timed
        is_unexplained = is_waiting and (moment != self._explained_moment or is_timed)
        may_explain = now_ms - self._explained_ms >= EXPLAIN_EVERY_MS
        if not is_changed and not (is_unexplained and may_explain):
            return None
        return Due(explain=is_waiting and may_explain and not self._may_differ)

    def planned(
        self, plan: Plan, due: Due, moment: int, release_ms: int | None, *, may_differ: bool
    ) -> None:
        """Note that *plan* was made and carried out, which led to *moment*.

        *release_ms* is when something held back after a failure may be tried again. *may_differ*:
        the next plan may decide more, although nothing changes until then.
        """
        self._planned_moment = moment
        self._may_differ = may_differ
        if due.explain and not may_differ:
            self._explained_moment, self._explained_ms = moment, plan.taken_ms
        later_ms = [release_ms] if release_ms is not None else []
        if plan.time_dependent:
            later_ms.append(plan.valid_until_ms or plan.taken_ms + LOOK_AGAIN_MS)
        self._again_ms = max(min(later_ms), plan.taken_ms + 1) if later_ms else None

    def next_ms(self, moment: int, *, is_waiting: bool) -> int | None:
        """Return when a plan is due by time alone; None: only a change makes one due."""
        times = [self._again_ms] if self._again_ms is not None else []
        if is_waiting and moment != self._explained_moment:
            times.append(self._explained_ms + EXPLAIN_EVERY_MS)
        return min(times, default=None)
