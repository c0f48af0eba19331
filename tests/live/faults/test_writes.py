"""A write is named by its meaning, the same in every run."""

import json

import pytest

from tests.live.faults.writes import Journal, Write, describe, named_for_run

PODS = "/api/v1/namespaces/a-run7/pods"
QUOTAS = "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/a-run7/elasticquotas"
ABOUT = {"kind": "Pod", "namespace": "a-run7", "name": "x-1"}


@pytest.mark.parametrize(
    ("method", "path", "body", "meaning"),
    [
        ("POST", f"{PODS}/x-1/binding", {}, ("bind", "pods a/x")),
        ("POST", f"{PODS}/x-1/eviction", {}, ("evict", "pods a/x")),
        ("PATCH", f"{PODS}/x-1/status", {}, ("status", "pods a/x")),
        ("DELETE", f"{PODS}/x-1", {}, ("delete", "pods a/x")),
        ("POST", PODS, {}, ("post", "pods a")),
        ("POST", "/api/v1/namespaces/a-3/pods", {}, ("post", "pods a-3")),
        ("PATCH", f"{QUOTAS}/q/status", {}, ("status", "elasticquotas a/q")),
        ("PATCH", "/api/v1/nodes/n1-run7", {}, ("patch", "nodes n1")),
        (
            "PUT",
            "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/fairlead",
            {},
            ("put", "leases kube-system/fairlead"),
        ),
        (
            "POST",
            "/apis/events.k8s.io/v1/namespaces/a-run7/events",
            {"reason": "Evicted", "regarding": ABOUT, "metadata": {"name": "x-1.18f"}},
            ("event", "Evicted Pod a/x"),
        ),
        (
            "POST",
            "/api/v1/namespaces/a-run7/events",
            {"reason": "Waits", "involvedObject": ABOUT},
            ("event", "Waits Pod a/x"),
        ),
        (
            "PATCH",
            "/apis/events.k8s.io/v1/namespaces/a-run7/events/x-1.18f2",
            {"series": {"count": 2}},
            ("event", "PATCH x"),
        ),
        ("POST", "/somewhere/else", {}, ("post", "/somewhere/else")),
    ],
)
def test_a_write_is_named_by_its_verb_and_its_object_without_the_run(
    method: str, path: str, body: dict[str, object], meaning: tuple[str, str]
) -> None:
    assert describe(method, path, json.dumps(body).encode()) == meaning


def test_writes_of_one_meaning_are_counted_for_each_group_of_like_pods() -> None:
    journal = Journal()
    for pod in ("x-3", "y-1", "x-1"):
        journal.note("POST", f"{PODS}/{pod}/binding", b"")
    assert journal.writes == [
        Write("bind", "pods a/x", 1),
        Write("bind", "pods a/y", 1),
        Write("bind", "pods a/x", 2),
    ]


def test_names_of_two_runs_differ() -> None:
    assert named_for_run("a", 7) == "a-run7"
    assert named_for_run("a", 8) != named_for_run("a", 7)


def test_a_body_that_is_no_json_has_no_meaning() -> None:
    assert describe("POST", "/api/v1/namespaces/a/events", b"\x00k8s") == ("event", "POST ")
