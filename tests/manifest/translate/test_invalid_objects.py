"""Objects that are wrong concern themselves: what was valid counts on, and the rest goes on."""

import pytest

from fairlead.manifest.kueue.assembly import workloads as assemble_workloads
from fairlead.model.axes import WorkloadName
from fairlead.model.plan import Evict
from fairlead.policy.contract import PolicyName, make_policy
from tests.manifest.translate.cluster_objects import (
    admitted,
    again,
    placed,
    pod,
    workload,
)
from tests.manifest.translate.watched_world import FAMILIES, LONE, NODE, NOW_MS, World, pod_of


@pytest.mark.parametrize("policy", FAMILIES)
def test_an_invalid_pod_without_versions_is_repaired_by_what_it_was(policy: PolicyName) -> None:
    own, broken = (pod_of(policy, cpu=cpu) for cpu in ("1", "many"))
    for each in (own, broken):
        del each["metadata"]["resourceVersion"]
    world = World(policy, own)
    world.see(broken)
    assert world.waits() == {LONE[policy]: "InvalidObject"}
    world.see(own)
    assert world.waits() == {}


@pytest.mark.parametrize("policy", FAMILIES)
def test_of_an_invalid_pod_the_last_valid_version_counts(policy: PolicyName) -> None:
    own = pod_of(policy)
    world = World(policy, own)
    assert world.waits() == {}
    broken = again(own, spec=pod_of(policy, cpu="many")["spec"])
    world.see(broken)
    assert world.pods() == {LONE[policy]: ["p"]}
    assert world.waits() == {LONE[policy]: "InvalidObject"}
    assert world.told() == ["bad-quantity"]
    world.see(again(own))
    assert (world.waits(), world.told()) == ({}, [])


@pytest.mark.parametrize("policy", FAMILIES)
def test_an_invalid_pod_is_where_its_latest_version_is(policy: PolicyName) -> None:
    """Somebody annotates a pod that is being bound; then it runs, and ends, all the same."""
    own = pod_of(policy)
    world = World(policy, own)
    annotated = again(own, metadata={"annotations": {"gpu-fraction": "half"}})
    world.see(annotated)
    assert world.waits() == {LONE[policy]: "InvalidObject"}
    bound = placed(annotated, "n")
    world.see(bound)
    assert (world.pods(), world.told()) == ({LONE[policy]: ["p@n"]}, ["bad-quantity"])
    world.see(again(bound, status={"phase": "Succeeded"}))
    assert world.pods() == {}


@pytest.mark.parametrize("policy", FAMILIES)
def test_a_pod_that_was_never_valid_is_seen_waiting(policy: PolicyName) -> None:
    broken = pod_of(policy, cpu="many")
    world = World(policy, broken, pod_of(policy, "q"))
    assert world.waits() == {LONE[policy]: "InvalidObject"}
    world.lose(broken)
    assert (world.waits(), world.told()) == ({}, [])


@pytest.mark.parametrize("policy", FAMILIES)
def test_an_invalid_node_counts_as_it_was(policy: PolicyName) -> None:
    world = World(policy, pod_of(policy))
    world.see(again(NODE, status={"allocatable": {"cpu": "lots"}}))
    assert set(world.translator.state.nodes) == {"n"}
    assert (world.waits(), world.told()) == ({}, ["bad-quantity"])


def test_running_work_with_an_invalid_object_is_not_told_to_leave() -> None:
    own = admitted(workload("w"))
    world = World("kueue", own)
    broken = workload("w", cpu="many")["spec"]
    world.see(again(own, spec=broken))
    policy = make_policy(world.translator.settings)
    decisions = policy.plan(world.translator.state, NOW_MS).decisions
    assert not [each for each in decisions if isinstance(each, Evict)]
    assert world.pods() == {"lab/w": ["main-0@None"]}


def test_a_waiting_kueue_workload_says_what_is_invalid() -> None:
    own = workload("w")
    world = World("kueue", own)
    world.see(again(own, spec=workload("w", cpu="many")["spec"]))
    assert world.waits() == {"lab/w": "InvalidObject"}


def test_more_admitted_pods_than_any_cluster_has_are_not_placed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A status may say two billion; so many places would fill the memory."""
    monkeypatch.setattr(assemble_workloads, "MAX_ADMITTED_PODS", 3)
    world = World("kueue", admitted(workload("small", count=3)))
    assert (world.waits(), world.told()) == ({}, [])
    world.lose(workload("small"))
    world.see(admitted(workload("w", count=4)))
    assert world.told() == ["too-large"]
    assert world.waits() == {"lab/w": "InvalidObject"}
    assert not world.translator.state.runs


def test_a_pod_that_names_an_impossible_group_is_not_taken_for_another() -> None:
    odd = pod("q")
    odd["metadata"]["annotations"] = {"pod-group-name": "pod/p"}
    world = World("kai", pod("p"), odd)
    assert world.pods() == {"lab/pod/p": ["p"], "lab/podgroup/pod/p": ["q"]}


def test_a_running_pod_with_a_share_of_nearly_nothing_holds_the_least_there_is() -> None:
    """0.003 of a device are 0 hundredths: an error, and if it runs all the same it holds 0.01."""
    tiny = placed(pod("p"), "n")
    tiny["metadata"]["annotations"] = {"gpu-fraction": "0.003"}
    world = World("kai", tiny)
    state = world.translator.state
    (place,) = state.runs[WorkloadName("lab/pod/p")].pods.values()
    assert place.share is not None
    assert place.share.part_e9 == 10_000_000
    assert "out-of-range" in world.told()
    world.lose(tiny)
    assert not world.translator.state.workloads


def test_a_resource_version_of_thousands_of_digits_is_taken_as_it_comes() -> None:
    odd = pod("p")
    odd["metadata"]["resourceVersion"] = "9" * 5000
    world = World("kai", odd)
    world.see(again(odd, spec={**odd["spec"], "nodeName": "n"}))
    assert world.translator.state.runs.keys() == {"lab/pod/p"}


def test_a_workload_with_quota_for_more_pods_than_any_cluster_has_waits() -> None:
    """500,001 are one more than count. Of two billion the places alone would take all memory."""
    world = World("kueue", workload("small"))
    world.see(admitted(workload("huge", count=500_001)))
    assert world.told() == ["too-large"]
    assert not world.translator.state.runs
    assert world.waits() == {"lab/huge": "InvalidObject"}
