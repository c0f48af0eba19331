"""Since when a pod runs: as its status tells it, since it was scheduled, or since it was made."""

import pytest

from fairlead.manifest.core.pod_sets import own_start_ms
from fairlead.manifest.core.read_pod import read_pod
from fairlead.model.axes import WorkloadName
from tests.manifest.elastic_world import NODE, state_of
from tests.manifest.yaml_text import cursor_of, remarks

POD = """
    apiVersion: v1
    kind: Pod
    metadata: {{name: p, namespace: a, creationTimestamp: "1970-01-01T00:00:01Z"}}
    spec: {{{spec}}}
    status: {{{status}}}
"""
STARTED = 'startTime: "1970-01-01T00:00:09Z"'
SCHEDULED = """conditions: [
      {type: Ready, status: "False", lastTransitionTime: "1970-01-01T00:00:07Z"},
      {type: PodScheduled, status: "True", lastTransitionTime: "1970-01-01T00:00:05Z", x: y}]"""
REFUSED = SCHEDULED.replace('"True"', '"False"')
UNDATED = 'conditions: [{type: PodScheduled, status: "True", lastTransitionTime: null}]'


def pod(spec: str, status: str) -> str:
    return POD.format(spec=spec, status=status)


@pytest.mark.parametrize(
    ("status", "started_ms"),
    [
        (f"{STARTED}, {SCHEDULED}", 9_000),
        (SCHEDULED, 5_000),
        (REFUSED, 1_000),  # was refused a node, and got this one from elsewhere
        (UNDATED, 1_000),
        ("", 1_000),
    ],
)
def test_a_pod_with_a_node_runs_since_the_best_that_is_known(status: str, started_ms: int) -> None:
    cursor, findings = cursor_of(pod("nodeName: node-1", status))
    found = read_pod(cursor)
    assert remarks(findings) == []
    assert found is not None
    assert own_start_ms(found) == started_ms
    run = state_of(NODE, "---" + pod("nodeName: node-1", status)).runs[WorkloadName("a/p")]
    assert run.started_ms() == started_ms


@pytest.mark.parametrize(
    ("status", "finding"),
    [
        ("conditions: 7", "error wrong-type $.status.conditions"),
        ("conditions: [x]", "error wrong-type $.status.conditions[0]"),
        (
            SCHEDULED.replace("1970-01-01T00:00:05Z", "noon"),
            "error bad-timestamp $.status.conditions[1].lastTransitionTime",
        ),
    ],
)
def test_conditions_that_cannot_be_read_are_told_where_they_matter(
    status: str, finding: str
) -> None:
    for spec, told in (("nodeName: node-1", [finding]), ("", [])):
        cursor, findings = cursor_of(pod(spec, status))
        read_pod(cursor)
        assert remarks(findings) == told
