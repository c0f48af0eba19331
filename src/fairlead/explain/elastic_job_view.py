"""One workload under ElasticQuotas as a plan found it, and the desk as it was at its turn.

The plan is made twice: once to see what is decided, and once more up to the moment when the
workload has its turn, so that the policy can be asked what it weighs there.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from fairlead.model.axes import WorkloadName
from fairlead.model.plan import Evict, Reserve, Start, Wait
from fairlead.model.state import ClusterState
from fairlead.policy.elastic_quota.api import (
    NOT_READY,
    SCHEDULE_TIMED_OUT,
    SCHEDULING_GATED,
    UNSUPPORTED_CONSTRAINT,
    WOULD_BE_EVICTED,
    PlanningContext,
    PlanReplay,
)
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings
from fairlead.policy.obstacles import INVALID_OBJECT, OTHER_SCHEDULER, POD_GROUP_NOT_FOUND

_WITHOUT_A_TURN: Final = (
    INVALID_OBJECT,
    NOT_READY,
    OTHER_SCHEDULER,
    POD_GROUP_NOT_FOUND,
    SCHEDULING_GATED,
    SCHEDULE_TIMED_OUT,
    UNSUPPORTED_CONSTRAINT,
    WOULD_BE_EVICTED,
)


class ElasticJobView:
    """What a plan comes to for one workload."""

    def __init__(
        self, state: ClusterState, settings: ElasticQuotaSettings, job: WorkloadName, now_ms: int
    ) -> None:
        """Plan for *state*, which is left as it is."""
        self.state: Final = state
        self.settings: Final = settings
        self.now_ms: Final = now_ms
        self.workload: Final = state.workloads[job]
        self._replay: Final = PlanReplay(state, settings, now_ms)
        self.plan: Final = self._replay.plan
        self.decisions: Final = [each for each in self.plan.decisions if each.workload == job]
        self.victims: Final = [
            each
            for each in self.plan.decisions
            if isinstance(each, Evict) and each.beneficiary == job
        ]

    def gainers(self) -> list[Reserve]:
        """Return what those get for whose sake it loses pods."""
        names = {each.beneficiary for each in self.decisions if isinstance(each, Evict)}
        return [
            each
            for each in self.plan.decisions
            if isinstance(each, Reserve) and each.workload in names
        ]

    def line(self) -> list[WorkloadName]:
        """Return everybody who waits, in the order of their turns."""
        turns = [each.workload for each in self.plan.decisions if not isinstance(each, Evict)]
        return list(dict.fromkeys(turns))

    def seeks(self) -> Start | Reserve | Wait | None:
        """Return what came of its last turn; None if it had none."""
        found = [each for each in self.decisions if isinstance(each, Start | Reserve | Wait)]
        last = found[-1] if found else None
        is_barred = isinstance(last, Wait) and last.reason.code in _WITHOUT_A_TURN
        return None if is_barred else last

    @contextmanager
    def desk_at_turn(self) -> Iterator[PlanningContext]:
        """Give the desk as it was just before its last turn, which it must have had.

        It may be changed: everything is undone at the end.
        """
        last = self.seeks()
        assert last is not None, "who is asked about had a turn"
        with self._replay.context_before(last) as desk:
            yield desk
