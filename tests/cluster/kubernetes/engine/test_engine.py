"""What is to be done for what is seen: pods are started, others give way, and the room is used."""

from fairlead.cluster.kubernetes.acting.acts import Evict, PodName
from tests.cluster.kubernetes.engine.led_engine import (
    LedEngine,
    group,
    node,
    pod,
    pod_key,
    quota,
    started,
)


def test_pods_are_bound_as_far_as_nodes_have_room() -> None:
    """Four pods of two CPUs meet two nodes, of four CPUs and of two."""
    pods = [pod(f"a/p{number}", 2) for number in range(4)]
    led = LedEngine(node("n1", 4), node("n2", 2), quota("a", 6, 8), *pods)
    assert led.batches() == [["bind a/p0 to n1"], ["bind a/p1 to n1"], ["bind a/p2 to n2"]]
    assert led.places() == {
        "a/p0": "n1 binding",
        "a/p1": "n1 binding",
        "a/p2": "n2 binding",
    }
    assert led.decide() == []


def test_pods_of_other_schedulers_are_not_bound_and_their_room_is_not_given_out() -> None:
    led = LedEngine(node("n1", 4), quota("a", 4, 4), pod("b/other", 3, scheduler="other"))
    led.create(pod("a/p", 2))
    led.bind("b/other", "n1")
    led.deliver()
    assert led.decide() == []


def test_a_gang_is_bound_whole_or_not_at_all() -> None:
    """Three pods of two CPUs need all of a node of four and half of another, which joins later."""
    members = [pod(f"a/g{number}", 2, group="g") for number in range(3)]
    led = LedEngine(node("n1", 4), quota("a", 8, 8), group("a/g", 3), *members)
    assert led.batches() == []
    led.create(node("n2", 4))
    led.deliver()
    assert led.batches() == [["bind a/g0 to n1", "bind a/g1 to n2", "bind a/g2 to n1"]]


def test_what_a_namespace_borrowed_is_taken_back_and_given_out_once_the_victim_has_left() -> None:
    """The namespace b borrows a node; a, whose min it is, wants it back.

    While the victim terminates nothing else is evicted, and its room is not given to another pod of
    b that fits the node as well.
    """
    led = LedEngine(node("n1", 2), quota("a", 2, 2), quota("b", 0, 2), pod("b/old", 2))
    started(led, ["b/old"])
    led.create(pod("a/new", 2))
    led.deliver()
    assert led.decide() == ["evict b/old"]
    assert led.decide() == []
    led.delete("b/old")
    led.end("b/old", "done")
    led.deliver()
    led.create(pod("b/late", 2))
    led.deliver()
    assert led.places() == {"b/old": "n1 leaving"}
    assert led.decide() == []
    led.leave("b/old")
    led.deliver()
    assert led.decide() == ["bind a/new to n1"]


def test_a_pod_that_is_being_bound_is_not_evicted() -> None:
    """Where it is is not known before the watch shows it."""
    led = LedEngine(node("n1", 2), quota("a", 2, 2), quota("b", 0, 2), pod("b/old", 2))
    assert led.decide() == ["bind b/old to n1"]
    led.create(pod("a/new", 2))
    led.deliver()
    assert led.decide() == []
    led.bind("b/old", "n1")
    led.end("b/old", "done")
    assert led.decide() == []
    led.deliver()
    assert led.decide() == ["evict b/old"]


def test_an_order_bears_what_must_still_be_true_when_it_is_carried_out() -> None:
    led = LedEngine(node("n1", 2), quota("a", 2, 2), quota("b", 0, 2), pod("b/old", 2))
    started(led, ["b/old"])
    led.create(pod("a/new", 2))
    led.deliver()
    led.decide()
    act, shown = led.act("b/old"), led.server.objects[pod_key("b/old")]["metadata"]
    assert isinstance(act, Evict)
    assert act.target == PodName("b", "old", shown["uid"])
    assert act.resource_version == shown["resourceVersion"]


def test_a_long_plan_is_carried_out_in_slices() -> None:
    pods = [pod(f"a/p{number}") for number in range(5)]
    led = LedEngine(node("n1", 8), quota("a", 8, 8), *pods)
    lines = []
    while (plan := led.plan(at_most_starts=2)).is_cut:
        lines.append(len(led.carry_out(plan).batches))
    lines.append(len(led.carry_out(plan).batches))
    assert lines == [2, 2, 1]
