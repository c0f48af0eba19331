"""One cycle of KAI's rules, on a state that is on trial.

The fair shares are those of the beginning and stay; what queues hold moves with every job that
starts. Whoever wants to know why something came out as it did can listen to the turns.
"""

from collections.abc import Callable, Iterator, Set
from typing import Final, TypeAlias

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.plan import Decision, Reason, Tally, Wait
from fairlead.model.state import ClusterState
from fairlead.placement.find_node import NodeFinder
from fairlead.placement.node_index import NodeIndex
from fairlead.placement.shared_devices import DeviceRule
from fairlead.policy.kai.gang import Gang
from fairlead.policy.kai.pending_jobs import PendingJobs
from fairlead.policy.kai.queue_order import queue_numbers
from fairlead.policy.kai.queue_race import QueueRace
from fairlead.policy.kai.settings import KaiSettings
from fairlead.policy.kai.shares import KaiShares
from fairlead.policy.kai.start_job import JobStarter

QUEUE_DOES_NOT_EXIST: Final = "QueueDoesNotExist"
QUEUE_HAS_CHILDREN: Final = "QueueHasChildren"
NOT_READY: Final = "NotReady"
SCHEDULING_GATED: Final = "SchedulingGated"
SUSPENDED: Final = "Suspended"
BEYOND_QUEUE_DEPTH: Final = "BeyondQueueDepth"

Listener: TypeAlias = Callable[[WorkloadName], None]
"""Is told whose turn it is, while the state is as that job finds it."""


class KaiCycle:
    """The queues, the jobs that wait and the nodes, as one cycle sees them."""

    def __init__(self, state: ClusterState, settings: KaiSettings, now_ms: int) -> None:
        """Divide the cluster and line up what waits. The caller has put *state* on trial."""
        self.state = state
        total = state.total()
        self.shares = {row.queue: row for row in KaiShares(state, total, settings.k).rows()}
        self.numbers = {name: queue_numbers(state, row, total) for name, row in self.shares.items()}
        self.jobs = PendingJobs(state, dict(settings.queue_depth).get("allocate"))
        self._leaves = {name: None for name in self.numbers if not state.children(name)}.keys()
        for leaf in self._leaves:
            self.jobs.add_queue(leaf)
        self.race = QueueRace(state, self.numbers, self.jobs.next_request)
        self.finder = _finder(state, settings)
        self._starter = JobStarter(state, self.finder, now_ms)

    def decisions(self, listener: Listener | None = None) -> Iterator[Decision]:
        """Yield what becomes of every job that waits; what starts or is reserved is in the state.

        First those that have no turn at all, then turn by turn.
        """
        yield from _misplaced(self.state, self._leaves)
        for name in self.jobs.unready:
            yield Wait(workload=name, reason=_unready(self.state, name, self.jobs.gang(name)))
        yield from self._allocate(listener)
        for name in self.jobs.beyond_depth:
            reason = Reason(code=BEYOND_QUEUE_DEPTH, queue=self.state.workloads[name].queue)
            yield Wait(workload=name, reason=reason)

    def _allocate(self, listener: Listener | None) -> Iterator[Decision]:
        """Give idle room to jobs, each turn to the first job of the queue that is next.

        It starts, or has its room reserved, or is told why it waits; then the order is looked at
        anew, because the queue holds more than before. A job that got its minimum is put back for
        more, one pod at a time. Cost: for each turn the depth of the tree, a few comparisons per
        level, and the search for nodes.
        """
        jobs, race = self.jobs, self.race
        while (queue := race.leader()) is not None:
            job = jobs.first(queue)
            assert job is not None, "a queue without a job leads"
            if listener is not None:
                listener(job)
            pods, request = jobs.next_pods(job), jobs.request(job)
            outcome = self._starter.start(job, jobs.gang(job), pods, request)
            if isinstance(outcome, Reason):
                yield Wait(workload=job, reason=outcome)
                jobs.drop_first(queue)
            else:
                yield outcome
                jobs.renew_first(queue)
            race.renew(queue)


def _finder(state: ClusterState, settings: KaiSettings) -> NodeFinder:
    index = NodeIndex(
        state,
        spread_gpus=settings.gpu_placement == "spread",
        spread_cpus=settings.cpu_placement == "spread",
    )
    on_devices = settings.device_placement or settings.gpu_placement
    rule = DeviceRule(spread=on_devices == "spread", wait_to_pack=settings.faithful)
    return NodeFinder(state, index, rule)


def _misplaced(state: ClusterState, leaves: Set[QueueName]) -> Iterator[Wait]:
    """Yield the jobs that no queue can run: theirs is not there, or not a leaf."""
    for queue in state.waited_for():
        if queue in leaves:
            continue
        is_inner = queue in state.queues and state.children(queue)
        code = QUEUE_HAS_CHILDREN if is_inner else QUEUE_DOES_NOT_EXIST
        for name in state.waiting(queue):
            yield Wait(workload=name, reason=Reason(code=code, queue=queue))


def _unready(state: ClusterState, name: WorkloadName, gang: Gang) -> Reason:
    """Return why a job in a leaf has nothing to start: it is held back, or pods are missing."""
    workload = state.workloads[name]
    if not workload.active:
        return Reason(code=SUSPENDED, queue=workload.queue)
    tallies = tuple(
        Tally(
            count=there,
            of=group.minimum,
            things=f"pods that {group.name or 'the job'} needs",
            what="are there",
        )
        for group, there in gang.incomplete(state.runs.get(name))
    )
    if tallies:
        return Reason(code=NOT_READY, queue=workload.queue, tallies=tallies)
    gated = sum(each.count for each in workload.pod_sets if each.gated)
    held_back = Tally(
        count=gated, of=workload.pod_count(), things="pods", what="have a scheduling gate"
    )
    return Reason(code=SCHEDULING_GATED, queue=workload.queue, tallies=(held_back,))
