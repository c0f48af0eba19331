"""The stories of KEP-1714 on manifests, as the page on fair sharing tells them."""

import re
from collections import Counter

import pytest
from msgspec.structs import replace

from fairlead.explain.plan.cycles import plan_cycles
from fairlead.manifest.assembled import Assembled
from fairlead.model.axes import WorkloadName
from fairlead.model.events import WorkloadRemoved
from fairlead.policy.contract import make_policy
from fairlead.policy.kueue.settings import KueueSettings
from tests.examples.kueue_world import (
    NOW_MS,
    STATUS,
    changed,
    evictions,
    first_plan,
    follow,
    held,
    read,
    read_text,
    starts,
    text_of,
    told,
)
from tests.text_table import rows

POOL = "kueue-stories/pool"
DEPARTMENTS = "kueue-stories/departments"
WEIGHTS = "kueue-stories/weights"
LARGE_JOBS = "kueue-stories/large-jobs"


def as_kueue(assembled: Assembled) -> Assembled:
    assert isinstance(assembled.settings, KueueSettings)
    return replace(assembled, settings=replace(assembled.settings, faithful=True))


def test_east_gives_up_its_least_important_jobs_until_both_borrow_the_same() -> None:
    """9 - 2 = 7 borrowed; 1 goes back to its owner, 3 of the other 6 are shared."""
    assembled = read(POOL)
    assert held(assembled.state) == {"east": "9", "west": "0"}
    plans = follow(assembled)
    assert evictions(plans) == [
        "team-east/night-1 for team-west/day-1: InCohortReclamation",
        "team-east/night-2 for team-west/day-2: InCohortFairSharing",  # 1/9 <= 5/9
        "team-east/night-3 for team-west/day-3: InCohortFairSharing",  # 2/9 <= 4/9
        "team-east/night-4 for team-west/day-4: InCohortFairSharing",  # 3/9 <= 3/9
    ]
    assert held(assembled.state) == {"east": "5", "west": "4"}


def test_in_the_end_neither_takes_from_the_other() -> None:
    """One more would make it 4/9 here and 2/9 there."""
    *_, last = follow(read(POOL))
    waiting = [f"east/night-{n}" for n in (4, 3, 2, 1)] + ["west/day-5", "west/day-6"]
    assert last == [f"wait team-{name}: WaitingForQuota SharesForbid" for name in waiting]


GUARANTEES = """
    pool east west  easts wests
    6    2    1     5     4
    8    0    1     4     5
    7    1    1     5     4
    4    4    1     6     3
    3    4    2     6     3
"""


@pytest.mark.parametrize("row", rows(GUARANTEES), ids=lambda row: " ".join(row.values()))
def test_both_borrow_the_same_whatever_they_own(row: dict[str, str]) -> None:
    """What cannot be halved stays with east: to take it would make west borrow one more."""
    quotas = iter([row["pool"], row["east"], row["west"]])  # as they stand in the file
    text, count = re.subn(
        r"(?<=nominalQuota: )\d+", lambda _: next(quotas), text_of(POOL, ("queues.yaml",))
    )
    assert count == 3
    text = f"{text}---\n{text_of(POOL, ('workloads.yaml',))}"
    assembled = read_text(text)
    follow(assembled)
    assert held(assembled.state) == {"east": row["easts"], "west": row["wests"]}


def night_only() -> Assembled:
    return read(DEPARTMENTS, ("queues.yaml", "night.yaml"))


def test_overnight_each_team_of_the_other_department_has_a_third_and_nobody_moves() -> None:
    assembled = night_only()
    expected = {"1a": "0", "1b": "2", "1c": "2", "2a": "4", "2b": "4", "2c": "4"}
    assert held(assembled.state) == expected
    assert first_plan(assembled) == []


def test_the_night_comes_about_by_itself() -> None:
    text = STATUS.sub("", text_of(DEPARTMENTS, ("queues.yaml", "night.yaml")))
    assembled = read_text(text)
    assert set(held(assembled.state).values()) == {"0"}
    plans = follow(assembled)
    assert held(assembled.state) == held(night_only().state)
    assert evictions(plans) == []


MORNING = {"1a": "0", "1b": "5", "1c": "5", "2a": "2", "2b": "2", "2c": "2"}


def test_in_the_morning_the_department_takes_back_its_own_from_all_three_in_turn() -> None:
    assembled = read(DEPARTMENTS)
    plans = follow(assembled)
    assert evictions(plans) == [
        f"team-{victim} for team-{claimant}: InCohortFairSharing"
        for victim, claimant in [
            ("2a/night-1", "1b/day-1"),
            ("2b/night-1", "1c/day-1"),
            ("2c/night-1", "1b/day-2"),
            ("2a/night-2", "1c/day-2"),
            ("2b/night-2", "1b/day-3"),
            ("2c/night-2", "1c/day-3"),
        ]
    ]
    assert held(assembled.state) == MORNING


def test_what_the_department_cannot_use_stays_with_the_other() -> None:
    """1b alone has more to do: 2 + 4. It takes back 4 of the 6; 2 are left for three teams."""
    assembled = read(DEPARTMENTS)
    for number in range(1, 5):
        assembled.state.apply(WorkloadRemoved(WorkloadName(f"team-1c/day-{number}")))
    follow(assembled)
    mine = {"1a": "0", "1b": "6", "1c": "2"}
    assert held(assembled.state) == {**mine, "2a": "2", "2b": "3", "2c": "3"}


def test_who_does_not_borrow_as_a_department_goes_first() -> None:
    """16 GPUs, of which 10 are within quota; department 1 owns the other 6.

    In Kueue each team has one turn in a cycle: three of 5, and the last goes to department 1.
    """
    assembled = read_text(STATUS.sub("", text_of(DEPARTMENTS)))
    turns = [name.removeprefix("team-")[:2] for name in starts(first_plan(assembled))]
    assert sorted(turns[:10]) == sorted(["1b", "1c", "2a", "2b", "2c"] * 2)
    assert turns[10:] == ["1b", "1c"] * 3
    follow(assembled)
    assert held(assembled.state) == MORNING

    kueues = as_kueue(read_text(STATUS.sub("", text_of(DEPARTMENTS))))
    turns = [name.removeprefix("team-")[:2] for name in starts(first_plan(kueues))]
    assert turns == [*(["1b", "1c", "2a", "2b", "2c"] * 3), "1b"]
    follow(kueues)
    assert held(kueues.state) == MORNING


def test_departments_end_with_half_and_teams_with_their_weight_and_stay_there() -> None:
    """30 / 2 = 15; 15 / (1 + 1 + 3) = 3 for a unit of weight."""
    assembled = read(WEIGHTS)
    *_, last = follow(assembled)
    assert held(assembled.state) == {"1a": "3", "1b": "3", "1c": "9", "2a": "15"}
    again = first_plan(assembled)
    assert again == last
    assert len(again) == 7 + 7 + 3 + 3  # of 10, 10, 12 and 18


def test_who_has_its_turns_one_by_one_has_its_share_at_once() -> None:
    """A GPU is 33 for 2a, 1a and 1b, and 11 for 1c; ties go by name."""
    turns = [name[5:7] for name in starts(first_plan(read(WEIGHTS)))]
    assert turns[:8] == ["1c", "2a", "1c", "2a", "1a", "2a", "1b", "2a"]
    assert Counter(turns) == {"1a": 3, "1b": 3, "1c": 9, "2a": 15}
    assert evictions(follow(read(WEIGHTS))) == []


def test_in_kueue_the_shares_become_fairer_plan_after_plan() -> None:
    assembled = as_kueue(read(WEIGHTS))
    table = []
    counts = dict.fromkeys(("1a", "1b", "1c", "2a"), 0)
    for plan in plan_cycles(make_policy(assembled.settings), assembled.state, NOW_MS, 60):
        for line in told(plan):
            verb, name, *_ = line.split()
            counts[name[5:7]] += {"start": 1, "evict": -1}.get(verb, 0)
        table.append(" ".join(map(str, counts.values())))
    assert table == [
        "6 6 8 8",
        "5 5 9 9",
        "4 4 10 10",
        "3 4 11 11",
        "3 3 11 12",
        "3 3 10 13",
        "3 3 9 14",
        "3 3 9 15",
        "3 3 9 15",
    ]


def test_in_kueue_the_lowest_share_wins_the_turn_at_every_level() -> None:
    """In c1: 33, 33, 11 with their heads. At cs: 33, 33, by name; then 67, 33."""
    turns = starts(first_plan(as_kueue(read(WEIGHTS))))
    assert [name[5:7] for name in turns[:8]] == ["1c", "2a", "1a", "1b", "2a", "1c", "1a", "1b"]


STRATEGIES = {
    "both": ("{}", ["team-east/big"]),
    "the first": ("{preemptionStrategies: [LessThanOrEqualToFinalShare]}", []),
    "the second": ("{preemptionStrategies: [LessThanInitialShare]}", ["team-east/big"]),
}


@pytest.mark.parametrize("strategies", STRATEGIES)
def test_a_large_job_leaves_by_the_second_strategy_and_a_small_one_is_spared(
    strategies: str,
) -> None:
    """West would have 1/8. Without small east has 5/8, without big as well 0."""
    setting, victims = STRATEGIES[strategies]
    text = changed(text_of(LARGE_JOBS), ("fairSharing: {}", f"fairSharing: {setting}"))
    assembled = read_text(text)
    gone = [line.split()[0] for line in evictions(follow(assembled))]
    assert gone == victims
    after = {"east": "1", "west": "3"} if victims else {"east": "8", "west": "0"}
    assert held(assembled.state) == after
