"""Asks the gates what KAI answered: limit, and non-preemptible over quota.

Takes cases of the kind ``capacity`` of the schema ``kai-oracle/1``. The recorded sums of a queue
need not be those of its children, so they are put into the state as they are, without jobs.

``firstPodOnNode`` is a second look that KAI takes at a pod on the node that is tried. There it
counts a pod of several whole devices as one device. The first look has counted them all, so this
decides nothing; the gates do not repeat it, and the slip is restated here, in `_seen_at_node`.
"""

import json
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from fairlead.model.axes import Amounts, QueueName
from fairlead.model.events import QueueChanged
from fairlead.model.plan import Reason
from fairlead.model.queue import Queue
from fairlead.model.state import ClusterState
from fairlead.policy.kai.fair_share.capacity import over_quota, refusal
from tests.conformance.kai_amounts import AXES, RESOURCES, amounts, limits, request
from tests.conformance.kai_division import MALFORMED, named_in
from tests.conformance.outcome import Outcome

Json = dict[str, Any]
KIND = "capacity"
CHECKS = ("job", "nonPreemptibleOnly", "firstPodOnNode")
HUNDREDTH = Decimal("0.01")


def check(case: Json) -> list[Outcome]:
    """Compare the three checks of the case; a malformed case fails, with the reason."""
    identity = named_in(case, "id")
    try:
        result = case["result"]
        expected = {key: result[key] for key in CHECKS} | (result.get("exactArithmetic") or {})
        got = _answers(case)
    except MALFORMED as problem:
        note = f"malformed case: {type(problem).__name__}: {problem}"
        return [Outcome(id=identity, kind=KIND, status="failed", note=note)]
    differing = [key for key in CHECKS if expected[key] != got[key]]
    if not differing:
        return [Outcome(id=identity, kind=KIND, status="passed")]
    return [
        Outcome(
            id=identity,
            kind=KIND,
            status="failed",
            expected=json.dumps({key: expected[key] for key in differing}),
            got=json.dumps({key: got[key] for key in differing}),
            note=str(case.get("why", "")),
        )
    ]


def _answers(case: Json) -> Json:
    state, job = recorded_state(case), case["job"]
    path = state.path(QueueName(job["queue"]))
    pods = [request(_rounded(pod)) for pod in job["pods"]]
    whole: Amounts = tuple(map(sum, zip(*pods, strict=True)))
    preemptible = job["preemptible"]
    first = request(_seen_at_node(_rounded(job["pods"][0])))
    return {
        "job": _told(refusal(state, path, whole, preemptible=preemptible)),
        "nonPreemptibleOnly": _told(None if preemptible else over_quota(state, path, whole)),
        "firstPodOnNode": _told(refusal(state, path, first, preemptible=preemptible)),
    }


def recorded_state(case: Json) -> ClusterState:
    """The queues of the case with the sums that they are said to have, and no jobs."""
    state = ClusterState(RESOURCES, AXES)
    for queue in case["queues"]:
        name = QueueName(queue["name"])
        state.apply(
            QueueChanged(
                Queue(
                    name=name,
                    parent=QueueName(queue["parent"]) if queue["parent"] else None,
                    weights=(Decimal(1),) * len(AXES),
                    guaranteed=limits(queue, "deserved", absent=0),
                    ceiling=limits(queue, "limit", absent=None),
                    borrow_limit=AXES.unlimited,
                    lend_limit=AXES.unlimited,
                )
            )
        )
    for queue in case["queues"]:
        sums = state.sums[QueueName(queue["name"])]
        sums.allocated[:] = amounts(queue, "allocated")
        sums.non_preemptible[:] = amounts(queue, "allocatedNonPreemptible")
    return state


def _rounded(pod: Json) -> Json:
    """The pod with its part of a device in hundredths, as queues are charged for it."""
    share = Decimal(str(pod.get("gpu", 0)))
    return pod | {"gpu": share.quantize(HUNDREDTH, rounding=ROUND_HALF_UP)}


def _seen_at_node(pod: Json) -> Json:
    return pod | {"gpu": min(pod["gpu"], 1)}


def _told(reason: Reason | None) -> Json:
    if reason is None:
        return {"schedulable": True}
    (comparison,) = reason.comparisons
    if not comparison.holds() or comparison.queue != reason.queue:
        raise ValueError(f"the numbers do not bear out the refusal: {comparison}")
    return {
        "schedulable": False,
        "reason": reason.code,
        "queue": reason.queue,
        "resource": str(comparison.axis),
    }
