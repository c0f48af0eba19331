"""Kueue's objects become one state, in whatever order they are read."""

from decimal import Decimal
from pathlib import Path
from random import Random
from textwrap import dedent, indent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.manifest.assembled import Assembled
from fairlead.manifest.core.objects import Object
from fairlead.manifest.finding import Findings
from fairlead.manifest.kinds import KINDS
from fairlead.manifest.kueue.assembly import workloads as assemble_kueue_workloads
from fairlead.manifest.text.documents import Document, read_bytes
from fairlead.manifest.translate.assemble import assemble as assemble_objects
from fairlead.model.axes import Axis, QueueName, WorkloadName
from fairlead.model.queue import ClusterQueue, Cohort
from fairlead.model.state import ClusterState
from fairlead.model.workload import KueueWorkload
from fairlead.policy.kueue.api import KueueShares
from fairlead.policy.kueue.settings import KueueSettings
from tests.model.invariants import check_invariants
from tests.scale_examples import scale_examples
from tests.shared_folder import ROOT

EXAMPLE = ROOT / "examples" / "kueue"


def documents_of(*texts: str) -> list[Document]:
    findings = Findings()
    found = [each for text in texts for each in read_bytes(text.encode(), "test.yaml", findings)]
    assert list(findings) == []
    return found


def assemble(
    documents: list[Document], findings: Findings | None = None
) -> tuple[Assembled | None, list[str]]:
    """Return the cluster, and each finding as ``severity code path``; *findings* go first."""
    findings = Findings() if findings is None else findings  # one without remarks is falsy
    collection: list[Object] = []
    for document in documents:
        group, _, _ = str(document.value["apiVersion"]).rpartition("/")
        collection += KINDS[group, str(document.value["kind"])].read(document, findings)
    assembled = assemble_objects("kueue", collection, findings)
    assert (assembled is None) is findings.has_errors
    if assembled:
        check_invariants(assembled.state)
    return assembled, sorted(f"{one.severity} {one.code} {one.path}" for one in findings)


def sound(*texts: str) -> ClusterState:
    """Return the state of objects about which there is nothing to say but advice."""
    assembled, told = assemble(documents_of(*texts))
    assert [each for each in told if not each.startswith("advice")] == []
    assert assembled is not None
    return assembled.state


def example() -> list[Document]:
    return documents_of(*(Path(file).read_text("utf-8") for file in sorted(EXAMPLE.glob("*.yaml"))))


def head(kind: str, name: str, namespace: str = "") -> str:
    where = f"namespace: {namespace}, " if namespace else ""
    version = "v1" if kind in ("Node", "Namespace") else "kueue.x-k8s.io/v1beta2"
    return f"apiVersion: {version}\nkind: {kind}\nmetadata: {{{where}name: {name}}}\n"


def cohort(name: str, parent: str = "") -> str:
    return head("Cohort", name) + (f"spec: {{parentName: {parent}}}\n" if parent else "")


def cluster_queue(name: str, cohort: str = "", quota: str = "cpu: f 4") -> str:
    """Return a queue; *quota* is ``resource: flavor nominal [borrowing]``, or nothing."""
    text = head("ClusterQueue", name) + "spec:\n  namespaceSelector: {}\n"
    if cohort:
        text += f"  cohortName: {cohort}\n"
    if quota:
        resource, flavor, nominal, *borrowing = quota.replace(":", "").split()
        limit = f", borrowingLimit: {borrowing[0]}" if borrowing else ""
        text += (
            f"  resourceGroups:\n  - coveredResources: [{resource}]\n    flavors:\n"
            f"    - name: {flavor}\n"
            f"      resources: [{{name: {resource}, nominalQuota: {nominal}{limit}}}]\n"
        )
    return text


def local_queue(name: str, queue: str) -> str:
    return head("LocalQueue", name, "team") + f"spec: {{clusterQueue: {queue}}}\n"


def flavor(name: str, labels: str = "{}") -> str:
    return head("ResourceFlavor", name) + f"spec: {{nodeLabels: {labels}}}\n"


def workload(name: str, door: str = "jobs", more: str = "", admitted: str = "") -> str:
    """Return one pod of 1 core; *admitted* is ``queue flavor`` where it has quota."""
    text = head("Workload", name, "team") + (
        f"spec:\n  queueName: {door}\n{indent(more, '  ')}\n  podSets:\n  - count: 1\n"
        "    template: {spec: {containers: [{name: c, resources: {requests: {cpu: 1}}}]}}\n"
    )
    if admitted:
        queue, given_flavor = admitted.split()
        text += dedent(f"""\
            status:
              conditions: [{{type: QuotaReserved, status: "True"}}]
              admission:
                clusterQueue: {queue}
                podSetAssignments: [{{flavors: {{cpu: {given_flavor}}}}}]
            """)
    return text


def node(name: str, cpu: int, labels: str = "{}", ready: str = "True") -> str:
    return (
        f"apiVersion: v1\nkind: Node\nmetadata: {{name: {name}, labels: {labels}}}\n"
        f"status: {{allocatable: {{cpu: {cpu}}}, conditions: "
        f"[{{type: Ready, status: '{ready}'}}]}}\n"
    )


# The example, in whole GPUs of A100: what runs is in workloads.yaml, the sums are ours.
EXAMPLE_SHARES = """
    queue             subtree             used          borrowed  free
    cohort/institute  4+16+0=20           14+4=18       0         2
    cohort/product    0+0=0               4+0=4         4         2
    analytics         0                   4             4         2
    serving           8                   4             0         4+2=6
    cohort/research   2+6+8=16            (2-2)+14=14   0         2
    language          8                   8+6=14        6         2
    vision            8                   2             0         2
"""


def test_the_example_tells_who_has_lent_and_who_borrows() -> None:
    assembled, told = assemble(example())
    assert told == []  # not even advice
    assert assembled is not None
    state = assembled.state
    place = state.axes.index("nvidia.com/gpu", "a100")
    assert place is not None
    rows = KueueShares(state).rows()
    expected = [line.split() for line in EXAMPLE_SHARES.strip().splitlines()[1:]]
    got = [(row.queue, row.subtree, row.charged, row.borrowed, row.available) for row in rows]
    assert [(name, *(amount[place] // 1000 for amount in amounts)) for name, *amounts in got] == [
        (name, *(int(sums.split("=")[-1]) for sums in cells)) for name, *cells in expected
    ]
    # Of all GPUs that could be borrowed, 20 A100 and 12 L4, in thousandths, by weight. Cores come 8
    # to a GPU, so that their ratio is the same.
    assert {row.queue: row.share.share for row in rows if row.share.share} == {
        "cohort/product": 4 * 1000 / (20 + 12),
        "analytics": 4 * 1000 / (20 + 12) / 0.5,
        "language": 6 * 1000 / (20 + 12),
    }


def test_axes_are_all_pairs_that_anyone_lists_in_one_order() -> None:
    state = sound(
        cluster_queue("a", quota="memory: f 1"),
        cluster_queue("b", quota="cpu: g 1"),
        cluster_queue("c", quota="cpu: f 1"),
    )
    assert state.axes.axes == (Axis("cpu", "f"), Axis("cpu", "g"), Axis("memory", "f"))


def test_queues_and_cohorts_form_one_tree_and_may_share_a_name() -> None:
    state = sound(
        cluster_queue("lab", cohort="lab", quota="cpu: f 4 1"), cohort("lab", parent="all")
    )
    assert state.tree_order() == ["cohort/all", "cohort/lab", "lab"]
    queue = state.queues[QueueName("lab")]
    assert queue.parent == "cohort/lab"
    assert (queue.guaranteed, queue.borrow_limit) == ((4000,), (1000,))
    assert (queue.lend_limit, queue.ceiling, queue.weights) == ((None,), (None,), (Decimal(1),))
    assert isinstance(queue.extension, ClusterQueue)
    assert state.queues[QueueName("cohort/lab")].extension == Cohort()
    implicit = state.queues[QueueName("cohort/all")]
    assert (implicit.parent, implicit.guaranteed) == (None, (0,))
    assert implicit.extension == Cohort(implicit=True)


def test_a_cohort_and_a_cluster_queue_may_share_a_name() -> None:
    assembled, _ = assemble(documents_of(cluster_queue("a", "x"), cohort("a"), cohort("c")))
    assert assembled is not None
    assert sorted(assembled.state.queues) == ["a", "cohort/a", "cohort/c", "cohort/x"]
    assert assembled.policy == "kueue"


def test_a_workload_waits_in_the_cluster_queue_of_its_local_queue() -> None:
    state = sound(cluster_queue("a"), local_queue("jobs", "a"), workload("w", more="active: false"))
    found = state.workloads[WorkloadName("team/w")]
    assert (found.queue, found.active, found.preemptible, found.min_count) == ("a", False, True, 1)
    assert found.namespace == "team"
    assert found.extension == KueueWorkload(local_queue="jobs")
    assert state.runs == {}


def test_an_admitted_workload_is_charged_where_it_was_admitted() -> None:
    """Its LocalQueue points to b by now, but a granted the quota."""
    state = sound(
        cluster_queue("a"),
        cluster_queue("b", quota="cpu: g 4"),
        local_queue("jobs", "b"),
        workload("w", admitted="a f"),
    )
    assert state.workloads[WorkloadName("team/w")].queue == "a"
    assert state.axes.axes == (Axis("cpu", "f"), Axis("cpu", "g"))
    assert state.sums[QueueName("a")].allocated == [1000, 0]
    assert state.sums[QueueName("b")].allocated == [0, 0]


def test_a_pod_asks_for_one_pod_which_is_charged_only_where_pods_have_quota() -> None:
    state = sound(cluster_queue("a"), local_queue("jobs", "a"), workload("w", admitted="a f"))
    requests = state.workloads[WorkloadName("team/w")].pod_sets[0].requests
    assert dict(zip(state.resources, requests, strict=True)) == {"cpu": 1000, "pods": 1}
    assert [str(axis) for axis in state.axes.axes] == ["f/cpu"]
    assert state.sums[QueueName("a")].allocated == [1000]
    counting = sound(
        cluster_queue("a", quota="pods: f 9"),
        local_queue("jobs", "a"),
        workload("w", admitted="a f").replace("cpu: f", "pods: f"),
    )
    assert [str(axis) for axis in counting.axes.axes] == ["f/pods"]
    assert counting.sums[QueueName("a")].allocated == [1]


PRIORITIES = {
    "its own word": ("priority: 5", 5),
    "its own word before its class": ("priority: 5\npriorityClassName: high", 5),
    "a workload class before a pod class of the same name": ("priorityClassName: high", 100),
    "the kind that it names": (
        "priorityClassRef: {group: scheduling.k8s.io, kind: PriorityClass, name: high}",
        7,
    ),
    "a class that Kubernetes brings along": (
        "priorityClassName: system-cluster-critical",
        2_000_000_000,
    ),
    "nothing": ("", 0),
}


@pytest.mark.parametrize(("more", "expected"), PRIORITIES.values(), ids=PRIORITIES.keys())
def test_where_a_priority_comes_from(more: str, expected: int) -> None:
    state = sound(
        head("WorkloadPriorityClass", "high") + "value: 100\n",
        "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 7\n",
        cluster_queue("a"),
        local_queue("jobs", "a"),
        workload("w", more=more),
    )
    assert state.workloads[WorkloadName("team/w")].priority == expected


def test_pods_that_kueue_does_not_manage_take_their_part_of_a_node() -> None:
    pod = dedent("""\
        apiVersion: v1
        kind: Pod
        metadata: {{name: {name}, labels: {labels}}}
        spec:
          nodeName: n1
          containers: [{{name: c, resources: {{requests: {{cpu: 3}}}}}}]
        status: {{phase: Running}}
        """)
    state = sound(
        cluster_queue("a"),
        node("n1", 8),
        pod.format(name="stranger", labels="{}"),
        pod.format(name="ours", labels="{kueue.x-k8s.io/podset: main}"),
    )
    at = state.resources.index("cpu")
    assert state.books.occupied("n1").held[at] == 3000
    assert state.capacity[at] == 8000 - 3000


# Objects, and all that is said about them: (severity and code) at (path).
STORIES = {
    "a cycle of cohorts": (
        [cohort("a", "b"), cohort("b", "c"), cohort("c", "a"), cohort("d", "a")],
        ["error cycle $.spec.parentName"],
    ),
    "a cycle in an old version of cohorts": (
        [
            text.replace("v1beta2", "v1alpha1").replace("parentName", "parent")
            for text in (cohort("a", "b"), cohort("b", "a"))
        ],
        ["error cycle $.spec.parent"],
    ),
    "a queue twice": (
        [flavor("f"), cluster_queue("a"), cluster_queue("a")],
        ["error duplicate-object $.metadata.name"],
    ),
    "a cohort, a flavor, a local queue and a workload twice": (
        [cohort("a"), flavor("f"), local_queue("jobs", "a"), workload("w")] * 2,
        ["error duplicate-object $.metadata.name"] * 4
        + ["warning missing-reference $.spec.clusterQueue"],
    ),
    "two configurations": (
        ["apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"] * 2,
        ["error duplicate-object $"],
    ),
    "two settings of ours": (
        ["apiVersion: fairlead/v1\nkind: Settings\n"] * 2,
        ["error duplicate-object $"],
    ),
    "a local queue that leads nowhere": (
        [local_queue("jobs", "ghost")],
        ["warning missing-reference $.spec.clusterQueue"],
    ),
    "a workload without a local queue": (
        [workload("w", "ghost")],
        ["warning missing-reference $.spec.queueName"],
    ),
    "a workload that names no queue": (
        [workload("w", '""')],
        ["warning missing-reference $.spec.queueName"],
    ),
    "a priority class that is not there": (
        [
            cluster_queue("a"),
            flavor("f"),
            local_queue("jobs", "a"),
            workload("w", more="priorityClassName: ghost"),
        ],
        ["warning missing-reference $.spec.priorityClassName"],
    ),
    "a priority class that is not there, as v1beta2 names it": (
        [
            cluster_queue("a"),
            flavor("f"),
            local_queue("jobs", "a"),
            workload("w", more="priorityClassRef: {kind: PriorityClass, name: ghost}"),
        ],
        ["warning missing-reference $.spec.priorityClassRef.name"],
    ),
    "admitted by a queue that is not there": (
        [
            cluster_queue("a"),
            flavor("f"),
            local_queue("jobs", "a"),
            workload("w", admitted="ghost f"),
        ],
        ["warning missing-reference $.status.admission.clusterQueue"],
    ),
    "admitted with a flavor that its queue does not list": (
        [
            cluster_queue("a"),
            flavor("f"),
            local_queue("jobs", "a"),
            workload("w", admitted="a ghost"),
        ],
        ["warning missing-reference $.status.admission.podSetAssignments"],
    ),
    "no flavor at all is advice, once": (
        [cluster_queue("a"), cluster_queue("b")],
        ["advice missing-reference $.spec.resourceGroups[0].flavors[0].name"],
    ),
    "a flavor that is missing among others is a warning, each time": (
        [
            cluster_queue("a") + "---\n" + cluster_queue("b"),  # on lines of their own
            cluster_queue("c", quota="cpu: g 1"),
            flavor("g"),
        ],
        ["warning missing-reference $.spec.resourceGroups[0].flavors[0].name"] * 2,
    ),
    "no quota and no cohort": (
        [cluster_queue("a", quota="")],
        ["advice unusable $.spec"],
    ),
    "no quota and a cohort that has none": (
        [flavor("f"), cluster_queue("a", "x", quota="cpu: f 0")],
        ["advice unusable $.spec.resourceGroups"],
    ),
    "no quota and no right to borrow": (
        [
            flavor("f"),
            cluster_queue("a", "x", quota="cpu: f 0 0"),
            cluster_queue("b", "x", quota="cpu: f 4"),
        ],
        ["advice unusable $.spec.resourceGroups"],
    ),
    "no quota, but a cohort to borrow from": (
        [
            flavor("f"),
            cluster_queue("a", "x", quota="cpu: f 0"),
            cluster_queue("b", "x", quota="cpu: f 4"),
        ],
        [],
    ),
    "no namespace may use it": (
        [flavor("f"), cluster_queue("a").replace("namespaceSelector: {}", "stopPolicy: None")],
        ["advice unusable $.spec.namespaceSelector"],
    ),
    "quotas of 4 + 4 on nodes of 7": (
        [
            flavor("f", "{pool: a}"),
            cluster_queue("a"),
            cluster_queue("b"),
            node("n1", 7, "{pool: a}"),
            node("n2", 9, "{pool: b}"),
            node("n3", 9, "{pool: a}", ready="False"),
        ],
        ["advice overcommitted $.metadata.name"],
    ),
    "quotas of 4 + 4 on nodes of 8": (
        [
            flavor("f", "{pool: a}"),
            cluster_queue("a"),
            cluster_queue("b"),
            node("n1", 8, "{pool: a}"),
        ],
        [],
    ),
}


@pytest.mark.parametrize(("texts", "expected"), STORIES.values(), ids=STORIES.keys())
def test_what_is_said_about_objects_that_belong_together(
    texts: list[str], expected: list[str]
) -> None:
    assert assemble(documents_of(*texts))[1] == sorted(expected)


def test_a_workload_without_its_local_queue_waits_where_no_queue_is() -> None:
    assembled, _ = assemble(documents_of(cluster_queue("a"), workload("w", "ghost")))
    assert assembled is not None
    waiting = assembled.state.workloads[WorkloadName("team/w")]
    assert waiting.queue == "local-queue/team/ghost"
    assert waiting.queue not in assembled.state.queues


def test_more_pods_than_a_cluster_can_have_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [
        flavor("f"),
        cluster_queue("a"),
        local_queue("jobs", "a"),
        *(workload(f"w{at}", admitted="a f") for at in range(3)),
    ]
    monkeypatch.setattr(assemble_kueue_workloads, "MAX_ADMITTED_PODS", 3)
    assert assemble(documents_of(*texts))[1] == []
    monkeypatch.setattr(assemble_kueue_workloads, "MAX_ADMITTED_PODS", 2)
    assert assemble(documents_of(*texts))[1] == ["error too-large $.status.admission"]


def test_finished_work_holds_and_asks_for_nothing() -> None:
    done = workload("w") + 'status: {conditions: [{type: Finished, status: "True"}]}\n'
    assert sound(cluster_queue("a"), local_queue("jobs", "a"), done).workloads == {}


def test_settings_come_from_the_configuration_or_are_kueues_own() -> None:
    assembled, _ = assemble(example())
    assert assembled is not None
    assert assembled.settings == KueueSettings(fair_sharing=True)
    plain, _ = assemble(documents_of(cluster_queue("a")))
    assert plain is not None
    assert plain.settings == KueueSettings()


def facts(state: ClusterState) -> object:
    return (
        state.resources,
        state.axes.axes,
        list(state.queues.items()),
        list(state.workloads.items()),
        list(state.nodes.items()),
        state.runs,
        state.sums,
        state.catalogue,
    )


@settings(max_examples=scale_examples(15))
@given(st.randoms(use_true_random=False))
def test_the_order_of_reading_changes_nothing(random: Random) -> None:
    documents = example()
    plain, _ = assemble(documents)
    random.shuffle(documents)
    shuffled, told = assemble(documents)
    assert told == []
    assert plain is not None
    assert shuffled is not None
    assert facts(shuffled.state) == facts(plain.state)
