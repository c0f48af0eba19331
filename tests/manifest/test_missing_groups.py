"""A pod that names a PodGroup which is not there: alone in files, waiting in a live cluster."""

import pytest

from fairlead.explain.rule_set import rule_set_of
from fairlead.explain.text.reasons import reason_text
from fairlead.manifest.assembled import Assembled
from fairlead.manifest.core.objects import Object
from fairlead.manifest.finding import Findings
from fairlead.manifest.kinds import identify
from fairlead.manifest.text.documents import read_bytes
from fairlead.manifest.translate.assemble import assemble as assemble_objects
from fairlead.manifest.translate.family import OF_A_CLUSTER, OF_FILES, AssemblyRules
from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.plan import LeftPending, Start, Wait
from fairlead.model.state import ClusterState
from fairlead.policy.contract import PolicyName, make_policy
from tests.model.invariants import check_invariants
from tests.policy.changes import changes_of

FAMILIES = ("kai", "elastic-quota")
NODE = """
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: 8, memory: 8Gi, pods: 9}}
"""
QUEUES = {
    "kai": """
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {name: a}
spec: {resources: {cpu: {limit: -1}, memory: {limit: -1}, gpu: {limit: -1}}}
""",
    "elastic-quota": """
apiVersion: scheduling.x-k8s.io/v1alpha1
kind: ElasticQuota
metadata: {name: q, namespace: lab}
spec: {min: {cpu: 8}}
""",
}
GROUPS = {
    "kai": """
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: train, namespace: lab}
spec: {queue: a, minMember: 2}
""",
    "elastic-quota": """
apiVersion: scheduling.x-k8s.io/v1alpha1
kind: PodGroup
metadata: {name: train, namespace: lab}
spec: {minMember: 2}
""",
}
QUEUE_NAMES = {"kai": QueueName("a"), "elastic-quota": QueueName("lab")}
GROUP_NAMES = {"kai": "lab/train", "elastic-quota": "lab/podgroup/train"}
NOW_MS = 1_000_000


def pod(name: str, spec: str = "", group: str = "train") -> str:
    return f"""
apiVersion: v1
kind: Pod
metadata:
  name: {name}
  namespace: lab
  labels: {{kai.scheduler/queue: a, scheduling.x-k8s.io/pod-group: {group}}}
  annotations: {{pod-group-name: {group}}}
spec:
  SCHEDULER
  {spec}
  containers: [{{name: c, resources: {{requests: {{cpu: 1}}}}}}]
"""


def read(family: PolicyName, rules: AssemblyRules, *objects: str) -> tuple[Assembled, list[str]]:
    scheduler = "schedulerName: kai-scheduler" if family == "kai" else ""
    text = "\n---\n".join([NODE, QUEUES[family], *objects]).replace("SCHEDULER", scheduler)
    findings = Findings()
    collection: list[Object] = []
    for document in read_bytes(text.encode(), "world.yaml", findings):
        kind = identify(document, findings).kind
        assert kind is not None
        collection += kind.read(document, findings)
    assembled = assemble_objects(family, collection, findings, rules)
    assert assembled is not None
    check_invariants(assembled.state)
    told = [each.message for each in findings if each.code == "missing-reference"]
    return assembled, told


def cpu_pending(state: ClusterState, family: PolicyName) -> int:
    return state.sums[QUEUE_NAMES[family]].pending[state.resources.index("cpu")]


@pytest.mark.parametrize("family", FAMILIES)
def test_in_files_each_pod_runs_alone(family: PolicyName) -> None:
    assembled, told = read(family, OF_FILES, pod("p0"), pod("p1"))
    assert len(told) == 2
    assert all("alone" in each or "job of its own" in each for each in told)
    plan = make_policy(assembled.settings).plan(assembled.state, NOW_MS)
    assert [type(each) for each in plan.decisions] == [Start, Start]
    assert cpu_pending(assembled.state, family) == 2_000


@pytest.mark.parametrize("family", FAMILIES)
def test_in_a_cluster_they_wait_together_for_their_group(family: PolicyName) -> None:
    assembled, told = read(family, OF_A_CLUSTER, pod("p0"), pod("p1"))
    assert len(told) == 2
    assert all(each.endswith("the pod waits for it") for each in told)
    state = assembled.state
    assert list(state.workloads) == [GROUP_NAMES[family]]
    (wait,) = make_policy(assembled.settings).plan(state, NOW_MS).decisions
    assert isinstance(wait, Wait)
    assert (wait.reason.code, wait.reason.names) == ("PodGroupNotFound", ("lab/train",))
    assert reason_text(wait.reason) == "its PodGroup lab/train does not exist"
    assert cpu_pending(state, family) == 0  # 2 pods of 1 core ask for nothing


@pytest.mark.parametrize("family", FAMILIES)
def test_no_plan_that_says_only_what_changes_starts_them(family: PolicyName) -> None:
    assembled, _ = read(family, OF_A_CLUSTER, pod("p0"), pod("p1"))
    changes = changes_of(make_policy(assembled.settings), assembled.state, NOW_MS)
    assert [each for each in changes if not isinstance(each, LeftPending)] == []


@pytest.mark.parametrize("family", FAMILIES)
def test_with_the_group_both_rules_start_the_gang_under_the_same_name(family: PolicyName) -> None:
    for rules in (OF_FILES, OF_A_CLUSTER):
        assembled, told = read(family, rules, GROUPS[family], pod("p0"), pod("p1"))
        assert told == []
        plan = make_policy(assembled.settings).plan(assembled.state, NOW_MS)
        (start,) = plan.decisions
        assert isinstance(start, Start)
        assert (start.workload, len(start.placements)) == (GROUP_NAMES[family], 2)


@pytest.mark.parametrize(("family", "charged"), [("kai", 0), ("elastic-quota", 1_000)])
def test_one_that_runs_keeps_its_place(family: PolicyName, charged: int) -> None:
    """KAI charges no queue for it; the quota of a namespace is charged for every pod there."""
    assembled, _ = read(family, OF_A_CLUSTER, pod("p0", "nodeName: n1"), pod("p1"))
    state = assembled.state
    run = state.runs[WorkloadName(GROUP_NAMES[family])]
    assert [each.node for each in run.pods.values()] == ["n1"]
    assert state.sums[QUEUE_NAMES[family]].allocated[0] == charged
    plan = make_policy(assembled.settings).plan(state, NOW_MS)
    assert [each.reason.code for each in plan.decisions] == ["PodGroupNotFound"]


@pytest.mark.parametrize("family", FAMILIES)
def test_each_missing_group_is_a_workload_of_its_own(family: PolicyName) -> None:
    objects = [pod("p0"), pod("p1", group="tune"), pod("p2")]
    state = read(family, OF_A_CLUSTER, *objects)[0].state
    counts = {name: each.pod_count() for name, each in state.workloads.items()}
    assert counts == {
        GROUP_NAMES[family]: 2,
        GROUP_NAMES[family].replace("train", "tune"): 1,
    }


@pytest.mark.parametrize("family", FAMILIES)
def test_explain_says_what_is_missing(family: PolicyName) -> None:
    assembled, _ = read(family, OF_A_CLUSTER, pod("p0"))
    job = WorkloadName(GROUP_NAMES[family])
    answer = (
        rule_set_of(assembled.settings)
        .explain_job(assembled.state, assembled.settings, job, NOW_MS)
        .answer
    )
    assert answer == f"{job} waits: its PodGroup lab/train does not exist."
