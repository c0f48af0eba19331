"""One call from files to a cluster state, or to everything that is wrong with them."""

import gc
import io
from pathlib import Path
from textwrap import dedent

import pytest

from fairlead.errors import ManifestError
from fairlead.manifest import load as load_module
from fairlead.manifest.kinds import KINDS
from fairlead.manifest.load import LoadResult, load
from fairlead.manifest.text.documents import Document
from fairlead.model.axes import QueueName, WorkloadName
from fairlead.policy.contract import PolicyName
from fairlead.policy.elastic_quota.api import ElasticShares
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings
from tests.manifest.reading import load_or_raise
from tests.model.invariants import check_invariants

EXAMPLES = Path(__file__).parents[2] / "examples"

ELASTIC = """
    ---
    apiVersion: scheduling.x-k8s.io/v1alpha1
    kind: ElasticQuota
    metadata: {name: quota, namespace: team-a}
    spec: {min: {cpu: 4}, max: {cpu: 6}}
"""
KAI = """
    ---
    apiVersion: scheduling.run.ai/v2
    kind: Queue
    metadata: {name: team-a}
    spec:
      resources:
        cpu: {quota: -1, limit: -1, overQuotaWeight: 1}
        memory: {quota: -1, limit: -1, overQuotaWeight: 1}
        gpu: {quota: 2, limit: -1, overQuotaWeight: 1}
"""
KUEUE = """
    ---
    apiVersion: kueue.x-k8s.io/v1beta2
    kind: ResourceFlavor
    metadata: {name: any}
    ---
    apiVersion: kueue.x-k8s.io/v1beta2
    kind: ClusterQueue
    metadata: {name: team-a}
    spec:
      namespaceSelector: {}
      resourceGroups:
      - coveredResources: [cpu]
        flavors: [{name: any, resources: [{name: cpu, nominalQuota: 4}]}]
"""
SIMULATION = '{"totalResource": {"GPU": 10}, "queues": [{"name": "a"}, {"name": "b"}]}'
POD = """
    ---
    {apiVersion: v1, kind: Pod, metadata: {name: p, namespace: team-a}, spec: {}}
"""
SERVICE = """
    ---
    {apiVersion: v1, kind: Service, metadata: {name: web}, spec: {type: ClusterIP}}
"""


def load_text(*texts: str, policy: PolicyName | None = None, strict: bool = False) -> LoadResult:
    content = "".join(map(dedent, texts)).encode()
    return load(["-"], policy=policy, strict=strict, stdin=io.BytesIO(content))


def told(result: LoadResult) -> list[str]:
    return sorted(f"{each.severity} {each.code} {each.path}" for each in result.findings)


@pytest.mark.parametrize(
    ("text", "policy"),
    [(ELASTIC, "elastic-quota"), (KAI, "kai"), (KUEUE, "kueue"), (SIMULATION, "kai")],
    ids=["ElasticQuota", "KAI", "Kueue", "KAI's simulator"],
)
def test_the_rule_set_is_that_of_the_queues(text: str, policy: str) -> None:
    result = load_text(text)
    assert [each for each in told(result) if each.startswith("error")] == []
    assert result.assembled is not None
    assert result.assembled.policy == policy
    assert result.assembled.state.queues
    check_invariants(result.assembled.state)


def test_the_older_api_group_is_read_too() -> None:
    result = load_text(ELASTIC.replace("x-k8s.io", "sigs.k8s.io"))
    assert result.assembled is not None
    assert list(result.assembled.state.queues) == ["team-a"]


def test_several_rule_sets_at_once_are_refused_with_the_cure() -> None:
    result = load_text(ELASTIC, KAI, KUEUE)
    assert result.assembled is None
    (finding,) = [each for each in result.findings if each.code == "mixed-families"]
    assert finding.severity == "error"
    assert "--policy kai|kueue|elastic-quota" in finding.fix
    assert "elastic-quota (ElasticQuota.scheduling.x-k8s.io at <stdin>:3)" in finding.message
    assert "found objects of 3 rule sets" in finding.message


def test_with_several_rule_sets_all_other_mistakes_are_told_too() -> None:
    bad = ELASTIC.replace("{cpu: 4}", "{cpu: lots}")
    assert told(load_text(KAI, bad)) == [
        "error bad-quantity $.spec.min.cpu",
        "error mixed-families $.kind",
    ]


def test_the_chosen_rule_set_leaves_the_others_alone() -> None:
    result = load_text(
        ELASTIC, KUEUE, KAI.replace("quota: 2", "quota: lots"), policy="elastic-quota"
    )
    assert result.assembled is not None
    assert list(result.assembled.state.queues) == ["team-a"]
    assert result.read == {"ElasticQuota.scheduling.x-k8s.io": 1}
    assert result.left_alone == {
        "ClusterQueue.kueue.x-k8s.io": 1,
        "Queue.scheduling.run.ai": 1,
        "ResourceFlavor.kueue.x-k8s.io": 1,
    }
    (note,) = result.findings
    assert (note.severity, note.code) == ("advice", "left-alone")
    assert "1 ClusterQueue.kueue.x-k8s.io, 1 Queue.scheduling.run.ai" in note.message


def test_queues_decide_before_other_objects() -> None:
    group = """
        ---
        apiVersion: scheduling.x-k8s.io/v1alpha1
        kind: PodGroup
        metadata: {name: gang}
        spec: {minMember: 2}
    """
    result = load_text(KAI, group)
    assert result.assembled is not None
    assert result.assembled.policy == "kai"
    assert result.left_alone == {"PodGroup.scheduling.x-k8s.io": 1}
    alone = load_text(group)
    assert alone.assembled is not None
    assert alone.assembled.policy == "elastic-quota"


def test_without_any_queue_the_rule_set_must_be_named() -> None:
    assert told(load_text(POD)) == ["error no-queues $"]
    named = load_text(POD, policy="elastic-quota")
    assert named.assembled is not None
    assert list(named.assembled.state.workloads) == ["team-a/p"]


def test_other_objects_are_counted_and_left_alone() -> None:
    result = load_text(ELASTIC, SERVICE, SERVICE, POD)
    assert told(result) == []
    assert result.read == {"ElasticQuota.scheduling.x-k8s.io": 1, "Pod": 1}
    assert result.left_alone == {"Service": 2}


def test_unknown_fields_warn_and_are_refused_when_strict() -> None:
    text = ELASTIC.replace("spec: {", "spec: {maximum: {}, ")
    assert told(load_text(text)) == ["warning unknown-field $.spec.maximum"]
    assert load_text(text).assembled is not None
    assert told(load_text(text, strict=True)) == ["error unknown-field $.spec.maximum"]
    assert load_text(text, strict=True).assembled is None


def test_strict_leaves_other_warnings_as_they_are() -> None:
    result = load_text(ELASTIC.replace("{cpu: 4}", "{cpu: 4, pods: 3}"), strict=True)
    assert told(result) == ["warning no-effect $.spec.min.pods"]
    assert result.assembled is not None


def test_an_unknown_version_of_a_known_kind_is_read_all_the_same() -> None:
    result = load_text(ELASTIC.replace("v1alpha1", "v7"))
    assert told(result) == ["warning unknown-version $.apiVersion"]
    assert result.assembled is not None
    assert list(result.assembled.state.queues) == ["team-a"]


SLIPS = {
    "a kind misspelt": (
        "{apiVersion: kueue.x-k8s.io/v1beta2, kind: Clusterqueue}",
        "warning unknown-kind $.kind",
        'did you mean "ClusterQueue"?',
    ),
    "the group forgotten": (
        "{apiVersion: v1, kind: ClusterQueue}",
        "warning unknown-kind $.kind",
        "write apiVersion: kueue.x-k8s.io/v1beta2",
    ),
    "the group forgotten of a kind that several groups have": (
        "{apiVersion: v1, kind: PodGroup}",
        "warning unknown-kind $.kind",
        (
            "write apiVersion: scheduling.run.ai/v2alpha2 or scheduling.x-k8s.io/v1alpha1 or"
            " scheduling.sigs.k8s.io/v1alpha1"
        ),
    ),
    "a kubeconfig": (
        "{apiVersion: v1, kind: Config, clusters: [], contexts: [], users: []}",
        "warning unknown-kind $.kind",
        "leave the file out, and read what kubectl get -o yaml writes",
    ),
    "no kind": (
        "{apiVersion: v1, metadata: {}}",
        "error unknown-kind $",
        "add kind, or leave the file out",
    ),
    "no version": (
        "{kind: Pod}",
        "error unknown-kind $",
        "add apiVersion, or leave the file out",
    ),
    "a kind that is no text": (
        "{apiVersion: v1, kind: [Pod]}",
        "error wrong-type $.kind",
        "write a text",
    ),
    "a version that is no text": (
        "{apiVersion: 1, kind: Pod}",
        "error wrong-type $.apiVersion",
        "put it in quotes",
    ),
    "some other file": (
        "{replicas: 3}",
        "warning unknown-kind $",
        "add apiVersion, or leave the file out",
    ),
}


@pytest.mark.parametrize(("text", "remark", "fix"), SLIPS.values(), ids=SLIPS.keys())
def test_a_slip_of_the_pen_is_pointed_out(text: str, remark: str, fix: str) -> None:
    result = load_text(ELASTIC, f"---\n{text}\n")
    assert told(result) == [remark]
    (finding,) = result.findings
    assert finding.fix == fix


@pytest.mark.parametrize(
    "text",
    [
        "{apiVersion: kueue.x-k8s.io/v1beta2, kind: AdmissionCheck}",
        "{apiVersion: kueue.x-k8s.io/v1beta2, kind: Topology}",
        "{apiVersion: kueue.x-k8s.io/v1beta2, kind: MultiKueueCluster}",
        "{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue}",
        "{apiVersion: v1, kind: ConfigMap}",
        "{apiVersion: v1, kind: PodTemplate}",
        "{apiVersion: v1, kind: Service}",
        "{apiVersion: kai.scheduler/v1alpha1, kind: Topology}",
    ],
)
def test_kinds_of_others_are_no_slips_of_the_pen(text: str) -> None:
    result = load_text(ELASTIC, f"---\n{text}\n")
    assert told(result) == []
    assert sum(result.left_alone.values()) == 1


def test_errors_are_raised_for_those_who_want_no_findings(tmp_path: Path) -> None:
    file = tmp_path / "quota.yaml"
    file.write_text(dedent(ELASTIC), encoding="utf-8")
    assert list(load_or_raise([str(file)]).state.queues) == ["team-a"]
    file.write_text(dedent(ELASTIC).replace("cpu: 4", "cpu: 7"), encoding="utf-8")
    with pytest.raises(ManifestError, match=r"quota.yaml:6: error: \$.spec.min.cpu: found min 7"):
        load_or_raise([str(file)])


def test_what_cannot_be_read_is_told() -> None:
    result = load(["no/such/file.yaml"])
    assert result.assembled is None
    assert told(result) == ["error unreadable $"]


def test_nothing_at_all_is_told() -> None:
    assert told(load([])) == ["error no-queues $"]


def test_every_kind_of_the_table_has_a_version_and_queues_have_a_family() -> None:
    for kind in KINDS.values():
        assert kind.versions
        assert not kind.is_queue or kind.policy


# The story in examples/elastic-quota: GPUs in thousandths.
STORY = """
    namespace  used  borrowed  unused  requested
    notebooks  2     0         0       3
    speech     1     0         3       4
    vision     6     2         0       8
"""


def test_the_example_tells_its_story() -> None:
    assembled = load_or_raise([str(EXAMPLES / "elastic-quota")], strict=True)
    state = assembled.state
    check_invariants(state)
    assert load([str(EXAMPLES / "elastic-quota")]).findings == ()
    gpu = state.axes.index("nvidia.com/gpu")
    assert gpu is not None
    shares = ElasticShares(state, ElasticQuotaSettings())
    for line in STORY.strip().splitlines()[1:]:
        namespace, *numbers = line.split()
        (row,) = [each for each in shares.rows() if each.queue == namespace]
        got = [row.used[gpu], row.borrowed[gpu], row.unused[gpu], row.requested[gpu]]
        assert got == [1000 * int(number) for number in numbers], namespace
    assert (shares.pool.guaranteed[gpu], shares.pool.used[gpu]) == (10_000, 9_000)
    assert state.total()[gpu] == 10_000
    decode = state.workloads[WorkloadName("speech/podgroup/decode")]
    assert (decode.min_count, decode.priority, decode.queue) == (3, 100, QueueName("speech"))
    free = [
        node.allocatable[at] - state.books.held(node.name)[at]
        for at in [state.resources.index("nvidia.com/gpu")]
        for node in state.nodes.values()
    ]
    assert free == [0, 1000, 0]


def test_findings_come_in_the_order_of_the_lines(tmp_path: Path) -> None:
    file = tmp_path / "queues.yaml"
    file.write_text(
        dedent(KAI)
        .replace("quota: 2", "quota: x")
        .replace("spec:", "spec:\n  reclaimMinRuntime: long\n  unheardOf: 1")
    )
    lines = [finding.line for finding in load([str(file)]).findings]
    assert len(lines) == 3
    assert lines == sorted(lines, key=lambda line: line or 0)


@pytest.mark.parametrize("is_enabled", [True, False])
def test_the_collector_is_afterwards_as_it_was(
    is_enabled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bool] = []

    def noting(*_: object, **__: object) -> list[Document]:
        seen.append(gc.isenabled())
        raise MemoryError

    monkeypatch.setattr(load_module, "read_documents", noting)
    was_enabled = gc.isenabled()
    (gc.enable if is_enabled else gc.disable)()
    try:
        with pytest.raises(MemoryError):
            load([])
        seen.append(gc.isenabled())
    finally:
        (gc.enable if was_enabled else gc.disable)()
    assert seen == [False, is_enabled]
