"""A Kueue Workload may ask for two billion pods: whatever waits costs what it says, not its pods.

If one of these fails, it does not end, or ends for lack of memory.
"""

from pathlib import Path

import pytest

from tests.cli.kueue_manifests import STATUS, queue, workload
from tests.cli.manifests import write
from tests.cli.run_cli import run_cli

NOW = ("--now", "2026-11-16T09:00:00Z")
HUGE = 2_000_000_000
PREEMPTS = "preemption: {withinClusterQueue: LowerPriority}"
QUOTA_OF_5 = queue("a", more=PREEMPTS, f=5)
SMALL = workload("small", "a", 2, minute=1)


def plan(folder: Path, *objects: str, options: tuple[str, ...] = ()) -> list[list[str]]:
    """Return the first words of every line about a workload."""
    ran = run_cli("plan", "-f", write(folder, "world.yaml", QUOTA_OF_5, *objects), *NOW, *options)
    assert ran.exit_code == 0, ran.err
    return [line.split()[:4] for line in ran.out.splitlines() if "team/" in line]


both_modes = pytest.mark.parametrize("options", [(), ("--faithful",)], ids=["own", "faithful"])


@both_modes
def test_who_asks_for_more_than_there_is_waits(tmp_path: Path, options: tuple[str, ...]) -> None:
    """2,000,000,000 > 5, so it waits; 2 <= 5, so the other starts."""
    start, wait = plan(tmp_path, workload("huge", "a", HUGE), SMALL, options=options)
    assert start == ["start", "team/small", "a", "2/2"]
    assert wait[:3] == ["wait", "team/huge", "a"]


@both_modes
def test_who_accepts_less_starts_with_what_there_is(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    """It accepts 3 of its pods, and there is room for 5; in the second cycle it has them."""
    huge = workload("huge", "a", HUGE, least=3)
    start, wait, again = plan(tmp_path, huge, SMALL, options=("--cycles", "2", *options))
    assert start == ["start", "team/huge", "a", f"5/{HUGE}"]
    assert wait[:2] == again[:2] == ["wait", "team/small"]


@both_modes
def test_who_has_a_part_of_its_pods_gives_way(tmp_path: Path, options: tuple[str, ...]) -> None:
    """It has the whole quota of 5; the other asks for 2 and is more important."""
    huge = workload("huge", "a", HUGE, least=3) + STATUS.format(queue="a", pods=5, flavor="f")
    urgent = workload("urgent", "a", 2, priority=9)
    first, second, *_ = plan(tmp_path, huge, urgent, options=("--cycles", "3", *options))
    assert first == ["evict", "team/huge", "a", f"5/{HUGE}"]
    assert second[:2] == ["reserve", "team/urgent"]


@both_modes
def test_who_waits_for_others_to_leave_gets_what_they_leave(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    """It accepts 3 pods; the other has 4 of 5, and 1 < 3."""
    huge = workload("huge", "a", HUGE, least=3, priority=9)
    low = workload("low", "a", 4, has="f")
    decided = plan(tmp_path, huge, low, options=("--cycles", "3", *options))
    assert decided[0] == ["evict", "team/low", "a", "4/4"]
    assert decided[1] == ["reserve", "team/huge", "a", f"5/{HUGE}"]
    assert ["start", "team/huge", "a", f"5/{HUGE}"] in decided


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (("validate",), "errors: 0"),
        (("queues",), "f/cpu"),
        (("pending", "a"), "team/huge"),
        (("explain", "team/huge"), f"request {HUGE} > potential 5"),
        (("explain", "a"), "f/cpu"),
        (("metrics",), 'kueue_pending_workloads{cluster_queue="a"'),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, tuple) else "",
)
def test_every_question_is_answered(tmp_path: Path, command: tuple[str, ...], told: str) -> None:
    world = write(tmp_path, "world.yaml", QUOTA_OF_5, workload("huge", "a", HUGE), SMALL)
    ran = run_cli(*command, "-f", world)
    assert ran.exit_code == 0, ran.err
    assert told in ran.out
