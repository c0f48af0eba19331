"""A refused pod is tried again when its refusal could have changed, and not in every cycle."""

from collections.abc import Iterator
from typing import Any

import pytest

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.events import (
    Event,
    NodeAdded,
    Placement,
    WorkloadAdded,
    WorkloadFinished,
    WorkloadLeaving,
    WorkloadStarted,
)
from fairlead.model.node import Node
from fairlead.model.plan import Decision, Plan, Reserve, Start, Wait
from fairlead.model.state import ClusterState
from fairlead.model.workload import ElasticPods, PodSet, PodSets, Workload, numbered_pod
from fairlead.policy.elastic_quota.policy import ElasticQuotaPolicy
from fairlead.policy.elastic_quota.preemption.node_search import PodPreemption
from fairlead.policy.elastic_quota.scheduling import pods
from fairlead.policy.elastic_quota.settings import FAITHFUL, ElasticQuotaSettings
from tests.policy.elastic_quota.quota_event import quota
from tests.policy.elastic_quota.random_world import NOW_MS, OURS, build

BOTH = pytest.mark.parametrize("settings", [OURS, FAITHFUL], ids=["ours", "faithful"])


def node(name: str, cpu: int) -> Event:
    size = (cpu, 100, 0, 9)
    return NodeAdded(Node(name=name, allocatable=size))


def pod(title: str, cpu: int, on: str | None = None) -> Iterator[Event]:
    """Yield a pod called ``namespace/name`` of so many cpus, which runs on a node or waits."""
    namespace, _, name = title.partition("/")
    pods = PodSet(name=name, count=1, min_count=1, requests=(cpu, 0, 0, 1))
    yield WorkloadAdded(
        Workload(
            name=WorkloadName(title),
            namespace=namespace,
            queue=QueueName(namespace),
            pod_sets=PodSets((pods,)),
            min_count=1,
            extension=ElasticPods(),
        )
    )
    if on is not None:
        placed = (Placement(numbered_pod(name, 0), on),)
        yield WorkloadStarted(workload=WorkloadName(title), placements=placed, at_ms=0)


def finished(title: str) -> Event:
    return WorkloadFinished(WorkloadName(title))


class Watched:
    """A policy that plans for one state, and how many claims each plan looked at."""

    def __init__(
        self, state: ClusterState, settings: ElasticQuotaSettings, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.state = state
        self.policy = ElasticQuotaPolicy(settings)
        self.claims = 0

        def counted(*arguments: Any) -> PodPreemption:
            self.claims += 1
            return PodPreemption(*arguments)

        monkeypatch.setattr(pods, "PodPreemption", counted)

    def after(self, *events: Event) -> tuple[Plan, int]:
        """Return the plan after *events*, and how many claims were tried for it."""
        for event in events:
            self.state.apply(event)
        self.claims = 0
        plan = self.policy.plan(self.state, NOW_MS)
        tried = self.claims
        assert plan == ElasticQuotaPolicy(self.policy.settings).plan(self.state, NOW_MS)
        return plan, tried


def decision(plan: Plan, title: str) -> Decision:
    return next(each for each in plan.decisions if each.workload == title)


@BOTH
def test_who_is_over_max_waits_for_its_own_namespace(
    settings: ElasticQuotaSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a max of 2 q uses 2 and asks 1 more, whatever others do. With 1 back, 1 + 1 = 2."""
    world = [
        node("n", 9),
        quota("q", least=1, most=2),
        quota("r", least=8),
        *pod("q/one", 1, on="n"),
        *pod("q/two", 1, on="n"),
        *pod("r/other", 1, on="n"),
        *pod("q/more", 1),
    ]
    watched = Watched(build(world), settings, monkeypatch)
    plan, tried = watched.after()
    assert decision(plan, "q/more").reason.code == "OverMax"
    assert tried == 1
    assert watched.after(*pod("r/comes", 2, on="n"))[1] == 0
    assert watched.after(finished("r/other"))[1] == 0
    plan, _ = watched.after(finished("q/one"))
    assert isinstance(decision(plan, "q/more"), Start)


@BOTH
def test_who_finds_the_pool_exhausted_waits_for_the_sums(
    settings: ElasticQuotaSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All mins are 3, all use 3: q asks 1 more. Pods without quota are in no sum."""
    world = [
        node("n", 9),
        node("m", 9),
        quota("q", least=1),
        quota("r", least=2),
        *pod("q/one", 1, on="n"),
        *pod("r/two", 2, on="n"),
        *pod("free/pod", 1, on="m"),
        *pod("q/more", 1),
    ]
    watched = Watched(build(world), settings, monkeypatch)
    plan, tried = watched.after()
    assert decision(plan, "q/more").reason.code == "PoolExhausted"
    assert tried == 1
    assert watched.after(*pod("free/more", 3, on="m"))[1] == 0
    assert watched.after(finished("free/pod"))[1] == 0
    assert watched.after(node("o", 9))[1] == 0
    plan, _ = watched.after(finished("r/two"))
    assert isinstance(decision(plan, "q/more"), Start)


@BOTH
def test_who_finds_no_room_waits_for_the_nodes(
    settings: ElasticQuotaSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The node has 2 and both are held within the min of q: another pod that waits is no news."""
    world = [
        node("n", 2),
        quota("q", least=9),
        quota("r", least=9),
        *pod("q/one", 1, on="n"),
        *pod("q/two", 1, on="n"),
        *pod("r/more", 1),
    ]
    watched = Watched(build(world), settings, monkeypatch)
    plan, tried = watched.after()
    assert decision(plan, "r/more").reason.code == "NoNodeFits"
    assert tried == 1
    plan, tried = watched.after(*pod("r/alike", 1))  # is refused for the same, known reason
    assert isinstance(decision(plan, "r/alike"), Wait)
    assert tried == 0
    plan, _ = watched.after(finished("q/one"))
    assert isinstance(decision(plan, "r/alike"), Start)


@BOTH
def test_pods_that_are_alike_are_tried_once(
    settings: ElasticQuotaSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    alike = [event for number in range(5) for event in pod(f"q/pod{number}", 3)]
    watched = Watched(build([node("n", 2), quota("q", least=9), *alike]), settings, monkeypatch)
    assert watched.after()[1] == 1


def test_who_is_over_max_until_others_left_is_tried_when_a_node_gets_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """q/gone (1) is leaving: 1 + 2 > 2 now, 0 + 2 later. Later is a matter of room on nodes."""
    world = [
        node("small", 1),
        node("large", 2),
        quota("q", least=0, most=2),
        quota("r", least=4),
        *pod("q/gone", 1, on="small"),
        WorkloadLeaving(workload=WorkloadName("q/gone"), pods=(numbered_pod("gone", 0),)),
        *pod("r/two", 2, on="large"),
        *pod("q/more", 2),
    ]
    watched = Watched(build(world), OURS, monkeypatch)
    plan, _ = watched.after()
    assert decision(plan, "q/more").reason.code == "OverMax"
    plan, _ = watched.after(finished("r/two"))
    assert isinstance(decision(plan, "q/more"), Reserve)


@BOTH
def test_the_last_pod_of_a_gang_waits_as_a_pod_alone_does(
    settings: ElasticQuotaSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of two pods of 3 cpus runs on 4: the other one and a pod alone need 3 of 1."""
    two = PodSet(name="gang", count=2, min_count=2, requests=(3, 0, 0, 1))
    gang = Workload(
        name=WorkloadName("q/gang"),
        namespace="q",
        queue=QueueName("q"),
        pod_sets=PodSets((two,)),
        min_count=2,
        extension=ElasticPods(),
    )
    placed = (Placement(numbered_pod("gang", 0), "n"),)
    runs = WorkloadStarted(workload=gang.name, placements=placed, at_ms=0)
    world = [node("n", 4), quota("q", least=9), WorkloadAdded(gang), runs]
    watched = Watched(build(world), settings, monkeypatch)
    plan, _ = watched.after()
    of_gang = decision(plan, "q/gang").reason
    plan, tried = watched.after(*pod("q/alone", 3))
    assert tried == 0
    assert [each.things for each in of_gang.tallies] == ["nodes"]
    assert decision(plan, "q/alone").reason == of_gang
