"""Manifests applied to objects that are there already, as ``kubectl apply`` would."""

import json
from typing import Any

import pytest

from fairlead.manifest.changes import applied, with_changes
from fairlead.manifest.finding import Findings
from fairlead.manifest.load import load
from fairlead.manifest.text.documents import Document, cluster_document, read_bytes
from fairlead.manifest.text.values import Mapping


def queue(name: str, *, version: str = "v2", spec: Any = None, **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"scheduling.run.ai/{version}",
        "kind": "Queue",
        "metadata": {"name": name, **metadata},
        "spec": spec or {},
    }


def manifest(*objects: Mapping, file: str = "change.yaml") -> list[Document]:
    items = {"apiVersion": "v1", "kind": "List", "items": [*objects]}
    found = read_bytes(json.dumps(items).encode(), file, Findings())
    assert len(found) == len(objects)
    return found


def note_of(before: Mapping) -> dict[str, Any]:
    """Return the annotation in which kubectl notes what was applied."""
    return {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(before)}


SPECS: dict[str, tuple[Any, Any, Any]] = {
    # live, the change, what it is then
    "a field of the change replaces that of the cluster": ({"a": 1}, {"a": 2}, {"a": 2}),
    "a field that the change leaves out stays": ({"a": 1, "b": 1}, {"a": 2}, {"a": 2, "b": 1}),
    "mappings are merged at every depth": (
        {"gpu": {"quota": 4, "limit": 8}},
        {"gpu": {"quota": 6}},
        {"gpu": {"quota": 6, "limit": 8}},
    ),
    "a list takes the place of the whole list": ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
    "null takes a field away": ({"a": 1, "b": {"c": 1}}, {"a": None, "b": {"c": None}}, {"b": {}}),
    "a mapping takes the place of a number": ({"a": 1}, {"a": {"b": 1}}, {"a": {"b": 1}}),
}


@pytest.mark.parametrize(("live", "change", "then"), SPECS.values(), ids=SPECS.keys())
def test_fields(live: Any, change: Any, then: Any) -> None:
    assert applied(queue("a", spec=live), queue("a", spec=change))["spec"] == then


def test_a_field_that_was_applied_before_and_is_left_out_now_is_taken_away() -> None:
    """Applied before: quota 4, limit 8. Set by another client: weight 2. The change: quota 4."""
    before = queue("a", spec={"gpu": {"quota": 4, "limit": 8}})
    live = queue("a", spec={"gpu": {"quota": 4, "limit": 8, "weight": 2}})
    live["metadata"]["annotations"] = note_of(before)
    result = applied(live, queue("a", spec={"gpu": {"quota": 4}}))
    assert result["spec"] == {"gpu": {"quota": 4, "weight": 2}}


@pytest.mark.parametrize("note", ["", "{", "[]", "7"])
def test_a_note_that_cannot_be_read_takes_nothing_away(note: str) -> None:
    live = queue("a", spec={"a": 1})
    live["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": note}
    assert applied(live, queue("a"))["spec"] == {"a": 1}


def test_the_changed_object_is_the_same_object() -> None:
    """An old copy of an object in a file has an old version, or none."""
    own = {"uid": "u-1", "resourceVersion": "9", "creationTimestamp": "2026-11-01T00:00:00Z"}
    old = queue("a", uid="u-0", resourceVersion="3", labels={"team": "vision"})
    result = applied(queue("a", **own), old)
    assert result["metadata"] == {"name": "a", "labels": {"team": "vision"}, **own}


def test_of_another_version_of_the_api_metadata_and_status_are_kept() -> None:
    live = {**queue("a", uid="u-1", spec={"old": 1}), "status": {"used": 4}}
    result = applied(live, queue("a", version="v3", spec={"new": 1}))
    assert (result["spec"], result["status"]) == ({"new": 1}, {"used": 4})
    assert result["metadata"] == {"name": "a", "uid": "u-1"}


def test_the_objects_that_were_given_are_left_as_they_were() -> None:
    live, change = queue("a", spec={"gpu": {"quota": 4}}), queue("a", spec={"gpu": {"quota": 6}})
    applied(live, change)
    assert live == queue("a", spec={"gpu": {"quota": 4}})
    assert change == queue("a", spec={"gpu": {"quota": 6}})


def test_objects_without_a_change_stay_and_new_ones_are_added() -> None:
    documents = [cluster_document(queue(name, spec={"n": 1})) for name in "ab"]
    result = with_changes(documents, manifest(queue("b", spec={"n": 2}), queue("c")))
    assert [(each.value["metadata"], each.source.file) for each in result] == [
        ({"name": "a"}, "cluster: Queue a"),
        ({"name": "b"}, "change.yaml"),
        ({"name": "c"}, "change.yaml"),
    ]


def test_two_changes_of_one_object_are_reported() -> None:
    """The first is applied; the second stands beside it, as in any input."""
    documents = [cluster_document(queue("a"))]
    result = with_changes(documents, manifest(queue("a"), queue("a")))
    found = load([], made=result)
    assert [each.file for each in found.findings if each.code == "duplicate-object"] == [
        "change.yaml"
    ]
