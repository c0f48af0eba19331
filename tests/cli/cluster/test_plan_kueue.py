"""``fairlead plan`` with Kueue's objects: quota is shared, so flavors stand where nodes did."""

import json
from pathlib import Path

from tests.cli.kueue_manifests import FAIR, queue, workload
from tests.cli.manifests import write
from tests.cli.run_cli import run_cli

NOW = ("--now", "2026-11-16T09:00:00Z")
PREEMPTS = "preemption: {reclaimWithinCohort: Any}"
SETTINGS = """
apiVersion: fairlead/v1
kind: Settings
spec: {kueue: {minRunTime: 1h}}
"""


def rows(folder: Path, objects: tuple[str, ...], *options: str) -> list[list[str]]:
    """Return the first five words of every line of the table."""
    ran = run_cli("plan", "-f", write(folder, "world.yaml", *objects), *NOW, *options)
    assert ran.exit_code == 0, ran.err
    return [line.split()[:5] for line in ran.answer.splitlines() if line]


def test_no_nodes_are_needed_and_flavors_are_shown(tmp_path: Path) -> None:
    head, one, *_ = rows(tmp_path, (queue("a", f=4), workload("one", "a", 3)))
    assert head == ["DECISION", "JOB", "QUEUE", "PODS", "FLAVORS"]
    assert one == ["start", "team/one", "a", "3/3", "f"]


def test_nothing_to_plan_is_no_error(tmp_path: Path) -> None:
    assert rows(tmp_path, (queue("a", f=4),)) == [["nothing", "waits"]]


def test_a_row_tells_who_holds_what_lacks_and_why_nobody_gives_way(tmp_path: Path) -> None:
    """The cohort has 4 + 2; b uses 5, 3 of them borrowed, and a the last one."""
    world = (
        queue("a", "all", PREEMPTS, f=4),
        queue("b", "all", f=2),
        workload("guest", "b", 5, has="f"),
        workload("own", "a", 1, has="f"),
        workload("one", "a", 4),
    )
    ran = run_cli("plan", "-f", write(tmp_path, "world.yaml", *world), *NOW)
    (row,) = [line for line in ran.out.splitlines() if "team/one" in line]
    assert row.endswith(
        "waits for quota at cohort/all: f/cpu: request 4 > available 0; "
        "held by b 5 (3 borrowed), a 1; "
        "preemption: it would borrow, and may not preempt while borrowing: "
        "f/cpu: allocated 1 + request 4 > quota 4"
    )


TAKES_BACK = (
    queue("a", "all", PREEMPTS, f=4),
    queue("b", "all", PREEMPTS, f=2),
    workload("guest", "b", 6, has="f"),
    workload("owner", "a", 4),
)


def test_cycles_end_at_rest_and_who_was_evicted_waits_in_its_old_place(tmp_path: Path) -> None:
    """The guest asks for 6 of 2 + 4, of which the owner has 4; one who came later needs 2."""
    world = (*TAKES_BACK, workload("later", "b", 2, minute=5))
    told = rows(tmp_path, world, "--cycles", "9")
    decided = [row[:2] for row in told if row[0] in ("cycle", "evict", "reserve", "start", "wait")]
    assert decided == [
        ["cycle", "1"],
        ["evict", "team/guest"],
        ["reserve", "team/owner"],
        ["wait", "team/later"],
        ["cycle", "2"],
        ["start", "team/owner"],
        ["start", "team/later"],
        ["wait", "team/guest"],
        ["cycle", "3"],
        ["wait", "team/guest"],
    ]


def test_no_more_cycles_are_shown_than_are_asked_for(tmp_path: Path) -> None:
    told = rows(tmp_path, TAKES_BACK, "--cycles", "2")
    assert [row for row in told if row[0] == "cycle"] == [["cycle", "1"], ["cycle", "2"]]


SHARING = (
    FAIR,
    SETTINGS,
    queue("a", "all", PREEMPTS, f=0),
    queue("b", "all", f=0),
    queue("pool", "all", f=8),
    workload("first", "b", 4, has="f"),
    workload("second", "b", 4, has="f"),
    workload("claim", "a", 3),
)


def test_faithful_switches_off_what_kueue_cannot_do(tmp_path: Path) -> None:
    """Both of b have had quota for 30 minutes, and are protected for an hour."""
    held_back = rows(tmp_path, SHARING)
    assert [row[0] for row in held_back[1:2]] == ["wait"]
    assert [row[0] for row in rows(tmp_path, SHARING, "--faithful")[1:3]] == ["evict", "reserve"]


def test_faithful_counts_in_explanations_too(tmp_path: Path) -> None:
    file = write(tmp_path, "world.yaml", *SHARING)
    codes = []
    for option in ((), ("--faithful",)):
        ran = run_cli("explain", "team/claim", "-f", file, *NOW, *option, "-o", "json")
        (decision,) = json.loads(ran.out)["decisions"]
        codes.append(decision["reason"]["code"])
    assert codes == ["WaitingForQuota", "WaitingForPreemptedWorkloads"]
