"""What a scenario says of nodes is told where it runs under Kueue, which looks at none."""

from pathlib import Path

import pytest

from fairlead.sim.scenario.read.read_scenario import SimulationFile
from tests.sim.scenario.scenario_files import NODES, QUEUES, WORK, indented, read, told

WHATEVER = "under kueue jobs hold quota and run whatever nodes there are"
ABOVE = f"{WHATEVER}, so utilisation may exceed 100 %"


def under(policies: str, folder: Path, spec: str) -> SimulationFile:
    return read(folder, f"  policies: {policies}\n{spec}")


def with_cluster(more: str) -> str:
    cluster = f"""
        cluster:
          nodes: [{{name: node, count: 2, capacity: {{gpu: 4}}}}]
          {more}
    """
    return indented(cluster) + QUEUES + WORK


def with_taints(effect: str) -> str:
    cluster = f"""
        cluster:
          nodes:
            - {{name: node, capacity: {{gpu: 4}}}}
            - name: kept
              capacity: {{gpu: 4}}
              taints: [{{key: team, effect: {effect}}}]
    """
    return indented(cluster) + QUEUES + WORK


def with_jobs(*jobs: str) -> str:
    lines = "".join(f"        - {{requests: {{gpu: 1}}, run: 1h{job}}}\n" for job in jobs)
    cluster = "cluster: {nodes: [{name: node, capacity: {gpu: 4}, labels: {zone: x}}]}"
    return (
        indented(cluster) + QUEUES + f"  work:\n    - name: w\n      queue: a\n      jobs:\n{lines}"
    )


# What is written, and what is told of it: line, path, code and message.
UNSEEN = {
    "lost nodes": (
        with_cluster("changes: [{at: 1h, lose: [node]}]"),
        ("8 $.spec.cluster.changes no-effect", f"found changes of nodes: {ABOVE}"),
    ),
    "new nodes": (
        with_cluster("changes: [{at: 1h, add: {name: m, capacity: {gpu: 4}}}]"),
        ("8 $.spec.cluster.changes no-effect", f"found changes of nodes: {WHATEVER}"),
    ),
    "taints": (
        with_taints("NoSchedule"),
        (
            "11 $.spec.cluster.nodes[1].taints no-effect",
            f"found taints, which keep no job off: {WHATEVER}",
        ),
    ),
    "labels of one job": (
        with_jobs("", ", nodeLabels: {zone: x}"),
        (
            "13 $.spec.work[0].jobs[1].nodeLabels no-effect",
            f"found nodeLabels, which keep no job off other nodes: {WHATEVER}",
        ),
    ),
    "labels of two jobs": (
        with_jobs(", nodeLabels: {zone: x}", ", nodeLabels: {zone: x}"),
        (
            "12 $.spec.work[0].jobs[0].nodeLabels no-effect",
            f"found nodeLabels in 2 places, which keep no job off other nodes: {WHATEVER}",
        ),
    ),
    "quotas above the nodes": (  # 6 + 3
        NODES
        + "  queues: [{name: a, guaranteed: {gpu: 6}}, {name: b, guaranteed: {gpu: 3}}]\n"
        + WORK,
        (
            "7 $.spec.queues overcommitted",
            "found quotas of nvidia.com/gpu 9 together, where nodes have nvidia.com/gpu 8: "
            + ABOVE,
        ),
    ),
    "quotas below one that has less": (  # 6 + 3, and the 8 - 2 - 3 that nobody has at the top
        NODES
        + indented("""
            queues:
              - {name: top, guaranteed: {gpu: 2}}
              - {name: a, parent: top, guaranteed: {gpu: 6}}
              - {name: b, guaranteed: {gpu: 3}}
        """)
        + WORK,
        (
            "7 $.spec.queues overcommitted",
            "found quotas of nvidia.com/gpu 12 together, where nodes have nvidia.com/gpu 8: "
            + ABOVE,
        ),
    ),
}


@pytest.mark.parametrize(("spec", "expected"), UNSEEN.values(), ids=UNSEEN.keys())
def test_what_kueue_does_not_see_is_a_warning_where_it_stands(
    tmp_path: Path, spec: str, expected: tuple[str, str]
) -> None:
    for policies in ("[kueue]", "[kai, {name: calm, policy: kueue}, kueue]"):
        result = under(policies, tmp_path, spec)
        found = [each for each in result.findings if each.severity == "warning"]
        assert told(tuple(found)) == [f"warning {expected[0]}"]
        assert found[0].message == expected[1]
        assert "under kueue" in found[0].fix
        assert result.scenario is not None


@pytest.mark.parametrize("spec", [spec for spec, _ in UNSEEN.values()], ids=UNSEEN.keys())
def test_rules_that_look_at_nodes_are_reported_nothing(tmp_path: Path, spec: str) -> None:
    findings = under("[kai, elastic-quota]", tmp_path, spec).findings
    assert "warning" not in {each.severity for each in findings}


SEEN = {
    "nothing special": with_cluster(""),
    "a taint that keeps nobody off anyway": with_taints("PreferNoSchedule"),
    "all nodes guaranteed": NODES + "  queues: [{name: a, guaranteed: {gpu: 8}}]\n" + WORK,
    # Nobody has quota of cpu: each queue may have all of it, and together twice as much.
    "what is free of quota": (
        NODES + "  queues: [{name: a, guaranteed: {gpu: 4}}, {name: b, limit: {gpu: 4}}]\n" + WORK
    ),
}


@pytest.mark.parametrize("spec", SEEN.values(), ids=SEEN.keys())
def test_what_means_the_same_under_kueue_is_not_told(tmp_path: Path, spec: str) -> None:
    assert under("[kueue]", tmp_path, spec).findings == ()


MANIFESTS = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: fast}
spec: {nodeLabels: {zone: x}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: a}
spec:
  namespaceSelector: {}
  resourceGroups:
    - coveredResources: [nvidia.com/gpu]
      flavors: [{name: fast, resources: [{name: nvidia.com/gpu, nominalQuota: QUOTA}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: a, namespace: default}
spec: {clusterQueue: a}
"""


@pytest.mark.parametrize(
    ("quota", "label", "expected"),
    [
        (4, "zone: x", []),
        (4, "rack: x", ["warning 10 $.spec.work[0].jobs[0].nodeLabels no-effect"]),
        (5, "zone: x", ["warning 6 $.spec.manifests overcommitted"]),
    ],
)
def test_manifests_are_judged_by_their_own_flavors_and_quotas(
    tmp_path: Path, quota: int, label: str, expected: list[str]
) -> None:
    """Kueue does look at labels that its flavors have."""
    (tmp_path / "queues.yaml").write_text(MANIFESTS.replace("QUOTA", str(quota)), encoding="utf-8")
    spec = f"""
        cluster: {{nodes: [{{name: node, capacity: {{gpu: 4}}, labels: {{zone: x}}}}]}}
        manifests: [queues.yaml]
        work:
          - name: w
            queue: a
            jobs: [{{requests: {{gpu: 1}}, run: 1h, nodeLabels: {{{label}}}}}]
    """
    findings = read(tmp_path, indented(spec)).findings
    own = tuple(each for each in findings if each.severity == "warning")
    assert told(own) == expected
