"""What comes while a plan is made overtakes those of its decisions that it makes impossible.

Each test is one second of a real cluster: a plan takes long, and its cluster changes meanwhile.
"""

from collections.abc import Callable

import pytest

from fairlead.cluster.kubernetes.acting.acts import Bind
from tests.cluster.kubernetes.engine.led_engine import (
    LedEngine,
    group,
    node,
    node_key,
    pod,
    pod_key,
    quota,
    quota_key,
    started,
    words,
)


def lines_after(led: LedEngine, *happens: Callable[[], object]) -> tuple[list[str], int]:
    """Return what is carried out of a plan that *happens* comes after, and what is overtaken."""
    plan = led.plan()
    for each in happens:
        each()
    led.deliver()
    carried = led.carry_out(plan)
    return [words(act) for batch in carried.batches for act in batch], carried.overtaken


def two_pods() -> LedEngine:
    return LedEngine(node("n1", 4), quota("a", 8, 8), pod("a/p", 2), pod("a/q", 2))


def test_nothing_overtakes_a_plan_of_a_quiet_cluster() -> None:
    assert lines_after(two_pods()) == (["bind a/p to n1", "bind a/q to n1"], 0)


def test_a_pod_that_is_deleted_is_not_bound() -> None:
    led = two_pods()
    assert lines_after(led, lambda: led.delete("a/p")) == (["bind a/q to n1"], 1)


def test_a_pod_that_was_made_anew_under_its_name_is_another_one() -> None:
    led = two_pods()
    found = lines_after(led, lambda: led.delete("a/p"), lambda: led.create(pod("a/p", 2)))
    assert found == (["bind a/q to n1"], 1)
    assert led.decide() == ["bind a/p to n1"]


def test_a_pod_that_another_scheduler_has_bound_is_not_bound_again() -> None:
    led = two_pods()
    assert lines_after(led, lambda: led.bind("a/p", "n1")) == (["bind a/q to n1"], 1)


def test_no_pod_goes_to_a_node_that_is_gone() -> None:
    led = two_pods()
    assert lines_after(led, lambda: led.remove(node_key("n1"))) == ([], 2)


def test_no_pod_goes_to_a_node_that_is_not_ready_any_more() -> None:
    led = two_pods()
    conditions = [{"type": "Ready", "status": "Unknown"}]

    def lost() -> None:
        led.server.update(
            node_key("n1"), lambda value: value["status"].update(conditions=conditions)
        )

    assert lines_after(led, lost) == ([], 2)


@pytest.mark.parametrize(
    "spec",
    [
        {"unschedulable": True},
        {"taints": [{"key": "maintenance", "effect": "NoSchedule"}]},
    ],
)
def test_no_pod_goes_to_a_node_that_was_cordoned_or_tainted_meanwhile(
    spec: dict[str, object],
) -> None:
    """An order says whether its node was cordoned when it was decided, not when it was given."""
    led = two_pods()
    assert lines_after(led, lambda: led.change(node_key("n1"), **spec)) == ([], 2)
    assert led.decide() == []


def test_a_pod_that_tolerates_a_cordon_is_bound_to_a_node_that_was_cordoned_before() -> None:
    tolerant = pod("a/p")
    tolerant["spec"]["tolerations"] = [{"operator": "Exists"}]
    led = LedEngine(node("n1"), quota("a", 8, 8), tolerant)
    led.change(node_key("n1"), unschedulable=True)
    led.deliver()
    assert led.decide() == ["bind a/p to n1"]
    act = led.act("a/p")
    assert isinstance(act, Bind)
    assert act.is_cordoned


def test_a_node_that_another_scheduler_has_filled_takes_what_still_fits() -> None:
    """Two pods of two CPUs were to fill the node of four; another one took one CPU of it."""
    led = two_pods()
    led.create(pod("b/other", 1, scheduler="other"))
    assert lines_after(led, lambda: led.bind("b/other", "n1")) == (["bind a/p to n1"], 1)


def test_a_node_has_no_place_for_more_pods_than_its_number() -> None:
    led = LedEngine(node("n1", 8, pods=2), quota("a", 8, 8), pod("a/p"), pod("a/q"))
    led.create(pod("b/other", 0, scheduler="other"))
    assert lines_after(led, lambda: led.bind("b/other", "n1")) == (["bind a/p to n1"], 1)


def test_a_gang_of_which_one_pod_is_overtaken_is_not_started() -> None:
    members = [pod(f"a/g{number}", group="g") for number in range(3)]
    led = LedEngine(node("n1", 4), quota("a", 8, 8), group("a/g", 3), *members)
    assert lines_after(led, lambda: led.delete("a/g1")) == ([], 1)


def test_a_workload_that_may_not_start_any_more_is_not_started() -> None:
    """The object of a waiting pod becomes one that cannot be read."""
    led = two_pods()

    def spoilt(value: dict[str, object]) -> None:
        value["spec"] = {**value["spec"], "priority": "high"}  # type: ignore[dict-item]

    found = lines_after(led, lambda: led.server.update(pod_key("a/p"), spoilt))
    assert found == (["bind a/q to n1"], 1)


def test_a_resource_that_appears_leaves_the_plan_as_it_is() -> None:
    """A node joins that has devices: the state is built anew, on one resource more."""
    led = two_pods()
    devices = node("n2")
    devices["status"]["allocatable"]["nvidia.com/gpu"] = "8"
    before = led.state
    found = lines_after(led, lambda: led.create(devices))
    assert led.state is not before
    assert found == (["bind a/p to n1", "bind a/q to n1"], 0)


# Evictions: what is evicted cannot be put back.


def one_victim() -> LedEngine:
    """The namespace b borrows a node; a, whose min it is, wants it back."""
    led = LedEngine(node("n1", 2), quota("a", 2, 2), quota("b", 0, 2), pod("b/old", 2))
    started(led, ["b/old"])
    led.create(pod("a/new", 2))
    led.deliver()
    return led


def test_a_victim_is_evicted_if_nothing_changed() -> None:
    assert lines_after(one_victim()) == (["evict b/old"], 0)


def test_a_victim_that_leaves_by_itself_is_not_evicted() -> None:
    led = one_victim()
    assert lines_after(led, lambda: led.delete("b/old")) == ([], 1)


def test_nothing_is_evicted_for_a_pod_that_is_gone() -> None:
    led = one_victim()
    lines, _ = lines_after(led, lambda: led.delete("a/new"))
    assert lines == []


def test_nothing_is_evicted_for_a_pod_that_another_scheduler_has_bound() -> None:
    led = one_victim()
    lines, _ = lines_after(led, lambda: led.bind("a/new", "n1"))
    assert lines == []


def test_a_pod_is_not_evicted_that_a_new_quota_protects() -> None:
    """The administrator gives b a min of two CPUs: its pod is within it now."""
    led = one_victim()
    spec = {"min": {"cpu": "2"}, "max": {"cpu": "2"}}
    lines, _ = lines_after(led, lambda: led.change(quota_key("b"), **spec))
    assert lines == []


def test_what_overtakes_evictions_does_not_stop_them_for_long() -> None:
    """Quotas change in each status update of a peer, which says nothing that is read."""
    led = one_victim()

    def published(value: dict[str, object]) -> None:
        value["status"] = {"used": {"cpu": "2"}}

    found = lines_after(led, lambda: led.server.update(quota_key("b"), published))
    assert found == (["evict b/old"], 0)
