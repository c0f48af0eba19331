"""A small cluster with volumes: two nodes in two zones, a queue, and pods of it that wait."""

import io
from typing import Any, Final

import yaml

from fairlead.cli.input.options import with_faithfulness
from fairlead.errors import Finding
from fairlead.explain.text.reasons import reason_text
from fairlead.manifest.assembled import Assembled
from fairlead.manifest.load import load
from fairlead.model.plan import Reserve, Start, Wait
from fairlead.policy.contract import PolicyName, make_policy
from tests.model.invariants import check_invariants

Value = dict[str, Any]

ZONE: Final = "topology.kubernetes.io/zone"
BASE: Final[dict[PolicyName, str]] = {
    "kai": """
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {name: lab}
spec: {resources: {cpu: {quota: -1, limit: -1}, memory: {quota: -1, limit: -1},
  gpu: {quota: -1, limit: -1}}}
""",
    "elastic-quota": """
apiVersion: scheduling.x-k8s.io/v1alpha1
kind: ElasticQuota
metadata: {name: quota, namespace: lab}
spec: {min: {cpu: 100}}
""",
}
FAMILIES: Final[list[PolicyName]] = ["kai", "elastic-quota"]
SCHEDULERS: Final = {"kai": "kai-scheduler", "elastic-quota": "default-scheduler"}


def node(name: str, **labels: str) -> Value:
    status = {"allocatable": {"cpu": "8", "memory": "8Gi", "pods": "110"}}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": status,
    }


NODES: Final = (node("n1", **{ZONE: "a"}), node("n2", **{ZONE: "b"}))


def pod(policy: PolicyName, name: str = "p", *volumes: Value, on: str = "", uid: str = "") -> Value:
    """Return a pod of one core with volumes, which waits or is on a node."""
    spec: Value = {
        "schedulerName": SCHEDULERS[policy],
        "containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}}}],
        "volumes": [{"name": f"v{at}", **each} for at, each in enumerate(volumes)],
    }
    if on:
        spec["nodeName"] = on
    metadata: Value = {
        "name": name,
        "namespace": "lab",
        "labels": {"kai.scheduler/queue": "lab"},
    }
    if uid:
        metadata["uid"] = uid
    status = {"phase": "Running" if on else "Pending"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}


def uses(claim: str) -> Value:
    return {"persistentVolumeClaim": {"claimName": claim}}


def makes(**spec: Any) -> Value:
    return {"ephemeral": {"volumeClaimTemplate": {"spec": spec}}}


def written(text: str) -> list[Value]:
    """Return objects that are written in short: of each kind the API version is known."""
    versions = {"StorageClass": "storage.k8s.io/v1", "CSINode": "storage.k8s.io/v1"}
    found = [each for each in yaml.safe_load_all(text) if each]
    for each in found:
        each["apiVersion"] = versions.get(each["kind"], "v1")
        if each["kind"] == "PersistentVolumeClaim":
            each["metadata"].setdefault("namespace", "lab")
    return found


def loaded(policy: PolicyName, *values: Value) -> tuple[Assembled, list[Finding]]:
    """Return what becomes of objects beside a queue, and what was found."""
    documents = [*yaml.safe_load_all(BASE[policy]), *values]
    text = "---\n".join(yaml.safe_dump(each) for each in documents)
    result = load(["-"], stdin=io.BytesIO(text.encode()))
    assert result.assembled is not None, list(map(str, result.findings))
    check_invariants(result.assembled.state)
    return result.assembled, [each for each in result.findings if each.severity != "advice"]


def planned(
    policy: PolicyName, *values: Value, faithful: bool = False
) -> tuple[dict[str, str], list[Finding]]:
    """Return the node on which each pod starts, now or later, or why it waits; and findings."""
    assembled, findings = loaded(policy, *values)
    state = assembled.state
    settings = with_faithfulness(assembled.settings, faithful=faithful)
    plan = make_policy(settings).plan(state, 1_800_000_000_000)
    check_invariants(state)
    outcomes = {}
    for each in plan.decisions:
        name = each.workload.rpartition("/")[2]
        if isinstance(each, Start | Reserve):
            later = " later" if isinstance(each, Reserve) else ""
            outcomes[name] = " ".join(f"{place.node}" for place in each.placements) + later
        elif isinstance(each, Wait):
            outcomes[name] = f"{each.reason.code}: {reason_text(each.reason)}"
    return outcomes, findings
