"""Orders for decisions, their outcomes, and facts that come in between."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from msgspec.structs import replace

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.events import (
    MemoryChanged,
    Placement,
    WorkloadChanged,
    WorkloadConfirmed,
    WorkloadRemoved,
    WorkloadStopped,
)
from fairlead.model.execution.back_off import (
    FIRST_PAUSE_MS,
    LEAST_VICTIM_PAUSE_MS,
    MOST_NODES,
    BackOff,
)
from fairlead.model.execution.executor import Executor, Order, PromisedPlace, apply, redeem
from fairlead.model.holds import NOTHING_HELD, Holds
from fairlead.model.memory import ElasticMemory, KueueMemory, Memory, Promise
from fairlead.model.plan import Evict, Move, Plan, Reason, Start, Wait
from fairlead.model.run import Placed
from fairlead.model.state import ClusterState
from fairlead.model.workload import (
    ElasticPods,
    KueueWorkload,
    PodId,
    PodSet,
    PodSets,
    Workload,
    WorkloadExtension,
    numbered_pod,
)
from tests.model.invariants import check_invariants
from tests.model.test_state import facts
from tests.model.worlds import node, queue, state_with
from tests.scale_examples import scale_examples

JOB, TEAM, TOP = WorkloadName("job"), QueueName("team"), WorkloadName("top")
PODS = tuple(numbered_pod("main", number) for number in range(3))
WHY = Reason(code="any")
PATIENCE_MS = 30_000


def a_cluster(pods: int = 2) -> ClusterState:
    asked = PodSet(name="main", count=pods, min_count=1, requests=(1000, 0))
    job = Workload(name=JOB, queue=TEAM, pod_sets=PodSets((asked,)), min_count=1)
    return state_with(queue("team"), node("n1"), node("n2"), job)


def start(*nodes: str) -> Start:
    places = tuple(Placement(pod, name) for pod, name in zip(PODS, nodes, strict=False))
    return Start(workload=JOB, placements=places, charged=(TEAM,), reason=WHY)


def evict(*pods: PodId) -> Evict:
    return Evict(workload=JOB, pods=pods, beneficiary=TOP, reason=WHY)


def bind(executor: Executor, *nodes: str, now_ms: int = 0) -> Order:
    order = executor.order(start(*nodes), now_ms)
    assert order is not None
    return order


def test_a_start_is_assumed_until_the_cluster_shows_it() -> None:
    state = a_cluster()
    executor = Executor(state, patience_ms=PATIENCE_MS)
    order = bind(executor, "n1", "n2", now_ms=5)
    check_invariants(state)
    assert (order.verb, order.pods(), order.until_ms) == ("bind", PODS[:2], 30_005)
    assert state.sums[TEAM].allocated == [2000, 0]
    assert executor.holds(5).victims == {(JOB, PODS[0]), (JOB, PODS[1])}
    executor.succeeded(order)
    assert executor.holds(5).victims == {(JOB, PODS[0]), (JOB, PODS[1])}  # until they are seen
    assert state.runs[JOB].pods[PODS[0]] == Placed("n1", 5, "binding", None, 30_005)
    state.apply(WorkloadConfirmed(workload=JOB, pods=order.pods(), at_ms=7))
    assert state.runs[JOB].pods[PODS[0]] == Placed("n1", 7)
    assert executor.overdue(90_000) == []
    assert executor.holds(5) == NOTHING_HELD


def test_a_bind_that_failed_leaves_its_pod_waiting_and_its_node_alone_for_a_second() -> None:
    state = a_cluster()
    before = facts(state)
    executor = Executor(state, patience_ms=PATIENCE_MS)
    order = bind(executor, "n1", "n2")
    assert executor.failed(order, 10, (PODS[0],)) == (PODS[0],)
    check_invariants(state)
    assert list(state.runs[JOB].pods) == [PODS[1]]
    assert executor.holds(10).nodes == {(JOB, "n1")}
    assert executor.next_release_ms(10) == 10 + FIRST_PAUSE_MS
    assert executor.failed(order, 20) == (PODS[1],)
    assert facts(state) == before
    assert executor.holds(10 + FIRST_PAUSE_MS).nodes == {(JOB, "n2")}


def test_pauses_double_with_each_failure_and_a_success_ends_them() -> None:
    state = a_cluster(pods=1)
    executor = Executor(state, patience_ms=PATIENCE_MS)
    ends = []
    for _ in range(3):
        executor.failed(bind(executor, "n1"), 0)
        ends.append(executor.next_release_ms(0))
    assert ends == [1_000, 2_000, 4_000]
    executor.confirmed(bind(executor, "n1"), 0)
    assert executor.next_release_ms(0) is None


def test_one_order_that_fails_on_many_nodes_is_one_failure_of_its_workload() -> None:
    """It pauses for a second, as after a first failure, and not for as many doublings."""
    nodes = [f"n{number}" for number in range(MOST_NODES + 3)]
    asked = PodSet(name="main", count=len(nodes), min_count=1, requests=(1, 0))
    job = Workload(name=JOB, queue=TEAM, pod_sets=PodSets((asked,)), min_count=1)
    state = state_with(queue("team"), job)
    places = tuple(map(Placement, job.pods(), nodes))
    executor = Executor(state, patience_ms=PATIENCE_MS)
    order = executor.order(Start(workload=JOB, placements=places, charged=(), reason=WHY), 0)
    assert order is not None
    executor.failed(order, 0)
    assert executor.holds(FIRST_PAUSE_MS - 1).workloads == {JOB}
    assert executor.holds(FIRST_PAUSE_MS) == NOTHING_HELD


def test_a_success_on_one_node_says_nothing_of_another() -> None:
    for first, second in ((0, 1), (1, 0)):
        executor = Executor(a_cluster(), patience_ms=PATIENCE_MS)
        order = bind(executor, "n1", "n2")
        outcomes = [
            lambda executor=executor, order=order: executor.failed(order, 0, (PODS[0],)),
            lambda executor=executor, order=order: executor.confirmed(order, 0, (PODS[1],)),
        ]
        outcomes[first]()
        outcomes[second]()
        assert executor.holds(0).nodes == {(JOB, "n1")}


def test_an_outcome_of_an_earlier_order_says_nothing_of_a_later_one() -> None:
    state = a_cluster(pods=1)
    executor = Executor(state, patience_ms=PATIENCE_MS)
    stale = bind(executor, "n1")
    state.apply(WorkloadStopped(workload=JOB, pods=(PODS[0],)))
    later = bind(executor, "n1", now_ms=5)
    assert executor.failed(stale, 6) == ()
    assert executor.confirmed(stale, 6) == ()
    assert executor.confirmed(later, 7) == (PODS[0],)


def test_a_workload_that_failed_on_many_nodes_waits_as_a_whole() -> None:
    state = a_cluster(pods=1)
    executor = Executor(state, patience_ms=PATIENCE_MS)
    for number in range(MOST_NODES):
        assert executor.holds(0).workloads == frozenset()
        executor.failed(bind(executor, f"n{number}"), 0)
    assert executor.holds(0).workloads == {JOB}
    state.apply(WorkloadRemoved(JOB))
    assert executor.holds(0) == NOTHING_HELD


@pytest.mark.parametrize(("retry_after_ms", "pause_ms"), [(0, 10_000), (25_000, 25_000)])
def test_a_refused_eviction_leaves_the_pod_as_it_was_and_alone_for_a_while(
    retry_after_ms: int, pause_ms: int
) -> None:
    state = a_cluster()
    apply(state, Plan(taken_ms=3, decisions=(start("n1", "n2"),)))
    before = facts(state)
    executor = Executor(state, patience_ms=PATIENCE_MS)
    order = executor.order(evict(PODS[1]), 10)
    assert order is not None
    assert state.runs[JOB].pods[PODS[1]].phase == "leaving"
    assert executor.failed(order, 11, retry_after_ms=retry_after_ms) == (PODS[1],)
    assert facts(state) == before
    assert executor.holds(11).victims == {(JOB, PODS[1])}
    assert executor.holds(11 + pause_ms) == NOTHING_HELD


def test_a_workload_that_did_not_give_way_after_all_is_not_remembered_to_have() -> None:
    state = a_cluster()
    job = state.workloads[JOB]
    extension = KueueWorkload(local_queue="q")
    queued = Workload(name=JOB, queue=TEAM, pod_sets=job.pod_sets, min_count=1, extension=extension)
    state.apply(WorkloadChanged(queued))
    apply(state, Plan(taken_ms=3, decisions=(start("n1", "n2"),)))
    executor = Executor(state, patience_ms=PATIENCE_MS)
    order = executor.order(evict(*PODS[:2]), 10)
    assert order is not None
    memory = state.memories[JOB]
    assert isinstance(memory, KueueMemory)
    assert memory.preempted_ms == 10
    executor.failed(order, 11, (PODS[0],))
    assert state.memories[JOB] == memory  # the other pod gives way
    executor.failed(order, 11, (PODS[1],))
    assert state.memories == {}
    again = executor.order(evict(*PODS[:2]), 12)
    assert again is not None
    state.apply(MemoryChanged(JOB, KueueMemory(preempted_ms=13)))  # it gave way to another since
    executor.failed(again, 14)
    assert state.memories[JOB] == KueueMemory(preempted_ms=13)


KUEUE = KueueWorkload(local_queue="q")
PROMISED = KueueMemory(
    preempting=True, promise=Promise(flavors=({},), counts=(2,), waits_for=(TOP,)), preempted_ms=1
)
KEPT = KueueMemory(preempted_ms=1)
BOTH = ElasticMemory(nominated={PODS[0]: "n1", PODS[1]: "n2"}, nominated_ms=1)


@pytest.mark.parametrize(
    ("extension", "before", "after"),
    [(KUEUE, PROMISED, KEPT), (ElasticPods(), BOTH, None)],
    ids=["promise", "nomination"],
)
def test_a_bind_that_failed_gives_its_workload_the_promise_back(
    extension: WorkloadExtension, before: Memory, after: Memory | None
) -> None:
    """While one of its pods may still be bound, the promise counts as kept."""
    state = a_cluster()
    state.apply(WorkloadChanged(replace(state.workloads[JOB], extension=extension)))
    state.apply(MemoryChanged(JOB, before))
    executor = Executor(state, patience_ms=PATIENCE_MS)
    order = bind(executor, "n1", "n2", now_ms=5)
    assert (state.memories.get(JOB), list(state.promised)) == (after, [])
    executor.failed(order, 6, (PODS[0],))
    assert (state.memories.get(JOB), list(state.promised)) == (after, [])
    executor.failed(order, 7, (PODS[1],))
    assert (state.memories.get(JOB), list(state.promised)) == (before, [JOB])
    check_invariants(state)


def test_a_nomination_of_a_pod_that_did_not_start_is_given_back_with_the_other() -> None:
    """The first pod starts, the second stays nominated; the start fails."""
    state = a_cluster()
    state.apply(WorkloadChanged(replace(state.workloads[JOB], extension=ElasticPods())))
    state.apply(MemoryChanged(JOB, BOTH))
    executor = Executor(state, patience_ms=PATIENCE_MS)
    order = bind(executor, "n1", now_ms=5)
    assert state.memories[JOB] == ElasticMemory(nominated={PODS[1]: "n2"}, nominated_ms=1)
    executor.failed(order, 6)
    assert state.memories[JOB] == BOTH
    check_invariants(state)


@pytest.mark.parametrize("outcome", ["succeeded", "confirmed", "failed"])
def test_an_outcome_counts_however_late_it_comes(outcome: str) -> None:
    """It is overdue from 30,000 on, and comes at 90,000; it says what it would have said then."""
    found = []
    for now_ms in (1, 90_000):
        state = a_cluster(pods=1)
        executor = Executor(state, patience_ms=PATIENCE_MS)
        order = bind(executor, "n1")
        assert executor.overdue(now_ms) == ([] if now_ms == 1 else [(order, PODS[:1])])
        if outcome == "succeeded":
            assert executor.succeeded(order) == PODS[:1]
        elif outcome == "confirmed":
            assert executor.confirmed(order, 3) == PODS[:1]
        else:
            assert executor.failed(order, now_ms) == PODS[:1]
        check_invariants(state)
        is_overdue = executor.overdue(90_000) != []
        held = executor.holds(now_ms)
        found.append((facts(state)["runs"], is_overdue, held.nodes, held.victims))
    assert found[0] == found[1]
    assert found[0][1] == (outcome == "succeeded")  # no fact shows the pod yet


def test_an_outcome_that_comes_after_its_order_was_given_up_changes_nothing() -> None:
    """It was looked into, not found and undone; the pod starts elsewhere; then the answer comes."""
    state = a_cluster(pods=1)
    executor = Executor(state, patience_ms=PATIENCE_MS)
    late = bind(executor, "n1")
    assert executor.overdue(PATIENCE_MS) == [(late, PODS[:1])]
    executor.failed(late, PATIENCE_MS)
    later = bind(executor, "n2", now_ms=40_000)
    before, held = facts(state), executor.holds(41_000)
    assert executor.succeeded(late) == ()
    assert executor.confirmed(late, 41_000) == ()
    assert executor.failed(late, 41_000) == ()
    assert (facts(state), executor.holds(41_000)) == (before, held)
    assert executor.confirmed(later, 42_000) == PODS[:1]


def test_an_eviction_may_be_refused_after_its_time() -> None:
    state = a_cluster()
    apply(state, Plan(taken_ms=3, decisions=(start("n1", "n2"),)))
    before = facts(state)
    executor = Executor(state, patience_ms=PATIENCE_MS)
    order = executor.order(evict(PODS[1]), 10)
    assert order is not None
    assert executor.overdue(10 + PATIENCE_MS) == [(order, (PODS[1],))]
    assert executor.failed(order, 90_000) == (PODS[1],)
    assert facts(state) == before
    assert executor.holds(90_000 + LEAST_VICTIM_PAUSE_MS - 1).victims == {(JOB, PODS[1])}


def test_an_outcome_that_comes_after_a_fact_changes_nothing() -> None:
    """The first pod is gone and another has its name; of the second it is known where it runs."""
    state = a_cluster()
    executor = Executor(state, patience_ms=PATIENCE_MS)
    order = bind(executor, "n1", "n2")
    state.apply(WorkloadStopped(workload=JOB, pods=(PODS[0],)))
    state.apply(WorkloadConfirmed(workload=JOB, pods=(PODS[1],), at_ms=1))
    before = facts(state)
    assert executor.failed(order, 2) == ()
    assert facts(state) == before
    assert executor.holds(2) == NOTHING_HELD


def test_an_order_without_an_outcome_is_told_when_its_time_is_over() -> None:
    state = a_cluster()
    executor = Executor(state, patience_ms=PATIENCE_MS)
    order = bind(executor, "n1", "n2")
    assert executor.overdue(PATIENCE_MS - 1) == []
    assert executor.overdue(PATIENCE_MS) == [(order, PODS[:2])]
    executor.succeeded(order, (PODS[0],))
    assert executor.overdue(PATIENCE_MS) == [(order, PODS[:2])]  # of none is it seen where it is
    executor.confirmed(order, 1, (PODS[0],))
    assert executor.overdue(PATIENCE_MS) == [(order, (PODS[1],))]
    executor.failed(order, PATIENCE_MS, (PODS[1],))
    assert executor.overdue(PATIENCE_MS) == []


def test_a_move_is_an_eviction_with_a_promise_to_the_next_pods() -> None:
    """The pod that comes back has another name; it gets the place, the other set does not."""
    named = PodSet(name="w", count=1, min_count=0, requests=(1000, 0), pod_ids=(PodId("u1"),))
    named_set = PodSets((named, PodSet(name="x", count=1, min_count=0, requests=(500, 0))))
    state = state_with(
        queue("team"),
        node("n1"),
        node("n2"),
        Workload(name=JOB, queue=TEAM, pod_sets=named_set, min_count=1),
    )
    first = Start(workload=JOB, placements=(Placement(PodId("u1"), "n1"),), charged=(), reason=WHY)
    apply(state, Plan(taken_ms=0, decisions=(first,)))
    executor = Executor(state, patience_ms=PATIENCE_MS)
    move = Move(
        workload=JOB,
        origins=(Placement(PodId("u1"), "n1"),),
        placements=(Placement(PodId("u1"), "n2"),),
        beneficiary=TOP,
        reason=WHY,
    )
    order = executor.order(move, 5)
    assert order is not None
    assert order.verb == "evict"
    assert order.promised == (PromisedPlace("w", "n2"),)
    assert redeem(state, JOB, order.promised) == ()  # nothing of that set waits yet
    again = PodSet(name="w", count=1, min_count=0, requests=(1000, 0), pod_ids=(PodId("u2"),))
    changed = PodSets((again, named_set[1]))
    state.apply(WorkloadChanged(Workload(name=JOB, queue=TEAM, pod_sets=changed, min_count=1)))
    assert redeem(state, JOB, order.promised) == (Placement(PodId("u2"), "n2"),)


def test_a_wait_is_no_order() -> None:
    executor = Executor(a_cluster(), patience_ms=PATIENCE_MS)
    assert executor.order(Wait(workload=JOB, reason=WHY), 0) is None


class Outcomes(RuleBasedStateMachine):
    """Orders, outcomes and facts about one workload in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.state = a_cluster(pods=3)
        self.executor = Executor(self.state, patience_ms=PATIENCE_MS)
        self.orders: list[Order] = []
        self.now_ms = 0

    @rule(passes_ms=st.sampled_from([1, 500, 20_000]))
    def wait(self, passes_ms: int) -> None:
        self.now_ms += passes_ms

    @rule(data=st.data())
    def decide_to_start(self, data: st.DataObject) -> None:
        run = self.state.runs.get(JOB)
        waiting = [pod for pod in PODS if run is None or pod not in run.pods]
        if waiting:
            pods = data.draw(st.lists(st.sampled_from(waiting), unique=True, min_size=1))
            places = tuple(Placement(pod, data.draw(st.sampled_from(["n1", "n2"]))) for pod in pods)
            decision = Start(workload=JOB, placements=places, charged=(TEAM,), reason=WHY)
            order = self.executor.order(decision, self.now_ms)
            assert order is not None
            self.orders.append(order)

    @rule(data=st.data())
    def decide_to_evict(self, data: st.DataObject) -> None:
        held = self.executor.holds(self.now_ms).victims
        run = self.state.runs.get(JOB)
        running = [
            pod
            for pod, placed in (run.pods.items() if run else ())
            if placed.is_running() and (JOB, pod) not in held
        ]
        if running:
            pods = data.draw(st.lists(st.sampled_from(running), unique=True, min_size=1))
            order = self.executor.order(evict(*pods), self.now_ms)
            assert order is not None
            self.orders.append(order)

    @rule(data=st.data(), outcome=st.sampled_from(["succeeded", "confirmed", "failed"]))
    def report(self, data: st.DataObject, outcome: str) -> None:
        """Report any outcome of any order, perhaps late, or a second time."""
        if not self.orders:
            return
        order = data.draw(st.sampled_from(self.orders))
        pods = data.draw(st.none() | st.lists(st.sampled_from(order.pods()), unique=True))
        if outcome == "failed":
            self.executor.failed(order, self.now_ms, pods)
        elif outcome == "confirmed" and order.verb == "bind":
            self.executor.confirmed(order, self.now_ms, pods)
        else:
            self.executor.succeeded(order, pods)

    @rule(data=st.data())
    def see_a_pod_stop(self, data: st.DataObject) -> None:
        run = self.state.runs.get(JOB)
        if run is not None:
            pod = data.draw(st.sampled_from(list(run.pods)))
            self.state.apply(WorkloadStopped(workload=JOB, pods=(pod,)))

    @rule(data=st.data())
    def see_a_pod_run(self, data: st.DataObject) -> None:
        run = self.state.runs.get(JOB)
        binding = [pod for pod, at in (run.pods.items() if run else ()) if at.phase == "binding"]
        if binding:
            pod = data.draw(st.sampled_from(binding))
            self.state.apply(WorkloadConfirmed(workload=JOB, pods=(pod,), at_ms=self.now_ms))

    @invariant()
    def sums_are_true(self) -> None:
        check_invariants(self.state)

    @invariant()
    def what_is_overdue_is_still_open(self) -> None:
        run = self.state.runs.get(JOB)
        for order, pods in self.executor.overdue(self.now_ms):
            assert order.until_ms <= self.now_ms
            assert pods
            phases = {run.pods[pod].phase for pod in pods} if run else set()
            assert phases == {"binding" if order.verb == "bind" else "leaving"}

    @invariant()
    def every_hold_ends(self) -> None:
        later = self.executor.holds(self.now_ms + 10 * LEAST_VICTIM_PAUSE_MS + 300_000)
        assert not later.workloads
        assert not later.nodes


TestOutcomes = Outcomes.TestCase
TestOutcomes.settings = settings(max_examples=scale_examples(100), stateful_step_count=30)


class ComparedId(str):
    """A pod id that counts how often it is compared."""

    __slots__ = ()
    compared = 0

    def __eq__(self, other: object) -> bool:
        ComparedId.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def test_open_orders_cost_their_pods_and_not_the_square_of_them() -> None:
    """A Kueue Workload of 4,000 pods is one order, and is looked at before each plan."""
    pods = 200
    ids = [PodId(ComparedId(f"pod-{number}")) for number in range(pods)]
    asked = PodSet(name="main", count=pods, min_count=1, requests=(0, 0), pod_ids=tuple(ids))
    job = Workload(name=JOB, queue=TEAM, pod_sets=PodSets((asked,)), min_count=1)
    executor = Executor(state_with(queue("team"), job))
    places = tuple(Placement(pod, None) for pod in ids)
    executor.order(Start(workload=JOB, placements=places, charged=(TEAM,), reason=WHY), 0)
    ComparedId.compared = 0
    assert len(executor.holds(1).victims) == pods
    assert ComparedId.compared <= 2 * pods


def test_failures_are_forgotten_after_a_while() -> None:
    """One failure a day on five nodes is no reason to hold the whole workload."""
    day_ms, job = 86_400_000, WorkloadName("job")
    back_off = BackOff()
    for day, name in enumerate(["n1", "n2", "n3", "n4", "n5"]):
        back_off.bind_failed(job, [name], day * day_ms)
        assert back_off.holds(day * day_ms) == Holds(nodes=frozenset({(job, name)}))
    for name in ("n1", "n2", "n3", "n4"):
        back_off.bind_failed(job, [name], 4 * day_ms + 1)
    assert back_off.holds(4 * day_ms + 2).workloads == {job}
