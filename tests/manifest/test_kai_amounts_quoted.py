"""What findings say of a KAI queue's amounts is in the units that its object has."""

import json

import pytest

from fairlead.errors import Finding
from fairlead.manifest.core.objects import Object
from fairlead.manifest.finding import Findings
from fairlead.manifest.kai.reading.queue import read_share_simulation
from fairlead.manifest.text.documents import read_bytes
from fairlead.manifest.translate.assemble import assemble as assemble_objects
from tests.manifest.kai_world import NODE, queue, stream, told

LIMITS = {
    "cpu: {quota: 2000, limit: 1000}": "1000 millicores beside a quota of 2000 millicores",
    "cpu: {quota: 1, limit: 0}": "0 millicores beside a quota of 1 millicores",
    "memory: {quota: 2000, limit: 1500.5}": "1500.5 megabytes beside a quota of 2000 megabytes",
    "memory: {quota: -1, limit: 1024}": "1024 megabytes beside an unlimited quota",
    "gpu: {quota: 4, limit: 0.5}": "0.5 beside a quota of 4",
}


@pytest.mark.parametrize(("resource", "expected"), LIMITS.items())
def test_a_limit_below_the_quota_is_quoted_as_written(resource: str, expected: str) -> None:
    others = [f"{axis}: {{limit: -1}}" for axis in ("cpu", "memory", "gpu") if axis not in resource]
    weighed = resource.replace("}", ", overQuotaWeight: 1}")
    (finding,) = told(queue("a", resources=f"{{{', '.join([weighed, *others])}}}"))
    assert finding.path == f"$.spec.resources.{resource.partition(':')[0]}.limit"
    assert finding.message == f"found a limit of {expected}; the limit applies"


def test_more_guaranteed_than_there_is_is_quoted_in_the_units_of_queues() -> None:
    # The node has 8 cores and 32Gi, which is 34359.738368 megabytes.
    parent = "{cpu: {quota: 9000, limit: -1}, memory: {quota: 40000, limit: -1}, gpu: {limit: -1}}"
    child = parent.replace("9000", "9500")
    found = told(stream(NODE, queue("a", resources=parent), queue("b", "a", resources=child)))
    overcommitted = [each.message for each in found if each.code == "overcommitted"]
    assert len(overcommitted) == 3
    said = "\n".join(overcommitted)
    assert "found 9000 millicores guaranteed at the top level" in said
    assert "the nodes have 8000 millicores; the largest quota is that of" in said
    assert "found 40000 megabytes guaranteed at the top level" in said
    assert "the nodes have 34359.738368 megabytes; the largest" in said
    assert "found a quota of 9000 millicores" in said
    assert "guaranteed 9500 millicores together" in said


def simulated(share: dict[str, dict[str, int]]) -> list[Finding]:
    body = {
        "totalResource": {"cpu": 1000, "memory": 1000, "gpu": 1},
        "queues": [{"uid": "a", "resourceShare": share}],
    }
    findings = Findings()
    collection: list[Object] = []
    (document,) = read_bytes(json.dumps(body).encode(), "body.json", findings)
    collection += read_share_simulation(document, findings)
    assemble_objects("kai", collection, findings)
    return [each for each in findings if each.code == "no-effect"]


def test_what_the_simulator_is_sent_is_quoted_in_its_fields_and_in_bytes() -> None:
    none = {"deserved": 0}
    (finding,) = simulated(
        {"cpu": none, "gpu": none, "memory": {"deserved": 900, "maxAllowed": 800}}
    )
    assert finding.path == "$.queues[0].resourceShare.memory.maxAllowed"
    assert finding.message.startswith("found a limit of 800 bytes beside a quota of 900 bytes")
    assert "left out is 0" not in finding.fix  # there it is unlimited
