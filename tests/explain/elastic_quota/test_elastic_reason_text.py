"""Reasons under ElasticQuotas read as sentences; each is one that a plan gives."""

import pytest

from fairlead.explain.text.reasons import reason_text
from fairlead.model.axes import Axis, QueueName
from fairlead.model.plan import Comparison, Held, Reason, Relation, Tally, Term

VISION = QueueName("vision")
GPU = Axis("nvidia.com/gpu")
CPU = Axis("cpu")


def compared(axis: Axis | None, *terms: tuple[str, int], relation: Relation) -> Comparison:
    """Return terms compared, in thousandths where they have an axis; the last is the right side."""
    scale = 1 if axis is None else 1000
    *left, right = [Term(name, amount * scale) for name, amount in terms]
    return Comparison(queue=VISION, axis=axis, left=tuple(left), relation=relation, right=right)


def nodes(count: int, what: str) -> Tally:
    return Tally(count=count, of=3, what=what)


CPU_WITHIN = compared(CPU, ("used", 16), ("request", 16), ("min", 32), relation="<=")
WITHIN = compared(GPU, ("used", 2), ("request", 2), ("min", 4), relation="<=")
CPU_BEYOND = compared(CPU, ("used", 48), ("request", 16), ("min", 32), relation=">")
BEYOND = compared(GPU, ("used", 4), ("nominated", 1), ("request", 2), ("min", 4), relation=">")
POOL = compared(GPU, ("used by all", 8), ("request", 2), ("all mins", 10), relation="<=")
OVER = compared(GPU, ("used", 6), ("min", 4), relation=">")
BELOW = compared(GPU, ("left", 3), ("min", 4), relation="<")
NO_POOL = compared(GPU, ("used by all", 9), ("request", 2), ("all mins", 10), relation=">")
NO_MAX = compared(GPU, ("used", 8), ("request", 2), ("max", 8), relation=">")
RANKS = compared(None, ("priority", 100), ("priority", 50), relation=">")
ASKED = (nodes(2, "have no candidates"), nodes(1, "give too little back even then"))

SENTENCES = {
    "gets a place, within its min": (
        Reason(code="WithinMin", queue=VISION, comparisons=(CPU_WITHIN, WITHIN)),
        "within the min of vision: nvidia.com/gpu: used 2 + request 2 <= min 4",
    ),
    "gets a place, and borrows": (
        Reason(code="Borrows", queue=VISION, comparisons=(CPU_BEYOND, BEYOND, POOL)),
        (
            "borrows what other namespaces leave of their mins: "
            "nvidia.com/gpu: used 4 + nominated 1 + request 2 > min 4; "
            "nvidia.com/gpu: used by all 8 + request 2 <= all mins 10"
        ),
    ),
    "gets a place, and is in nobody's books": (
        Reason(code="WithoutQuota"),
        "its namespace has no quota",
    ),
    "takes back": (
        Reason(code="TakesBack", queue=VISION, comparisons=(CPU_WITHIN, WITHIN)),
        "reclaims, within the min of vision: nvidia.com/gpu: used 2 + request 2 <= min 4",
    ),
    "waits for those who leave": (
        Reason(code="WaitsForLeaving", queue=VISION),
        "has a place once terminating pods have left",
    ),
    "preempts in its namespace": (
        Reason(code="Preempts", queue=VISION, comparisons=(RANKS,)),
        "has a higher priority than workloads in vision: priority 100 > priority 50",
    ),
    "preempts without a quota": (
        Reason(code="Preempts", comparisons=(RANKS,)),
        "has a higher priority than running pods without a quota: priority 100 > priority 50",
    ),
    "gives back": (
        Reason(code="MinTakenBack", queue=VISION, comparisons=(OVER,)),
        "vision is over its min: nvidia.com/gpu: used 6 > min 4",
    ),
    "gives more than it borrowed": (
        Reason(code="TakenBelowMin", queue=VISION, comparisons=(OVER, BELOW)),
        (
            "vision is over its min, and falls below it: nvidia.com/gpu: used 6 > min 4; "
            "nvidia.com/gpu: left 3 < min 4"
        ),
    ),
    "gives way to a more important one": (
        Reason(code="PreemptedByPriority", queue=VISION, comparisons=(RANKS,)),
        "has a lower priority: priority 100 > priority 50",
    ),
    "gives way to a more important one, without a quota": (
        Reason(code="PreemptedByPriority", comparisons=(RANKS,)),
        "has a lower priority: priority 100 > priority 50",
    ),
    "is over its max": (
        Reason(code="OverMax", queue=VISION, comparisons=(NO_MAX,)),
        "over the max of vision: nvidia.com/gpu: used 8 + request 2 > max 8",
    ),
    "finds nothing to borrow, and who has it": (
        Reason(
            code="PoolExhausted",
            queue=VISION,
            comparisons=(NO_POOL,),
            held=(Held(queue=VISION, axis=GPU, amount=6_000, borrowed=2_000),),
        ),
        (
            "too little is left of the pool of all mins: nvidia.com/gpu: "
            "used by all 9 + request 2 > all mins 10; over their min: vision 6 (2 borrowed)"
        ),
    ),
    "finds nothing to borrow, and nobody borrows": (
        Reason(code="PoolExhausted", queue=VISION, comparisons=(NO_POOL,)),
        (
            "too little is left of the pool of all mins: nvidia.com/gpu: used by all "
            "9 + request 2 > all mins 10"
        ),
    ),
    "waited for its gang for too long": (
        Reason(code="ScheduleTimedOut", queue=VISION),
        "gives up its places: its pods could not all start within scheduleTimeoutSeconds",
    ),
    "never preempts": (
        Reason(code="NeverPreempts", queue=VISION),
        "its preemptionPolicy is Never",
    ),
    "is beyond its min, and less important pods are no help": (
        Reason(code="BeyondMin", queue=VISION, comparisons=(CPU_BEYOND, BEYOND), tallies=ASKED),
        (
            "over its min, vision may preempt only its own pods of lower priority: "
            "nvidia.com/gpu: used 4 + nominated 1 + request 2 > min 4; "
            "2 of 3 nodes have no candidates, 1 gives too little back even then"
        ),
    ),
    "is beyond its min, and nobody is less important": (
        Reason(code="BeyondMin", queue=VISION, comparisons=(CPU_BEYOND, BEYOND)),
        (
            "over its min, vision may preempt only its own pods of lower "
            "priority, of which there are none: "
            "nvidia.com/gpu: used 4 + nominated 1 + request 2 > min 4"
        ),
    ),
    "is entitled to a place, and nobody borrows": (
        Reason(code="NobodyBorrows", queue=VISION),
        "no other namespace is over its min (terminating pods not counted)",
    ),
    "is no more important than others without a quota": (
        Reason(code="NobodyLessImportant"),
        "no pod of lower priority runs without a quota",
    ),
    "asks everybody in vain": (
        Reason(code="NoRoomWithVictims", queue=VISION, tallies=ASKED),
        (
            "no set of victims makes enough room: "
            "2 of 3 nodes have no candidates, 1 gives too little back even then"
        ),
    ),
    "asks everybody in vain, for a gang": (
        Reason(code="NoRoomWithVictims", queue=VISION),
        "no eviction makes enough room",
    ),
    "waits for pods around": (
        Reason(code="NoNodeFits", tallies=(nodes(1, "wait for other pods to terminate"),)),
        "fits no node: 1 of 3 nodes waits for other pods to terminate",
    ),
}


@pytest.mark.parametrize(("reason", "text"), SENTENCES.values(), ids=SENTENCES.keys())
def test_a_reason_reads_as_a_sentence(reason: Reason, text: str) -> None:
    assert reason_text(reason) == text


def test_nobody_less_important_in_a_queue_is_said_of_the_queue() -> None:
    """Under KAI's rules the numbers are missing where a queue holds nothing."""
    reason = Reason(code="NobodyLessImportant", queue=VISION)
    assert reason_text(reason) == "no workload of lower priority runs in vision"
