"""Pods of other schedulers under ElasticQuotas: they count and may give way, and never start."""

import pytest

from fairlead.explain.plan.cycles import plan_cycles
from fairlead.explain.rule_set import rule_set_of
from fairlead.explain.text.reasons import reason_text
from fairlead.manifest.assembled import Assembled
from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.plan import Evict, Reserve, Start, Wait
from fairlead.policy.contract import make_policy
from tests.manifest.elastic_world import GANG, MEMBER, NODE, assemble, pod, quota
from tests.model.invariants import check_invariants
from tests.policy.changes import changes_of

NOW_MS = 1_000_000
OTHER = "schedulerName: some-other"


def settings(names: str) -> str:
    head = "apiVersion: fairlead/v1, kind: Settings"
    return f"---\n{{{head}, spec: {{elasticQuota: {{schedulerNames: {names}}}}}}}\n"


def sound(*texts: str) -> Assembled:
    assembled, told = assemble(*texts)
    assert told == []
    assert assembled is not None
    check_invariants(assembled.state)
    return assembled


def told(assembled: Assembled) -> list[str]:
    """Return what a plan says, as ``start a/p`` or ``wait a/p: code``; the state is left as is."""
    policy = make_policy(assembled.settings)
    found = []
    for each in policy.plan(assembled.state, NOW_MS).decisions:
        code = f": {each.reason.code}" if isinstance(each, Wait) else ""
        found.append(f"{type(each).__name__.lower()} {each.workload}{code}")
    changes = changes_of(policy, assembled.state, NOW_MS)
    started = {each.workload for each in changes if isinstance(each, Start | Reserve)}
    assert started == {line.split()[1] for line in found if line.split()[0] in ("start", "reserve")}
    return found


@pytest.mark.parametrize(
    ("scheduler", "answer"),
    [
        ("default-scheduler", "start a/p"),
        ("scheduler-plugins-scheduler", "start a/p"),
        ("fairlead", "start a/p"),
        ("''", "start a/p"),
        ("kai-scheduler", "wait a/p: OtherScheduler"),
        ("some-other", "wait a/p: OtherScheduler"),
    ],
)
def test_only_pods_of_the_plugin_and_of_fairlead_are_started(scheduler: str, answer: str) -> None:
    own = pod("a/p", more=f"schedulerName: {scheduler}")
    assert told(sound(NODE, quota("a", "{min: {cpu: 4}}"), own)) == [answer]
    assert told(sound(NODE, own)) == [answer]  # without a quota too


@pytest.mark.parametrize(
    ("names", "answer"),
    [
        ("[some-other]", ["wait a/usual: OtherScheduler", "start a/other"]),
        ("[default-scheduler, some-other]", ["start a/usual", "start a/other"]),
        ("[]", ["start a/usual", "wait a/other: OtherScheduler"]),
    ],
)
def test_the_settings_say_which_schedulers_have_the_plugin(names: str, answer: list[str]) -> None:
    pods = [pod("a/usual"), pod("a/other", more=OTHER)]
    found = told(sound(NODE, settings(names), quota("a", "{min: {cpu: 4}}"), *pods))
    assert sorted(found) == sorted(answer)


def test_one_that_waits_asks_for_nothing_and_one_that_runs_is_charged() -> None:
    state = sound(
        NODE,
        quota("a", "{min: {cpu: 4}}"),
        pod("a/runs", more=f"{OTHER}, nodeName: node-1|phase: Running"),
        pod("a/waits", "cpu: 2", more=OTHER),
    ).state
    sums = state.sums[QueueName("a")]
    assert (sums.allocated, sums.pending[state.resources.index("cpu")]) == ([1000], 0)


def test_one_that_runs_gives_way_and_does_not_come_back() -> None:
    """With 10 > 6 a is over its min; b asks for 10 of its own, and 16 - 10 = 6 are free."""
    assembled = sound(
        NODE,
        quota("a", "{min: {cpu: 6}, max: {cpu: 16}}"),
        quota("b", "{min: {cpu: 10}, max: {cpu: 16}}"),
        pod("a/runs", "cpu: 10", more=f"{OTHER}, nodeName: node-1|phase: Running"),
        pod("b/asks", "cpu: 10"),
    )
    policy = make_policy(assembled.settings)
    plans = [plan.decisions for plan in plan_cycles(policy, assembled.state, NOW_MS, 9)]
    evict, reserve = plans[0]
    assert isinstance(evict, Evict)
    assert (evict.workload, evict.beneficiary, reserve.workload) == ("a/runs", "b/asks", "b/asks")
    (last,) = plans[-1]
    assert (last.workload, last.reason.code) == ("a/runs", "OtherScheduler")


def test_who_waits_is_told_whose_it_is() -> None:
    assembled = sound(NODE, pod("a/p", more=OTHER))
    (wait,) = make_policy(assembled.settings).plan(assembled.state, NOW_MS).decisions
    assert reason_text(wait.reason) == "is assigned to another scheduler: some-other"
    job = rule_set_of(assembled.settings).explain_job(
        assembled.state, assembled.settings, WorkloadName("a/p"), NOW_MS
    )
    assert job.answer == "a/p waits: is assigned to another scheduler: some-other."


def test_a_gang_does_not_start_with_a_pod_of_another_scheduler() -> None:
    """It needs 3: with p2 elsewhere, 2 of 3 are there."""
    pods = [pod(f"a/p{at}", labels=MEMBER, more=OTHER if at == 2 else "") for at in range(3)]
    found = told(sound(NODE, GANG, *pods))
    assert sorted(found) == ["wait a/p2: OtherScheduler", "wait a/podgroup/train: NotReady"]


def test_what_is_wrong_with_the_names() -> None:
    assert assemble(settings("7"))[1] == ["error wrong-type $.spec.elasticQuota.schedulerNames"]
    assert assemble(settings("[7]"))[1] == [
        "error wrong-type $.spec.elasticQuota.schedulerNames[0]"
    ]
