"""Of the pods that are not ours, as much comes into the state as ours may meet, and no more."""

import io
from textwrap import dedent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.manifest.core.foreign_pods import foreign_by_node
from fairlead.manifest.finding import Findings
from fairlead.manifest.load import load
from fairlead.manifest.objects import PodObject
from fairlead.manifest.text.documents import read_bytes
from fairlead.model.axes import WorkloadName
from fairlead.model.events import NodeAdded, WorkloadAdded
from fairlead.model.foreign_pod import ForeignPod
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodConstraints, Workload
from fairlead.placement.host_ports import port_room
from fairlead.placement.pod_affinity import PodAffinity
from tests.manifest.kai_world import ONE_CORE, pod, queue, sound, stream
from tests.placement.affinity_world import node, pairs, state_of, terms, workload
from tests.scale_examples import scale_examples
from tests.text_table import rows

SOURCE = read_bytes(b"{kind: Pod}", "pod.yaml", Findings())[0].source


def ports(text: str) -> tuple[tuple[str, int], ...]:
    return tuple(("TCP", int(number)) for number in text.split(",") if number != "-")


def constraints(row: dict[str, str]) -> PodConstraints:
    return PodConstraints(
        host_ports=ports(row.get("ports", "-")),
        pod_affinity=terms(row.get("near", "-")),
        pod_anti_affinity=terms(row.get("apart", "-")),
    )


def stranger(row: dict[str, str]) -> PodObject:
    """Return a pod of another scheduler on the node n, unless *row* has another one."""
    return PodObject(
        source=SOURCE,
        namespace=row.get("namespace", "ns"),
        name="p",
        labels=pairs(row.get("labels", "-")),
        annotations={},
        scheduler="other",
        requests={},
        constraints=constraints(row),
        node=None if row.get("node") == "-" else row.get("node", "n"),
        phase=row.get("phase", "Running"),
        terminating=row.get("leaving") == "yes",
    )


# What one pod of ours asks for, what a stranger is, and what is kept of the stranger.
KEPT = """
    near        apart         ports  its-labels     its-apart   its-ports  kept
    -           -             -      app=a          -           80         -
    zone/app=b  -             -      app=a,job=7    -           80         labels=app=a
    -           zone/app=b    -      app=a,job=7    -           80         labels=app=a
    zone/app=b  -             -      job=7          -           80         -
    -           zone/app!=b   -      job=7          -           80         all
    -           zone/*        -      job=7          -           80         all
    -           zone/none     -      job=7          -           80         -
    -           -             80,81  app=a          -           80,82      ports=80
    -           -             81     app=a          -           80         -
    -           -             -      app=a          zone/app=b  80         apart=zone/app=b
"""


@pytest.mark.parametrize("row", rows(KEPT), ids=lambda row: " ".join(row.values()))
def test_what_is_kept_of_a_stranger(row: dict[str, str]) -> None:
    its = {name: row[f"its-{name}"] for name in ("labels", "apart", "ports")}
    found = foreign_by_node([stranger(its)], [constraints(row)])
    field, _, text = row["kept"].partition("=")
    expected = ForeignPod(
        namespace="ns",
        labels=tuple(pairs(text).items()) if field == "labels" else (),
        host_ports=ports(text) if field == "ports" else (),
        pod_anti_affinity=terms(text) if field == "apart" else (),
    )
    assert found == ({} if field == "-" else {"n": (expected,)})


def test_only_who_is_on_a_node_is_kept_and_alike_ones_once() -> None:
    pods = """
        node  labels       phase      leaving
        n     app=a,job=1  Running    no
        n     app=a,job=2  Running    no
        n     app=a        Running    yes
        m     app=b        Pending    no
        m     app=c        Succeeded  no
        m     app=c        Failed     yes
        -     app=c        Pending    no
    """
    found = foreign_by_node(map(stranger, rows(pods)), [constraints({"near": "zone/app=x"})])
    told = {name: [(dict(p.labels)["app"], p.leaving) for p in own] for name, own in found.items()}
    assert told == {"n": [("a", False), ("a", True)], "m": [("b", False)]}


some_terms = st.lists(
    st.builds(
        "{}/{}@{}".format,
        st.sampled_from(["zone", "host"]),
        st.sampled_from(["app=a", "app=b|a", "app!=a", "app!=b,tier=a", "*", "none"]),
        st.sampled_from(["ns", "other", "*"]),
    ),
    max_size=2,
).map(lambda found: ";".join(found) or "-")
facts = st.fixed_dictionaries(
    {
        "labels": st.sampled_from(["-", "app=a", "app=b", "app=a,tier=a", "tier=b"]),
        "near": some_terms,
        "apart": some_terms,
        "ports": st.sampled_from(["-", "80", "81", "80,81"]),
        "namespace": st.sampled_from(["ns", "other"]),
        "node": st.sampled_from(["n", "m"]),
        "leaving": st.sampled_from(["yes", "no"]),
    }
)


def answers(ours: list[Workload], asked: list[PodConstraints], state: ClusterState) -> object:
    """Return what each of *ours* is told about each node."""
    judge = PodAffinity(state)
    return [
        (judge.around(each, 0).defect(there), port_room(state, there.name, own.host_ports))
        for each, own in zip(ours, asked, strict=True)
        for there in state.nodes.values()
    ]


@settings(max_examples=scale_examples(200), deadline=None)
@given(st.lists(facts, min_size=1, max_size=3), st.lists(facts, max_size=4))
def test_leaving_out_the_rest_changes_no_answer(
    own: list[dict[str, str]], others: list[dict[str, str]]
) -> None:
    ours = [workload(f"w{at}", row) for at, row in enumerate(own)]
    asked = [constraints(row) for row in own]
    everything = {
        name: tuple(
            ForeignPod(
                namespace=row["namespace"],
                labels=tuple(sorted(pairs(row["labels"]).items())),
                host_ports=ports(row["ports"]),
                pod_anti_affinity=terms(row["apart"]),
                leaving=row["leaving"] == "yes",
            )
            for row in others
            if row["node"] == name
        )
        for name in ("n", "m")
    }
    told = []
    for foreign in (everything, foreign_by_node(map(stranger, others), asked)):
        state = state_of("node labels")
        for name, zone in (("n", "a"), ("m", "b"), ("k", "a")):
            labels = {"zone": zone, "host": name}
            state.apply(NodeAdded(node(name, labels, *foreign.get(name, ()))))
        for each in ours:
            state.apply(WorkloadAdded(each))
        told.append(answers(ours, asked, state))
    assert told[0] == told[1]


APART = (
    "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
    "[{topologyKey: zone, labelSelector: {matchLabels: {app: db}}, "
    "namespaceSelector: {}}]}}"
)
DAEMON = """
    ---
    apiVersion: v1
    kind: Pod
    metadata: {name: daemon, namespace: system, labels: {app: db, job: '7'}}
    spec:
      nodeName: n1
      containers: [{name: c, ports: [{containerPort: 8080, hostPort: 80}]}]
    status: {phase: Running}
    ---
    apiVersion: v1
    kind: Node
    metadata: {name: n1, labels: {zone: a}}
    status: {allocatable: {cpu: 8}}
    ---
    apiVersion: v1
    kind: Node
    metadata: {name: n2, labels: {zone: b}}
    status: {allocatable: {cpu: 8}}
"""
SPEC = f"{{{APART}, containers: [{{name: c, ports: [{{containerPort: 80, hostPort: 80}}]}}]}}"
FAMILIES = {
    "kai": f"""
    apiVersion: scheduling.run.ai/v2
    kind: Queue
    metadata: {{name: q}}
    spec: {{resources: {{cpu: {{}}, memory: {{}}, gpu: {{quota: 1}}}}}}
    ---
    apiVersion: v1
    kind: Pod
    metadata: {{name: w, namespace: team, labels: {{kai.scheduler/queue: q}}}}
    spec: {SPEC.replace("{", "{schedulerName: kai-scheduler, ", 1)}
    """,
    "kueue": f"""
    apiVersion: kueue.x-k8s.io/v1beta2
    kind: Workload
    metadata: {{name: w, namespace: team}}
    spec: {{queueName: q, podSets: [{{name: main, count: 2, template: {{spec: {SPEC}}}}}]}}
    """,
    "elastic-quota": f"""
    apiVersion: scheduling.x-k8s.io/v1alpha1
    kind: ElasticQuota
    metadata: {{name: q, namespace: team}}
    spec: {{min: {{cpu: 1}}}}
    ---
    apiVersion: v1
    kind: Pod
    metadata: {{name: w, namespace: team}}
    spec: {SPEC}
    """,
}


@pytest.mark.parametrize("family", FAMILIES)
def test_under_every_rule_set_our_pods_meet_those_of_others(family: str) -> None:
    """Under an ElasticQuota every pod is one of ours, with quota or without."""
    text = dedent(FAMILIES[family].rstrip() + DAEMON)
    result = load(["-"], stdin=io.BytesIO(text.encode()))
    assert result.assembled is not None
    state = result.assembled.state
    name = WorkloadName("team/pod/w" if family == "kai" else "team/w")
    around = PodAffinity(state).around(state.workloads[name], 0)
    assert [name for name, each in state.nodes.items() if around.defect(each) is None] == ["n2"]
    assert port_room(state, "n1", ports("80")) == "taken"
    assert port_room(state, "n2", ports("80")) == "free"


def test_ordinary_daemons_leave_no_trace_on_a_node() -> None:
    plain = FAMILIES["kai"].replace(SPEC[1:], "containers: [{name: c}]}")
    text = dedent(plain.rstrip() + DAEMON)
    result = load(["-"], stdin=io.BytesIO(text.encode()))
    assert result.assembled is not None
    assert result.assembled.state.nodes["n1"].foreign == ()


def test_a_pod_that_holds_a_device_for_others_is_around_too_and_our_own_is_not_foreign() -> None:
    node_text = "{kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 8}}}"
    holder = pod("holder", f"nodeName: n1, {ONE_CORE}", "labels: {app: db}")
    holder = holder.replace("namespace: ns", "namespace: kai-resource-reservation")
    holder = holder.replace("schedulerName: kai-scheduler, ", "")
    own = pod("own", f"nodeName: n1, {ONE_CORE}", "labels: {kai.scheduler/queue: a, app: db}")
    state = sound(stream(queue("a"), node_text, holder, own, pod("w", f"{APART}, {ONE_CORE}")))
    (found,) = state.nodes["n1"].foreign
    assert (found.namespace, found.labels) == ("kai-resource-reservation", (("app", "db"),))
    assert state.nodes["n1"].occupied[state.resources.index("cpu")] == 0
