"""Outcomes of orders that come after facts with which the state agreed until then."""

from collections.abc import Callable

import pytest

from fairlead.manifest.text.documents import cluster_document
from fairlead.manifest.translate.translator import Translator
from fairlead.model.axes import WorkloadName
from fairlead.model.events import MemoryChanged, Placement
from fairlead.model.execution.executor import Executor, Order
from fairlead.model.memory import KueueMemory
from fairlead.model.plan import Evict, Reason, Start
from fairlead.model.workload import PodId, numbered_pod
from tests.manifest.translate.api_server import ApiServer, Key, Object, copied
from tests.manifest.translate.kueue_world import WORKLOAD, admit
from tests.model.invariants import check_invariants

WHY = Reason(code="any")
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"namespace": "a", "name": "p", "labels": {}, "annotations": {}},
    "spec": {"schedulerName": "kai-scheduler", "containers": [{"name": "main"}]},
    "status": {"phase": "Pending"},
}
JOB = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "Workload",
    "metadata": {"namespace": "a", "name": "w"},
    "spec": {
        "queueName": "door",
        "podSets": [
            {"name": "main", "count": 2, "template": {"spec": {"containers": [{"name": "main"}]}}}
        ],
    },
    "status": {},
}


class Followed:
    """One object of a server, and a translator that is told of each of its versions."""

    def __init__(self, translator: Translator, value: Object) -> None:
        self.server = ApiServer()
        self.translator = translator
        key = self.server.create(value)
        assert key is not None
        self.key: Key = key
        self.tell()
        self.executor = Executor(translator.state)

    def tell(self) -> None:
        self.translator.changed(cluster_document(self.server.objects[self.key]))
        self.translator.settle()
        check_invariants(self.translator.state)

    def learn(self, order: Order, outcome: Callable[[Order, int], object]) -> None:
        outcome(order, self.server.now_ms)
        self.translator.look_again(order.workload)
        self.translator.settle()
        check_invariants(self.translator.state)


def test_a_pod_that_a_user_deletes_goes_on_leaving_when_our_eviction_is_refused() -> None:
    followed = Followed(Translator("kai"), POD)
    name, pod = WorkloadName("a/pod/p"), PodId("uid-1")
    followed.server.bind(pod, "n1", lambda _: None)
    followed.tell()
    order = followed.executor.order(
        Evict(workload=name, pods=(pod,), beneficiary=None, reason=WHY), 0
    )
    assert order is not None
    followed.server.delete(followed.key)
    followed.tell()
    followed.learn(order, followed.executor.failed)
    assert followed.translator.state.runs[name].pods[pod].phase == "leaving"


@pytest.mark.parametrize("is_seen_before", [False, True])
def test_quota_for_fewer_pods_than_were_ordered_is_what_counts(is_seen_before: bool) -> None:
    """Others admitted one of two pods; that our order has its effect is no reason to doubt it."""
    followed = Followed(Translator("kueue"), JOB)
    name = WorkloadName("a/w")
    pods = [numbered_pod("main", number) for number in range(2)]
    places = tuple(Placement(pod, None) for pod in pods)
    start = Start(workload=name, placements=places, flavors=({},), charged=(), reason=WHY)
    order = followed.executor.order(start, 0)
    assert order is not None
    followed.server.update(
        followed.key, lambda value: admit(value, "red", [{}], {"main": 1}, followed.server.now_ms)
    )
    if is_seen_before:
        followed.tell()
    followed.learn(order, followed.executor.confirmed)
    followed.tell()
    assert list(followed.translator.state.runs[name].pods) == pods[:1]


@pytest.mark.parametrize("is_rebuilt", [False, True])
def test_another_workload_of_the_same_name_inherits_nothing(is_rebuilt: bool) -> None:
    """Both facts come at once: one is gone for which we had asked for quota, and one is new.

    If the new one asks for a resource that is new as well, it comes into another state.
    """
    followed = Followed(Translator("kueue"), JOB)
    name = WorkloadName("a/w")
    followed.translator.state.apply(MemoryChanged(name, KueueMemory(preempted_ms=5)))
    places = tuple(Placement(numbered_pod("main", number), None) for number in range(2))
    start = Start(workload=name, placements=places, flavors=({},), charged=(), reason=WHY)
    order = followed.executor.order(start, 0)
    followed.server.remove(followed.key)
    followed.translator.removed(cluster_document(followed.server.log[WORKLOAD][-1].value))
    other = copied(JOB)
    if is_rebuilt:
        main = other["spec"]["podSets"][0]["template"]["spec"]["containers"][0]
        main["resources"] = {"requests": {"example.com/nic": 1}}
    followed.server.create(other)
    followed.tell()
    state = followed.translator.state
    followed.executor.move_to(state)
    assert ("example.com/nic" in state.resources) == is_rebuilt
    assert name in state.workloads
    assert (state.memories, state.runs) == ({}, {})
    assert order is not None
    assert followed.executor.overdue(order.until_ms) == []
