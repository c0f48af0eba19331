"""A pod that was resized in place counts with what its containers may have at any one time.

Each row is one container: cpu in the spec, allocated by the kubelet, and really there.
"""

import pytest

from fairlead.manifest.core.read_pod import read_pod
from fairlead.manifest.core.resized_pod import resized_spec
from tests.manifest.yaml_text import cursor_of, remarks

INFEASIBLE = "{type: PodResizePending, status: 'True', reason: Infeasible}"
DEFERRED = "{type: PodResizePending, status: 'True', reason: Deferred}"
ROWS = {
    "all agree": ("2 2 2", "", 2),
    "a larger size is wanted: max(4, 2, 2)": ("4 2 2", "", 4),
    "it is allocated, but not there yet: max(4, 4, 2)": ("4 4 2", "", 4),
    "a smaller size is wanted: max(1, 2, 2)": ("1 2 2", "", 2),
    "less is allocated, the container still has more: max(1, 1, 2)": ("1 1 2", "", 2),
    "the kubelet puts it off: max(4, 2, 2)": ("4 2 2", DEFERRED, 4),
    "the kubelet refuses it: max(2, 2)": ("4 2 2", INFEASIBLE, 2),
    "it refuses one while an older one comes: max(3, 2)": ("9 3 2", INFEASIBLE, 3),
    "it refuses a smaller size": ("1 2 2", INFEASIBLE, 2),
}


def pod(
    *containers: str,
    conditions: str = "",
    init: str = "",
    spec: str = "",
    status: str = "",
) -> str:
    """Return a pod with containers of so much cpu: as written, allocated, and there."""
    rows = [each.split() for each in containers]
    written = ", ".join(
        f"{{name: c{at}, resources: {{requests: {{cpu: '{row[0]}'}}}}}}"
        for at, row in enumerate(rows)
    )
    known = ", ".join(
        f"{{name: c{at}, allocatedResources: {{cpu: '{row[1]}'}}, "
        f"resources: {{requests: {{cpu: '{row[2]}'}}}}}}"
        for at, row in enumerate(rows)
    )
    return f"""
apiVersion: v1
kind: Pod
metadata: {{name: p}}
spec: {{nodeName: n1, {spec} {init} containers: [{written}]}}
status: {{phase: Running, {status} conditions: [{conditions}], containerStatuses: [{known}]}}
"""


def cpu(text: str) -> tuple[int, int]:
    """Return what the node is charged, and what the capacity-scheduling plugin adds up."""
    cursor, findings = cursor_of(text)
    found = read_pod(cursor)
    assert remarks(findings) == []
    assert found is not None
    as_plugin = found.requests if found.plugin_requests is None else found.plugin_requests
    return found.requests["cpu"], as_plugin["cpu"]


@pytest.mark.parametrize(("row", "condition", "wanted"), ROWS.values(), ids=ROWS.keys())
def test_a_container_counts_with_the_largest_of_its_sizes(
    row: str, condition: str, wanted: int
) -> None:
    """The plugin adds up the spec alone."""
    charged, as_plugin = cpu(pod(row, conditions=condition))
    assert charged == wanted * 1000
    assert as_plugin == int(row.split(maxsplit=1)[0]) * 1000


def test_containers_are_compared_one_by_one() -> None:
    """max(4, 1, 1) + max(1, 3, 3) = 7, although no column has more than 5."""
    assert cpu(pod("4 1 1", "1 3 3"))[0] == 7000


def test_sizes_are_compared_as_amounts() -> None:
    assert cpu(pod("900m 1 1"))[0] == 1000
    assert cpu(pod("1000m 1 1")) == (1000, 1000)


def test_a_sidecar_is_resized_and_an_init_container_is_not() -> None:
    """1 + max(1, 3); the other init container needs its own 1 beside the sidecar."""
    init = """initContainers: [
      {name: side, restartPolicy: Always, resources: {requests: {cpu: 1}}},
      {name: once, resources: {requests: {cpu: 1}}}],"""
    status = """initContainerStatuses: [
      {name: side, resources: {requests: {cpu: 3}}},
      {name: once, resources: {requests: {cpu: 9}}}],"""
    assert cpu(pod("1 1 1", init=init, status=status))[0] == 4000


def test_what_is_written_for_the_pod_as_a_whole_is_resized_too() -> None:
    """max(2, 3, 4) replaces the 1 of the container."""
    status = "allocatedResources: {cpu: 3}, resources: {requests: {cpu: 4}},"
    assert cpu(pod("1 1 1", spec="resources: {requests: {cpu: 2}},", status=status))[0] == 4000


def test_a_container_without_resources_in_its_status_counts_as_written() -> None:
    """So a kubelet that knows no resize reports it."""
    text = pod("4 2 2").replace("resources: {requests: {cpu: '2'}}", "ready: true")
    assert cpu(text)[0] == 4000


@pytest.mark.parametrize(
    "status",
    [
        "containerStatuses: 1",
        "containerStatuses: [1, {name: c}, {name: c, resources: x}]",
        "containerStatuses: [{name: c, resources: {requests: {cpu: [1]}}}], conditions: [1]",
        "containerStatuses: [{name: c, resources: {requests: [1]}}], conditions: x",
        "containerStatuses: [{name: [c], resources: {requests: {cpu: 3}}}]",
    ],
)
def test_a_status_that_makes_no_sense_changes_nothing(status: str) -> None:
    text = f"""
apiVersion: v1
kind: Pod
metadata: {{name: p}}
spec: {{containers: [{{name: c, resources: {{requests: {{cpu: 2}}}}}}]}}
status: {{phase: Pending, {status}}}
"""
    cursor, _ = cursor_of(text)
    found = read_pod(cursor)
    assert found is not None
    assert found.requests["cpu"] == 2000


def test_a_name_that_is_no_text_names_no_status() -> None:
    assert cpu(pod("1 3 3").replace("name: c0", "name: [c0]", 1))[0] == 1000


def test_a_pod_that_was_not_resized_is_read_once() -> None:
    cursor, _ = cursor_of(pod("2 2 2", "1 1 1"))
    assert resized_spec(cursor.value) is None
