"""The stories in examples/scenarios end as their files say; the arithmetic stands there."""

from itertools import pairwise
from pathlib import Path

import pytest

from fairlead.sim.scenario.read.read_scenario import read_scenario
from tests.examples.scenario_story import FILES, Story, described, story

HOUR = 3600


def turns(told: Story) -> list[float]:
    """How long each turn was, from start to start, without the first ones."""
    return [after - before for before, after in pairwise(told.starts()[3:])]


def shares(told: Story) -> dict[str, float]:
    """Which part each queue had in whole rotations, the first ones left out."""
    queues, starts = told.started(), told.starts()
    firsts = [at for at, queue in zip(starts, queues, strict=True) if queue == queues[0]][2:]
    since, until = (firsts[0], firsts[-1]) if len(firsts) > 1 else (told.end / 2, told.end)
    means = {queue: told.mean(queue, since, until) for queue in sorted(set(queues))}
    return {queue: mean / sum(means.values()) for queue, mean in means.items()}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_each_story_is_told_at_the_top_of_the_file_that_has_its_name(file: Path) -> None:
    assert len(described(file).splitlines()) >= 5
    scenario = read_scenario(str(file)).scenario
    assert scenario is not None
    assert scenario.name == file.stem


def test_without_history_whoever_was_first_runs_for_ever() -> None:
    assert story("time-based/taking-turns", "plain").started() == ["left"]


def test_with_history_two_equal_queues_take_turns_of_106_seconds_and_get_half_each() -> None:
    told = story("time-based/taking-turns", "over-time")
    assert set(pairwise(told.started())) == {("left", "right"), ("right", "left")}
    assert set(turns(told)) == {107}  # with a second from telling one to starting the other
    assert shares(told) == pytest.approx({"left": 0.5, "right": 0.5}, abs=0.001)


def test_turns_are_as_long_as_in_the_published_picture() -> None:
    """There the later ones are 242.6, 242.2 and 241.0 cycles long."""
    lengths = turns(story("time-based/published-picture", "kai"))
    assert lengths
    assert lengths == pytest.approx([242] * len(lengths), abs=3)


def test_a_burst_is_served_within_a_minute_and_lasts_for_one() -> None:
    told = story("time-based/burst", "k-2")
    (start,) = told.starts("burst-1")
    assert 600 <= start <= 671  # a minute, then the next look at the numbers, and a cycle
    assert told.held(start)["burst"] == 4
    assert told.held(start + 59)["burst"] == 4
    assert "burst" not in told.held(start + 60)


def test_a_burst_waits_for_ever_where_k_is_too_small_for_it() -> None:
    assert story("time-based/burst", "k-half").starts("burst-1") == []


def test_history_takes_no_guarantee_and_no_job_that_must_not_be_preempted() -> None:
    told = story("time-based/guarantees-stay", "kai")
    assert told.held(HOUR - 1) == {"owner": 10}
    assert told.held(HOUR + 2) == {"newcomer": 5, "owner": 5}
    assert told.held(3 * HOUR) == {"newcomer": 5, "owner": 5}
    left = {job for _, job in told.told_to_leave()}
    assert left == {"other-3", "other-4", "other-5", "other-6", "other-7"}


@pytest.mark.parametrize(
    ("variant", "a", "b", "c"),
    [
        ("k-0", 8, 6, 6),
        ("k-1", 10 / 1.4, 8 / 1.4, 10 / 1.4),
        ("k-4", 16 / 2.6, 14 / 2.6, 22 / 2.6),
        ("over-quota", 8, 6, 6),
    ],
)
def test_what_is_used_within_a_guarantee_costs_unless_told_otherwise(
    variant: str, a: float, b: float, c: float
) -> None:
    told = story("time-based/what-is-charged", variant)
    means = [told.mean(queue, told.end / 2, told.end) for queue in "abc"]
    assert means == pytest.approx([a, b, c], abs=0.3)  # GPUs; jobs take whole ones


def test_too_small_a_k_starves_the_second_queue() -> None:
    assert story("time-based/too-small-k", "starves").started() == ["left"]
    enough = story("time-based/too-small-k", "turns")
    assert len(turns(enough)) >= 8
    assert shares(enough) == pytest.approx({"left": 0.5, "right": 0.5}, abs=0.01)


@pytest.mark.parametrize(
    ("file", "variant", "heavy"),
    [
        ("two-to-one", "k-1", 1.0),
        ("two-to-one", "k-2", 0.841),
        ("two-to-one", "k-3", 0.743),
        ("two-to-one-ending", "k-1", 0.833),
        ("two-to-one-ending", "k-4", 0.708),
    ],
)
def test_weights_of_two_to_one_give_other_shares_to_whole_cluster_jobs(
    file: str, variant: str, heavy: float
) -> None:
    told = story(f"time-based/{file}", variant)
    if file == "two-to-one-ending":
        part = told.mean("heavy", told.end / 2, told.end) / 16
    else:
        part = shares(told)["heavy"]
    assert part == pytest.approx(heavy, abs=0.03)


@pytest.mark.parametrize("variant", ["k-1", "k-1000"])
def test_three_equal_queues_whose_jobs_never_end_do_not_take_turns(variant: str) -> None:
    assert story("time-based/three-equal", variant).started() == ["a"]


def test_three_equal_queues_whose_jobs_end_take_turns() -> None:
    told = story("time-based/three-equal-ending", "kai")
    assert told.started() == ["a", "b", "c"] * 25
    assert told.told_to_leave() == []


def test_a_pool_is_shared_until_both_borrow_as_much() -> None:
    told = story("kueue/pool", "kueue")
    assert told.held(12 * HOUR - 1) == {"east": 9}
    assert told.held(told.end) == {"east": 5, "west": 4}
    assert [job for _, job in told.told_to_leave()] == ["east-9", "east-8", "east-7", "east-6"]


def test_what_a_team_leaves_is_for_its_own_department_first() -> None:
    told = story("kueue/departments", "kueue")
    assert told.held(11 * HOUR) == {"1b": 2, "1c": 2, "2a": 4, "2b": 4, "2c": 4}
    assert told.held(told.end) == {"1b": 5, "1c": 5, "2a": 2, "2b": 2, "2c": 2}
    assert len(told.told_to_leave()) == 6


def test_departments_share_equally_and_teams_by_weight() -> None:
    told = story("kueue/weights", "kueue")
    assert told.held(10) == {"1a": 3, "1b": 3, "1c": 9, "2a": 15}
    assert told.held(told.end) == told.held(10)


def test_what_was_lent_is_given_back_when_it_is_wanted() -> None:
    told = story("elastic-quota/lend-and-return", "elastic-quota")
    assert [told.held(hour * HOUR + 300) for hour in range(5)] == [
        {"a": 2, "b": 3},
        {"a": 4, "b": 3},
        {"a": 6, "b": 3},
        {"a": 4, "b": 6},
        {"a": 4, "b": 6},
    ]
    assert told.told_to_leave() == [(3 * HOUR, "a-4")]
    assert [told.starts(job) for job in ("a-5", "b-5")] == [[], []]


def test_whose_pod_gives_way_depends_on_the_min_of_the_one_who_asks() -> None:
    told = story("elastic-quota/whose-pod", "elastic-quota")
    assert told.held(HOUR - 1) == {"a": 4, "b": 3, "c": 3}
    assert told.told_to_leave() == [(HOUR, "a-4"), (5 * HOUR, "b-1")]
    assert told.held(4 * HOUR + 1) == {"a": 2, "b": 5, "c": 3}
    assert told.held(told.end) == {"a": 2, "b": 5, "c": 3}


def test_who_has_no_min_takes_from_nobody_however_important() -> None:
    told = story("elastic-quota/nothing-of-its-own", "elastic-quota")
    assert told.starts("important-1") == []
    assert told.told_to_leave() == [(2 * HOUR, "borrower-1")]
    assert told.held(told.end) == {"quota3": 1}


def test_a_min_that_was_borrowed_on_two_nodes_comes_back_only_across_nodes() -> None:
    across = story("elastic-quota/two-nodes", "across")
    assert across.told_to_leave() == [(HOUR, "borrower-1"), (HOUR, "borrower-2")]
    assert across.held(across.end) == {"quota2": 2}
    one_node = story("elastic-quota/two-nodes", "one-node")
    assert one_node.told_to_leave() == []
    assert one_node.held(one_node.end) == {"quota1": 2}
