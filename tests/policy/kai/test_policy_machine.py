"""Random histories of a cluster that carries out the plans made for it."""

from copy import deepcopy
from operator import le

from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from msgspec.structs import replace

from fairlead.model.accounting.queue_tree import QueueSums
from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.events import (
    Event,
    ForeignPodChanged,
    ForeignPodRemoved,
    NodeAdded,
    NodeChanged,
    NodeRemoved,
    QueueChanged,
    UsageChanged,
    WorkloadAdded,
    WorkloadChanged,
    WorkloadFinished,
    WorkloadLeaving,
    WorkloadStopped,
)
from fairlead.model.execution.executor import apply
from fairlead.model.plan import LeftPending
from fairlead.model.run import Phase
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId
from fairlead.policy.kai.actions.allocate import Feasibility
from fairlead.policy.kai.actions.sources import PlainSources
from fairlead.policy.kai.fair_share.shares import KaiShares
from fairlead.policy.kai.incremental.sources import IncrementalSources
from fairlead.policy.kai.jobs.alike import JobClass
from fairlead.policy.kai.jobs.cycle_record import CycleRecord
from fairlead.policy.kai.jobs.start_job import JobStarter
from fairlead.policy.kai.ordering.pending_queues import PendingQueue
from fairlead.policy.kai.ordering.queue_order import queue_numbers
from fairlead.policy.kai.policy import KaiPolicy
from fairlead.policy.kai.pruning.prefilter import BoundsPrefilter
from fairlead.policy.kai.settings import KaiSettings
from fairlead.policy.kai.victims.candidates import (
    Candidate,
    EligibleCandidates,
    EvictionOrder,
    OrderedCandidate,
    charge_of,
)
from tests.model.invariants import check_invariants
from tests.policy.kai.plan_laws import checked_plan
from tests.policy.kai.random_worlds import build, foreign_pods, jobs, nodes, queues, worlds


class PlannedHistory(RuleBasedStateMachine):
    state: ClusterState

    @initialize(events=worlds(), faithful=st.booleans(), spread=st.booleans())
    def begin(self, events: list[Event], faithful: bool, spread: bool) -> None:
        self.state = build(events)
        self.settings = KaiSettings(
            faithful=faithful, gpu_placement="spread" if spread else "binpack"
        )
        self.policy = KaiPolicy(self.settings)
        self.sources = IncrementalSources(self.state, self.settings)
        self.bounds = BoundsPrefilter(self.sources)
        self.submitted = 100
        self.now_ms = 0
        self.read_at = self.sources.shares.changes.log().moment
        self.sums = _copied_sums(self.state)
        self.rooms = (self.sources.finder.version(), {**self.sources.finder.rooms()})

    @rule()
    def plan_and_carry_out(self) -> None:
        """Whoever has planned for this state all along plans as one that sees it first."""
        plan = checked_plan(self.state, self.settings, self.now_ms)
        changes = [each for each in plan.decisions if not isinstance(each, LeftPending)]
        unexplained = self.policy.plan(self.state, self.now_ms, explain=False)
        assert [*unexplained.decisions] == changes
        assert unexplained.memories == plan.memories
        assert self.policy.plan(self.state, self.now_ms) == plan
        apply(self.state, plan)
        check_invariants(self.state)

    @rule(seconds=st.sampled_from([1, 30, 60]))
    def let_time_pass(self, seconds: int) -> None:
        """A gang that is incomplete has a minute."""
        self.now_ms += seconds * 1000

    @rule()
    def divide(self) -> None:
        state, shares = self.state, self.sources.shares
        shares.catch_up()
        rows = KaiShares(state, state.total(), self.settings.k).rows()
        assert list(shares.shares.values()) == self.policy.shares(state) == rows
        assert list(shares.numbers.values()) == [
            queue_numbers(state, row, state.total()) for row in rows
        ]
        assert list(shares.leaves) == [row.queue for row in rows if not state.children(row.queue)]

    @rule()
    def compare_pending_queues(self) -> None:
        """JobsByClass may have other numbers, but the same jobs are of one kind."""
        lines = self.sources.pending.queues()
        fresh = PlainSources(self.state, self.settings).pending.queues()
        assert {queue: _shown(line) for queue, line in lines.items()} == {
            queue: _shown(line) for queue, line in fresh.items()
        }
        by_class: dict[JobClass, set[WorkloadName]] = {}
        for line in lines.values():
            for job_class, keys in line.classes.items():
                by_class.setdefault(job_class, set()).update([name for *_, name in keys])
        tally = self.sources.pending.summaries()
        assert {job_class: each.size for job_class, each in tally.items()} == {
            job_class: len(names) for job_class, names in by_class.items()
        }
        for job_class, each in tally.items():
            assert each.job in by_class[job_class]
            assert each.pods == lines[self.state.workloads[each.job].queue].jobs[each.job].pods
            assert self.sources.pending.request(job_class) == charge_of(
                self.state, each.job, each.pods
            )

    @rule()
    def compare_waiting_pods(self) -> None:
        fresh = IncrementalSources(self.state, self.settings).waiting_pods
        assert self.sources.waiting_pods.by_shape() == fresh.by_shape()
        assert self.sources.waiting_pods.marked_queues() == fresh.marked_queues()

    @rule()
    def compare_infeasible_classes(self) -> None:
        """For whom there was no room before there is none now, unless a node may have more."""
        sources = self.sources
        sources.pending.queues()
        tally = sources.pending.summaries()
        for _ in range(2):  # what the first finds is known to the second
            starter = JobStarter(self.state, sources.finder, 0)
            feasible = Feasibility(tally, starter, self.bounds.infeasible)
            assert {job_class for job_class in tally if feasible.has(job_class)} == {
                job_class
                for job_class, each in tally.items()
                if not starter.is_infeasible(each.job, each.pods)
            }

    @rule(data=st.data())
    def compare_candidates(self, data: st.DataObject) -> None:
        state, pool = self.state, self.sources.candidates
        fresh = PlainSources(state, self.settings).candidates
        for queue in state.queues:
            assert pool.lowest_priority(queue) == fresh.lowest_priority(queue)
            if data.draw(st.booleans()):  # a priority is looked up without a line, too
                assert list(map(_told, pool.of(queue))) == list(map(_told, fresh.of(queue)))

    @rule(data=st.data(), most=st.sampled_from([None, 1, 3]))
    def compare_first_victims(self, data: st.DataObject, most: int | None) -> None:
        """Of all leaves, whoever claims; some are spared, or had a turn in the same cycle."""
        state, division = self.state, self.sources.shares
        division.catch_up()
        placed = [(name, pod) for name, run in state.runs.items() for pod in run.pods]
        spared = data.draw(st.lists(st.sampled_from(placed), max_size=2)) if placed else []
        record = CycleRecord(state)
        for name in data.draw(st.sampled_from([[], sorted(state.workloads)[:1]])):
            record.touch(name)
        pool = EligibleCandidates(
            self.sources.candidates, state, record, {*spared}, includes_settled=False
        )
        found = self.bounds.first_victims.first(most, division, pool)

        line = EvictionOrder(
            state,
            pool,
            [(leaf, _every_candidate) for leaf in division.leaves],
            division.draw,
            division.numbers,
        )
        popped = list(iter(line.pop, None))
        assert [each.job for each in found] == [each.job for each in popped][:most]

    @rule()
    def read_which_queues_changed(self) -> None:
        """Where nothing is in the log, everybody has and wants what it did."""
        log = self.sources.shares.changes.log()
        changed = {above for leaf in log.since(self.read_at) for above in self.state.path(leaf)}
        now = _copied_sums(self.state)
        for queue in self.sums.keys() & now.keys() - changed:
            assert self.sums[queue] == now[queue]
        self.read_at, self.sums = log.moment, now

    @rule()
    def read_which_nodes_changed(self) -> None:
        finder = self.sources.finder
        version, rooms = self.rooms
        assert finder.version() > version or finder.rooms() == rooms
        self.rooms = finder.version(), {**finder.rooms()}

    @rule(data=st.data())
    def count_past_use(self, data: st.DataObject) -> None:
        parts = st.tuples(*[st.integers(0, 10**9)] * len(self.state.axes))
        names = st.sampled_from(sorted(self.state.queues))
        self.state.apply(UsageChanged(data.draw(st.dictionaries(names, parts))))

    @rule(data=st.data())
    def submit(self, data: st.DataObject) -> None:
        self.submitted += 1
        leaves = [str(name) for name in self.state.queues if name.startswith("t")]
        self.state.apply(WorkloadAdded(data.draw(jobs(f"j{self.submitted}", leaves))))

    @rule(data=st.data())
    def change_a_queue(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.state.queues)))
        self.state.apply(QueueChanged(data.draw(queues(name, self.state.queues[name].parent))))

    @rule(data=st.data())
    def change_a_job(self, data: st.DataObject) -> None:
        """Its priority, or its queue while it waits."""
        if self.state.workloads:
            name = data.draw(st.sampled_from(sorted(self.state.workloads)))
            job = self.state.workloads[name]
            leaves = [each for each in self.state.queues if each.startswith("t")]
            is_free = name not in self.state.runs and leaves
            queue = data.draw(st.sampled_from(sorted(leaves))) if is_free else job.queue
            priority = data.draw(st.sampled_from([50, 75]))
            changed = replace(job, queue=queue, priority=priority)
            self.state.apply(WorkloadChanged(changed))

    @rule(data=st.data())
    def cordon_a_node(self, data: st.DataObject) -> None:
        if self.state.nodes:
            node = self.state.nodes[data.draw(st.sampled_from(sorted(self.state.nodes)))]
            self.state.apply(NodeChanged(replace(node, cordoned=not node.cordoned)))

    @rule(data=st.data())
    def tell_pods_to_leave(self, data: st.DataObject) -> None:
        self._some_pods(data, "running", WorkloadLeaving)

    @rule(data=st.data())
    def let_pods_stop(self, data: st.DataObject) -> None:
        self._some_pods(data, "leaving", WorkloadStopped)

    @rule(data=st.data())
    def finish(self, data: st.DataObject) -> None:
        if self.state.workloads:
            name = data.draw(st.sampled_from(sorted(self.state.workloads)))
            self.state.apply(WorkloadFinished(name))

    @rule(data=st.data(), name=st.sampled_from(["n0", "n7"]))
    def a_node_comes_or_goes(self, data: st.DataObject, name: str) -> None:
        if name in self.state.nodes:
            self.state.apply(NodeRemoved(name))
        elif not self.state.books.pods(name):  # what comes back may be smaller than it was
            self.state.apply(NodeAdded(data.draw(nodes(name))))

    @rule(data=st.data(), name=st.sampled_from(["f0", "f1", "f2"]))
    def a_foreign_pod_comes_or_goes(self, data: st.DataObject, name: str) -> None:
        """It comes where there is room, if its node is known; it is told to leave, and is gone."""
        known = self.state.books.foreign.get(PodId(name))
        if known is None:
            pod = data.draw(foreign_pods(name))
            room = self.sources.finder.rooms().get(pod.node)
            if room is None or all(map(le, pod.requests, room.idle)):
                self.state.apply(ForeignPodChanged(pod))
        elif known.leaving or data.draw(st.booleans()):
            self.state.apply(ForeignPodRemoved(known.id))
        else:
            self.state.apply(ForeignPodChanged(replace(known, leaving=True)))

    def _some_pods(
        self,
        data: st.DataObject,
        phase: Phase,
        job_class: type[WorkloadLeaving] | type[WorkloadStopped],
    ) -> None:
        pods: dict[WorkloadName, list[PodId]] = {
            name: [pod for pod, placed in run.pods.items() if placed.phase == phase]
            for name, run in self.state.runs.items()
        }
        names = sorted(name for name, own in pods.items() if own)
        if names:
            name = data.draw(st.sampled_from(names))
            chosen = data.draw(
                st.lists(st.sampled_from(sorted(pods[name])), min_size=1, unique=True)
            )
            self.state.apply(job_class(workload=name, pods=tuple(chosen)))


def _copied_sums(state: ClusterState) -> dict[QueueName, QueueSums]:
    return {name: deepcopy(sums) for name, sums in state.sums.items()}


def _every_candidate(_: Candidate) -> bool:
    return True


def _shown(line: PendingQueue) -> tuple[object, ...]:
    classes = {tuple(keys) for keys in line.classes.values()}
    places = {name: (place.key, place.pods) for name, place in line.jobs.items()}
    return line.keys, places, classes, line.unready


def _told(entry: OrderedCandidate) -> tuple[object, ...]:
    """What an entry says; the groups of a job are told by what they are, not by which object."""
    key, each = entry
    return key, each.pods, each.costs, each.nodes, each.reserved, each.gang.groups


TestPlannedHistory = PlannedHistory.TestCase
TestPlannedHistory.settings = hypothesis_settings(stateful_step_count=15)
