"""A pod costs its node what its containers need at any one time, and runs only where it may."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.manifest.core.read_pod_spec import (
    Container,
    PodSpecRead,
    plugin_requests,
    pod_requests,
    read_pod_spec,
    with_pod_level,
)
from fairlead.model.selector import (
    LabelRequirement,
    LabelSelector,
    NodeTerm,
    PodSpread,
    PodTerm,
    PreferredNodes,
    Toleration,
)
from fairlead.model.workload import PodConstraints, Preferences
from tests.manifest.yaml_text import cursor_of, remarks

GI = 2**30


def read(text: str) -> PodSpecRead:
    """Read a spec in which nothing is wrong."""
    cursor, findings = cursor_of(text)
    spec = read_pod_spec(cursor, namespace="ns", labels={"app": "web", "version": "7"})
    cursor.finish()
    assert remarks(findings) == []
    return spec


# What each row costs in cpu, with the sum or the largest step written out.
SEQUENCES = {
    "main containers add up": ("main 1, main 2", 1 + 2),
    "the largest init container, when it is more": ("init 2, init 5, init 3, main 4", 5),
    "the main containers, when they are more": ("init 2, init 5, main 4, main 4", 4 + 4),
    "a sidecar runs beside the main containers": ("side 2, main 3", 2 + 3),
    "and beside the init containers after it": ("side 2, init 7, main 3", 2 + 7),
    "but not beside those before it": ("init 7, side 2, main 3", 7),
    "sidecars pile up along the sequence": ("side 1, init 4, side 2, init 4, main 1", 1 + 2 + 4),
    "a pod of sidecars only": ("side 1, side 2", 1 + 2),
    "nothing at all": ("", 0),
}


def containers(story: str) -> tuple[list[Container], list[Container]]:
    words = [each.split() for each in story.split(", ") if each]
    listed = [
        (role, Container(requests={"cpu": int(cpu)}, is_sidecar=role == "side"))
        for role, cpu in words
    ]
    main = [container for role, container in listed if role == "main"]
    return main, [container for role, container in listed if role != "main"]


@pytest.mark.parametrize(("story", "cpu"), SEQUENCES.values(), ids=SEQUENCES.keys())
def test_the_most_that_is_needed_at_any_one_time(story: str, cpu: int) -> None:
    assert pod_requests(*containers(story)).get("cpu", 0) == cpu


amounts = st.dictionaries(st.sampled_from(["cpu", "memory", "x.org/a"]), st.integers(0, 9))
some = st.lists(st.builds(Container, requests=amounts, is_sidecar=st.booleans()), max_size=5)


@given(main=some, init=some)
def test_the_peak_equals_walking_through_the_life_of_the_pod(
    main: list[Container], init: list[Container]
) -> None:
    moments = []
    running: list[Container] = []
    for container in init:
        moments.append([*running, container])
        if container.is_sidecar:
            running = [*running, container]
    moments.append([*running, *main])
    got = pod_requests(main, init)
    for resource in ("cpu", "memory", "x.org/a"):
        needs = [sum(one.requests.get(resource, 0) for one in now) for now in moments]
        assert got.get(resource, 0) == max(needs)


# What the capacity-scheduling plugin adds up instead: a sidecar is one more init container.
AS_THE_PLUGIN = {
    "a sidecar is gone before the main containers": ("side 2, main 3", 3),
    "unless it alone is more than they": ("side 4, main 3", 4),
    "and before the next init container": ("side 2, init 7, main 3", 7),
    "sidecars do not add up": ("side 1, side 2", 2),
    "main containers do": ("side 2, main 1, main 2", 1 + 2),
}


@pytest.mark.parametrize(("story", "cpu"), AS_THE_PLUGIN.values(), ids=AS_THE_PLUGIN.keys())
def test_what_the_plugin_adds_up_where_there_are_sidecars(story: str, cpu: int) -> None:
    assert plugin_requests(*containers(story)) == {"cpu": cpu}


@given(main=some, init=some)
def test_the_plugin_adds_up_the_same_names_and_without_sidecars_the_same_amounts(
    main: list[Container], init: list[Container]
) -> None:
    assert plugin_requests(main, init).keys() == pod_requests(main, init).keys()
    init = [Container(requests=each.requests) for each in init]
    assert plugin_requests(main, init) == pod_requests(main, init)


SIDE = "{name: s, restartPolicy: Always, resources: {requests: {cpu: 2}}}"
INIT = "{name: i, resources: {requests: {cpu: 9}}}"
SPECS = {
    "no init containers": ("", None),
    "an init container": (f"initContainers: [{INIT}]", None),
    "a sidecar": (f"initContainers: [{SIDE}]", {"cpu": 3000 + 100}),  # the node: 3 + 2 and 100m
    "a sidecar beside a larger init container before it": (
        f"initContainers: [{INIT}, {SIDE}]",
        None,  # the node: at most 9 at any one time, and so for the plugin
    ),
    "requests of the pod as a whole": ("resources: {requests: {cpu: 5}}", {"cpu": 3000 + 100}),
    "requests of the pod as a whole that say the same": ("resources: {requests: {cpu: 3}}", None),
    "a limit of the pod as a whole": ("resources: {limits: {memory: 1}}", {"cpu": 3000 + 100}),
}


@pytest.mark.parametrize(("more", "expected"), SPECS.values(), ids=SPECS.keys())
def test_what_the_plugin_adds_up_is_kept_only_where_it_is_something_else(
    more: str, expected: dict[str, int] | None
) -> None:
    spec = read(f"""
        containers: [{{name: a, resources: {{requests: {{cpu: 3}}}}}}]
        overhead: {{cpu: 100m}}
        {more}
    """)
    assert spec.plugin_requests == expected


def test_requests_written_for_the_pod_replace_those_of_its_containers() -> None:
    by_containers = {"cpu": 500, "memory": 7, "nvidia.com/gpu": 1000}
    own = {"cpu": 2000, "nvidia.com/gpu": 4000, "hugepages-2Mi": 8}
    expected = {"cpu": 2000, "memory": 7, "nvidia.com/gpu": 1000, "hugepages-2Mi": 8}
    assert with_pod_level(by_containers, requests=own, limits={}) == expected


def test_limits_of_the_pod_stand_in_only_where_nothing_is_requested() -> None:
    by_containers = {"cpu": 500, "hugepages-2Mi": 1}
    limits = {"cpu": 2000, "memory": 9, "hugepages-2Mi": 8, "nvidia.com/gpu": 1}
    expected = {"cpu": 500, "memory": 9, "hugepages-2Mi": 8}
    assert with_pod_level(by_containers, requests={}, limits=limits) == expected


def test_a_limit_stands_in_for_a_request_that_is_not_written() -> None:
    spec = read("""
        containers:
        - name: train
          resources:
            requests: {cpu: 250m}
            limits: {cpu: "2", memory: 1Gi, nvidia.com/gpu: 1}
        overhead: {cpu: 100m, memory: 1Gi}
    """)
    # cpu 250 + 100, memory 1 + 1 GiB, one GPU is 1000 thousandths, and the pod is one pod
    assert spec.requests == {"cpu": 350, "memory": 2 * GI, "nvidia.com/gpu": 1000, "pods": 1}


def test_requests_of_the_pod_come_before_its_overhead() -> None:
    spec = read("""
        containers: [{name: a, resources: {requests: {cpu: 3}}}]
        resources: {requests: {cpu: 5}, limits: {memory: 8}}
        overhead: {cpu: 1}
    """)
    assert spec.requests == {"cpu": 6000, "memory": 8, "pods": 1}


def test_an_empty_spec_asks_for_one_pod_and_may_run_anywhere() -> None:
    spec = read("containers: []")
    assert spec.requests == {"pods": 1}
    assert spec.constraints.node_terms is None
    assert spec.constraints.unsupported == ()
    assert spec.scheduler == "default-scheduler"
    assert (spec.priority, spec.preemption_policy) == (None, None)


def test_who_schedules_it_and_how_important_it_is() -> None:
    spec = read("""
        schedulerName: fairlead
        priority: -5
        priorityClassName: low
        preemptionPolicy: Never
        schedulingGates: [{name: example.org/wait}]
    """)
    assert (spec.scheduler, spec.priority, spec.priority_class) == ("fairlead", -5, "low")
    assert spec.preemption_policy == "Never"
    assert spec.scheduling_gates == ("example.org/wait",)


def test_where_it_may_run() -> None:
    spec = read("""
        nodeSelector: {zone: a, disk: ssd}
        tolerations: [{key: gpu, operator: Exists}]
        affinity:
          nodeAffinity:
            preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {}}]
            requiredDuringSchedulingIgnoredDuringExecution:
              nodeSelectorTerms:
              - matchExpressions: [{key: size, operator: Gt, values: ["3"]}]
    """)
    assert spec.constraints.node_selector == (("disk", "ssd"), ("zone", "a"))
    assert spec.constraints.tolerations == (Toleration(key="gpu", operator="Exists"),)
    size = LabelRequirement(key="size", operator="Gt", values=("3",))
    assert spec.constraints.node_terms == (NodeTerm(labels=(size,)),)
    assert spec.constraints.unsupported == ()


def test_which_pods_it_may_be_near() -> None:
    spec = read("""
        affinity:
          podAffinity:
            requiredDuringSchedulingIgnoredDuringExecution:
            - {topologyKey: zone, labelSelector: {}, matchLabelKeys: [version]}
          podAntiAffinity:
            requiredDuringSchedulingIgnoredDuringExecution:
            - {topologyKey: host, labelSelector: {matchLabels: {app: web}}, namespaces: [other]}
    """)
    same = LabelSelector(
        requirements=(LabelRequirement(key="version", operator="In", values=("7",)),)
    )
    web = LabelSelector(requirements=(LabelRequirement(key="app", operator="In", values=("web",)),))
    near = PodTerm(topology_key="zone", selector=same, namespaces=("ns",))
    apart = PodTerm(topology_key="host", selector=web, namespaces=("other",))
    assert spec.constraints.pod_affinity == (near,)
    assert spec.constraints.pod_anti_affinity == (apart,)
    assert spec.constraints.unsupported == ()


def test_host_ports_of_containers_that_last() -> None:
    spec = read("""
        containers:
        - ports: [{containerPort: 80, hostPort: 8080}, {containerPort: 81}]
        initContainers:
        - {restartPolicy: Always, ports: [{containerPort: 53, hostPort: 53, protocol: UDP}]}
        - {ports: [{containerPort: 99, hostPort: 99}]}
    """)
    assert spec.constraints.host_ports == (("TCP", 8080), ("UDP", 53))


def test_in_the_network_of_the_host_every_port_is_a_host_port() -> None:
    spec = read("""
        hostNetwork: true
        containers: [{ports: [{containerPort: 80}, {containerPort: 81, hostPort: 81}]}]
    """)
    assert spec.constraints.host_ports == (("TCP", 80), ("TCP", 81))


UNSUPPORTED = {
    "volumes: [{name: a, gcePersistentDisk: {pdName: a}}]": "volumes.gcePersistentDisk",
    "volumes: [{name: a, rbd: {}}]": "volumes.rbd",
    "resourceClaims: [{name: a, resourceClaimName: b}]": "resourceClaims: b",
}  # fmt: skip


@pytest.mark.parametrize(("text", "name"), UNSUPPORTED.items(), ids=UNSUPPORTED.values())
def test_a_constraint_that_no_filter_knows_is_named(text: str, name: str) -> None:
    assert read(text).constraints.unsupported == (name,)


@pytest.mark.parametrize(
    "text",
    [
        "affinity: {podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{}]}}",
        "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: []}}",
        "volumes: [{name: a, emptyDir: {}}, {name: b, configMap: {name: c}}]",
        "resourceClaims: []",
        "volumes: [{name: a, persistentVolumeClaim: {claimName: a, readOnly: true}}]",
        "volumes: [{name: a, ephemeral: {volumeClaimTemplate: {spec: {}}}}]",
    ],
)
def test_a_wish_that_binds_nobody_is_not_a_constraint(text: str) -> None:
    assert read(text).constraints.unsupported == ()


def test_constraints_on_the_spread_are_read_with_their_defaults() -> None:
    spec = read("""
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: zone
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: web}}
        - maxSkew: 2
          topologyKey: host
          whenUnsatisfiable: DoNotSchedule
          minDomains: 3
          labelSelector: {matchLabels: {app: web}}
          matchLabelKeys: [version, absent]
          nodeAffinityPolicy: Ignore
          nodeTaintsPolicy: Honor
        - {maxSkew: 3, topologyKey: rack, whenUnsatisfiable: ScheduleAnyway}
    """)
    app = LabelRequirement(key="app", operator="In", values=("web",))
    version = LabelRequirement(key="version", operator="In", values=("7",))
    web = PodSpread(topology_key="zone", max_skew=1, selector=LabelSelector(requirements=(app,)))
    by_version = PodSpread(
        topology_key="host",
        max_skew=2,
        selector=LabelSelector(requirements=(app, version)),
        min_domains=3,
        honors_affinity=False,
        honors_taints=True,
    )
    assert (web.min_domains, web.honors_affinity, web.honors_taints) == (1, True, False)
    assert spec.constraints.spread == (web, by_version)
    preferences = spec.constraints.preferences
    assert preferences == Preferences(
        spread=(PodSpread(topology_key="rack", max_skew=3, selector=None),)
    )


WRONG_SPREADS = {
    "{maxSkew: 0, topologyKey: a, whenUnsatisfiable: DoNotSchedule}": "out-of-range maxSkew",
    "{topologyKey: a, whenUnsatisfiable: DoNotSchedule}": "missing-field maxSkew",
    "{maxSkew: 1, whenUnsatisfiable: DoNotSchedule}": "missing-field topologyKey",
    "{maxSkew: 1, topologyKey: a}": "missing-field whenUnsatisfiable",
    "{maxSkew: 1, topologyKey: a, whenUnsatisfiable: ScheduleAnyway, minDomains: 2}":
        "contradiction minDomains",
    "{maxSkew: 1, topologyKey: a, whenUnsatisfiable: DoNotSchedule, minDomains: 0}":
        "out-of-range minDomains",
    "{maxSkew: 1, topologyKey: a, whenUnsatisfiable: DoNotSchedule, nodeTaintsPolicy: no}":
        "bad-choice nodeTaintsPolicy",
    "{maxSkew: 1, topologyKey: a, whenUnsatisfiable: DoNotSchedule, matchLabelKeys: [b]}":
        "contradiction matchLabelKeys",
}  # fmt: skip


@pytest.mark.parametrize(("text", "finding"), WRONG_SPREADS.items(), ids=WRONG_SPREADS.values())
def test_a_spread_that_kubernetes_refuses_is_refused(text: str, finding: str) -> None:
    cursor, findings = cursor_of(f"topologySpreadConstraints: [{text}]")
    read_pod_spec(cursor, namespace="", labels={})
    code, field = finding.split()
    assert remarks(findings) == [f"error {code} $.topologySpreadConstraints[0].{field}"]


def test_preferred_nodes_are_read_with_their_weights() -> None:
    spec = read("""
        affinity:
          nodeAffinity:
            preferredDuringSchedulingIgnoredDuringExecution:
            - {weight: 80, preference: {matchExpressions: [{key: disk, operator: Exists}]}}
            - weight: 5
              preference: {matchFields: [{key: metadata.name, operator: In, values: [n1]}]}
            - {weight: 1, preference: {}}
    """)
    preferences = spec.constraints.preferences
    assert preferences is not None
    disk = LabelRequirement(key="disk", operator="Exists")
    name = LabelRequirement(key="metadata.name", operator="In", values=("n1",))
    assert preferences.nodes == (
        PreferredNodes(weight=80, term=NodeTerm(labels=(disk,))),
        PreferredNodes(weight=5, term=NodeTerm(names=(name,))),
    )
    assert spec.constraints == PodConstraints(preferences=preferences)  # nothing is required


@pytest.mark.parametrize("weight", ["0", "101"])
def test_a_weight_that_kubernetes_refuses_is_refused(weight: str) -> None:
    cursor, findings = cursor_of(f"""
        affinity:
          nodeAffinity:
            preferredDuringSchedulingIgnoredDuringExecution:
            - {{weight: {weight}, preference: {{matchExpressions: [{{key: a, operator: Exists}}]}}}}
    """)
    read_pod_spec(cursor, namespace="", labels={})
    found = remarks(findings)
    assert [each.rpartition(".")[2] for each in found] == ["weight"]
    assert found[0].startswith("error out-of-range")


def test_everything_wrong_is_told_at_once_with_its_place() -> None:
    cursor, findings = cursor_of("""
        containers:
        - {name: a, resources: {requests: {cpu: lots, memory: -1}}}
        - {name: b, imagee: c, ports: [{hostPort: 70000}]}
        priority: high
        schedulingGates: [{}]
        nodSelector: {a: b}
    """)
    read_pod_spec(cursor, namespace="ns", labels={})
    cursor.finish()
    assert remarks(findings) == [
        "error bad-quantity $.containers[0].resources.requests.cpu",
        "error missing-field $.containers[1].ports[0].containerPort",
        "error missing-field $.schedulingGates[0].name",
        "error out-of-range $.containers[0].resources.requests.memory",
        "error out-of-range $.containers[1].ports[0].hostPort",
        "error wrong-type $.priority",
        "warning unknown-field $.containers[1].imagee",
        "warning unknown-field $.nodSelector",
    ]
