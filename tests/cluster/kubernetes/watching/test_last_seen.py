"""Whether a bind may be sent, by what the watches showed last."""

from typing import Any

import pytest

from fairlead.cluster.kubernetes.watching.facts import Gone, Listed, ObjectFact, Seen
from fairlead.cluster.kubernetes.watching.last_seen import LastSeen

NODE = ("", "Node")
POD = ("", "Pod")
GONE_SINCE = "2026-11-19T00:00:00Z"


def node(name: str = "n", *, ready: str = "True", **spec: Any) -> dict[str, Any]:
    conditions = [{"type": "DiskPressure", "status": "False"}, {"type": "Ready", "status": ready}]
    return {"metadata": {"name": name}, "spec": spec, "status": {"conditions": conditions}}


def pod(uid: str = "u", *, on: str = "", **metadata: str) -> dict[str, Any]:
    spec = {"nodeName": on} if on else {}
    return {"metadata": {"name": "p", "uid": uid, **metadata}, "spec": spec}


def after(*facts: ObjectFact) -> LastSeen:
    """Return what is known after facts about nodes."""
    seen = LastSeen()
    for fact in facts:
        seen.note(NODE, fact)
    return seen


def listed(*nodes: dict[str, Any]) -> Listed:
    return Listed(NODE, list(nodes), "1")


@pytest.mark.parametrize(
    ("facts", "may_bind"),
    [
        ([], False),
        ([listed(node())], True),
        ([listed(node("other"))], False),
        ([Seen(node())], True),
        ([Seen(node(ready="Unknown"))], False),
        ([Seen(node(ready="False")), Seen(node())], True),
        ([Seen({"metadata": {"name": "n"}})], True),  # says nothing of itself
        ([Seen({"metadata": {"name": "n"}, "status": {"conditions": ["x"]}})], True),
        ([Seen(node()), Gone(node())], False),
        ([Seen(node()), listed()], False),
        ([Seen(node(unschedulable=True))], False),
        ([Seen(node(unschedulable=True)), Seen(node())], True),
        ([Seen({**node(), "metadata": {"name": "n", "deletionTimestamp": GONE_SINCE}})], False),
    ],
)
def test_a_node_takes_pods_as_it_was_seen_last(facts: list[ObjectFact], may_bind: bool) -> None:
    assert after(*facts).may_bind("u", "n", is_cordoned=False) == may_bind


def test_a_pod_may_go_to_a_node_that_was_cordoned_when_that_was_decided() -> None:
    seen = after(Seen(node(unschedulable=True)))
    assert seen.may_bind("u", "n", is_cordoned=True)
    seen.note(NODE, Seen(node(ready="False", unschedulable=True)))
    assert not seen.may_bind("u", "n", is_cordoned=True)


@pytest.mark.parametrize(
    ("fact", "may_bind"),
    [
        (Seen(pod()), True),
        (Seen(pod(on="elsewhere")), False),
        (Seen(pod(deletionTimestamp=GONE_SINCE)), False),
        (Gone(pod()), False),
        (Gone(pod("former")), True),  # another pod of the same name
    ],
)
def test_a_pod_that_is_bound_leaving_or_gone_is_not_bound(fact: ObjectFact, may_bind: bool) -> None:
    seen = after(Seen(node()))
    seen.note(POD, fact)
    assert seen.may_bind("u", "n", is_cordoned=False) == may_bind


def test_a_pod_that_was_bound_stays_so_whatever_older_version_comes() -> None:
    seen = after(Seen(node()))
    seen.note(POD, Seen(pod(on="n")))
    seen.note(POD, Seen(pod()))
    assert not seen.may_bind("u", "n", is_cordoned=False)


def test_what_is_remembered_of_pods_is_bounded_and_the_newest_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("fairlead.cluster.kubernetes.watching.last_seen._MOST_SETTLED", 3)
    seen = after(Seen(node()))
    for uid in "abcde":
        seen.note(POD, Gone(pod(uid)))
    assert [uid for uid in "abcde" if not seen.may_bind(uid, "n", is_cordoned=False)] == [
        "c",
        "d",
        "e",
    ]
