"""Claims for one pod alone, and how many volumes a node attaches: what other pods leave."""

import pytest

from fairlead.policy.contract import PolicyName
from tests.manifest.volume_world import (
    FAMILIES,
    NODES,
    Value,
    makes,
    node,
    planned,
    pod,
    uses,
    written,
)

DRIVER = "disk.example.com"
CLASS = (
    f"{{kind: StorageClass, metadata: {{name: fast}}, provisioner: {DRIVER}, "
    "volumeBindingMode: WaitForFirstConsumer}"
)


def claim(name: str, mode: str = "ReadWriteOnce", volume: str = "") -> str:
    spec = f"accessModes: [{mode}], volumeName: {volume or name}"
    return f"{{kind: PersistentVolumeClaim, metadata: {{name: {name}}}, spec: {{{spec}}}}}"


def volume(name: str, driver: str = DRIVER) -> str:
    csi = f"csi: {{driver: {driver}, volumeHandle: {name}}}"
    return f"{{kind: PersistentVolume, metadata: {{name: {name}}}, spec: {{{csi}}}}}"


def limit(name: str, count: int, driver: str = DRIVER) -> str:
    drivers = f"[{{name: {driver}, allocatable: {{count: {count}}}}}]"
    return f"{{kind: CSINode, metadata: {{name: {name}}}, spec: {{drivers: {drivers}}}}}"


def objects(*texts: str) -> list[Value]:
    return written("\n---\n".join(texts))


ALONE = objects(claim("data", "ReadWriteOncePod"), volume("data"))
WAITS = (
    "NoNodeFits: fits no node: 2 of 2 nodes wait for pod lab/{}, "
    "which alone may use the claim lab/data"
)


@pytest.mark.parametrize("policy", FAMILIES)
def test_a_claim_for_one_pod_is_used_by_one(policy: PolicyName) -> None:
    running, waiting = pod(policy, "a", uses("data"), on="n1"), pod(policy, "b", uses("data"))
    found, _ = planned(policy, *NODES, running, waiting, *ALONE)
    assert found == {"b": WAITS.format("a")}
    shared = objects(claim("data", "ReadWriteMany"), volume("data"))
    found, _ = planned(policy, *NODES, running, waiting, *shared)
    assert found["b"] in ("n1", "n2")


@pytest.mark.parametrize("policy", FAMILIES)
def test_of_two_pods_that_want_one_claim_the_first_starts(policy: PolicyName) -> None:
    both = [pod(policy, name, uses("data")) for name in ("a", "b")]
    found, _ = planned(policy, *NODES, *both, *ALONE)
    assert found == {"a": "n1", "b": WAITS.format("a")}


@pytest.mark.parametrize("policy", FAMILIES)
def test_a_finished_pod_leaves_its_claim_and_one_of_another_namespace_has_its_own(
    policy: PolicyName,
) -> None:
    ended, elsewhere = pod(policy, "a", uses("data"), on="n1"), pod(policy, "c", uses("data"))
    ended["status"]["phase"] = "Succeeded"
    elsewhere["metadata"]["namespace"] = "hall"
    elsewhere["spec"]["nodeName"], elsewhere["status"]["phase"] = "n1", "Running"
    waiting = pod(policy, "b", uses("data"))
    found, _ = planned(policy, *NODES, ended, elsewhere, waiting, *ALONE)
    assert found["b"] in ("n1", "n2")


def test_a_pod_of_another_scheduler_uses_a_claim_too() -> None:
    other = pod("kai", "a", uses("data"), on="n1")
    other["spec"]["schedulerName"] = "default-scheduler"
    found, _ = planned("kai", *NODES, other, pod("kai", "b", uses("data")), *ALONE)
    assert found == {"b": WAITS.format("a")}


@pytest.mark.parametrize("policy", FAMILIES)
def test_the_claim_of_a_pod_that_terminates_is_kept_for_the_next_one(policy: PolicyName) -> None:
    leaving = pod(policy, "a", uses("data"), on="n1")
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    found, _ = planned(policy, *NODES, leaving, pod(policy, "b", uses("data")), *ALONE)
    assert found == {"b": "n1 later"}


def test_faithful_kai_lets_pods_share_a_claim_for_one_pod() -> None:
    running, waiting = pod("kai", "a", uses("data"), on="n1"), pod("kai", "b", uses("data"))
    found, _ = planned("kai", *NODES, running, waiting, *ALONE, faithful=True)
    assert found == {"b": "n1"}


FULL = f"have no room for another volume of {DRIVER}"

# Of a node that attaches so many volumes of the driver: claims of a running pod, claims of one that
# waits, and whether it starts.
LIMITS = {
    "none is attached": (1, [], ["a"], True),
    "the last one": (2, ["a"], ["b"], True),
    "one too many": (1, ["a"], ["b"], False),
    "the same volume once more": (1, ["a"], ["a"], True),
    "two at once": (2, ["a"], ["b", "c"], False),
    "two claims of which one is there": (2, ["a"], ["a", "b"], True),
    "no volume at all": (1, ["a"], [], True),
    "a limit of zero": (0, [], ["a"], False),
    "a volume of another driver": (1, ["a"], ["other"], True),
}


@pytest.mark.parametrize("policy", FAMILIES)
@pytest.mark.parametrize(("most", "there", "wanted", "starts"), LIMITS.values(), ids=LIMITS)
def test_a_node_attaches_no_more_volumes_than_it_can(
    policy: PolicyName, most: int, there: list[str], wanted: list[str], starts: bool
) -> None:
    names = ("a", "b", "c")
    texts = [*map(claim, names), *map(volume, names), claim("other"), volume("other", "nfs")]
    pods = [
        pod(policy, "runs", *map(uses, there), on="n1"),
        pod(policy, "p", *map(uses, wanted)),
    ]
    found, _ = planned(policy, node("n1"), *pods, *objects(*texts, limit("n1", most)))
    assert found == {"p": "n1" if starts else f"NoNodeFits: fits no node: 1 of 1 node {_one(FULL)}"}


def _one(text: str) -> str:
    return text.replace("have", "has", 1)


@pytest.mark.parametrize("policy", FAMILIES)
def test_pods_that_start_in_one_plan_share_the_room_for_volumes(policy: PolicyName) -> None:
    """Each node attaches one: of three pods with volumes of their own two start."""
    pods = [pod(policy, f"p{at}", makes(storageClassName="fast")) for at in range(3)]
    limits = [limit("n1", 1), limit("n2", 1)]
    some = [claim("unrelated"), volume("unrelated")]
    found, _ = planned(policy, *NODES, *pods, *objects(CLASS, *limits, *some))
    assert found == {
        "p0": "n1",
        "p1": "n2",
        "p2": f"NoNodeFits: fits no node: 2 of 2 nodes {FULL}",
    }


def test_faithful_kai_looks_at_no_limits() -> None:
    pods = [pod("kai", "runs", uses("a"), on="n1"), pod("kai", "p", uses("b"))]
    texts = [claim("a"), claim("b"), volume("a"), volume("b"), limit("n1", 1)]
    found, _ = planned("kai", node("n1"), *pods, *objects(*texts), faithful=True)
    assert found == {"p": "n1"}
    assert planned("kai", node("n1"), *pods, *objects(*texts))[0] != found
