"""An executor goes on with another state of the same cluster as if it were the former one."""

from collections.abc import Callable
from typing import TypeAlias

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.events import Placement, WorkloadConfirmed, WorkloadStopped
from fairlead.model.execution.back_off import LEAST_VICTIM_PAUSE_MS
from fairlead.model.execution.carry_over import carry_over
from fairlead.model.execution.executor import Executor, Order
from fairlead.model.execution.reconcile import ObservedPlace, ObservedWorkload, bring_in_line
from fairlead.model.plan import Evict, Reason, Start
from fairlead.model.run import Placed
from fairlead.model.state import ClusterState
from fairlead.model.workload import KueueWorkload, PodId, PodSet, PodSets, Workload, numbered_pod
from tests.model.invariants import check_invariants
from tests.model.worlds import node, queue, state_with
from tests.scale_examples import scale_examples

JOB, TEAM, TOP = WorkloadName("job"), QueueName("team"), WorkloadName("top")
PODS = tuple(numbered_pod("main", number) for number in range(3))
NODES = ("n1", "n2")
WHY = Reason(code="any")
PATIENCE_MS = 30_000


class Step(msgspec.Struct, frozen=True):
    """What happens to some pods; *number* chooses a node, an order or a time, as it matters."""

    verb: str
    pods: tuple[PodId, ...]
    number: int = 0


Known: TypeAlias = tuple[object, ...]


class Cluster:
    """One job of three pods, its state and an executor; with *moves*, a new state each step."""

    def __init__(self, *, moves: bool) -> None:
        self.moves = moves
        self.state = self.filled({})
        self.executor = Executor(self.state, patience_ms=PATIENCE_MS)
        self.orders: list[Order] = []
        self.now_ms = 0

    def filled(self, places: dict[PodId, ObservedPlace]) -> ClusterState:
        asked = PodSet(name="main", count=3, min_count=1, requests=(1000, 0))
        job = Workload(
            name=JOB,
            queue=TEAM,
            pod_sets=PodSets((asked,)),
            min_count=1,
            extension=KueueWorkload(local_queue="q"),
        )
        state = state_with(queue("team"), *map(node, NODES))
        bring_in_line(state, JOB, ObservedWorkload(workload=job, places=places))
        return state

    def placed(self, *phases: str) -> dict[PodId, Placed]:
        run = self.state.runs.get(JOB)
        return {pod: at for pod, at in (run.pods if run else {}).items() if at.phase in phases}

    def move(self) -> None:
        """Go on with a state filled from what the cluster shows: no pod that is still binding."""
        shown = self.placed("running", "leaving")
        places = {pod: ObservedPlace(at.node, at.started_ms) for pod, at in shown.items()}
        new = self.filled(places)
        carry_over(self.state, new)
        check_invariants(new)
        self.executor.move_to(new)
        self.state = new

    def take(self, step: Step) -> Known:
        """Let *step* happen to the pods that it can happen to; return what is known after it."""
        steps: dict[str, Callable[[Step], None]] = {
            "start": self.start,
            "evict": self.evict,
            "wait": self.wait,
            "see": self.see,
            "stop": self.stop,
        }
        steps.get(step.verb, self.report)(step)
        if self.moves:
            self.move()
        return self.known()

    def start(self, step: Step) -> None:
        placed = self.placed("running", "binding", "leaving")
        places = tuple(
            Placement(pod, NODES[step.number % 2]) for pod in step.pods if pod not in placed
        )
        if places:
            decision = Start(workload=JOB, placements=places, charged=(TEAM,), reason=WHY)
            self.give(decision)

    def evict(self, step: Step) -> None:
        pods = tuple(pod for pod in step.pods if pod in self.placed("running"))
        if pods:
            self.give(Evict(workload=JOB, pods=pods, beneficiary=TOP, reason=WHY))

    def give(self, decision: Start | Evict) -> None:
        order = self.executor.order(decision, self.now_ms)
        assert order is not None
        self.orders.append(order)

    def wait(self, step: Step) -> None:
        self.now_ms += (1, 1_000, LEAST_VICTIM_PAUSE_MS, PATIENCE_MS)[step.number % 4]

    def see(self, step: Step) -> None:
        pods = tuple(pod for pod in step.pods if pod in self.placed("binding"))
        if pods:
            self.state.apply(WorkloadConfirmed(workload=JOB, pods=pods, at_ms=self.now_ms))

    def stop(self, step: Step) -> None:
        pods = tuple(pod for pod in step.pods if pod in self.placed("running", "leaving"))
        if pods:
            self.state.apply(WorkloadStopped(workload=JOB, pods=pods))

    def report(self, step: Step) -> None:
        """Report an outcome of any order, perhaps late or again."""
        if not self.orders:
            return
        order = self.orders[step.number % len(self.orders)]
        if step.verb == "fail":
            self.executor.failed(order, self.now_ms, step.pods)
        elif order.verb == "bind" and step.verb == "confirm":
            self.executor.confirmed(order, self.now_ms, step.pods)
        else:
            self.executor.succeeded(order, step.pods)

    def known(self) -> Known:
        executor, state = self.executor, self.state
        return (
            self.placed("running", "binding", "leaving"),
            dict(state.memories),
            state.sums[TEAM],
            executor.overdue(self.now_ms),
            executor.holds(self.now_ms),
            executor.next_release_ms(self.now_ms),
        )


def both_ways(*steps: Step) -> list[Known]:
    """Return what is known after each of *steps*, which is the same with new states and without."""
    one, other = Cluster(moves=False), Cluster(moves=True)
    found = []
    for step in steps:
        known = one.take(step)
        assert other.take(step) == known
        found.append(known)
    return found


ALL = PODS
BOUND = Step("start", ALL)
RUNNING = (BOUND, Step("confirm", ALL))


@pytest.mark.parametrize(
    ("steps", "phases"),
    [
        ((BOUND,), ["binding"] * 3),
        ((BOUND, Step("succeed", ALL)), ["binding"] * 3),
        (RUNNING, ["running"] * 3),
        ((BOUND, Step("fail", PODS[:1])), ["binding"] * 2),
        ((BOUND, Step("fail", ALL)), []),
        ((*RUNNING, Step("evict", PODS[:1])), ["leaving", "running", "running"]),
        ((*RUNNING, Step("evict", ALL), Step("succeed", ALL, 1)), ["leaving"] * 3),
        ((*RUNNING, Step("evict", ALL), Step("fail", ALL, 1)), ["running"] * 3),
        ((*RUNNING, Step("evict", ALL), Step("fail", ALL, 0)), ["leaving"] * 3),
    ],
)
def test_an_outcome_means_the_same_after_the_state_was_replaced(
    steps: tuple[Step, ...], phases: list[str]
) -> None:
    places, *_ = both_ways(*steps)[-1]
    assert isinstance(places, dict)
    assert sorted(each.phase for each in places.values()) == phases


def test_an_order_is_overdue_after_the_state_was_replaced_too() -> None:
    """The order is of moment 0; at moment 30,000 two of its three pods are not settled."""
    known = both_ways(BOUND, Step("confirm", PODS[:1]), Step("wait", (), 3))
    *_, overdue, _, _ = known[-1]
    assert isinstance(overdue, list)
    assert [(order.number, pods) for order, pods in overdue] == [(1, PODS[1:])]


def test_a_pause_goes_on_after_the_state_was_replaced() -> None:
    known = both_ways(BOUND, Step("fail", ALL), Step("wait", (), 0))
    assert known[-1][-1] == 1_000


verbs = ["start", "evict", "wait", "see", "stop", "succeed", "confirm", "fail"]
some_pods = st.lists(st.sampled_from(PODS), unique=True, min_size=1).map(tuple)
some_steps = st.builds(Step, st.sampled_from(verbs), some_pods, st.integers(0, 3))


@settings(max_examples=scale_examples(200))
@given(st.lists(some_steps, max_size=20))
def test_any_history_goes_the_same_way_with_new_states_in_it(steps: list[Step]) -> None:
    both_ways(*steps)
