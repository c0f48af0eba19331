"""One workload of Kueue as a plan found it, and the quotas as they were when that was decided."""

from collections import Counter
from collections.abc import Mapping
from functools import cached_property

from fairlead.model.axes import WorkloadName
from fairlead.model.plan import Evict, Reserve, Start, Wait
from fairlead.model.queue import ClusterQueue
from fairlead.model.state import ClusterState
from fairlead.model.workload import KueueWorkload
from fairlead.policy.kueue.api import (
    QUOTA_IS_KEPT,
    Admissibility,
    DemandReader,
    KueuePolicy,
    Nominator,
    PendingWorkload,
    Snapshot,
    TreeOutcome,
)
from fairlead.policy.kueue.settings import KueueSettings


class KueueJobView:
    """What a plan comes to for one workload."""

    def __init__(
        self, state: ClusterState, settings: KueueSettings, job: WorkloadName, now_ms: int
    ) -> None:
        """Plan for *state*, which is left as it is."""
        self.state = state
        self.settings = settings
        self.now_ms = now_ms
        self.workload = state.workloads[job]
        self.plan, rounds = KueuePolicy(settings).plan_with_outcomes(state, now_ms)
        self.decisions = [each for each in self.plan.decisions if each.workload == job]
        self.victims = [
            each
            for each in self.plan.decisions
            if isinstance(each, Evict) and each.beneficiary == job
        ]
        self._rounds = rounds

    def local_queue(self) -> str | None:
        """Return the LocalQueue that it names, as NAMESPACE/NAME; None if it names none."""
        extension = self.workload.extension
        assert isinstance(extension, KueueWorkload), self.workload.name
        name = extension.local_queue
        return f"{self.workload.namespace}/{name}" if name else None

    def rules(self) -> ClusterQueue | None:
        """Return the rules of its ClusterQueue; None if that is not there."""
        queue = self.state.queues.get(self.workload.queue)
        extension = None if queue is None else queue.extension
        return extension if isinstance(extension, ClusterQueue) else None

    @cached_property
    def seeks(self) -> Start | Reserve | Wait | None:
        """What came of its search for quota; None if it did not get as far as to look for any."""
        if Admissibility(self.state, self.now_ms).inadmissible_reason(self.workload) is not None:
            return None
        found = [each for each in self.decisions if isinstance(each, Start | Reserve | Wait)]
        return found[-1] if found and self._tree() is not None else None

    @cached_property
    def waiting(self) -> PendingWorkload:
        """It as one that waits, with as many pods as were admitted, else with the fewest of use."""
        rules, tree, seeks = self.rules(), self._tree(), self.seeks
        assert rules is not None, "a workload that seeks quota has a queue"
        assert tree is not None, "a workload that seeks quota has a tree of it"
        waiting = DemandReader(self.state, self.settings).pending(self.workload, rules)
        waiting = tree.restrained(waiting)
        if isinstance(seeks, Start | Reserve):
            set_index = self.workload.pod_sets.set_index
            counts = Counter([set_index[place.pod] for place in seeks.placements])
            return waiting.with_counts([counts[at] for at in range(len(waiting.demands))])
        return self._nominator(tree.snapshot).with_fewest_pods(waiting)

    @cached_property
    def snapshot(self) -> Snapshot:
        """The quotas as they were when it was decided; a copy that only this view changes.

        For one that starts: before it, so without those that start later. For one that waits: at
        the end of the plan; if it would fit then, or when others have left, with what is kept.
        """
        tree, seeks = self._tree(), self.seeks
        assert tree is not None, "a workload that seeks quota has a tree of it"
        if self.counts_promises:
            return tree.as_reserved()
        snapshot = tree.snapshot.copy()
        if isinstance(seeks, Start):
            self._undo_starts(snapshot, seeks)
        return snapshot

    @cached_property
    def counts_promises(self) -> bool:
        """Whether only what other heads keep for themselves keeps it from quota."""
        tree = self._tree()
        if tree is None or not isinstance(self.seeks, Wait):
            return False
        if self.seeks.reason.code == QUOTA_IS_KEPT:
            return True
        nomination = self._nominator(tree.snapshot).nominate(self.waiting)
        return nomination.can_proceed() and not nomination.targets

    def _undo_starts(self, snapshot: Snapshot, first: Start) -> None:
        """Take away workloads that started in the plan from *first* on; evicted ones stay."""
        at = self.plan.decisions.index(first)
        later = {each.workload for each in self.plan.decisions[at:] if isinstance(each, Start)}
        for queue in snapshot.rules:
            for holder in list(snapshot.admitted(queue).workloads):
                if holder.name in later:
                    snapshot.remove(holder)

    def _tree(self) -> TreeOutcome | None:
        for rounds in self._rounds:
            if self.workload.queue in rounds.snapshot.rules:
                return rounds
        return None

    def _nominator(self, snapshot: Snapshot) -> Nominator:
        return Nominator(snapshot, self.state.axes, self.settings)

    def chosen_flavors(self) -> tuple[Mapping[str, str], ...]:
        """Return the flavors that it gets, by pod set; none if it waits."""
        return self.seeks.flavors if isinstance(self.seeks, Start | Reserve) else ()
