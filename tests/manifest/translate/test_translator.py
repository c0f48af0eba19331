"""One fact after the other: what each does to the state, and what it leaves alone."""

from typing import Any

import pytest
from msgspec.structs import replace

from fairlead.manifest import registry
from fairlead.manifest.finding import Findings
from fairlead.manifest.kueue.family import KueueFamily
from fairlead.manifest.translate.family import Unit
from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.events import MemoryChanged, Placement, WorkloadBinding, WorkloadLeaving
from fairlead.model.memory import KueueMemory
from fairlead.model.workload import PodId
from fairlead.policy.contract import PolicyName
from tests.manifest.translate.cluster_objects import (
    Value,
    again,
    cluster_queue,
    elastic_quota,
    kai_group,
    kai_queue,
    local_queue,
    manifest,
    node,
    placed,
    pod,
    workload,
)
from tests.manifest.translate.watched_world import (
    FAMILIES,
    GROUP,
    GROUPED,
    LONE,
    NOW_MS,
    A,
    World,
    pod_of,
)


@pytest.mark.parametrize("policy", FAMILIES)
def test_a_pod_comes_runs_and_goes(policy: PolicyName) -> None:
    own = pod_of(policy)
    world = World(policy, own)
    assert world.pods() == {LONE[policy]: ["p"]}
    world.see(placed(own, "n"))
    assert world.pods() == {LONE[policy]: ["p@n"]}
    world.lose(own)
    assert world.pods() == {}


@pytest.mark.parametrize("policy", FAMILIES)
def test_facts_that_are_no_news_change_nothing(policy: PolicyName) -> None:
    first = pod_of(policy, uid="1")
    later = placed(first, "n")
    world = World(policy, later)
    moment = world.translator.state.moment
    world.see(later)  # told twice
    world.see(first)  # late
    world.lose(pod_of(policy, "stranger"))  # never seen
    world.lose(pod_of(policy, uid="0"))  # of another pod with that name
    assert world.translator.state.moment == moment
    world.lose(later)
    world.see(later)  # an answer that comes after the pod is gone
    assert world.pods() == {}


class CountedReads(KueueFamily):
    """Counts the units that are read."""

    reads = 0

    def sort(self, unit: Unit[Any], findings: Findings) -> Any:
        type(self).reads += 1
        return super().sort(unit, findings)


def test_a_status_that_is_not_read_concerns_no_workload(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kueue writes the status of queues each time one of their workloads starts or ends."""
    counted = replace(registry.BUNDLES["kueue"], family=CountedReads)
    monkeypatch.setitem(registry.BUNDLES, "kueue", counted)
    local, node_before = local_queue(), node("m")
    world = World("kueue", local, node_before, *[workload(f"w{number}") for number in range(3)])
    reads, moment = CountedReads.reads, world.translator.state.moment
    world.see(again(local, status={"pendingWorkloads": 3}))
    world.see(again(node_before))
    assert (CountedReads.reads, world.translator.state.moment) == (reads, moment)
    world.see(again(local, spec={"clusterQueue": "b"}))
    assert CountedReads.reads == reads + 3


@pytest.mark.parametrize("policy", FAMILIES)
def test_a_pod_of_the_same_name_with_another_uid_is_another_pod(policy: PolicyName) -> None:
    first, second = pod_of(policy, uid="1", on="n"), pod_of(policy, uid="2")
    world = World(policy, first)
    world.see(second)
    assert world.pods() == {LONE[policy]: ["p"]}
    world.lose(first)  # the removal comes late
    assert world.pods() == {LONE[policy]: ["p"]}
    world.see(again(first))
    assert world.pods() == {LONE[policy]: ["p"]}


@pytest.mark.parametrize("policy", FAMILIES)
def test_what_a_complete_list_does_not_have_is_gone(policy: PolicyName) -> None:
    pods = [pod_of(policy, name) for name in ("p", "q", "r")]
    world = World(policy, *pods)
    world.relist("", "Pod", [placed(pods[0], "n")])
    assert world.pods() == {LONE[policy]: ["p@n"]}
    assert set(world.translator.state.nodes) == {"n"}


@pytest.mark.parametrize("policy", FAMILIES)
def test_a_list_that_is_older_than_an_object_does_not_end_it(policy: PolicyName) -> None:
    first, second = pod_of(policy, "p"), pod_of(policy, "q")
    world = World(policy, first, second)
    listed_at = first["metadata"]["resourceVersion"]
    world.relist("", "Pod", [], listed_at)  # from a cache: p ended, q was not there yet
    name = LONE[policy].removesuffix("p") + "q"
    assert world.pods() == {name: ["q"]}
    world.see(placed(second, "n"))
    assert world.pods() == {name: ["q@n"]}
    world.relist("", "Pod", [], str(int(second["metadata"]["resourceVersion"]) + 10_000))
    assert world.pods() == {}


@pytest.mark.parametrize("policy", FAMILIES)
def test_an_older_list_has_no_earlier_pod_in_the_place_of_one(policy: PolicyName) -> None:
    """The earlier pod of that name was gone before anything was seen."""
    earlier, own = pod_of(policy, uid="1", on="n"), pod_of(policy, uid="2")
    world = World(policy, own)
    world.relist("", "Pod", [earlier], earlier["metadata"]["resourceVersion"])
    assert world.pods() == {LONE[policy]: ["p"]}
    world.lose(earlier)
    world.see(own)
    assert world.pods() == {LONE[policy]: ["p"]}


@pytest.mark.parametrize("policy", FAMILIES)
def test_pods_wait_for_a_group_that_comes_later(policy: PolicyName) -> None:
    group, waiting = GROUPED[policy], "PodGroupNotFound"
    pods = [pod_of(policy, name, group="g") for name in ("p", "q")]
    world = World(policy, *pods)
    assert (world.pods(), world.waits()) == ({group: ["p", "q"]}, {group: waiting})
    assert world.told() == ["missing-reference"] * 2
    world.see(GROUP[policy]("g"))
    assert (world.waits(), world.told()) == ({}, [])
    world.lose(GROUP[policy]("g"))
    assert world.waits() == {group: waiting}


@pytest.mark.parametrize("policy", FAMILIES)
def test_a_pod_may_go_from_one_group_to_another(policy: PolicyName) -> None:
    own = pod_of(policy, "p", group="g")
    world = World(policy, GROUP[policy]("g", 1), GROUP[policy]("h", 1), own)
    other = pod_of(policy, "p", group="h")["metadata"]
    world.see(again(own, metadata={key: other[key] for key in ("labels", "annotations")}))
    assert world.pods() == {f"{GROUPED[policy].removesuffix('g')}h": ["p"]}


def test_a_workload_of_the_same_name_inherits_nothing() -> None:
    """The first is being started and gave way before; the second is made by another job."""
    world = World("kueue", workload("w"))
    name, state = WorkloadName("lab/w"), world.translator.state
    place = (Placement(PodId("main-0"), None),)
    flavors = ({"cpu": "f"},)
    state.apply(MemoryChanged(name, KueueMemory(preempting=True)))
    state.apply(WorkloadBinding(workload=name, placements=place, flavors=flavors, at_ms=1))
    second = workload("w")
    second["metadata"]["uid"] = "second"
    world.see(second)
    assert (world.pods(), state.memories) == ({"lab/w": ["main-0"]}, {})


def test_a_workload_goes_with_its_local_queue_to_another_cluster_queue() -> None:
    local = local_queue()
    world = World("kueue", workload("w"), cluster_queue("b"))
    assert world.translator.state.queued(A) == ["lab/w"]
    world.see(again(local, spec={"clusterQueue": "b"}))
    assert world.translator.state.queued(QueueName("b")) == ["lab/w"]
    world.lose(local)
    assert world.waits() == {"lab/w": "Misconfigured"}


def test_parents_that_are_swapped_by_two_updates() -> None:
    """In between, each is below the other; both stay as they were."""
    top, below = kai_queue("a"), kai_queue("b", parent="a")
    world = World("kai", below)

    def parents() -> dict[str, str | None]:
        queues = world.translator.state.queues
        return {str(name): queues[name].parent for name in sorted(queues)}

    assert parents() == {"a": None, "b": "a"}
    world.see(again(top, spec={**top["spec"], "parentQueue": "b"}))
    assert (parents(), world.told()) == ({"a": None, "b": "a"}, ["cycle"])
    world.see(again(below, spec=top["spec"]))
    assert (parents(), world.told()) == ({"a": "b", "b": None}, [])


@pytest.mark.parametrize(
    ("policy", "before", "news", "resources"),
    [
        ("kai", pod("p"), node("m", nvidia_com="2"), ["nvidia/com"]),
        ("elastic-quota", pod("p"), elastic_quota(namespace="x", example_com="1"), []),
    ],
)
def test_axes_grow(policy: PolicyName, before: Value, news: Value, resources: list[str]) -> None:
    world = World(policy, before)
    old = world.translator.state
    assert world.see(news)
    state = world.translator.state
    assert state is not old
    assert set(state.resources) - set(old.resources) == set(resources)
    assert set(state.workloads) == set(old.workloads)
    assert not world.see(again(news))


def test_what_is_assumed_outlives_new_axes() -> None:
    """The pod is being bound to n when a node with another resource joins."""
    world = World("kai", pod("p", uid="u"))
    name, place = WorkloadName("lab/pod/p"), (Placement(PodId("u"), "n"),)
    binding = WorkloadBinding(workload=name, placements=place, at_ms=NOW_MS, until_ms=NOW_MS + 1)
    world.translator.state.apply(binding)
    assert world.see(node("m", example_com="2"))
    assert world.pods() == {"lab/pod/p": ["p@n"]}
    assert world.translator.state.runs[name].pods[PodId("u")].phase == "binding"


def test_the_older_of_two_quotas_counts() -> None:
    second = elastic_quota("another", cpu="7")
    second["metadata"]["creationTimestamp"] = "2026-11-02T00:00:00Z"
    world = World("elastic-quota", second)
    queue = QueueName("lab")

    def least() -> int | None:
        return world.translator.state.queues[queue].guaranteed[0]

    assert (least(), world.told()) == (4000, ["no-effect"])
    world.lose(elastic_quota())
    assert (least(), world.told()) == (7000, [])


def test_a_label_counts_once_an_affinity_asks_about_it() -> None:
    """Of two pods that differ in a label only, one set becomes two, and one again."""
    pods = [pod(name, group="g", labels={"role": name}) for name in ("p", "q")]
    world = World("kai", kai_group("g"), *pods)

    def sets() -> int:
        return len(world.translator.state.workloads[WorkloadName("lab/g")].pod_sets)

    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"role": "p"}}}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    asking = pod("r", affinity=affinity)
    assert sets() == 1
    world.see(asking)
    assert sets() == 2
    world.lose(asking)
    assert sets() == 1


def test_a_priority_class_that_comes_later() -> None:
    grouped = kai_group("g")
    grouped["spec"]["priorityClassName"] = "high"
    world = World("kai", grouped, pod("p", group="g"))

    def priority() -> int:
        return world.translator.state.workloads[WorkloadName("lab/g")].priority

    assert (priority(), world.told()) == (50, ["missing-reference"])
    world.see(manifest("scheduling.k8s.io/v1", "PriorityClass", "high", value=70))
    assert (priority(), world.told()) == (70, [])


def test_a_share_in_memory_follows_the_devices_of_the_nodes() -> None:
    """4,000 MiB are a quarter of a device of 16,000, and half of one of 8,000."""
    asking = pod("p")
    asking["metadata"]["annotations"] = {"gpu-memory": "4000"}
    large = node("large", {"nvidia.com/gpu.memory": "16000"})
    large["status"]["allocatable"]["nvidia.com/gpu"] = "1"
    world = World("kai", asking, large)

    def gpu() -> int:
        state = world.translator.state
        (pod_set,) = state.workloads[WorkloadName("lab/pod/p")].pod_sets
        return pod_set.requests[state.resources.index("nvidia.com/gpu")]

    assert gpu() == 250
    small = node("small", {"nvidia.com/gpu.memory": "8000"})
    world.see(small)
    assert gpu() == 500
    world.lose(small)
    assert gpu() == 250


def shared_gpu(name: str, device: str) -> Value:
    own = pod(name, uid=name, labels={"runai-gpu-group": device})
    own["metadata"]["annotations"] = {"gpu-fraction": "0.5"}
    return placed(own, "gpus")


def test_a_pod_that_was_told_to_leave_stays_so_when_devices_are_renumbered() -> None:
    """The devices of a node are numbered by their ids: "b" comes before "m"."""
    gpus = node("gpus")
    gpus["status"]["allocatable"]["nvidia.com/gpu"] = "2"
    world = World("kai", gpus, shared_gpu("p", "m"))
    name, leaver = WorkloadName("lab/pod/p"), PodId("p")
    world.translator.state.apply(WorkloadLeaving(workload=name, pods=(leaver,)))

    def place() -> tuple[str, tuple[int, ...]]:
        found = world.translator.state.runs[name].pods[leaver]
        assert found.share is not None
        return found.phase, found.share.devices

    assert place() == ("leaving", (0,))
    world.see(shared_gpu("q", "b"))
    assert place() == ("leaving", (1,))
    world.lose(shared_gpu("q", "b"))
    assert place() == ("leaving", (0,))


OLD_GROUP = "scheduling.sigs.k8s.io/v1alpha1"


@pytest.mark.parametrize("is_old_first", [False, True])
def test_of_one_quota_in_two_api_groups_the_current_one_counts(is_old_first: bool) -> None:
    """The quota of 4 CPUs is also there in the older API group, with 7."""
    old = {**elastic_quota(cpu="7"), "apiVersion": OLD_GROUP}
    old["metadata"]["uid"] = "old"
    new = elastic_quota()
    world = World("elastic-quota", *([old, again(new)] if is_old_first else [old]))

    def least() -> int | None:
        queue = world.translator.state.queues.get(QueueName("lab"))
        return queue.guaranteed[0] if queue else None

    assert least() == 4000
    world.lose(new)
    assert (least(), world.told()) == (7000, [])
    world.see(again(new, metadata={"uid": "newer"}))
    assert (least(), world.told()) == (4000, ["no-effect"])  # whichever of the two came first
    world.lose(old)
    assert (least(), world.told()) == (4000, [])


def test_items_of_a_list_may_leave_out_their_kind() -> None:
    """So does the API server for kinds of its own."""
    own = pod("p")
    world = World("kai")
    bare = {key: value for key, value in own.items() if key not in ("kind", "apiVersion")}
    world.relist("", "Pod", [bare])
    assert world.pods() == {"lab/pod/p": ["p"]}
    world.relist("", "Pod", [bare])
    assert world.pods() == {"lab/pod/p": ["p"]}
