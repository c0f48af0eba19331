"""Which object of an API server it is, in which version and whose: every kind reads it alike."""

from collections.abc import Callable

import pytest

from fairlead.manifest.core.objects import UNIDENTIFIED, Identity, Owner, PodObject
from fairlead.manifest.core.read_pod import read_pod
from fairlead.manifest.elastic_quota.objects import PluginPodGroupObject
from fairlead.manifest.elastic_quota.read_quota import read_plugin_pod_group
from fairlead.manifest.kai.objects import KaiPodGroupObject
from fairlead.manifest.kai.reading.pod_group import read_kai_pod_group
from fairlead.manifest.kueue.objects import KueueWorkloadObject
from fairlead.manifest.kueue.reading.workload import read_kueue_workload
from fairlead.manifest.text.cursor import Cursor
from tests.manifest.yaml_text import cursor_of, remarks

Identified = PodObject | KaiPodGroupObject | PluginPodGroupObject | KueueWorkloadObject
Reader = Callable[[Cursor], Identified | None]

READERS: dict[str, tuple[Reader, str]] = {  # and the least that a spec must have
    "Pod": (read_pod, "{}"),
    "PodGroup of KAI": (read_kai_pod_group, "{}"),
    "PodGroup of the plugin": (read_plugin_pod_group, "{}"),
    "Workload": (read_kueue_workload, "{podSets: [{name: main, count: 1, template: {spec: {}}}]}"),
}
WRITTEN = """
uid: 4b1f, resourceVersion: "71", generation: 3, ownerReferences: [
  {apiVersion: batch/v1, kind: Job, name: train, uid: 8a2c, controller: true,
   blockOwnerDeletion: true},
  {apiVersion: v1, kind: ConfigMap, name: notes, uid: 9d3e}]
"""


def identity(kind: str, metadata: str) -> Identity:
    read, spec = READERS[kind]
    cursor, findings = cursor_of(f"{{metadata: {{name: one, {metadata}}}, spec: {spec}}}")
    found = read(cursor)
    assert remarks(findings) == []
    assert found is not None
    return found.identity


def found_in(metadata: str) -> list[str]:
    cursor, findings = cursor_of(f"metadata: {{name: one, {metadata}}}\nspec: {{}}")
    read_pod(cursor)
    return remarks(findings)


@pytest.mark.parametrize("kind", READERS)
def test_an_object_that_a_server_wrote_has_an_identity(kind: str) -> None:
    assert identity(kind, WRITTEN) == Identity(
        uid="4b1f",
        resource_version="71",
        generation=3,
        owners=(
            Owner(api_version="batch/v1", kind="Job", name="train", uid="8a2c", is_controller=True),
            Owner(api_version="v1", kind="ConfigMap", name="notes", uid="9d3e"),
        ),
    )


@pytest.mark.parametrize("kind", READERS)
def test_an_object_that_a_user_wrote_has_none(kind: str) -> None:
    assert identity(kind, "labels: {}") is UNIDENTIFIED


@pytest.mark.parametrize(
    ("metadata", "finding"),
    [
        ("uid: 7", "error wrong-type $.metadata.uid"),
        ("resourceVersion: 71", "error wrong-type $.metadata.resourceVersion"),
        ("generation: '3'", "error wrong-type $.metadata.generation"),
        ("generation: -1", "error out-of-range $.metadata.generation"),
        ("ownerReferences: {kind: Job}", "error wrong-type $.metadata.ownerReferences"),
        ("ownerReferences: [Job]", "error wrong-type $.metadata.ownerReferences[0]"),
        (
            "ownerReferences: [{name: [a]}]",
            "error wrong-type $.metadata.ownerReferences[0].name",
        ),
        (
            "ownerReferences: [{controller: 1}]",
            "error wrong-type $.metadata.ownerReferences[0].controller",
        ),
        (
            "ownerReferences: [{nmae: a}]",
            "warning unknown-field $.metadata.ownerReferences[0].nmae",
        ),
    ],
)
def test_what_is_wrong_with_an_identity(metadata: str, finding: str) -> None:
    assert found_in(metadata) == [finding]


def test_a_reference_may_leave_out_what_a_user_does_not_know() -> None:
    assert found_in("ownerReferences: [{kind: Job, name: train}]") == []
