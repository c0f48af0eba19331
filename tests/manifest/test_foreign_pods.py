"""Of the pods that are not ours, as much comes into the state as ours may meet, and no more."""

import io
from collections.abc import Iterable
from textwrap import dedent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.manifest.core.objects import PodObject
from fairlead.manifest.core.pod_selectors import CountedSelectors, foreign_pod
from fairlead.manifest.finding import Findings
from fairlead.manifest.load import load
from fairlead.manifest.text.documents import read_bytes
from fairlead.model.axes import WorkloadName
from fairlead.model.events import ForeignPodChanged, NodeAdded, WorkloadAdded
from fairlead.model.node import ForeignPod
from fairlead.model.state import ClusterState
from fairlead.model.workload import PodConstraints, PodId, Preferences, Workload
from fairlead.placement.host_ports import port_room
from fairlead.placement.pod_affinity import PodAffinity
from tests.manifest.kai_world import ONE_CORE, pod, queue, sound, stream
from tests.model.worlds import RESOURCES
from tests.placement.affinity_world import node, pairs, spreads, state_of, terms, workload
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
        spread=spreads(row.get("spread", "-")),
    )


def stranger(row: dict[str, str]) -> PodObject:
    """Return a pod of another scheduler on the node n, unless *row* has another one."""
    return PodObject(
        source=SOURCE,
        namespace=row.get("namespace", "ns"),
        name=row.get("name", "p"),
        labels=pairs(row.get("labels", "-")),
        annotations={},
        scheduler="other",
        requests={"cpu": int(row["cores"])} if "cores" in row else {},
        constraints=constraints(row),
        node=None if row.get("node") == "-" else row.get("node", "n"),
        phase=row.get("phase", "Running"),
        terminating=row.get("leaving") == "yes",
    )


def foreign_pods(
    pods: Iterable[PodObject], ours: Iterable[PodConstraints], resources: tuple[str, ...]
) -> list[ForeignPod]:
    """Return those of *pods* that are on a node, as far as pods with constraints *ours* ask."""
    counted = CountedSelectors()
    for each in ours:
        counted.add(each)
    found = [foreign_pod(pod, resources, counted.all()) for pod in pods]
    return [each for each in found if each is not None]


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
    (found,) = foreign_pods([stranger(its)], [constraints(row)], ())
    field, _, text = row["kept"].partition("=")
    is_kept = field != "-"
    expected = ForeignPod(
        id=PodId("ns/p"),
        name="ns/p",
        node="n",
        requests=(),
        asked_about=is_kept,
        namespace="ns" if is_kept else "",
        labels=tuple(pairs(text).items()) if field == "labels" else (),
        host_ports=ports(text) if field == "ports" else (),
        pod_anti_affinity=terms(text) if field == "apart" else (),
    )
    assert found == expected


@pytest.mark.parametrize(
    ("selector", "kept"),
    [("app=b", (("app", "a"),)), ("tier=b", ()), ("tier!=b", ()), ("none", ())],
)
@pytest.mark.parametrize("is_hard", [True, False])
def test_labels_that_a_spread_selects_are_kept(
    selector: str, kept: tuple[tuple[str, str], ...], is_hard: bool
) -> None:
    spread = spreads(f"zone/1/{selector}")
    hard, soft = (
        PodConstraints(spread=spread),
        PodConstraints(preferences=Preferences(spread=spread)),
    )
    (found,) = foreign_pods([stranger({"labels": "app=a,job=7"})], [hard if is_hard else soft], ())
    assert found.labels == kept
    # A condition that holds without any label holds for the stranger.
    assert found.asked_about == (kept != () or "!" in selector)


def test_pods_hold_their_node_until_they_are_finished() -> None:
    """Of the resources cpu and gpu each holds its cores, and no GPU."""
    pods = """
        name  node  cores  phase      leaving
        a     n     1      Running    no
        b     n     2      Running    yes
        c     m     4      Pending    no
        d     m     8      Succeeded  no
        e     m     16     Failed     yes
        f     -     32     Pending    no
    """
    found = foreign_pods(map(stranger, rows(pods)), [], ("cpu", "gpu"))
    assert [(pod.name, pod.node, pod.requests, pod.leaving) for pod in found] == [
        ("ns/a", "n", (1, 0), False),
        ("ns/b", "n", (2, 0), True),
        ("ns/c", "m", (4, 0), False),
    ]


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
        "spread": st.sampled_from(["-", "zone/1/app=a", "host/1/app!=a", "zone/1/tier=b|a"]),
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
    others = [{**row, "name": f"p{at}"} for at, row in enumerate(others)]
    everything = [
        ForeignPod(
            id=PodId(row["name"]),
            name=row["name"],
            node=row["node"],
            requests=(0, 0),
            leaving=row["leaving"] == "yes",
            asked_about=True,
            namespace=row["namespace"],
            labels=tuple(sorted(pairs(row["labels"]).items())),
            host_ports=ports(row["ports"]),
            pod_anti_affinity=terms(row["apart"]),
        )
        for row in others
    ]
    told = []
    for foreign in (everything, foreign_pods(map(stranger, others), asked, RESOURCES)):
        state = state_of("node labels")
        for name, zone in (("n", "a"), ("m", "b"), ("k", "a")):
            labels = {"zone": zone, "host": name}
            state.apply(NodeAdded(node(name, labels)))
        for there in foreign:
            state.apply(ForeignPodChanged(there))
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


def test_ordinary_daemons_matter_only_by_what_they_hold() -> None:
    plain = FAMILIES["kai"].replace(SPEC[1:], "containers: [{name: c}]}")
    text = dedent(plain.rstrip() + DAEMON)
    result = load(["-"], stdin=io.BytesIO(text.encode()))
    assert result.assembled is not None
    books = result.assembled.state.books
    assert [pod.name for pod in books.foreign.values()] == ["system/daemon"]
    assert books.asked_about("n1") == ()


def test_a_pod_that_holds_a_device_for_others_is_around_too_and_our_own_is_not_foreign() -> None:
    node_text = "{kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 8}}}"
    holder = pod("holder", f"nodeName: n1, {ONE_CORE}", "labels: {app: db}")
    holder = holder.replace("namespace: ns", "namespace: kai-resource-reservation")
    holder = holder.replace("schedulerName: kai-scheduler, ", "")
    own = pod("own", f"nodeName: n1, {ONE_CORE}", "labels: {kai.scheduler/queue: a, app: db}")
    state = sound(stream(queue("a"), node_text, holder, own, pod("w", f"{APART}, {ONE_CORE}")))
    (found,) = state.books.asked_about("n1")
    assert (found.namespace, found.labels) == ("kai-resource-reservation", (("app", "db"),))
    assert state.books.occupied("n1").held[state.resources.index("cpu")] == 0
