"""What the tables of runs say of one measured history."""

from collections.abc import Sequence

import pytest

from fairlead.cli.sim.tables import Column, cell, cluster_columns, has_moves, queue_columns
from fairlead.sim.engine.events import Cause
from fairlead.sim.engine.job import Job
from fairlead.sim.measures.summary import Summary
from tests.sim.measures.histories import Told, event, measure

HOUR_MS = 3_600_000
GPU = "gpu"


def stopped(cause: Cause) -> Summary:
    """One GPU of queue a is lost after an hour, with the work of half an hour."""
    job = Job(name="j", queue="a", submit_ms=0, run_ms=2 * HOUR_MS, requests={GPU: 1000})
    told: list[Told] = [
        event("submit", 0, job, 0),
        event("start", 0, job, 1),
        event("stop", HOUR_MS, job, 1, HOUR_MS // 2, cause),
    ]
    summary, _ = measure(told, 2 * HOUR_MS, resources=(GPU,), parents={"a": None, "b": None})
    return summary


def row(columns: Sequence[Column], summaries: Sequence[Summary]) -> dict[str, str]:
    return {column.title: cell(column, summaries) for column in columns}


@pytest.mark.parametrize(("cause", "is_shown"), [("moved", True), ("evicted", False)])
def test_what_moves_cost_stands_with_the_queue_if_there_were_any(
    cause: Cause, is_shown: bool
) -> None:
    summaries = [stopped(cause)]
    assert has_moves(summaries) == is_shown
    shown = row(queue_columns("a", GPU, with_moves=is_shown), summaries)
    assert shown["LOST GPU-h"] == "0.5"
    moves = {name: text for name, text in shown.items() if "MOVE" in name}
    assert moves == ({"MOVED": "1", "LOST BY MOVES GPU-h": "0.5"} if is_shown else {})
    others = row(queue_columns("b", GPU, with_moves=True), summaries)
    assert (others["MOVED"], others["LOST BY MOVES GPU-h"]) == ("0", "0.0")


def test_a_wait_is_marked_as_a_lower_bound_where_a_job_never_started() -> None:
    """Job x starts after an hour, y never: after 3 hours the waits are 1 and at least 3 hours."""
    x, y = (
        Job(name=name, queue=queue, submit_ms=0, run_ms=HOUR_MS, requests={GPU: 1000})
        for name, queue in (("x", "a"), ("y", "b"))
    )
    told: list[Told] = [
        event("submit", 0, x, 0),
        event("submit", 0, y, 0),
        event("start", HOUR_MS, x, 1),
    ]
    summary, _ = measure(told, 3 * HOUR_MS, resources=(GPU,), parents={"a": None, "b": None})
    waits = [
        row(columns, [summary])["MEAN WAIT"]
        for columns in (
            queue_columns("a", GPU, with_moves=False),
            queue_columns("b", GPU, with_moves=False),
            cluster_columns(GPU),
        )
    ]
    assert waits == ["1h", ">= 3h", ">= 2h"]
