"""The admitted workloads of each ClusterQueue, sorted once and kept from plan to plan.

A plan needs all of them, and between two plans few workloads change. Where they depend on nothing
but the state, those of the last plan are brought up to date workload by workload. With 10,000
admitted workloads, a plan after one change takes 1.2 ms of CPU instead of 61.
"""

from collections.abc import Iterable

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.state import ClusterState
from fairlead.policy.kueue.pending.admissibility import is_active
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.policy.kueue.snapshot.admitted import AdmittedWorkloads, sort_admitted
from fairlead.policy.kueue.snapshot.build import admitted_workload, rules_of
from fairlead.policy.kueue.workloads import AdmittedWorkload


class AdmittedCache:
    """The admitted workloads of one state, up to the last change that was read."""

    def __init__(self, state: ClusterState, settings: KueueSettings) -> None:
        """Begin with *state*. Cost: all admitted workloads, once, if they can be kept at all.

        They cannot where a workload is protected for a time, or a queue is stopped or drained.
        """
        self._state = state
        self._settings = settings
        self._layout = state.layout.moment
        self._moment = state.touched.moment
        self._admitted: dict[WorkloadName, AdmittedWorkload] = {}
        self._deactivated: set[WorkloadName] = set()
        # Also queues whose cohort does not exist: a workload that runs in one may be drained.
        rules = rules_of(state, list(state.queues))
        self._is_possible = (
            settings.options.min_run_time_ms == 0
            and all(is_active(state, each) for each in rules.values())
            and not any(each.drained for each in state.catalogue.local_queues.values())
        )
        self._by_queue: dict[QueueName, AdmittedWorkloads] = {}
        if self._is_possible:
            self._begin(rules)

    def serve(self, state: ClusterState) -> bool:
        """Return whether it belongs to *state*, of which all changes since are known."""
        return (
            state is self._state
            and state.layout.moment == self._layout
            and (not self._is_possible or state.touched.remembers(self._moment))
        )

    def up_to_date(self) -> dict[QueueName, AdmittedWorkloads] | None:
        """Return the admitted workloads by ClusterQueue; None: to be read for this plan alone.

        That is so where a workload has to leave without being preempted, or a victim is held. Cost:
        what changed.
        """
        if not self._is_possible:
            return None
        for name in self._state.touched.since(self._moment):
            self._read(name)
        self._moment = self._state.touched.moment
        is_plain = not self._deactivated and not self._state.holds.victims
        return self._by_queue if is_plain else None

    def _begin(self, queues: Iterable[QueueName]) -> None:
        by_queue: dict[QueueName, list[AdmittedWorkload]] = {name: [] for name in queues}
        for name in self._state.runs:
            admitted = self._found(name)
            if admitted is not None and admitted.queue in by_queue:
                by_queue[admitted.queue].append(admitted)
                self._admitted[name] = admitted
        self._by_queue = {name: sort_admitted(each) for name, each in by_queue.items()}

    def _read(self, name: WorkloadName) -> None:
        self._deactivated.discard(name)
        before = self._admitted.pop(name, None)
        if before is not None:
            self._by_queue[before.queue].remove(before)
        admitted = self._found(name)
        if admitted is not None and admitted.queue in self._by_queue:
            self._by_queue[admitted.queue].add(admitted)
            self._admitted[name] = admitted

    def _found(self, name: WorkloadName) -> AdmittedWorkload | None:
        state = self._state
        if name not in state.runs:
            return None
        workload = state.workloads[name]
        if not workload.active and workload.obstacle is None:
            self._deactivated.add(name)
        # Without a minimum run time no workload is protected, so any moment will do.
        started_ms = state.runs[name].started_ms() or 0
        return admitted_workload(state, name, self._settings, started_ms, is_drained=False)
