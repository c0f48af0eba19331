"""Claims for devices (DRA): those of running pods count, and a pod that waits is not judged."""

from pathlib import Path

import pytest

from fairlead.manifest.core.device_claims import read_device_claim
from fairlead.manifest.finding import Findings
from fairlead.manifest.text.documents import Document, read_bytes
from fairlead.manifest.translate.translator import Translator
from fairlead.model.axes import QueueName
from tests.cli.manifests import NODE, kai_queue, write
from tests.cli.run_cli import of_shard, run_cli
from tests.manifest.yaml_text import cursor_of, remarks

POD = """
apiVersion: v1
kind: Pod
metadata: {{name: {name}, namespace: team, labels: {{kai.scheduler/queue: q}}}}
spec:
  schedulerName: kai-scheduler
  {more}
  containers: [{{name: main, resources: {{requests: {{cpu: 1}}}}}}]
"""
CLAIM = """
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {{name: {name}, namespace: team}}
spec: {{devices: {{requests: [{requests}]}}}}
status: {{allocation: {{devices: {{results: [{results}]}}}}}}
"""
TEMPLATE = """
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: pair, namespace: team}
spec:
  spec: {devices: {requests: [{name: g, exactly: {deviceClassName: gpu.nvidia.com, count: 2}}]}}
"""
GPU = "deviceClassName: gpu.nvidia.com"
ONE_OR_FOUR = (
    f"{{name: g, firstAvailable: [{{name: a, {GPU}, count: 1}}, {{name: b, {GPU}, count: 4}}]}}"
)
# The requests of a claim, what was allocated, and the GPUs that count.
REQUESTS = {
    "one device": (f"{{name: g, exactly: {{{GPU}}}}}", "", 1),
    "three": (f"{{name: g, exactly: {{{GPU}, count: 3}}}}", "", 3),
    "as the first version wrote it": (f"{{name: g, {GPU}, count: 3}}", "", 3),
    "two requests": (
        f"{{name: g, exactly: {{{GPU}}}}}, {{name: h, exactly: {{{GPU}, count: 4}}}}",
        "",
        1 + 4,
    ),
    "another class": ("{name: net, exactly: {deviceClassName: nic.example.com, count: 3}}", "", 0),
    "all that match, of which two were found": (
        f"{{name: g, exactly: {{{GPU}, allocationMode: All}}}}",
        "{request: g, driver: d, pool: p, device: a}, {request: g, device: b}",
        2,
    ),
    "access for monitoring": (f"{{name: g, exactly: {{{GPU}, adminAccess: true}}}}", "", 0),
    "the first of two alternatives": (
        ONE_OR_FOUR,
        "",
        1,
    ),
    "the alternative that was allocated": (
        ONE_OR_FOUR,
        "{request: g/b, device: x}",
        4,
    ),
}


@pytest.mark.parametrize(("requests", "results", "gpus"), REQUESTS.values(), ids=REQUESTS.keys())
def test_a_claim_counts_devices_of_classes_of_gpus(requests: str, results: str, gpus: int) -> None:
    cursor, findings = cursor_of(CLAIM.format(name="c", requests=requests, results=results))
    found = read_device_claim(cursor)
    assert remarks(findings) == []
    assert found is not None
    assert found.gpus == gpus


def claim(name: str, count: int) -> str:
    request = f"{{name: g, exactly: {{{GPU}, count: {count}}}}}"
    return CLAIM.format(name=name, requests=request, results="")


def pod(name: str, *, names: str = "", node: str = "") -> str:
    """Return a pod with the claim, or of the template pair, that *names* says."""
    kind = "resourceClaimTemplateName" if names == "pair" else "resourceClaimName"
    claims = f"resourceClaims: [{{name: gpus, {kind}: {names}}}]" if names else ""
    return POD.format(name=name, more=f"nodeName: {node}\n  {claims}" if node else claims)


def gpus_of_queue(file: str) -> tuple[str, str]:
    """Return what is allocated to the queue, and what it requests."""
    document = of_shard(run_cli("queues", "-f", file, "-o", "json").out)
    (queue,) = document["queues"]
    gpu = queue["resources"]["gpu"]
    return gpu["allocated"], gpu["requested"]


def test_claims_of_running_pods_are_charged_to_their_queue(tmp_path: Path) -> None:
    """Two of a claim and two of a template run; three wait."""
    file = write(
        tmp_path,
        "c.yaml",
        *(NODE, kai_queue("q", quota=9), claim("two", 2), claim("three", 3), TEMPLATE),
        pod("a", names="two", node="n1"),
        pod("b", names="pair", node="n1"),
        pod("c", names="three"),
    )
    assert gpus_of_queue(file) == ("4", "7")


def test_a_claim_that_pods_share_is_charged_for_each(tmp_path: Path) -> None:
    """As in this version of KAI: 2 + 2."""
    file = write(
        tmp_path,
        "c.yaml",
        *(NODE, kai_queue("q", quota=9), claim("two", 2)),
        pod("a", names="two", node="n1"),
        pod("b", names="two", node="n1"),
    )
    assert gpus_of_queue(file) == ("4", "4")


def test_a_pod_that_waits_is_unknown_with_its_claim_named(tmp_path: Path) -> None:
    """The other pod starts on the node beside the running one, whose devices no node lists."""
    file = write(
        tmp_path,
        "c.yaml",
        *(NODE, kai_queue("q", quota=9), claim("two", 2)),
        pod("a", names="two", node="n1"),
        pod("b", names="two"),
        pod("c"),
    )
    ran = run_cli("plan", "-f", file, "-o", "json")
    (cycle,) = of_shard(ran.out)["cycles"]
    decided = {each["workload"]: each for each in cycle["decisions"]}
    assert decided.keys() == {"team/pod/b", "team/pod/c"}
    assert decided["team/pod/b"]["decision"] == "unknown"
    assert decided["team/pod/b"]["reason"]["names"] == ["resourceClaims: two"]
    assert decided["team/pod/c"]["decision"] == "start"
    assert cycle["incomplete"]["constraints"] == {"resourceClaims": 1}


def test_the_pods_of_a_claim_follow_it(tmp_path: Path) -> None:
    """The claim comes after its pod, grows from one device to two, and goes after the pod."""

    def document(text: str) -> Document:
        (found,) = read_bytes(text.encode(), "-", Findings())
        return found

    translator = Translator("kai")

    def allocated() -> int:
        translator.settle()
        return translator.state.sums[QueueName("q")].allocated[2]

    running = document(pod("a", names="two", node="n1"))
    for text in (NODE, kai_queue("q", quota=9)):
        translator.changed(document(text))
    translator.changed(running)
    assert allocated() == 0
    translator.changed(document(claim("two", 1)))
    assert allocated() == 1000
    translator.changed(document(claim("two", 2)))
    assert allocated() == 2000
    translator.removed(running)
    assert allocated() == 0
    translator.removed(document(claim("two", 2)))
    assert allocated() == 0


def test_a_claim_that_is_not_in_the_input_counts_for_nothing(tmp_path: Path) -> None:
    world = (NODE, kai_queue("q", quota=9), pod("a", names="two", node="n1"))
    assert gpus_of_queue(write(tmp_path, "c.yaml", *world)) == ("0", "0")
