"""What becomes of acts: done, overtaken, refused, seen before they are reported, or never reported.

What was assumed stays so until a fact or an outcome shows otherwise; what failed is held back.
"""

import pytest

from fairlead.cluster.kubernetes.acting.acts import Evict
from tests.cluster.kubernetes.engine.led_engine import (
    LedEngine,
    group,
    node,
    pod,
    pod_key,
    quota,
    started,
)
from tests.manifest.translate.api_server import POD

SECOND_MS = 1000


def one_pod(*nodes: str) -> LedEngine:
    return LedEngine(*(node(name) for name in nodes or ["n1"]), quota("a", 8, 8), pod("a/p"))


# Binds.


def test_a_bind_that_is_done_stays_assumed_until_it_is_seen() -> None:
    led = one_pod()
    assert led.decide() == ["bind a/p to n1"]
    led.end("a/p", "done")
    assert led.places() == {"a/p": "n1 binding"}
    led.bind("a/p", "n1")
    led.deliver()
    assert led.places() == {"a/p": "n1 running"}


@pytest.mark.parametrize("is_reported_first", [True, False])
def test_an_older_version_of_a_pod_does_not_undo_its_bind(is_reported_first: bool) -> None:
    """Someone labels the pod while it is bound; that event is on its way when the bind ends."""
    led = one_pod()
    led.decide()
    led.server.update(pod_key("a/p"), lambda value: value["metadata"]["labels"].update(tier="1"))
    older = led.late(POD)
    led.bind("a/p", "n1")
    if is_reported_first:
        led.end("a/p", "done")
    led.take(*older)
    assert led.places() == {"a/p": "n1 binding"}
    assert led.decide() == []
    led.take(*led.late(POD), led.outcome("a/p", "done"))
    assert led.places() == {"a/p": "n1 running"}
    led.pass_time(60 * SECOND_MS)
    assert led.overdue() == []


def test_a_pod_that_is_refused_on_any_node_waits_and_then_tries_another_node() -> None:
    """Held at once for 1 s, in which it would only evict in vain; then n1 is the last choice."""
    led = one_pod("n1", "n2")
    assert led.decide() == ["bind a/p to n1"]
    led.end("a/p", "refused", is_on_any_node=True)
    assert led.decide() == []
    led.pass_time(SECOND_MS - 1)
    assert led.decide() == []
    led.pass_time(1)
    assert led.decide() == ["bind a/p to n2"]


def test_a_refused_bind_goes_to_another_node_and_comes_back_after_a_pause() -> None:
    """A pod is refused by a node twice, so that it is held for 1 s and then for 2 s."""
    led = one_pod("n1", "n2")
    assert led.decide() == ["bind a/p to n1"]
    led.end("a/p", "refused")
    assert led.decide() == ["bind a/p to n2"]
    led.end("a/p", "refused")
    assert led.decide() == []
    led.pass_time(SECOND_MS - 1)
    assert led.decide() == []
    led.pass_time(1)
    assert led.decide() == ["bind a/p to n1"]
    led.end("a/p", "refused")
    assert led.decide() == ["bind a/p to n2"]
    led.end("a/p", "refused")
    led.pass_time(2 * SECOND_MS - 1)
    assert led.decide() == []
    led.pass_time(1)
    assert led.decide() == ["bind a/p to n1"]


def test_a_pod_that_five_nodes_refuse_waits_as_a_whole() -> None:
    """An admission policy refuses one pod, wherever it is to go; the others start."""
    names = [f"n{number}" for number in range(1, 8)]
    led = one_pod(*names)
    for name in names[:5]:
        assert led.decide() == [f"bind a/p to {name}"]
        led.end("a/p", "refused")
    assert led.decide() == []
    led.create(pod("a/q"))
    led.deliver()
    assert led.decide() == ["bind a/q to n1"]


def test_an_overtaken_bind_is_decided_anew_at_once() -> None:
    led = one_pod("n1", "n2")
    led.decide()
    led.end("a/p", "overtaken")
    assert led.decide() == ["bind a/p to n1"]


def test_one_of_a_gang_that_is_refused_is_bound_elsewhere() -> None:
    members = [pod(f"a/g{number}", group="g") for number in range(2)]
    led = LedEngine(node("n1", 2), node("n2", 2), quota("a", 8, 8), group("a/g", 2), *members)
    assert led.decide() == ["bind a/g0 to n1", "bind a/g1 to n2"]
    led.bind("a/g0", "n1")
    led.end("a/g0", "done")
    led.end("a/g1", "refused")
    led.deliver()
    assert led.decide() == ["bind a/g1 to n1"]


def test_an_outcome_of_a_former_pod_of_a_name_says_nothing_of_the_next() -> None:
    led = one_pod("n1", "n2")
    led.decide()
    former = led.outcome("a/p", "refused")
    led.delete("a/p")
    led.create(pod("a/p"))
    led.deliver()
    assert led.decide() == ["bind a/p to n1"]
    led.take(former)
    assert led.places() == {"a/p": "n1 binding"}


def test_a_bind_that_another_scheduler_won_leaves_the_pod_where_it_is() -> None:
    """The conflict shows the pod before its watch does."""
    led = one_pod("n1", "n2")
    led.decide()
    led.bind("a/p", "n2")
    led.take(*led.late(POD), led.outcome("a/p", "overtaken"))
    assert led.places() == {"a/p": "n2 running"}
    assert led.decide() == []


# Looking into what is overdue.


def test_a_bind_that_no_watch_shows_is_looked_at_now_and_then() -> None:
    """The watch is silent for two minutes, and so is the API server when it is asked."""
    led = one_pod()
    led.decide()
    led.end("a/p", "done")
    looks = []
    for second in range(121):
        if led.overdue():
            looks.append(second)
        led.pass_time(SECOND_MS)
    assert looks == [30, 60, 90, 120]
    assert led.places() == {"a/p": "n1 binding"}


def test_a_look_shows_what_the_watch_did_not() -> None:
    led = one_pod()
    led.decide()
    led.bind("a/p", "n1")
    led.end("a/p", "done")
    led.pass_time(30 * SECOND_MS)
    assert led.overdue() == ["look at a/p"]
    led.take(*led.late(POD))
    assert led.places() == {"a/p": "n1 running"}
    led.pass_time(90 * SECOND_MS)
    assert led.overdue() == []


def test_a_pod_whose_outcome_is_late_is_not_bound_a_second_time() -> None:
    led = one_pod("n1", "n2")
    led.decide()
    led.pass_time(600 * SECOND_MS)
    assert led.decide() == []
    led.end("a/p", "refused")
    assert led.decide() == ["bind a/p to n2"]


# Evictions.


def borrowed(*names: str) -> LedEngine:
    """The namespace b runs a pod on each of two nodes that are a's; a wants one back."""
    nodes = [node(f"n{number}", 2) for number in range(1, len(names) + 1)]
    least = quota("a", 2 * len(names), 2 * len(names))
    led = LedEngine(*nodes, least, quota("b", 0, 8), *(pod(each, 2) for each in names))
    started(led, names)
    led.create(pod("a/new", 2))
    led.deliver()
    return led


@pytest.mark.parametrize("is_reported_first", [True, False])
def test_an_older_version_of_a_victim_does_not_undo_its_eviction(is_reported_first: bool) -> None:
    """The kubelet writes the victim's status while it is evicted. No other victim is looked for."""
    led = borrowed("b/p", "b/q")
    [line] = led.decide()
    victim = line.split()[1]

    def noted(value: dict[str, dict[str, object]]) -> None:
        value["status"].update(phase="Running", startTime="2023-11-14T22:14:00Z")

    led.server.update(pod_key(victim), noted)
    older = led.late(POD)
    led.delete(victim)
    if is_reported_first:
        led.end(victim, "done")
    led.take(*older)
    assert led.places()[victim].endswith("leaving")
    assert led.decide() == []
    led.take(*led.late(POD), led.outcome(victim, "done"))
    assert led.places()[victim].endswith("leaving")
    assert led.decide() == []


def test_a_victim_that_a_budget_protects_stays_and_another_one_is_chosen() -> None:
    led = borrowed("b/p", "b/q")
    [line] = led.decide()
    victim = line.split()[1]
    led.end(victim, "refused", retry_after_ms=20 * SECOND_MS)
    assert led.places()[victim].endswith("running")
    [other] = led.decide()
    assert {line, other} == {"evict b/p", "evict b/q"}


def test_the_only_victim_is_tried_again_when_the_server_said_and_not_before() -> None:
    led = borrowed("b/p")
    assert led.decide() == ["evict b/p"]
    led.end("b/p", "refused", retry_after_ms=20 * SECOND_MS)
    assert led.decide() == []
    led.pass_time(20 * SECOND_MS - 1)
    assert led.decide() == []
    led.pass_time(1)
    assert led.decide() == ["evict b/p"]


def test_a_victim_that_is_refused_again_and_again_is_asked_for_more_and_more_seldom() -> None:
    """10, 20, 40, 80, 160 and at most 300 s: a budget that allows none may stand for weeks."""
    led = borrowed("b/p")
    for pause_s in (10, 20, 40, 80, 160, 300, 300):
        assert led.decide() == ["evict b/p"]
        led.end("b/p", "refused")
        led.pass_time(pause_s * SECOND_MS - 1)
        assert led.decide() == []
        led.pass_time(1)


def test_a_victim_is_left_alone_for_ten_seconds_where_the_server_names_no_time() -> None:
    led = borrowed("b/p")
    led.decide()
    led.end("b/p", "refused")
    led.pass_time(10 * SECOND_MS - 1)
    assert led.decide() == []
    led.pass_time(1)
    assert led.decide() == ["evict b/p"]


def test_a_victim_that_changed_meanwhile_is_evicted_in_its_new_version() -> None:
    """Its resourceVersion is another one, which the conflict shows."""
    led = borrowed("b/p")
    led.decide()
    led.server.update(pod_key("b/p"), lambda value: value["metadata"]["labels"].update(tier="1"))
    led.take(*led.late(POD), led.outcome("b/p", "overtaken"))
    former = led.act("b/p")
    assert led.decide() == ["evict b/p"]
    assert led.act("b/p") != former


def test_a_victim_that_is_gone_before_its_outcome_makes_room() -> None:
    led = borrowed("b/p")
    led.decide()
    outcome = led.outcome("b/p", "done")
    led.delete("b/p")
    led.leave("b/p")
    led.deliver()
    assert led.decide() == ["bind a/new to n1"]
    led.take(outcome)
    assert led.places() == {"a/new": "n1 binding"}


def test_a_victim_whose_object_became_invalid_is_evicted_in_its_latest_version() -> None:
    """The last version that could be read counts, but the API server knows the latest one only.

    An eviction of an older version is a conflict, and was decided anew at once, without an end.
    """
    led = borrowed("b/p")
    led.server.update(pod_key("b/p"), lambda value: value["spec"].update(priority="high"))
    led.deliver()
    assert led.decide() == ["evict b/p"]
    act = led.act("b/p")
    assert isinstance(act, Evict)
    latest = led.server.objects[pod_key("b/p")]["metadata"]["resourceVersion"]
    assert act.resource_version == latest
