"""Reasons read as sentences, and say every number that they hold."""

import pytest

from fairlead.explain.reason_text import reason_text
from fairlead.model.axes import Axis, QueueName
from fairlead.model.plan import Comparison, Reason, Relation, Tally, Term

TEAM = QueueName("team")


def compared(axis: str, held: str, amount: int, relation: Relation, right: Term) -> Comparison:
    left = (Term(held, amount), Term("request", 4000))
    return Comparison(queue=TEAM, axis=Axis(axis), left=left, relation=relation, right=right)


LIMIT = compared("gpu", "allocated", 14_000, ">", Term("limit", 16_000))
QUOTA = compared("gpu", "non-preemptible", 6_000, ">", Term("quota", 8_000))
CPU = compared("cpu", "allocated", 1_000, "<=", Term("quota", None))
GPU = compared("gpu", "allocated", 0, "<=", Term("quota", 8_000))


def nodes(count: int, what: str) -> Tally:
    return Tally(count=count, of=8, what=what)


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        (
            Reason(code="OverLimit", queue=TEAM, comparisons=(LIMIT,)),
            "over the limit: gpu: allocated 14 + request 4 > limit 16 at team",
        ),
        (
            Reason(code="NonPreemptibleOverQuota", queue=TEAM, comparisons=(QUOTA,)),
            (
                "over the quota, and it cannot be preempted: "
                "gpu: non-preemptible 6 + request 4 > quota 8 at team"
            ),
        ),
        (
            Reason(code="WithinQuota", queue=TEAM, comparisons=(CPU, GPU)),
            "within the quota of team: gpu: allocated 0 + request 4 <= quota 8",
        ),
        (
            Reason(code="WithinQuota", queue=TEAM, comparisons=(CPU,)),
            "within the quota of team: cpu: allocated 1 + request 4 <= unlimited quota",
        ),
        (
            Reason(
                code="NoNodeFits",
                tallies=(
                    nodes(5, "lack memory"),
                    nodes(2, "are not ready"),
                    nodes(1, "have a host port taken"),
                    Tally(count=1, of=4, things="pods", what="found a place"),
                ),
            ),
            (
                "fits no node: 5 of 8 nodes lack memory, 2 are not ready, 1 has a host port taken, "
                "1 of 4 pods found a place"
            ),
        ),
        (
            Reason(code="UnsupportedConstraint", names=("resourceClaims", "volumes.rbd")),
            "has a constraint that is not supported: resourceClaims, volumes.rbd",
        ),
        (Reason(code="QueueDoesNotExist", queue=TEAM), "queue team does not exist"),
        (Reason(code="QueueDoesNotExist", queue=QueueName("")), "it names no queue"),
        (
            Reason(
                code="SchedulingGated",
                tallies=(Tally(count=1, of=1, things="pods", what="have a scheduling gate"),),
            ),
            "held back: 1 of 1 pod has a scheduling gate",
        ),
        (
            Reason(
                code="NotReady",
                tallies=(
                    Tally(count=0, of=1, things="pods that leader needs", what="are there"),
                    Tally(count=2, of=3, things="pods that workers needs", what="are there"),
                ),
            ),
            (
                "not complete: 0 of 1 pod that leader needs is there, "
                "2 of 3 pods that workers needs are there"
            ),
        ),
        (
            Reason(
                code="StaleGang",
                tallies=(Tally(count=1, of=3, things="pods that the job needs", what="run"),),
            ),
            "incomplete for too long: 1 of 3 pods that the job needs runs",
        ),
        (Reason(code="SomethingNew", queue=TEAM), "SomethingNew"),
    ],
    ids=lambda value: value.code if isinstance(value, Reason) else "",
)
def test_a_reason_reads_as_a_sentence(reason: Reason, text: str) -> None:
    assert reason_text(reason) == text
