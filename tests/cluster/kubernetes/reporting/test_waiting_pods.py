"""What users are told of pods that wait: once, until something changes."""

from typing import Any

import pytest

from fairlead.cli.live.words import LiveWords
from fairlead.cluster.kubernetes.reporting.reports import PodEvent, PodStatus
from fairlead.cluster.kubernetes.reporting.waiting_pods import (
    MOST_MESSAGE_CHARACTERS,
    NEW_NUMBERS_EVERY_MS,
    WaitingPods,
    bounded,
)
from fairlead.model.plan import LeftPending, Reserve
from tests.cluster.kubernetes.engine.led_engine import (
    group,
    node,
    pod,
    pod_key,
    quota,
    quota_key,
)
from tests.cluster.kubernetes.reporting.led_reports import LedReports
from tests.manifest.translate.api_server import Object


def full() -> LedReports:
    """Return a namespace whose max is 4 CPUs, all of them in use, and a pod that asks for 2."""
    reports = LedReports(node("n1", 8), quota("a", 4, 4), pod("a/old", 4))
    bind_all(reports)
    reports.create(pod("a/p", 2))
    return reports


def bind_all(reports: LedReports) -> None:
    """Let the pods that a plan starts run."""
    for line in reports.led.decide():
        name, where = line.removeprefix("bind ").split(" to ")
        reports.led.bind(name, where)
        reports.led.end(name, "done")
    reports.led.deliver()


OVER_MAX = [
    "waits: status of a/p: over the max of a",
    "waits: FailedScheduling a/p: over the max of a",
]


def test_a_pod_that_waits_is_told_once() -> None:
    reports = full()
    assert reports.plan() == OVER_MAX
    assert all("used 4 + request 2 > max 4" in each for each in reports.messages())
    assert reports.plan() == []


def test_a_plan_without_reasons_tells_nothing() -> None:
    assert full().plan(explain=False) == []


def test_other_numbers_change_the_condition_once_a_minute_and_make_no_event() -> None:
    """The max falls from 4 to 3 CPUs: the reason stays, its numbers do not."""
    reports = full()
    reports.plan()
    reports.led.change(quota_key("a"), min={"cpu": "3"}, max={"cpu": "3"})
    reports.led.deliver()
    reports.led.pass_time(NEW_NUMBERS_EVERY_MS - 1)
    assert reports.plan() == []
    reports.led.pass_time(1)
    assert reports.plan() == ["waits: status of a/p: over the max of a"]
    assert "used 4 + request 2 > max 3" in reports.messages()[0]


def test_another_reason_is_told_at_once_and_an_earlier_one_counts_on() -> None:
    """With a max of 8 all mins are exhausted instead, and with a max of 4 it is as before."""
    reports = full()
    reports.plan()
    (_, first) = reports.last[1]
    assert isinstance(first, PodEvent)
    reports.led.change(quota_key("a"), max={"cpu": "8"})
    reports.led.deliver()
    assert reports.plan() == [
        "waits: status of a/p: too little is left of the pool of all mins",
        "waits: FailedScheduling a/p: too little is left of the pool of all mins",
    ]
    reports.led.change(quota_key("a"), max={"cpu": "4"})
    reports.led.deliver()
    reports.led.pass_time(5000)
    assert reports.plan() == [
        "waits: status of a/p: over the max of a",
        "waits: FailedScheduling a/p x2: over the max of a",
    ]
    (_, again) = reports.last[1]
    assert isinstance(again, PodEvent)
    assert (again.name, again.first_ms) == (first.name, first.first_ms)
    assert again.at_ms == first.at_ms + 5000


def gated(name: str) -> Object:
    value = pod(name, 9)
    value["spec"]["schedulingGates"] = [{"name": "example.com/wait"}]
    return value


@pytest.mark.parametrize(
    "value",
    [pod("a/p", 9, scheduler="other"), gated("a/p")],
    ids=["another scheduler tells of its pods", "the API server tells of gates"],
)
def test_what_others_tell_is_left_to_them(value: Object) -> None:
    assert LedReports(node("n1"), quota("a", 4, 4), value).plan() == []


def test_each_pod_of_a_gang_is_told_and_one_that_joins_it_alone() -> None:
    """Two pods of three CPUs do not fit a node of four together."""
    reports = LedReports(node("n1", 4), quota("a", 20, 20), group("a/g", 2))
    reports.create(pod("a/g0", 3, group="g"), pod("a/g1", 3, group="g"))
    told = reports.plan()
    assert [line.rpartition(":")[0] for line in told] == [
        "waits: status of a/g0",
        "waits: FailedScheduling a/g0",
        "waits: status of a/g1",
        "waits: FailedScheduling a/g1",
    ]
    reports.create(pod("a/g2", 3, group="g"))
    assert {line.split(": ")[1].split()[-1] for line in reports.plan()} == {"a/g2"}


def test_a_pod_that_is_held_after_failures_gets_an_event_but_no_condition() -> None:
    """Its binds failed on five nodes. More nodes would not help: no autoscaler must add one."""
    nodes = [node(f"n{number}") for number in range(6)]
    reports = LedReports(*nodes, quota("a", 4, 4), pod("a/p"))
    for _ in range(5):
        assert reports.led.decide()
        reports.led.end("a/p", "refused")
    assert reports.plan() == [
        "waits: FailedScheduling a/p: held back for a while because its start failed"
    ]


# Nominations.


def taking_back() -> LedReports:
    """Return a namespace that borrows the only node, and a pod of another that wants it back."""
    reports = LedReports(node("n1", 2), quota("a", 2, 2), quota("b", 0, 2), pod("b/old", 2))
    bind_all(reports)
    reports.create(pod("a/new", 2))
    return reports


RESERVED = [
    "prompt: status of a/new at n1: waits for room on n1",
    "waits: FailedScheduling a/new: waits for room on n1",
]


def test_a_nomination_is_written_promptly_be_the_plan_explained_or_not_and_once() -> None:
    reports = taking_back()
    assert reports.plan(explain=False) == RESERVED
    assert reports.status("a/new")["nominatedNodeName"] == "n1"
    assert reports.plan() == []
    assert reports.plan(explain=False) == []


def test_a_nominated_pod_that_starts_is_left_to_the_api_server() -> None:
    reports = taking_back()
    reports.plan()
    reports.led.leave("b/old")
    reports.led.deliver()
    assert reports.plan() == []
    assert reports.led.places() == {"a/new": "n1 binding"}


def test_a_nomination_ends_with_its_reason() -> None:
    """The node goes, so that there is nothing to wait for."""
    reports = taking_back()
    reports.plan()
    reports.led.change(quota_key("a"), min={"cpu": "1"}, max={"cpu": "1"})
    reports.led.deliver()
    first, *rest = reports.plan()
    assert first == "prompt: status of a/new: waits for room on n1"
    assert rest == [
        "waits: status of a/new: over the max of a",
        "waits: FailedScheduling a/new: over the max of a",
    ]
    assert "nominatedNodeName" not in reports.status("a/new")


def test_the_nomination_of_a_pod_whose_bind_failed_ends() -> None:
    reports = taking_back()
    reports.plan()
    reports.led.leave("b/old")
    reports.led.deliver()
    reports.plan()
    reports.led.end("a/new", "refused")
    assert "prompt: status of a/new: waits for room on n1" in reports.plan()
    assert "nominatedNodeName" not in reports.status("a/new")


# A restart.


def test_what_a_former_process_said_is_not_said_again() -> None:
    reports = full()
    reports.plan()
    reports.restart()
    assert reports.plan() == []


def test_what_a_former_process_could_not_write_is_said_by_the_next_one() -> None:
    reports = full()
    reports.plan(writes=False)
    reports.restart()
    assert reports.plan() == OVER_MAX


def test_since_when_a_pod_waits_survives_a_restart() -> None:
    reports = full()
    reports.plan()
    (_, first) = reports.last[0]
    assert isinstance(first, PodStatus)
    reports.led.pass_time(100_000)
    reports.restart()
    reports.led.change(quota_key("a"), max={"cpu": "8"})
    reports.led.deliver()
    reports.plan()
    (_, later) = reports.last[0]
    assert isinstance(later, PodStatus)
    assert later.message != first.message
    assert later.since == first.since


def test_a_nomination_of_a_former_process_is_kept_while_it_holds() -> None:
    reports = taking_back()
    reports.plan()
    reports.led.delete("b/old")
    reports.restart()
    assert reports.plan() == []
    assert reports.status("a/new")["nominatedNodeName"] == "n1"


def test_a_nomination_of_a_former_process_that_holds_no_more_ends() -> None:
    reports = taking_back()
    reports.plan()
    reports.led.change(quota_key("a"), min={"cpu": "1"}, max={"cpu": "1"})
    reports.restart()
    reports.plan()
    assert "nominatedNodeName" not in reports.status("a/new")


def test_a_nomination_of_another_scheduler_is_not_touched() -> None:
    reports = LedReports(node("n1"), quota("a", 4, 4), pod("a/p", 9, scheduler="other"))
    nominated: dict[str, Any] = {"phase": "Pending", "nominatedNodeName": "n1"}
    reports.led.server.update(pod_key("a/p"), lambda value: value.update(status=nominated))
    reports.led.deliver()
    assert reports.plan() == []


# What is too much, could not be written, or is too long.


def test_what_is_too_much_at_once_is_said_later_though_nothing_changes() -> None:
    """Three workloads with two reports each: the second begins when the first has left no room."""
    reports = full()
    reports.create(pod("a/q", 2), pod("a/r", 2))
    assert len(reports.plan(most=1)) == 2
    assert len(reports.more(0)) == 0
    assert len(reports.more(100)) == 4
    assert reports.more(100) == []
    assert reports.plan() == []


def test_of_what_is_said_already_only_so_much_is_looked_at_in_one_go() -> None:
    """After a restart all sentences are made anew, to be compared, although none is written."""
    reports = full()
    reports.create(*[pod(f"a/p{number}", 2) for number in range(9)])
    reports.plan()
    reports.restart()
    made: list[object] = []
    reports.waiting = WaitingPods(_Counted(made))
    assert reports.plan(most=4) == []
    assert len(made) == 4
    assert reports.more(100) == []
    assert len(made) == 10


class _Counted(LiveWords):
    """Words that note what they were asked for."""

    def __init__(self, made: list[object]) -> None:
        self._made = made

    def waiting(self, decision: LeftPending | Reserve) -> str:
        self._made.append(decision)
        return super().waiting(decision)


def test_what_no_longer_waits_is_not_said_later() -> None:
    reports = full()
    reports.create(pod("a/q", 2))
    reports.plan(most=1)
    reports.led.delete("a/q")
    reports.led.deliver()
    assert reports.more(100) == []


def test_what_could_not_be_written_is_said_again() -> None:
    reports = full()
    reports.plan(writes=False)
    uid = reports.led.server.objects[pod_key("a/p")]["metadata"]["uid"]
    reports.waiting.forget(uid)
    assert reports.plan() == OVER_MAX


def test_a_status_is_bound_to_the_version_in_which_the_pod_waited() -> None:
    reports = full()
    version = reports.led.server.objects[pod_key("a/p")]["metadata"]["resourceVersion"]
    reports.plan(writes=False)
    (_, report) = reports.last[0]
    assert isinstance(report, PodStatus)
    assert report.resource_version == version


def test_a_message_is_as_long_as_an_event_may_have() -> None:
    assert bounded("x" * MOST_MESSAGE_CHARACTERS) == "x" * MOST_MESSAGE_CHARACTERS
    assert bounded("x" * 5000) == "x" * (MOST_MESSAGE_CHARACTERS - 1) + "…"
