"""ElasticQuotas, pods and nodes become one cluster state, whatever the order of the files."""

from textwrap import dedent

import pytest

from fairlead.manifest.assembled import Assembled
from fairlead.manifest.collection import Collection
from fairlead.manifest.elastic_quota.assemble import assemble_elastic_quota
from fairlead.manifest.finding import Findings
from fairlead.manifest.kinds import KINDS
from fairlead.manifest.text.documents import read_bytes
from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.invariants import check_invariants
from fairlead.model.queue import ElasticQuota
from fairlead.model.state import ClusterState
from fairlead.model.workload import ElasticPods, PodId
from tests.manifest.yaml_text import remarks

EQ = "apiVersion: scheduling.x-k8s.io/v1alpha1, kind: ElasticQuota"
GROUP = "apiVersion: scheduling.x-k8s.io/v1alpha1, kind: PodGroup"
NODE = """
    ---
    {apiVersion: v1, kind: Node, metadata: {name: node-1},
     status: {allocatable: {cpu: 16, memory: 64Gi, nvidia.com/gpu: 10, pods: 110}}}
"""


def quota(namespace: str, spec: str) -> str:
    return f"---\n{{{EQ}, metadata: {{name: quota, namespace: {namespace}}}, spec: {spec}}}\n"


def pod(name: str, requests: str = "cpu: 1", *, more: str = "", labels: str = "") -> str:
    """Return a pod; *name* is namespace/name, *more* is any further part of it."""
    namespace, _, own = name.partition("/")
    containers = f"[{{name: c, resources: {{requests: {{{requests}}}}}}}]"
    spec, _, status = more.partition("|")
    return (
        f"---\n{{apiVersion: v1, kind: Pod, metadata: {{name: {own}, namespace: {namespace}, "
        f"labels: {{{labels}}}}}, spec: {{containers: {containers}, {spec}}}, "
        f"status: {{{status}}}}}\n"
    )


def assemble(*texts: str) -> tuple[Assembled | None, list[str]]:
    findings = Findings()
    collection = Collection()
    for document in read_bytes("".join(map(dedent, texts)).encode(), "test.yaml", findings):
        api_version, kind = document.value["apiVersion"], document.value["kind"]
        group = str(api_version).rpartition("/")[0]
        for found in KINDS[group, str(kind)].read(document, findings):
            collection.add(found)
    return assemble_elastic_quota(collection, findings), remarks(findings)


def state_of(*texts: str) -> ClusterState:
    """Assemble what has no errors; warnings are another test's matter."""
    assembled, _ = assemble(*texts)
    assert assembled is not None
    check_invariants(assembled.state)
    return assembled.state


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


GANG = """
    ---
    {apiVersion: scheduling.x-k8s.io/v1alpha1, kind: PodGroup,
     metadata: {name: train, namespace: a, creationTimestamp: "1970-01-01T00:00:01Z"},
     spec: {minMember: 3, minResources: {cpu: 5}, scheduleTimeoutSeconds: 60}}
"""


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
    assert sorted(state.workloads) == ["a/lone", "a/train"]
    gang = state.workloads[WorkloadName("a/train")]
    names = [(each.pod_names, each.count, each.min_count) for each in gang.pod_sets]
    # three of four must start, so at least two of the three workers, and perhaps no leader
    assert names == [(("leader",), 1, 0), (("worker-0", "worker-1", "worker-2"), 3, 2)]
    assert (gang.min_count, gang.created_ms) == (3, 1000)
    assert list(state.runs[gang.name].pods) == [PodId(1, 1)]
    assert isinstance(gang.extension, ElasticPods)
    assert gang.extension.schedule_timeout_s == 60
    assert gang.extension.min_resources is not None
    assert gang.extension.min_resources[state.resources.index("cpu")] == 5000
    own = state.sums[QueueName("a")]  # 2 run; 1 + 2 + 2 + 1 wait
    assert (own.allocated, own.pending[state.resources.index("cpu")]) == ([2000], 6000)


def test_each_pod_of_a_gang_has_started_when_it_says() -> None:
    member = "scheduling.x-k8s.io/pod-group: train"
    starts = {"p0": 9, "p1": 4, "p2": 9}
    pods = [
        pod(f"a/{name}", labels=member, more=f"nodeName: node-1|startTime: {at}")
        for name, at in ((name, f'"1970-01-01T00:00:0{at}Z"') for name, at in starts.items())
    ]
    state = state_of(NODE, GANG, quota("a", "{min: {cpu: 8}}"), *pods)
    gang = state.workloads[WorkloadName("a/train")]
    run = state.runs[gang.name]
    assert run.started_ms() == 4000
    assert {gang.pod_name(pod): placed.started_ms for pod, placed in run.pods.items()} == {
        name: 1000 * at for name, at in starts.items()
    }


def test_a_group_may_have_the_name_of_a_lone_pod() -> None:
    state = state_of(
        GANG, pod("a/train"), pod("a/train-0", labels="scheduling.x-k8s.io/pod-group: train")
    )
    assert sorted(state.workloads) == ["a/podgroup/train", "a/train"]


def test_a_pod_whose_group_is_missing_stands_alone() -> None:
    label = "scheduling.x-k8s.io/pod-group: train"
    assembled, told = assemble(GANG, pod("b/p", labels=label))
    assert assembled is not None
    assert list(assembled.state.workloads) == ["b/p"]
    assert told == ['warning missing-reference $.metadata.labels["scheduling.x-k8s.io/pod-group"]']


CLASSES = """
    ---
    {apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 1000,
     preemptionPolicy: Never}
    ---
    {apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: usual}, value: 7,
     globalDefault: true}
"""

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
    workload = state_of(pod("a/p", more="|nominatedNodeName: node-1")).workloads[
        WorkloadName("a/p")
    ]
    assert isinstance(workload.extension, ElasticPods)
    assert workload.extension.nominated == {PodId(0, 0): "node-1"}


STARTED = GANG.replace("}}\n", '}, status: {scheduleStartTime: "1970-01-01T00:00:09Z"}}\n')


@pytest.mark.parametrize(
    ("group", "status", "expected"),
    [
        (STARTED, "|nominatedNodeName: node-1", 9000),
        (STARTED, "", None),
        (STARTED, "nodeName: node-1|nominatedNodeName: node-1", None),  # it has arrived there
        (GANG, "|nominatedNodeName: node-1", None),
    ],
)
def test_since_when_a_gang_waits_for_others_to_leave(
    group: str, status: str, expected: int | None
) -> None:
    member = "scheduling.x-k8s.io/pod-group: train"
    pods = [pod("a/p0", labels=member), pod("a/p1", labels=member, more=status)]
    workload = state_of(NODE, group, *pods).workloads[WorkloadName("a/train")]
    assert isinstance(workload.extension, ElasticPods)
    assert workload.extension.nominated_ms == expected


SIDECAR = "initContainers: [{name: s, restartPolicy: Always, resources: {requests: {cpu: 2}}}]"

# What the plugin charges, by pod set: only where the node is charged otherwise, or 0 is named.
CHARGES = {
    "as the node is charged": ([pod("a/p")], ()),
    "a sidecar": ([pod("a/p", more=SIDECAR)], ({"cpu": 2000},)),  # the node: 1 + 2
    "a resource that is named with 0": (
        [pod("a/p", "cpu: 1, nvidia.com/gpu: 0")],
        ({"cpu": 1000, "nvidia.com/gpu": 0},),
    ),
    "only the pod as a whole asks for something": (
        [pod("a/p", "", more="resources: {requests: {cpu: 5}}")],
        ({},),
    ),
    "a name with 0 that no quota counts": ([pod("a/p", "cpu: 1, storage: 0")], ()),
    "a difference in a name that no quota counts": (
        [pod("a/p", more=SIDECAR.replace("cpu: 2", "storage: 2"), requests="storage: 1")],
        (),
    ),
}


@pytest.mark.parametrize(("texts", "expected"), CHARGES.values(), ids=CHARGES.keys())
def test_what_the_plugin_charges_a_pod(
    texts: list[str], expected: tuple[dict[str, int], ...]
) -> None:
    workload = state_of(*texts).workloads[WorkloadName("a/p")]
    assert isinstance(workload.extension, ElasticPods)
    assert workload.extension.plugin_requests == expected


def test_pods_for_which_the_node_is_charged_alike_and_the_plugin_charges_otherwise_differ() -> None:
    member = "scheduling.x-k8s.io/pod-group: train"
    whole = "resources: {requests: {cpu: 3}}"
    state = state_of(
        GANG,
        pod("a/p0", more=SIDECAR, labels=member),  # 1 + 2, for the plugin 2
        pod("a/p1", more=whole, labels=member),  # 3, for the plugin 1
        pod("a/p2", more=SIDECAR, labels=member),
        pod("a/p3", "cpu: 3", labels=member),  # 3 for both
    )
    gang = state.workloads[WorkloadName("a/train")]
    assert [each.pod_names for each in gang.pod_sets] == [("p0", "p2"), ("p1",), ("p3",)]
    assert {each.requests for each in gang.pod_sets} == {(3000, 1)}  # cpu, pods
    assert isinstance(gang.extension, ElasticPods)
    assert gang.extension.plugin_requests == ({"cpu": 2000}, {"cpu": 1000}, {"cpu": 3000})


def test_pods_that_have_a_node_and_are_not_up_are_known() -> None:
    member = "scheduling.x-k8s.io/pod-group: train"
    state = state_of(
        NODE,
        GANG,
        pod("a/p0", labels=member, more="nodeName: node-1|phase: Running"),
        pod("a/p1", labels=member, more="nodeName: node-1|phase: Pending"),
        pod("a/p2", labels=member, more="nodeName: node-1|phase: Unknown"),
        pod("a/p3", labels=member, more="nodeName: node-1"),
        pod("a/p4", labels=member, more="nodeName: node-1|phase: Failed"),
        pod("a/p5", labels=member, more="|phase: Pending"),
        pod("a/p6", labels=member, more="|phase: Running"),
    )
    gang = state.workloads[WorkloadName("a/train")]
    assert isinstance(gang.extension, ElasticPods)
    assert {gang.pod_name(each) for each in gang.extension.not_running} == {"p1", "p2", "p3"}


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


REFUSED = {
    "min above max": (
        [quota("a", "{min: {cpu: 3, memory: 1}, max: {cpu: 2, memory: 1}}")],
        ["error contradiction $.spec.min.cpu"],
    ),
    "two quotas in a namespace": (
        [quota("a", "{min: {cpu: 1}}"), quota("a", "{min: {cpu: 1}}").replace("quota,", "other,")],
        ["error duplicate-object $.metadata.namespace"],
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
    collection = Collection()
    for document in read_bytes(text.encode(), "quotas.yaml", findings):
        found = KINDS["scheduling.x-k8s.io", "ElasticQuota"].read(document, findings)
        collection.add(*found)
    assemble_elastic_quota(collection, findings)
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


def test_a_node_that_is_not_ready_adds_nothing() -> None:
    down = NODE.replace("node-1", "node-2").replace(
        "status: {", 'status: {conditions: [{type: Ready, status: "False"}], '
    )
    _, told = assemble(NODE, down, quota("a", "{min: {cpu: 17}}"))
    assert told == ["advice overcommitted $.spec.min.cpu"]
