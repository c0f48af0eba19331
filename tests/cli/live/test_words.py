"""The sentences that users read about decisions of a live scheduler."""

from fairlead.cli.live.words import LiveWords
from fairlead.model.axes import WorkloadName
from fairlead.model.events import Placement
from fairlead.model.plan import Evict, FailedClaim, Reason, Reserve, Tally, Unknown, Wait
from fairlead.model.workload import PodId

JOB = WorkloadName("a/p")
TALLY = Tally(count=3, of=8, what="lack cpu")
NO_ROOM = Reason(code="NoNodeFits", tallies=(TALLY,))


def test_a_wait_says_why_and_what_its_best_claim_came_to() -> None:
    claim = FailedClaim(action="preemption", reason=Reason(code="NeverPreempts"))
    assert LiveWords().waiting(Wait(workload=JOB, reason=NO_ROOM)) == (
        "fits no node: 3 of 8 nodes have too little free cpu"
    )
    assert LiveWords().waiting(Wait(workload=JOB, reason=NO_ROOM, claims=(claim,))) == (
        "fits no node: 3 of 8 nodes have too little free cpu; "
        "preemption: its preemptionPolicy is Never"
    )


def test_what_cannot_be_judged_says_because_of_what() -> None:
    reason = Reason(code="UnsupportedConstraint", names=("resourceClaims",))
    assert LiveWords().waiting(Unknown(workload=JOB, reason=reason)) == (
        "Fairlead cannot judge this job: it uses resourceClaims"
    )


def test_a_reservation_names_the_nodes() -> None:
    reserved = Reserve(
        workload=JOB,
        placements=(Placement(PodId("1"), "n1"), Placement(PodId("2"), "n1")),
        charged=(),
        waits_for=(),
        reason=Reason(code="WaitsForLeaving"),
    )
    assert LiveWords().waiting(reserved) == (
        "waits for room on n1: has a place once terminating pods have left"
    )


def test_an_eviction_names_the_workload_that_it_is_for() -> None:
    reason = Reason(code="ScheduleTimedOut")
    text = "gives up its places: its pods could not all start within scheduleTimeoutSeconds"
    for beneficiary, said in ((WorkloadName("b/q"), f"gives way to b/q: {text}"), (None, text)):
        evict = Evict(workload=JOB, pods=(), beneficiary=beneficiary, reason=reason)
        assert LiveWords().evicted(evict) == said


def test_a_sentence_is_one_printable_line() -> None:
    reason = Reason(code="UnsupportedConstraint", names=("a\nb\x1b[31m",))
    assert LiveWords().waiting(Unknown(workload=JOB, reason=reason)).isprintable()
