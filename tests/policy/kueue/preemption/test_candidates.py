"""Whom a policy allows, by importance and age; and what the searches look at before that."""

from typing import get_args

import pytest

from fairlead.model.axes import QueueName, WorkloadName
from fairlead.policy.kueue.preemption.candidates import (
    Candidates,
    PreemptionPolicy,
    allows,
    cohort_filter,
)
from fairlead.policy.kueue.settings import KueueSettings
from fairlead.policy.kueue.workloads import AdmittedWorkload, Preemptor
from tests.policy.kueue.target_world import story_world
from tests.text_table import rows

# The preemptor has priority 5 and was queued at 10.
TABLE = """
    priority queued | Never LowerPriority LowerOrNewerEqualPriority Any
    4        9      | no    yes           yes                       yes
    4        11     | no    yes           yes                       yes
    5        9      | no    no            no                        yes
    5        10     | no    no            no                        yes
    5        11     | no    no            yes                       yes
    6        11     | no    no            no                        yes
"""


@pytest.mark.parametrize("row", rows(TABLE.replace("|", " ")), ids=str)
def test_a_policy_allows(row: dict[str, str]) -> None:
    queue = QueueName("q")
    preemptor = Preemptor(WorkloadName("c"), queue, 5, (), 10, frozenset())
    admitted = AdmittedWorkload(
        WorkloadName("h"), queue, int(row["priority"]), (), int(row["queued"]), 0
    )
    for policy in get_args(PreemptionPolicy):
        assert allows(policy, preemptor, admitted) == (row[policy] == "yes"), policy


def test_candidates_are_those_of_the_first_time() -> None:
    """Queue b uses 2 of 1; when one has left it borrows nothing, but what was found stays."""
    world = story_world(
        """
        name parent weight nominal borrow lend within reclaim
        root -      1      0       -      -    -      -
        a    root   1      2       -      -    never  any
        b    root   1      1       -      -    never  any
        """,
        """
        name queue amount priority since
        k    a     1      0        0
        b1   b     1      0        1
        b2   b     1      0        2
        """,
        "a 1 0",
        KueueSettings(),
    )
    snapshot, preemptor, b = world.snapshot(), world.preemptor(), QueueName("b")
    others = cohort_filter(snapshot, preemptor, within_nominal=True)
    candidates = Candidates(snapshot, preemptor, others)
    before = [admitted.name for admitted in candidates.of(b)]
    assert before == ["b2", "b1"]
    snapshot.discharge(b, ((0, 1),))
    assert [admitted.name for admitted in candidates.of(b)] == before
    assert Candidates(snapshot, preemptor, others).of(b) == []
    assert candidates.of(QueueName("a")) == []
