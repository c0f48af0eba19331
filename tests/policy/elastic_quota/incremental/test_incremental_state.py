"""Who waits is looked at again when something may come of it, and plans are as if all were."""

from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.events import (
    Event,
    NodeAdded,
    Placement,
    WorkloadAdded,
    WorkloadFinished,
    WorkloadLeaving,
    WorkloadStarted,
    WorkloadStopped,
)
from fairlead.model.execution.executor import apply
from fairlead.model.execution.remember import forget_promises
from fairlead.model.node import Node
from fairlead.model.plan import Decision, Evict, LeftPending, Plan, Reserve, Start
from fairlead.model.state import ClusterState
from fairlead.model.workload import ElasticPods, PodSet, PodSets, Workload, numbered_pod
from fairlead.policy.elastic_quota.policy import ElasticQuotaPolicy
from fairlead.policy.elastic_quota.scheduling.cycle import Cycle
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings
from tests.policy.changes import changes_of
from tests.policy.elastic_quota.quota_event import quota
from tests.policy.elastic_quota.random_world import (
    NOW_MS,
    ONE_NODE,
    OURS,
    PROTECTS_MIN,
    build,
)
from tests.scale_examples import scale_examples


def node(name: str, cpu: int) -> Event:
    return NodeAdded(Node(name=name, allocatable=(cpu, 999, 0, 99)))


def job(
    title: str,
    cpu: int,
    *,
    pods: int = 1,
    needs: int | None = None,
    priority: int = 0,
    at_ms: int = 0,
    on: str | None = None,
) -> Iterator[Event]:
    """Yield a job called ``namespace/name``, of so many pods of so many cpus, that needs all."""
    namespace, _, name = title.partition("/")
    least = pods if needs is None else needs
    workload = Workload(
        name=WorkloadName(title),
        namespace=namespace,
        queue=QueueName(namespace),
        pod_sets=PodSets(
            (PodSet(name=name, count=pods, min_count=least, requests=(cpu, 0, 0, 1)),)
        ),
        min_count=least,
        priority=priority,
        created_ms=at_ms,
        extension=ElasticPods(),
    )
    yield WorkloadAdded(workload)
    if on is not None:
        places = tuple(Placement(pod, on) for pod in workload.pods())
        yield WorkloadStarted(workload=workload.name, placements=places, at_ms=0)


def finished(title: str) -> Event:
    return WorkloadFinished(WorkloadName(title))


class Watched:
    """A policy that follows one state, and who had a turn."""

    def __init__(self, world: list[Event], monkeypatch: pytest.MonkeyPatch) -> None:
        self.state = build(world)
        self.policy = ElasticQuotaPolicy(OURS)
        self.turns: list[str] = []
        plain = Cycle.attempt

        def noted(cycle: Cycle, workload: Workload) -> Iterator[Decision]:
            self.turns.append(workload.name)
            return plain(cycle, workload)

        monkeypatch.setattr(Cycle, "attempt", noted)

    def after(self, *events: Event) -> tuple[list[str], list[str]]:
        """Return who had a turn after *events*, and what was changed for whom."""
        for event in events:
            self.state.apply(event)
        self.turns = []
        changes = changes_of(self.policy, self.state, NOW_MS)
        turns = list(self.turns)
        plan = ElasticQuotaPolicy(OURS).plan(self.state, NOW_MS)
        assert changes == [each for each in plan.decisions if not isinstance(each, LeftPending)]
        return turns, [f"{type(each).__name__} {each.workload}" for each in changes]


def test_who_finds_the_pool_exhausted_is_asked_when_all_use_less(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All mins are 4, and 4 are used. q asks for 2 more: 4 + 2 > 4, 3 + 2 > 4, 2 + 2 = 4."""
    world = [
        *[node("n", 9), quota("q", least=1), quota("r", least=3)],
        *job("q/one", 1, on="n"),
        *job("r/two", 1, on="n"),
        *job("r/six", 2, on="n"),
        *job("q/more", 2),
    ]
    watched = Watched(world, monkeypatch)
    assert watched.after() == ([], [])
    assert watched.after(node("m", 9)) == ([], [])
    assert watched.after(finished("r/two")) == ([], [])
    assert watched.after(finished("q/one")) == (["q/more"], ["Start q/more"])


def test_a_gang_is_asked_when_there_may_be_room_for_all_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Three pods of 2. Two nodes with 3 free hold one each; with 2 and 4 free there are three."""
    world = [
        *[node("n", 4), node("m", 4), quota("q", least=1), quota("r", least=9)],
        *job("r/one", 1, on="n"),
        *job("r/two", 1, on="m"),
        *job("q/gang", 2, pods=3),
    ]
    watched = Watched(world, monkeypatch)
    assert watched.after() == ([], [])
    assert watched.after(*job("r/six", 1, on="n")) == ([], [])
    assert watched.after(finished("r/two")) == (["q/gang"], ["Start q/gang"])


def test_who_finds_room_once_others_have_left_is_asked_when_they_are_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The node is full; r/one gives 2 back of which q, beyond its min of 0, may borrow 1."""
    world = [
        *[node("n", 2), quota("q", least=0), quota("r", least=9)],
        *job("r/one", 2, on="n"),
        *job("q/more", 1),
    ]
    watched = Watched(world, monkeypatch)
    assert watched.after() == ([], [])
    told = WorkloadLeaving(workload=WorkloadName("r/one"), pods=(numbered_pod("one", 0),))
    assert watched.after(told) == (["q/more"], ["Reserve q/more"])


def test_who_is_within_its_min_is_asked_and_takes_from_who_borrows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With 2 of a min of 2 q waits; when it gives 1 back, it may have that from r."""
    world = [
        *[node("n", 4), quota("q", least=2), quota("r", least=2)],
        *job("q/one", 1, on="n"),
        *job("q/two", 1, on="n"),
        *job("r/one", 1, on="n"),
        *job("r/two", 1, on="n"),
        *job("q/more", 1),
    ]
    watched = Watched(world, monkeypatch)
    assert watched.after() == ([], [])
    events = [finished("q/one"), *job("r/zero", 1, on="n")]  # of equals the last by name leaves
    assert watched.after(*events) == (["q/more"], ["Evict r/zero", "Reserve q/more"])


def test_who_is_more_important_than_another_of_its_namespace_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = [
        *[node("n", 2), quota("q", least=2)],
        *job("q/one", 1, priority=5, on="n"),
        *job("q/two", 1, priority=5, on="n"),
        *job("q/more", 1, priority=5),
    ]
    watched = Watched(world, monkeypatch)
    assert watched.after() == ([], [])
    events = [finished("q/one"), *job("q/low", 1, on="n")]
    assert watched.after(*events) == (["q/more"], ["Evict q/low", "Reserve q/more"])


def test_who_is_on_a_node_that_is_known_only_now_may_be_asked_to_leave(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = [
        *[node("n", 1), quota("q", least=2)],
        *job("q/one", 1, priority=1, on="n"),
        *job("q/low", 1, on="m"),
        *job("q/more", 1, priority=1),
    ]
    watched = Watched(world, monkeypatch)
    assert watched.after() == ([], [])
    assert watched.after(node("m", 1)) == (["q/more"], ["Evict q/low", "Reserve q/more"])


class Crowd:
    """A cluster with more work than room, of few kinds, that carries out what is planned for it."""

    def __init__(self, seed: int, chosen: ElasticQuotaSettings) -> None:
        self.random = Random(seed)
        self.settings = chosen
        self.policy = ElasticQuotaPolicy(chosen)
        self.now_ms = NOW_MS
        self.came = 0
        pick = self.random.choice
        self.state = build(
            [
                *[node(f"n{at}", pick([2, 4, 4])) for at in range(4)],
                *[
                    quota(name, least=pick([0, 2, 4, 6]), most=pick([None, None, 7]))
                    for name in ("q", "r", "s")
                ],
            ]
        )
        self.grace = pick([0, 0, 2])  # in steps
        self.terminating: list[tuple[int, Evict]] = []
        self.priorities = pick([[0], [0, 0, 1], [0, 1, 2]])

    def submit(self) -> None:
        self.came += 1
        pick = self.random.choice
        pods, needs = pick([(1, 1), (1, 1), (2, 2), (3, 3), (3, 1), (4, 2)])
        queue = pick(["q", "q", "r", "s", "none"])
        events = job(
            f"{queue}/job{self.came}",
            pick([1, 1, 2, 4]),
            pods=pods,
            needs=needs,
            priority=pick(self.priorities),
            at_ms=self.now_ms,
        )
        for event in events:
            self.state.apply(event)

    def finish(self) -> None:
        if self.state.runs:
            self.state.apply(WorkloadFinished(self.random.choice(sorted(self.state.runs))))

    def plan(self, at: int) -> list[Decision]:
        """Check that what is told to change is what a fresh policy plans, and carry it out."""
        self.now_ms += 1000
        plan = ElasticQuotaPolicy(self.settings).plan(self.state, self.now_ms)
        changes = changes_of(self.policy, self.state, self.now_ms)
        assert changes == [each for each in plan.decisions if not isinstance(each, LeftPending)]
        apply(self.state, Plan(taken_ms=self.now_ms, decisions=tuple(changes)))
        forget_promises(self.state, changes, self.now_ms)
        self.terminating += [(at + self.grace, each) for each in changes if isinstance(each, Evict)]
        return changes

    def stop(self, at: int) -> None:
        """Let those stop whose time is up, unless they did before."""
        for due, told in self.terminating:
            run = self.state.runs.get(told.workload) if due <= at else None
            placed = run.pods if run else {}
            pods = [pod for pod in told.pods if pod in placed and placed[pod].phase == "leaving"]
            if pods:
                self.state.apply(WorkloadStopped(workload=told.workload, pods=tuple(pods)))
        self.terminating = [each for each in self.terminating if each[0] > at]

    def live(self, steps: int) -> list[Decision]:
        """Return all that was changed in so many steps."""
        changed: list[Decision] = []
        for at in range(steps):
            for _ in range(self.random.choice([0, 1, 2])):
                self.submit()
            if self.random.random() < 0.4:
                self.finish()
            self.stop(at)
            changed += self.plan(at)
        return changed


@pytest.mark.exhaustive
@settings(max_examples=scale_examples(15))
@given(seed=st.integers(0, 10**6), chosen=st.sampled_from([OURS, PROTECTS_MIN, ONE_NODE]))
def test_a_crowd_is_served_as_if_everybody_were_asked_every_time(
    seed: int, chosen: ElasticQuotaSettings
) -> None:
    Crowd(seed, chosen).live(30)


def test_crowds_are_such_that_jobs_start_wait_and_give_way() -> None:
    crowd = Crowd(3, OURS)
    changed = crowd.live(60)
    assert {type(each) for each in changed} == {Start, Evict, Reserve}
    waiting = [name for queue in crowd.state.waited_for() for name in crowd.state.waiting(queue)]
    assert len(waiting) > 20


def test_a_state_is_followed_to_another_one_and_back() -> None:
    """One policy may plan for any number of states."""
    policy = ElasticQuotaPolicy(OURS)
    worlds: list[ClusterState] = [Crowd(seed, OURS).state for seed in (1, 2)]
    for number, state in enumerate(worlds * 2):
        for event in job(f"q/job{number}", 1):
            state.apply(event)
        plan = ElasticQuotaPolicy(OURS).plan(state, NOW_MS)
        expected = [each for each in plan.decisions if not isinstance(each, LeftPending)]
        assert changes_of(policy, state, NOW_MS) == expected
