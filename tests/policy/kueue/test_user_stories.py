"""The three stories of KEP-1714 that people turn fair sharing on for, followed to their ends.

They are what both modes are for, so they end alike in both.
"""

import pytest

from fairlead.model.state import ClusterState
from fairlead.policy.kueue.settings import KueueSettings
from tests.policy.kueue.plan_world import FAIR, FAITHFUL, add, cluster, cycles, held


def backlog(state: ClusterState, queue: str, count: int, running: str = "-") -> None:
    """Let *count* jobs of one GPU wait in *queue*, or run there; the last is the most important."""
    for number in range(count):
        row = {"name": f"{queue}-{number:03}", "queue": queue, "asks": "1", "running": running}
        add(state, {**row, "priority": str(number), "created": str(number)})


@pytest.fixture(params=[FAIR, FAITHFUL], ids=["own mode", "as Kueue decides"])
def settings(request: pytest.FixtureRequest) -> KueueSettings:
    found = request.param
    assert isinstance(found, KueueSettings)
    return found


def follow(state: ClusterState, settings: KueueSettings) -> list[list[str]]:
    return list(cycles(state, settings, most=400))


def evicted(plans: list[list[str]]) -> list[str]:
    return [line.split()[1] for told in plans for line in told if line.startswith("evict")]


POOL = """
name parent quota within reclaim
POOL -      12    -      -
east POOL   4     Never  Any
west POOL   2     Never  Any
"""


def test_east_fills_the_pool_overnight_and_west_gets_as_much_of_it_in_the_morning(
    settings: KueueSettings,
) -> None:
    """18 GPUs: 12 for all, 4 east's own, 2 west's. East runs 18 jobs, so it borrows 14.

    West takes back its 2, then one after the other while it would not borrow more than east is
    left with: 6 and 6 of the 12, whatever the guarantees. East loses 8, the least important first.
    """
    state = cluster(POOL)
    backlog(state, "east", 18, running="0")
    backlog(state, "west", 20)
    plans = follow(state, settings)
    assert held(state) == {"east": 4 + 6, "west": 2 + 6}
    assert evicted(plans) == [f"east-{number:03}" for number in range(8)]


def test_west_takes_back_its_own_before_shares_are_looked_at(settings: KueueSettings) -> None:
    state = cluster(POOL)
    backlog(state, "east", 18, running="0")
    backlog(state, "west", 20)
    codes = [
        line.split()[-1] for told in follow(state, settings) for line in told if "evict" in line
    ]
    assert codes == ["InCohortReclamation"] * 2 + ["InCohortFairSharing"] * 6


DEPARTMENTS = """
name parent quota within reclaim
ROOT -      0     -      -
D1   ROOT   0     -      -
D2   ROOT   0     -      -
1a   D1     6     Never  Any
1b   D1     6     Never  Any
1c   D1     6     Never  Any
2a   D2     6     Never  Any
2b   D2     6     Never  Any
2c   D2     6     Never  Any
"""


def test_what_a_team_leaves_goes_to_the_others_of_its_department_first(
    settings: KueueSettings,
) -> None:
    """1A wants nothing, all others want 20: its 6 are shared by 1B and 1C, 3 each."""
    state = cluster(DEPARTMENTS)
    for queue in ("1b", "1c", "2a", "2b", "2c"):
        backlog(state, queue, 20)
    follow(state, settings)
    assert held(state) == {"1a": 0, "1b": 9, "1c": 9, "2a": 6, "2b": 6, "2c": 6}


def test_what_a_department_cannot_use_goes_to_the_other_in_equal_shares(
    settings: KueueSettings,
) -> None:
    """1A wants nothing and 1B, 1C have only 6 jobs each: D2 gets the 6 of 1A, 2 for each team."""
    state = cluster(DEPARTMENTS)
    for queue, jobs in {"1b": 6, "1c": 6, "2a": 20, "2b": 20, "2c": 20}.items():
        backlog(state, queue, jobs)
    follow(state, settings)
    assert held(state) == {"1a": 0, "1b": 6, "1c": 6, "2a": 8, "2b": 8, "2c": 8}


def test_a_department_takes_back_what_the_other_had_of_it(settings: KueueSettings) -> None:
    """D2 runs 24 of 36, 6 of them borrowed. Jobs come to 1B and 1C: 12 start, 6 are taken back."""
    state = cluster(DEPARTMENTS)
    for queue in ("2a", "2b", "2c"):
        backlog(state, queue, 8, running="0")
    for queue in ("1b", "1c"):
        backlog(state, queue, 20)
    plans = follow(state, settings)
    assert held(state) == {"1a": 0, "1b": 9, "1c": 9, "2a": 6, "2b": 6, "2c": 6}
    assert len(evicted(plans)) == 6


def computer_science(gpus: int) -> ClusterState:
    return cluster(
        f"""
        name parent quota weight within reclaim
        CS   -      {gpus} 1     -      -
        C1   CS     0     1      -      -
        C2   CS     0     1      -      -
        1a   C1     0     1      Never  Any
        1b   C1     0     1      Never  Any
        1c   C1     0     3      Never  Any
        2a   C2     0     1      Never  Any
        """
    )


def test_departments_share_equally_and_teams_by_weight(settings: KueueSettings) -> None:
    """300 GPUs, two departments: 150 each. In C1 weights 1, 1, 3 of 5: 30, 30, 90.

    In Kueue one head of each queue is admitted in each cycle as long as there is room: 75 jobs of
    each team. Fair sharing moves 45 from 1A and 45 from 1B, 15 to 1C and 75 to 2A. There it stays.
    We let them have their turns one by one, so nothing has to be moved.
    """
    state = computer_science(300)
    for queue in ("1a", "1b", "1c", "2a"):
        backlog(state, queue, 160)
    plans = follow(state, settings)
    assert bool(evicted(plans)) == settings.faithful
    assert held(state) == {"1a": 30, "1b": 30, "1c": 90, "2a": 150}


def test_it_comes_to_the_same_shares_if_one_team_had_everything_before(
    settings: KueueSettings,
) -> None:
    """30 GPUs, all 2A's: it is left with 15, and 3, 3, 9 go to C1. That is where it stays."""
    state = computer_science(30)
    backlog(state, "2a", 30, running="0")
    for queue in ("1a", "1b", "1c"):
        backlog(state, queue, 30)
    follow(state, settings)
    assert held(state) == {"1a": 3, "1b": 3, "1c": 9, "2a": 15}
