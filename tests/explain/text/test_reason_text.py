"""Reasons read as sentences, and say every number that they hold."""

import math

import pytest

from fairlead.explain.text.phrases import all_phrases
from fairlead.explain.text.reasons import reason_text
from fairlead.model.axes import Axis, QueueName
from fairlead.model.plan import Comparison, Held, Reason, Relation, Tally, Term

TEAM = QueueName("team")
PHRASES, SHORTER = all_phrases().phrases, all_phrases().shorter


def compared(axis: str, held: str, amount: int, relation: Relation, right: Term) -> Comparison:
    left = (Term(held, amount), Term("request", 4000))
    return Comparison(queue=TEAM, axis=Axis(axis), left=left, relation=relation, right=right)


LIMIT = compared("gpu", "allocated", 14_000, ">", Term("limit", 16_000))
QUOTA = compared("gpu", "non-preemptible", 6_000, ">", Term("quota", 8_000))
CPU = compared("cpu", "allocated", 1_000, "<=", Term("quota", None))
GPU = compared("gpu", "allocated", 0, "<=", Term("quota", 8_000))

OTHER = QueueName("other")


def alone(axis: str, amount: int, right: Term) -> Comparison:
    left = (Term("allocated", amount),)
    return Comparison(queue=OTHER, axis=Axis(axis), left=left, relation=">", right=right)


BEYOND_IN_CPU = alone("cpu", 9_000, Term("quota", 8_000))
BEYOND_IN_GPU = alone("gpu", 9_000, Term("quota", 8_000))
FULLER = Comparison(
    queue=TEAM,
    axis=Axis("gpu"),
    left=(Term("saturation", 4 / 3, TEAM),),
    relation=">=",
    right=Term("saturation", 1.25, OTHER),
)


CPU_LACKS = Comparison(
    queue=OTHER,
    axis=Axis("cpu", "red"),
    left=(Term("request", 4000),),
    relation=">",
    right=Term("available", 1500),
)
GPU_LACKS = Comparison(
    queue=TEAM,
    axis=Axis("gpu", "red"),
    left=(Term("least request", 2000),),
    relation=">",
    right=Term("available", 0),
)
OLDER = Comparison(
    queue=TEAM,
    axis=None,
    left=(Term("queued at", 1_794_816_000_000),),
    relation="<",
    right=Term("queued at", 1_794_819_600_999),
)
SHARES = Comparison(
    queue=OTHER,
    axis=None,
    left=(Term("later share", 250.0, TEAM),),
    relation="<=",
    right=Term("later share", math.inf, OTHER),
)


def held(queue: str, resource: str, amount: int, borrowed: int) -> Held:
    axis = Axis(resource, "red")
    return Held(queue=QueueName(queue), axis=axis, amount=amount, borrowed=borrowed)


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
                "over the quota, and not preemptible: "
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
                "fits no node: 5 of 8 nodes have too little free memory, 2 are "
                "not ready, 1 has a host port taken, "
                "1 of 4 pods found a place"
            ),
        ),
        (
            Reason(code="UnsupportedConstraint", names=("resourceClaims", "volumes.rbd")),
            "Fairlead cannot judge this job: it uses resourceClaims, volumes.rbd",
        ),
        (Reason(code="QueueDoesNotExist", queue=TEAM), "queue team does not exist"),
        (Reason(code="QueueDoesNotExist", queue=QueueName("")), "names no queue"),
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
            "its gang was incomplete for too long: 1 of 3 pods that the job needs runs",
        ),
        (
            Reason(
                code="ReclaimedByQuota",
                queue=OTHER,
                comparisons=(GPU, BEYOND_IN_CPU, BEYOND_IN_GPU),
            ),
            (
                "other is over its quota: gpu: allocated 0 + request 4 <= quota 8 at team; "
                "gpu: allocated 9 > quota 8"
            ),
        ),
        (
            Reason(code="ReclaimedByQuota", queue=OTHER, comparisons=(GPU, BEYOND_IN_CPU)),
            "other is over its quota: cpu: allocated 9 > quota 8",
        ),
        (
            Reason(code="WouldBeFuller", queue=OTHER, comparisons=(FULLER,)),
            (
                "would be more saturated than other: gpu: saturation of team 1.333 "
                ">= saturation of other 1.25"
            ),
        ),
        (
            Reason(code="ProtectedByMinRuntime", names=("x/tune",), remaining_ms=12 * 60_000 - 400),
            "x/tune is protected by its min runtime for 12m more",
        ),
        (
            Reason(code="NobodyToAsk", names=("jobs of other queues that can be preempted",)),
            "there are no jobs of other queues that can be preempted",
        ),
        (
            Reason(
                code="OverQuota",
                queue=TEAM,
                comparisons=(
                    compared("cpu", "allocated", 5_000, ">", Term("quota", 8_000)),
                    compared("gpu", "allocated", 6_000, ">", Term("quota", 8_000)),
                    Comparison(
                        queue=OTHER,
                        axis=Axis("gpu"),
                        left=(Term("request", 4_000),),
                        relation="<=",
                        right=Term("available", 5_000),
                    ),
                ),
            ),
            (
                "on idle capacity beyond the quota of team: gpu: allocated 6 + "
                "request 4 > quota 8; "
                "gpu: request 4 <= available 5 at other"
            ),
        ),
        (
            Reason(
                code="WaitingForQuota",
                queue=OTHER,
                comparisons=(CPU_LACKS,),
                held=(held("x", "cpu", 6500, 2000), held("y", "cpu", 1000, 0)),
            ),
            (
                "waits for quota at other: red/cpu: request 4 > available 1.5; "
                "held by x 6.5 (2 borrowed), y 1"
            ),
        ),
        (
            Reason(
                code="WaitingForQuota",
                queue=OTHER,
                comparisons=(CPU_LACKS, GPU_LACKS),
                held=(held("x", "cpu", 6000, 0), held("x", "gpu", 8000, 0)),
            ),
            (
                "waits for quota at other: red/cpu: request 4 > available 1.5; "
                "red/gpu: least request 2 > available 0 at team; held by x 8 of red/gpu"
            ),
        ),
        (
            Reason(code="WaitingForQuota", queue=TEAM),
            "waits for quota in team, where other workloads came first",
        ),
        (
            Reason(code="NoMatchingFlavor", queue=TEAM, names=("red lacks zone=b",)),
            "no flavor matches its pods: red lacks zone=b",
        ),
        (Reason(code="NoMatchingFlavor", queue=TEAM), "no flavor matches its pods"),
        (Reason(code="Suspended", queue=TEAM), "held back: team is stopped"),
        (Reason(code="Suspended"), "suspended by its owner"),
        (
            Reason(code="BackOff", remaining_ms=59_001),
            "held back after evictions, for 1m more",
        ),
        (
            Reason(code="BehindHead", queue=TEAM, names=("x/first",)),
            "waits behind x/first, the first of team",
        ),
        (
            Reason(code="InClusterQueue", queue=TEAM, comparisons=(OLDER,)),
            (
                "is preempted within team: "
                "queued at 2026-11-16T08:00:00Z < queued at 2026-11-16T09:00:00Z"
            ),
        ),
        (
            Reason(code="InCohortFairSharing", queue=OTHER, comparisons=(SHARES,)),
            (
                "other borrows more than its fair share: later share of team 250 <= "
                "later share of other inf"
            ),
        ),
        (Reason(code="WouldBeEvicted", queue=TEAM), SHORTER["WouldBeEvicted"][0]),
        (Reason(code="SomethingNew", queue=TEAM), "SomethingNew"),
    ],
    ids=lambda value: value.code if isinstance(value, Reason) else "",
)
def test_a_reason_reads_as_a_sentence(reason: Reason, text: str) -> None:
    assert reason_text(reason) == text


@pytest.mark.parametrize("code", SHORTER)
def test_only_a_phrase_with_places_to_fill_has_a_bare_one(code: str) -> None:
    assert "{" in PHRASES[code]
