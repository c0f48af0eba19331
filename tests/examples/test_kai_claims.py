"""What the stories tell of claims that fail, of later times and of what happens next is true."""

import re

import pytest

from fairlead.explain.plan.cycles import plan_cycles
from fairlead.policy.contract import make_policy
from tests.examples.kai_world import NOW_MS, claims_told, read, story, told
from tests.text_table import rows

MINUTE_MS = 60_000

CLAIMS = {
    # departments: 5 <= 5, so who of research has it is nobody else's concern
    "reclaim-hierarchy": """
        job          action        code                at       numbers
        search/index consolidation TooFewFreeGpus      search   3>0
        search/index reclaim       WithinItsShare      research 3>0;5<=5;5<=5
        search/index preempt       NobodyLessImportant search   50<=50
    """,
    # 2 + 1 = 3 of 2, and 4 - 1 = 3 of 2
    "fullness": """
        job         action        code                at      numbers
        audio/birds consolidation TooFewFreeGpus      audio   1>0
        audio/birds reclaim       WouldBeFuller       product 3>2;1.5>=1.5
        audio/birds preempt       NobodyLessImportant audio   -
    """,
    # 07:45 + 0:30 - 08:00 = 0:15, and 07:45 + 0:20 - 08:00 = 0:05
    "min-runtime": """
        job            action        code                  at       numbers
        robotics/grasp consolidation TooFewFreeGpus        robotics 2>0
        robotics/grasp reclaim       ProtectedByMinRuntime speech   15m
        robotics/grasp preempt       NobodyLessImportant   robotics -
        speech/demo    consolidation TooFewFreeGpus        speech   2>0
        speech/demo    reclaim       OverFairShare         speech   4+2>2
        speech/demo    preempt       ProtectedByMinRuntime speech   5m
    """,
    # who comes first does not matter, only 50 <= 50
    "preempt": """
        job           action        code                at     numbers
        vision/survey consolidation TooFewFreeGpus      vision 2>0
        vision/survey reclaim       OverFairShare       vision 4+2>4
        vision/survey preempt       NobodyLessImportant vision 50<=50
    """,
    # what sweep took of the idle room counts: 4 + 8 > 10, where 0 + 8 would have been within
    "monday": """
        job                   action        code                    at         numbers
        serving/summaries     consolidation NotPreemptible          serving    -
        serving/summaries     reclaim       OverFairShare           serving    2.5+4>5
        serving/summaries     preempt       NonPreemptibleOverQuota serving    2+4>4
        team-vision/detector  consolidation TooFewFreeGpus          vision     8>4.5
        team-vision/detector  reclaim       OverFairShare           vision     4+8>10
        team-vision/detector  preempt       NobodyLessImportant     vision     50<=50
        interns/thesis        consolidation OverLimit               interns    1+4>4
        interns/thesis        reclaim       OverFairShare           interns    1+4>0
        interns/thesis        preempt       NobodyLessImportant     interns    50<=75
        team-perception/radar consolidation TooFewFreeGpus          perception 8>4.5
        team-perception/radar reclaim       OverFairShare           perception 4+8>8
        team-perception/radar preempt       NobodyLessImportant     perception 50<=50
    """,
}


@pytest.mark.parametrize("world", CLAIMS)
def test_a_claim_fails_as_told(world: str) -> None:
    assembled = read(world)
    plan = make_policy(assembled.settings).plan(assembled.state, NOW_MS)
    expected = [list(row.values()) for row in rows(CLAIMS[world])]
    assert claims_told(plan) == expected


def cycles(world: str, now_ms: int = NOW_MS) -> list[list[str]]:
    """Return what becomes of the jobs, plan after plan, until nothing changes."""
    assembled = read(world)
    plans = plan_cycles(make_policy(assembled.settings), assembled.state, now_ms, 9)
    return [[" ".join(words[:3]) for words in told(assembled.state, plan)] for plan in plans]


def test_what_was_borrowed_waits_again_once_its_owner_runs() -> None:
    assert cycles("give-back") == [
        ["evict speech/dialects dialects", "reserve robotics/grasp grasp"],
        ["start robotics/grasp grasp", "wait speech/dialects -"],
        ["wait speech/dialects -"],
    ]


def test_the_sister_team_starts_and_the_other_department_still_waits() -> None:
    assert cycles("reclaim-hierarchy")[1:] == [
        ["start audio/birds birds", "wait search/index -", "wait vision/signs -"],
        ["wait search/index -", "wait vision/signs -"],
    ]


def test_whoever_was_moved_for_runs_in_the_next_cycle_and_nobody_waits() -> None:
    assert cycles("consolidation") == [
        ["move vision/signs signs", "reserve vision/train train"],
        ["start vision/train train"],
        [],
    ]


def test_an_elastic_job_waits_for_room_to_grow_and_keeps_three_pods() -> None:
    assembled = read("elastic-shrink")
    state = assembled.state
    plans = [
        told(state, plan) for plan in plan_cycles(make_policy(assembled.settings), state, NOW_MS, 9)
    ]
    assert [words[:2] for words in plans[-1]] == [["wait", "speech/tune"]]
    (tune,) = [run for name, run in state.runs.items() if name == "speech/tune"]
    assert len(tune.pods) == 3


def test_the_less_important_job_waits_again_before_the_one_that_came_after_it() -> None:
    assert cycles("preempt")[1:] == [
        ["start vision/demo demo", "wait vision/signs -", "wait vision/survey -"],
        ["wait vision/signs -", "wait vision/survey -"],
    ]


def test_a_gang_is_not_stale_before_its_grace_is_over() -> None:
    assert cycles("stale-gang", NOW_MS - MINUTE_MS) == [["wait biology/fold -"]]
    assert cycles("stale-gang", NOW_MS - MINUTE_MS // 2)[0][1].startswith("evict biology/protein")


def test_the_room_of_a_stale_gang_goes_to_others_and_it_waits_for_its_fourth_pod() -> None:
    first, second, *_ = cycles("stale-gang")
    assert first == ["wait biology/fold -", "evict biology/protein protein-0,protein-1,protein-2"]
    assert second == ["wait biology/protein -", "start biology/fold fold"]


@pytest.mark.parametrize(
    ("minutes", "expected"),
    [
        (0, ["wait robotics/grasp", "wait speech/demo"]),
        (4, ["wait robotics/grasp", "wait speech/demo"]),
        (5, ["wait robotics/grasp", "evict speech/tune", "reserve speech/demo"]),
        (14, ["wait robotics/grasp", "evict speech/tune", "reserve speech/demo"]),
        (15, ["evict speech/tune", "reserve robotics/grasp", "reserve speech/demo"]),
    ],
)
def test_a_promise_of_time_ends_to_the_minute(minutes: int, expected: list[str]) -> None:
    assembled = read("min-runtime")
    plan = make_policy(assembled.settings).plan(assembled.state, NOW_MS + minutes * MINUTE_MS)
    assert [" ".join(words[:2]) for words in told(assembled.state, plan)] == expected


def test_who_waited_for_the_promise_starts_beside_the_one_who_did_not_have_to() -> None:
    second = cycles("min-runtime", NOW_MS + 5 * MINUTE_MS)[1]
    assert second == ["start robotics/grasp grasp", "start speech/demo demo", "wait speech/tune -"]


def test_the_times_of_the_story_are_those_that_were_tried() -> None:
    assert re.findall(r"^ +(08:\d\d) ", story("min-runtime"), re.M) == ["08:00", "08:05", "08:15"]
    assert re.findall(r"^ +(0\d:\d\d:\d\d) ", story("stale-gang"), re.M) == ["07:59:00", "08:00:00"]
