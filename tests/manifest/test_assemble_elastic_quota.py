"""ElasticQuotas, pods and nodes become one cluster state, whatever the order of the files."""

import pytest

from fairlead.manifest.core.objects import Object
from fairlead.manifest.finding import Findings
from fairlead.manifest.kinds import KINDS
from fairlead.manifest.text.documents import read_bytes
from fairlead.manifest.translate.assemble import assemble as assemble_objects
from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.memory import ElasticMemory
from fairlead.model.queue import ElasticQuota
from fairlead.model.workload import ElasticPods
from tests.manifest.elastic_world import (
    CLASSES,
    EQ,
    GANG,
    MEMBER,
    NODE,
    assemble,
    assembled_of,
    hard,
    pod,
    quota,
    state_of,
)
from tests.model.invariants import check_invariants


def test_a_quota_is_a_queue_named_after_its_namespace() -> None:
    assembled, told = assemble(
        NODE,
        quota("team-b", "{min: {cpu: 6, memory: 1Gi}, max: {cpu: 8, memory: 2Gi}}"),
        quota("team-a", "{min: {cpu: 4}, max: {cpu: 6, nvidia.com/gpu: 2}}"),
    )
    assert told == []
    assert assembled is not None
    state = assembled.state
    check_invariants(state)
    assert assembled.policy == "elastic-quota"
    assert [axis.resource for axis in state.axes.axes] == ["cpu", "memory", "nvidia.com/gpu"]
    assert state.tree_order() == ["team-a", "team-b"]
    a, b = state.queues[QueueName("team-a")], state.queues[QueueName("team-b")]
    assert (a.parent, a.guaranteed, a.ceiling) == (None, (4000, 0, 0), (6000, None, 2000))
    assert (b.guaranteed, b.ceiling) == ((6000, 2**30, 0), (8000, 2 * 2**30, None))
    assert isinstance(a.extension, ElasticQuota)
    assert a.extension.max_listed == frozenset({"cpu", "nvidia.com/gpu"})


def test_without_max_there_is_no_ceiling_and_nothing_listed() -> None:
    state = state_of(quota("a", "{min: {cpu: 1}}"))
    queue = state.queues[QueueName("a")]
    assert queue.ceiling == (None,)
    assert queue.extension == ElasticQuota(object_name="quota", max_listed=None)


def test_resources_that_only_pods_ask_for_are_counted_too() -> None:
    state = state_of(
        quota("a", "{min: {cpu: 1}}"),
        pod("a/one", "cpu: 1, nvidia.com/gpu: 1, storage: 1"),
        pod("elsewhere/two", "x.org/other: 1"),
    )
    assert [axis.resource for axis in state.axes.axes] == ["cpu", "nvidia.com/gpu"]
    assert state.resources == ("cpu", "nvidia.com/gpu", "pods", "storage", "x.org/other")


def test_what_only_a_gang_says_it_needs_is_counted_too() -> None:
    least = GANG.replace("{cpu: 5}", "{x.org/fpga: 5}")
    state = state_of(quota("a", "{min: {cpu: 1}}"), least, pod("a/one", labels=MEMBER))
    assert [axis.resource for axis in state.axes.axes] == ["cpu", "x.org/fpga"]


# What each pod adds, in cpu: allocated, leaving, pending.
LIVES = {
    "waiting": ("", "", (0, 0, 1)),
    "on a node": ("nodeName: node-1", "phase: Running", (1, 0, 0)),
    "on a node, not started yet": ("nodeName: node-1", "", (1, 0, 0)),
    "on a node that is not answering": ("nodeName: node-1", "phase: Unknown", (1, 0, 0)),
    "running nobody knows where": ("", "phase: Running", (0, 0, 1)),
    "finished": ("nodeName: node-1", "phase: Succeeded", (0, 0, 0)),
    "failed": ("nodeName: node-1", "phase: Failed", (0, 0, 0)),
    "held back": ("schedulingGates: [{name: a}]", "", (0, 0, 0)),
}


@pytest.mark.parametrize(("spec", "status", "sums"), LIVES.values(), ids=LIVES.keys())
def test_what_a_pod_counts_for(spec: str, status: str, sums: tuple[int, int, int]) -> None:
    state = state_of(NODE, quota("a", "{min: {cpu: 1}}"), pod("a/p", more=f"{spec}|{status}"))
    own = state.sums[QueueName("a")]
    cpu = state.resources.index("cpu")
    got = (own.allocated[0], own.leaving[0], own.pending[cpu])
    assert got == tuple(1000 * each for each in sums)


def leaving_pod(spec: str) -> str:
    stamp = 'deletionTimestamp: "2026-01-01T00:00:00Z"'
    containers = "[{name: c, resources: {requests: {cpu: 1}}}]"
    metadata = f"{{name: p, namespace: a, {stamp}}}"
    return (
        f"---\n{{apiVersion: v1, kind: Pod, metadata: {metadata}, "
        f"spec: {{containers: {containers}, {spec}}}}}\n"
    )


def test_a_leaving_pod_counts_until_it_is_gone() -> None:
    state = state_of(NODE, quota("a", "{min: {cpu: 1}}"), leaving_pod("nodeName: node-1"))
    own = state.sums[QueueName("a")]
    assert (own.allocated, own.leaving) == ([0], [1000])
    assert state.books.held("node-1")[state.resources.index("cpu")] == 1000


def test_a_pod_told_to_leave_before_it_had_a_place_is_gone() -> None:
    assert state_of(quota("a", "{min: {cpu: 1}}"), leaving_pod("")).workloads == {}


def test_pods_without_quota_hold_their_node_and_no_quota() -> None:
    state = state_of(NODE, quota("a", "{min: {cpu: 1}}"), pod("free/p", more="nodeName: node-1"))
    assert state.books.held("node-1")[state.resources.index("cpu")] == 1000
    assert state.sums[QueueName("a")].allocated == [0]
    assert state.workloads[WorkloadName("free/p")].queue == "free"
    assert QueueName("free") not in state.queues


def test_start_and_creation_of_a_pod() -> None:
    text = """
        ---
        apiVersion: v1
        kind: Pod
        metadata: {name: p, namespace: a, creationTimestamp: "1970-01-01T00:00:02Z"}
        spec: {nodeName: node-1}
        status: {startTime: "1970-01-01T00:00:03Z"}
    """
    state = state_of(text)
    name = WorkloadName("a/p")
    assert (state.workloads[name].created_ms, state.runs[name].started_ms()) == (2_000, 3_000)
    state = state_of(text.replace("startTime:", "reason:"))
    assert state.runs[name].started_ms() == 2_000


@pytest.mark.parametrize(
    "label", ["scheduling.x-k8s.io/pod-group", "pod-group.scheduling.sigs.k8s.io"]
)
def test_pods_of_a_group_are_one_workload(label: str) -> None:
    member = f"{label}: train"
    state = state_of(
        NODE,
        GANG,
        quota("a", "{min: {cpu: 8}}"),
        pod("a/worker-1", "cpu: 2", labels=member, more="nodeName: node-1"),
        pod("a/leader", "cpu: 1", labels=member),
        pod("a/worker-0", "cpu: 2", labels=member),
        pod("a/worker-2", "cpu: 2", labels=member),
        pod("a/lone", "cpu: 1"),
    )
    assert sorted(state.workloads) == ["a/lone", "a/podgroup/train"]
    gang = state.workloads[WorkloadName("a/podgroup/train")]
    names = [(each.pod_names, each.count, each.min_count) for each in gang.pod_sets]
    # three of four must start, so at least two of the three workers, and perhaps no leader
    assert names == [(("leader",), 1, 0), (("worker-0", "worker-1", "worker-2"), 3, 2)]
    assert (gang.min_count, gang.created_ms) == (3, 1000)
    assert list(state.runs[gang.name].pods) == ["a/worker-1"]
    assert isinstance(gang.extension, ElasticPods)
    assert gang.extension.schedule_timeout_s == 60
    assert gang.extension.min_resources is not None
    assert gang.extension.min_resources[state.resources.index("cpu")] == 5000
    own = state.sums[QueueName("a")]  # 2 run; 1 + 2 + 2 + 1 wait
    assert (own.allocated, own.pending[state.resources.index("cpu")]) == ([2000], 6000)


def test_each_pod_of_a_gang_has_started_when_it_says() -> None:
    starts = {"p0": 9, "p1": 4, "p2": 9}
    pods = [
        pod(f"a/{name}", labels=MEMBER, more=f"nodeName: node-1|startTime: {at}")
        for name, at in ((name, f'"1970-01-01T00:00:0{at}Z"') for name, at in starts.items())
    ]
    state = state_of(NODE, GANG, quota("a", "{min: {cpu: 8}}"), *pods)
    gang = state.workloads[WorkloadName("a/podgroup/train")]
    run = state.runs[gang.name]
    assert run.started_ms() == 4000
    assert {gang.pod_name(pod): placed.started_ms for pod, placed in run.pods.items()} == {
        name: 1000 * at for name, at in starts.items()
    }


@pytest.mark.parametrize(
    ("objects", "names"),
    [
        ([pod("a/train")], ["a/train"]),
        ([GANG, pod("a/train-0", labels=MEMBER)], ["a/podgroup/train"]),
        (
            [GANG, pod("a/train-0", labels=MEMBER), pod("a/train")],
            ["a/podgroup/train", "a/train"],
        ),
    ],
)
def test_a_workload_keeps_its_name_whatever_else_has_it(
    objects: list[str], names: list[str]
) -> None:
    assert sorted(state_of(*objects).workloads) == names


@pytest.mark.parametrize("group", ["scheduling.x-k8s.io", "scheduling.sigs.k8s.io"])
def test_both_api_groups_mean_the_same(group: str) -> None:
    koordinator = "labels: {quota.scheduling.koordinator.sh/parent: root}, namespace: a"
    assembled, told = assemble(
        quota("a", "{min: {cpu: 8}}")
        .replace("scheduling.x-k8s.io", group)
        .replace("namespace: a", koordinator),
        GANG.replace("scheduling.x-k8s.io", group),
        pod("a/p0", labels=MEMBER),
    )
    assert told == ['warning no-effect $.metadata.labels["quota.scheduling.koordinator.sh/parent"]']
    assert assembled is not None
    assert assembled.state.queues[QueueName("a")].guaranteed == (8000,)
    assert assembled.state.workloads[WorkloadName("a/podgroup/train")].min_count == 3


def test_a_pod_whose_group_is_missing_stands_alone() -> None:
    label = "scheduling.x-k8s.io/pod-group: train"
    assembled, told = assemble(GANG, pod("b/p", labels=label))
    assert assembled is not None
    assert list(assembled.state.workloads) == ["b/p"]
    assert told == ['warning missing-reference $.metadata.labels["scheduling.x-k8s.io/pod-group"]']


# priority, and whether the pod may push others aside
PRIORITIES = {
    "its own number first": ("priority: 5, priorityClassName: high", (5, "Never")),
    "then its class": ("priorityClassName: high", (1000, "Never")),
    "then the class for all": ("", (7, "PreemptLowerPriority")),
    "its own policy before that of its class": (
        "priorityClassName: high, preemptionPolicy: PreemptLowerPriority",
        (1000, "PreemptLowerPriority"),
    ),
    "a class that every cluster has": (
        "priorityClassName: system-node-critical",
        (2_000_001_000, "PreemptLowerPriority"),
    ),
}


@pytest.mark.parametrize(("spec", "expected"), PRIORITIES.values(), ids=PRIORITIES.keys())
def test_how_important_a_pod_is(spec: str, expected: tuple[int, str]) -> None:
    workload = state_of(CLASSES, pod("a/p", more=spec)).workloads[WorkloadName("a/p")]
    assert isinstance(workload.extension, ElasticPods)
    assert (workload.priority, workload.extension.preemption_policy) == expected
    assert workload.preemptible


def test_without_any_class_the_priority_is_0() -> None:
    assert state_of(pod("a/p")).workloads[WorkloadName("a/p")].priority == 0


def test_of_several_classes_for_all_the_lowest_counts_and_then_the_last_name() -> None:
    head = "---\n{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, globalDefault: true, "
    nine = head + "metadata: {name: nine}, value: 9}\n"
    two = head + "metadata: {name: two}, value: 2}\n"
    never = head + "metadata: {name: two-never}, value: 2, preemptionPolicy: Never}\n"
    for classes in ([two, nine, never], [never, nine, two]):
        workload = state_of(*classes, pod("a/p")).workloads[WorkloadName("a/p")]
        assert isinstance(workload.extension, ElasticPods)
        assert (workload.priority, workload.extension.preemption_policy) == (2, "Never")


def test_a_class_that_is_not_in_the_input_is_warned_about_unless_the_number_is_known() -> None:
    _, told = assemble(
        pod("a/one", more="priorityClassName: lost"),
        pod("a/two", more="priorityClassName: lost, priority: 3"),
    )
    assert told == ["warning missing-reference $.spec.priorityClassName"]


def test_a_waiting_pod_remembers_its_nominated_node() -> None:
    state = state_of(pod("a/p", more="|nominatedNodeName: node-1"))
    (first,) = state.workloads[WorkloadName("a/p")].pods()
    assert state.memories == {"a/p": ElasticMemory(nominated={first: "node-1"})}


def test_namespaces_and_budgets_are_in_the_catalogue() -> None:
    state = state_of("""
        ---
        {apiVersion: v1, kind: Namespace, metadata: {name: a, labels: {team: red}}}
        ---
        {apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: keep, namespace: a},
         spec: {selector: {}}, status: {disruptionsAllowed: 1}}
    """)
    assert state.catalogue.namespaces["a"]["team"] == "red"
    assert state.catalogue.budgets["a/keep"].disruptions_allowed == 1


OLD_GROUP = quota("a", "{min: {cpu: 1}}").replace("x-k8s.io", "sigs.k8s.io")

REFUSED = {
    "min above max": (
        [quota("a", "{min: {cpu: 3, memory: 1}, max: {cpu: 2, memory: 1}}")],
        ["error contradiction $.spec.min.cpu"],
    ),
    "two quotas in a namespace": (
        [quota("a", "{min: {cpu: 1}}"), quota("a", "{min: {cpu: 1}}").replace("quota,", "other,")],
        ["error duplicate-object $.metadata.namespace"],
    ),
    "quotas of both API groups in a namespace": (
        [quota("a", "{min: {cpu: 1}}"), OLD_GROUP],
        ["error duplicate-object $.metadata.namespace"],
    ),
    "a max that cannot be read": (
        [quota("a", "{min: {cpu: 1}, max: {cpu: 4 cores}}")],
        ["error bad-quantity $.spec.max.cpu"],
    ),
    "the only min cannot be read, which is no advice on quotas without min": (
        [quota("a", "{min: {cpu: x}}")],
        ["error bad-quantity $.spec.min.cpu"],
    ),
    "a pod twice": ([pod("a/p"), pod("a/p")], ["error duplicate-object $.metadata.name"]),
    "a node twice": ([NODE, NODE], ["error duplicate-object $.metadata.name"]),
    "a group twice": ([GANG, GANG], ["error duplicate-object $.metadata.name"]),
    "classes twice": ([CLASSES, CLASSES], ["error duplicate-object $.metadata.name"] * 2),
    "several mistakes at once": (
        [NODE, NODE, quota("a", "{min: {cpu: 3}, max: {cpu: 2}}"), quota("b", "{min: {cpu: x}}")],
        [
            "error bad-quantity $.spec.min.cpu",
            "error contradiction $.spec.min.cpu",
            "error duplicate-object $.metadata.name",
        ],
    ),
}


@pytest.mark.parametrize(("texts", "expected"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_refused(texts: list[str], expected: list[str]) -> None:
    assembled, told = assemble(*texts)
    assert assembled is None
    assert told == expected


def test_the_second_quota_of_a_namespace_names_the_first() -> None:
    findings = Findings()
    first = f"{EQ.replace(', ', chr(10))}\nmetadata:\n  name: quota\n  namespace: a\nspec: {{}}\n"
    text = first + quota("a", "{min: {cpu: 1}}")
    collection: list[Object] = []
    for document in read_bytes(text.encode(), "quotas.yaml", findings):
        found = KINDS["scheduling.x-k8s.io", "ElasticQuota"].read(document, findings)
        collection.append(*found)
    assemble_objects("elastic-quota", collection, findings)
    (finding,) = findings
    assert finding.line == 8
    assert "the first is quota at quotas.yaml:5" in finding.message  # where its namespace stands


REMARKS = {
    "more guaranteed than there is": (
        [NODE, quota("a", "{min: {cpu: 10}}"), quota("b", "{min: {cpu: 7}}")],  # 17 > 16
        ["advice overcommitted $.spec.min.cpu"],
    ),
    "as much guaranteed as there is": (
        [NODE, quota("a", "{min: {cpu: 10}}"), quota("b", "{min: {cpu: 6}}")],
        [],
    ),
    "nothing is known of the nodes": ([quota("a", "{min: {cpu: 1000}}")], []),
    "a resource in use that max leaves out": (
        [quota("a", "{min: {cpu: 1}, max: {memory: 1}}")],
        ["warning peer-differs $.spec.max"],
    ),
    "a resource that nobody uses and max leaves out": (
        [quota("a", "{min: {memory: 1}, max: {memory: 1}}")],
        [],
    ),
    "a resource that pods ask for and nobody's min has": (
        [quota("a", "{min: {cpu: 1}}"), pod("a/p", "cpu: 1, nvidia.com/gpu: 1")],
        ["advice unusable $.spec.min"],
    ),
    "a quota without min and max on its own": ([quota("a", "{}")], ["advice unusable $.spec.min"]),
    "several quotas that guarantee nothing, and pods": (
        [quota("a", "{min: {cpu: 0}}"), quota("b", "{max: {cpu: 4}}"), pod("a/p", "cpu: 1")],
        ["advice unusable $.spec.min"],
    ),
    "a quota without min and max that can borrow": (
        [quota("a", "{}"), quota("b", "{min: {cpu: 1}}"), pod("a/p", "cpu: 1")],
        [],
    ),
    # The guarantee is at most max, and max at most hard.
    "a hard limit that is as high as max": (
        [quota("a", "{min: {cpu: 2}, max: {cpu: 4}}"), hard("a", "requests.cpu: 4, pods: 1")],
        [],
    ),
    "a hard limit below max": (
        [quota("a", "{min: {cpu: 2}, max: {cpu: 4}}"), hard("a", "requests.cpu: 3")],
        ["warning ill-matched $.spec.max.cpu"],
    ),
    "a hard limit below min and max": (
        [quota("a", "{min: {cpu: 2}, max: {cpu: 4}}"), hard("a", "cpu: 1500m")],
        ["warning ill-matched $.spec.max.cpu", "warning ill-matched $.spec.min.cpu"],
    ),
    "the lower one of two ways to write it": (
        [quota("a", "{min: {cpu: 2}}"), hard("a", "cpu: 4, requests.cpu: 1")],
        ["warning ill-matched $.spec.min.cpu"],
    ),
    "a hard limit of whole devices": (
        [
            quota("a", "{min: {nvidia.com/gpu: 2}, max: {nvidia.com/gpu: 4}}"),
            hard("a", "requests.nvidia.com/gpu: 3"),
        ],
        ['warning ill-matched $.spec.max["nvidia.com/gpu"]'],
    ),
    "a hard limit beside no max": ([quota("a", "{min: {cpu: 2}}"), hard("a", "cpu: 2")], []),
    "hard limits on other amounts": (
        [quota("a", "{min: {cpu: 2}}"), hard("a", "limits.cpu: 1, count/jobs.batch: 1")],
        [],
    ),
    "a hard limit of another namespace": (
        [quota("a", "{min: {cpu: 2}}"), hard("b", "cpu: 1")],
        [],
    ),
    "a hard limit for some of the pods": (
        [quota("a", "{min: {cpu: 2}}"), hard("a", "cpu: 1", more="scopes: [BestEffort]")],
        [],
    ),
    "a resource that another's min has": (
        [
            quota("a", "{min: {cpu: 1}}"),
            quota("b", "{min: {nvidia.com/gpu: 1}}"),
            pod("a/p", "cpu: 1, nvidia.com/gpu: 1"),
        ],
        [],
    ),
}


@pytest.mark.parametrize(("texts", "expected"), REMARKS.values(), ids=REMARKS.keys())
def test_what_is_pointed_out_and_goes_on(texts: list[str], expected: list[str]) -> None:
    assembled, told = assemble(*texts)
    assert assembled is not None
    assert told == expected


def test_a_max_above_hard_names_both_amounts_and_both_places() -> None:
    findings = Findings()
    texts = quota("a", "{max: {cpu: 4}}"), hard("a", "requests.cpu: 3")
    assert assembled_of(texts, findings) is not None
    (finding,) = (each for each in findings if each.code == "ill-matched")
    assert "found max 4 cpu above the hard limit 3 of the ResourceQuota hard at " in finding.message
    assert finding.fix == "raise hard or lower max: min <= max <= hard"


def test_a_node_that_is_not_ready_adds_nothing() -> None:
    down = NODE.replace("node-1", "node-2").replace(
        "status: {", 'status: {conditions: [{type: Ready, status: "False"}], '
    )
    _, told = assemble(NODE, down, quota("a", "{min: {cpu: 17}}"))
    assert told == ["advice overcommitted $.spec.min.cpu"]
