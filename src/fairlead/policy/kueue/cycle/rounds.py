"""What the turns of one tree of quota remember, whether they are taken in cycles or one by one."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping

from fairlead.fairness.quota_tree import QuotaTree
from fairlead.model.axes import QuotaAxes, WorkloadName
from fairlead.model.memory import Promise
from fairlead.policy.kueue.cycle.cycle import Turn
from fairlead.policy.kueue.flavors.nomination import Nomination
from fairlead.policy.kueue.preemption.restraints import PreemptionRestraints
from fairlead.policy.kueue.preemption.targets import Target
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.policy.kueue.snapshot.snapshot import Snapshot
from fairlead.policy.kueue.workloads import AdmittedWorkload


class Rounds(ABC):
    """Who had a turn, who was told to leave, and what was promised to whom.

    Heads are nominated in ``decided_on``, and ``present`` counts what is used now. They are the
    same tree, unless promises are kept: then those who were told to leave are gone in the first.
    """

    def __init__(
        self,
        decided_on: Snapshot,
        present: QuotaTree,
        axes: QuotaAxes,
        settings: KueueSettings,
        restraints: PreemptionRestraints,
        promises: Mapping[WorkloadName, Promise],
    ) -> None:
        """Begin with what earlier plans promised to those who preempt."""
        self.decided_on = decided_on
        self.present = present
        self._axes = axes
        self._settings = settings
        self._restraints = restraints
        self._promises = dict(promises)
        self._evicted: set[WorkloadName] = set()  # to leave, in this plan
        self.last: dict[WorkloadName, Turn] = {}  # of those that had one and wait
        self.pods_left_to_start: int | None = None  # after how many pods to stop; None: not at all

    @abstractmethod
    def run(self) -> Iterator[Turn]:
        """Yield the turns that admit or evict somebody, each before the trees follow it."""

    def has_started_enough(self) -> bool:
        """Return whether to stop here, because enough pods have started."""
        return self.pods_left_to_start is not None and self.pods_left_to_start <= 0

    @abstractmethod
    def leaving(self) -> frozenset[WorkloadName]:
        """Return who was told to leave, in this plan or before."""

    def newly_evicted(self, turn: Turn) -> list[Target]:
        """Return who gives way in *turn* and was not told to leave before."""
        return [
            each
            for each in turn.targets
            if not each.workload.is_evicted and each.workload.name not in self._evicted
        ]

    def preempting(self) -> list[Turn]:
        """Return the last turns of those that wait for others to leave."""
        return [turn for turn in self.last.values() if turn.outcome == "preempting"]

    def awaited(self, turn: Turn, leaving: frozenset[WorkloadName]) -> list[WorkloadName]:
        """Return for whom of *leaving* one that is preempting waits, by name."""
        promise = self._promises.get(turn.nomination.pending.name)
        own = () if promise is None else leaving.intersection(promise.waits_for)
        return sorted(own or leaving)

    def chosen(self) -> dict[WorkloadName, Nomination]:
        """Return those that preempt as they were nominated, where they have chosen for good."""
        return {turn.nomination.pending.name: turn.nomination for turn in self.preempting()}

    def _evict_targets(self, turn: Turn) -> list[AdmittedWorkload]:
        """Return whom *turn* tells to leave now, and note what is promised for that."""
        nomination, name = turn.nomination, turn.nomination.pending.name
        told = self.newly_evicted(turn)
        for target in told:
            self._restraints.record(name, target)
            self._evicted.add(target.workload.name)
        if nomination.assignment is not None and (turn.targets or name not in self._promises):
            self._promises[name] = Promise(
                flavors=nomination.assignment.flavors,
                counts=nomination.counts,
                waits_for=tuple(target.workload.name for target in turn.targets),
            )
        return [target.workload for target in told]

    def _holder(self, turn: Turn) -> AdmittedWorkload:
        """Return one that is admitted now, and count its pods."""
        if self.pods_left_to_start is not None:
            self.pods_left_to_start -= sum(turn.nomination.counts)
        pending, assignment = turn.nomination.pending, turn.nomination.assignment
        assert assignment is not None, "who is admitted has flavors"
        return AdmittedWorkload(
            name=pending.name,
            queue=pending.queue,
            priority=pending.priority,
            usage=assignment.usage,
            queued_ms=pending.queued_ms,
            reserved_ms=self._restraints.now_ms,
            is_protected=self._settings.options.min_run_time_ms > 0,
        )
