"""Random histories of a cluster that carries out the plans made for it."""

from collections.abc import Mapping
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
from fairlead.model.invariants import check_invariants
from fairlead.model.plan import Wait
from fairlead.model.run import Phase
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodId
from fairlead.policy.kai.askable_pool import AskablePool
from fairlead.policy.kai.claim_hopes import ReclaimKinds
from fairlead.policy.kai.cycle_record import CycleRecord
from fairlead.policy.kai.followed_state import FollowedState
from fairlead.policy.kai.hopes import Hopes
from fairlead.policy.kai.job_kinds import Kind
from fairlead.policy.kai.policy import KaiPolicy
from fairlead.policy.kai.queue_order import queue_numbers
from fairlead.policy.kai.queue_race import Offer, QueueRace
from fairlead.policy.kai.settings import KaiSettings
from fairlead.policy.kai.shares import KaiShares
from fairlead.policy.kai.start_job import JobStarter
from fairlead.policy.kai.victim_line import VICTIM_RULES, VictimLine, charge_of
from fairlead.policy.kai.victim_pool import Candidate, Entry
from fairlead.policy.kai.waiting_lines import QueueLine
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
        self.followed = FollowedState(self.state, self.settings)
        self.submitted = 100
        self.now_ms = 0
        self.read_at = self.followed.shares.changes.log().moment
        self.sums = _copied_sums(self.state)
        self.rooms = (self.followed.finder.version(), {**self.followed.finder.rooms()})

    @rule()
    def plan_and_carry_out(self) -> None:
        """Whoever has planned for this state all along plans as one that sees it first."""
        plan = checked_plan(self.state, self.settings, self.now_ms)
        changes = [each for each in plan.decisions if not isinstance(each, Wait)]
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
        state, shares = self.state, self.followed.shares
        shares.catch_up()
        rows = KaiShares(state, state.total(), self.settings.k).rows()
        assert list(shares.shares.values()) == self.policy.shares(state) == rows
        assert list(shares.numbers.values()) == [
            queue_numbers(state, row, state.total()) for row in rows
        ]
        assert list(shares.leaves) == [row.queue for row in rows if not state.children(row.queue)]

    @rule()
    def line_up_those_who_wait(self) -> None:
        """Kinds may have other numbers, but the same jobs are of one kind."""
        lines = self.followed.lines.all()
        fresh = FollowedState(self.state, self.settings).lines.all()
        assert {queue: _shown(line) for queue, line in lines.items()} == {
            queue: _shown(line) for queue, line in fresh.items()
        }
        by_kind: dict[Kind, set[WorkloadName]] = {}
        for line in lines.values():
            for kind, keys in line.kinds.items():
                by_kind.setdefault(kind, set()).update([name for *_, name in keys])
        for kind in by_kind:
            assert sorted(self.followed.lines.queues_of([kind])) == sorted(
                queue for queue, line in lines.items() if kind in line.kinds
            )
        assert sorted(self.followed.lines.queues_of(by_kind)) == sorted(
            queue for queue, line in lines.items() if line.kinds
        )
        tally = self.followed.lines.tally()
        assert {kind: each.size for kind, each in tally.items()} == {
            kind: len(names) for kind, names in by_kind.items()
        }
        for kind, each in tally.items():
            assert each.job in by_kind[kind]
            assert each.pods == lines[self.state.workloads[each.job].queue].places[each.job].pods
            assert self.followed.lines.request(kind) == charge_of(self.state, each.job, each.pods)

    @rule()
    def count_pods_that_wait(self) -> None:
        fresh = FollowedState(self.state, self.settings).waiting_pods
        assert self.followed.waiting_pods.by_shape() == fresh.by_shape()
        assert self.followed.waiting_pods.marked_queues() == fresh.marked_queues()

    @rule()
    def look_for_room(self) -> None:
        """For whom there was no room before there is none now, unless a node may have more."""
        followed = self.followed
        followed.lines.all()
        tally = followed.lines.tally()
        for _ in range(2):  # what the first finds is known to the second
            starter = JobStarter(self.state, followed.finder, 0)
            hopes = Hopes(tally, starter, followed.hopeless)
            assert {kind for kind in tally if hopes.has(kind)} == {
                kind for kind, each in tally.items() if not starter.is_hopeless(each.job, each.pods)
            }

    @rule(data=st.data())
    def line_up_those_who_may_give_way(self, data: st.DataObject) -> None:
        state, pool = self.state, self.followed.pool
        fresh = FollowedState(state, self.settings).pool
        for queue in state.queues:
            assert pool.lowest_priority(queue) == fresh.lowest_priority(queue)
            if data.draw(st.booleans()):  # a priority is looked up without a line, too
                assert list(map(_told, pool.line(queue))) == list(map(_told, fresh.line(queue)))

        every = [fresh.lowest_priority(queue) for queue in _leaf_names(state)]
        assert pool.lowest_of_all() == min((p for p in every if p is not None), default=None)

    @rule(data=st.data(), most=st.sampled_from([None, 1, 3]))
    def see_who_would_leave_first(self, data: st.DataObject, most: int | None) -> None:
        """Of all leaves, whoever claims; some are spared, or had a turn in the same cycle."""
        state, division = self.state, self.followed.shares
        division.catch_up()
        placed = [(name, pod) for name, run in state.runs.items() for pod in run.pods]
        spared = data.draw(st.lists(st.sampled_from(placed), max_size=2)) if placed else []
        record = CycleRecord(state)
        for name in data.draw(st.sampled_from([[], sorted(state.workloads)[:1]])):
            record.touch(name)
        pool = AskablePool(self.followed.pool, record, {*spared}, asks_all=False)
        found = self.followed.first_to_leave.first(most, division, pool)

        def hold_race(offer: Offer, lines: Mapping[QueueName, object]) -> QueueRace:
            world = state, division.course, division.numbers
            return QueueRace(*world, offer, lines, *VICTIM_RULES)

        line = VictimLine(state, pool, [(leaf, _anybody) for leaf in division.leaves], hold_race)
        popped = list(iter(line.pop, None))
        assert [each.job for each in found] == [each.job for each in popped][:most]

    @rule()
    def see_whether_anybody_may_reclaim(self) -> None:
        division, lines = self.followed.shares, self.followed.lines
        division.catch_up()
        fresh = ReclaimKinds(self.state)
        assert self.followed.reclaim_kinds.are_any_open(division, lines) == any(
            fresh.of(division.shares[queue], line.kinds, lines.request)
            for queue, line in lines.all().items()
            if queue in division.leaves
        )

    @rule()
    def read_which_queues_changed(self) -> None:
        """Where nothing is in the log, everybody has and wants what it did."""
        log = self.followed.shares.changes.log()
        changed = {above for leaf in log.since(self.read_at) for above in self.state.path(leaf)}
        now = _copied_sums(self.state)
        for queue in self.sums.keys() & now.keys() - changed:
            assert self.sums[queue] == now[queue]
        self.read_at, self.sums = log.moment, now

    @rule()
    def read_which_nodes_changed(self) -> None:
        finder = self.followed.finder
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
            room = self.followed.finder.rooms().get(pod.node)
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
        kind: type[WorkloadLeaving] | type[WorkloadStopped],
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
            self.state.apply(kind(workload=name, pods=tuple(chosen)))


def _copied_sums(state: ClusterState) -> dict[QueueName, QueueSums]:
    return {name: deepcopy(sums) for name, sums in state.sums.items()}


def _leaf_names(state: ClusterState) -> list[QueueName]:
    """Return all queues that workloads name, known or not."""
    return sorted({workload.queue for workload in state.workloads.values()})


def _anybody(_: Candidate) -> bool:
    return True


def _shown(line: QueueLine) -> tuple[object, ...]:
    kinds = {tuple(keys) for keys in line.kinds.values()}
    places = {name: (place.key, place.pods) for name, place in line.places.items()}
    return line.keys, places, kinds, line.unready


def _told(entry: Entry) -> tuple[object, ...]:
    """What an entry says; the groups of a job are told by what they are, not by which object."""
    key, each = entry
    return key, each.pods, each.costs, each.nodes, each.reserved, each.gang.groups


TestPlannedHistory = PlannedHistory.TestCase
TestPlannedHistory.settings = hypothesis_settings(stateful_step_count=15)
