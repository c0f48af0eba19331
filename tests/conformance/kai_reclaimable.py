"""Asks the judge of reclaim what KAI answered: may a job reclaim, may these evictions stand.

Takes cases of the kind ``reclaimable`` of the schema ``kai-oracle/1``. KAI takes victims in the
order of a hash table, and where that decides, it gave both answers; ours takes them as listed. The
numbers told for an answer must bear it out, in every case.
"""

import json
from fractions import Fraction
from typing import Any

from fairlead.model.axes import QueueName
from fairlead.model.state import ClusterState
from fairlead.policy.kai.fair_share.shares import KaiShare, allocatable
from fairlead.policy.kai.reasons.evidence import VerdictEvidence, explain_verdict
from fairlead.policy.kai.reclaimable import (
    Loss,
    Reclaimer,
    ReclaimJudge,
    allocated_now,
    losses_of,
    reclaim_refusal,
)
from tests.conformance.kai_amounts import AXES, amounts, next_job, request
from tests.conformance.kai_capacity import recorded_state
from tests.conformance.kai_division import MALFORMED, exact_number, named_in
from tests.conformance.outcome import Outcome

Json = dict[str, Any]
KIND = "reclaimable"


def check(case: Json) -> list[Outcome]:
    """Compare both answers of the case; a malformed case fails, with the reason."""
    identity = named_in(case, "id")
    try:
        expected, got = _accepted(case["result"]), _answers(case)
    except MALFORMED as problem:
        note = f"malformed case: {type(problem).__name__}: {problem}"
        return [Outcome(id=identity, kind=KIND, status="failed", note=note)]
    differing = [key for key in expected if got[key] not in expected[key]]
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


def _accepted(result: Json) -> dict[str, list[bool]]:
    """Every answer that is right for us: the exact one alone, where it is told apart."""
    varied = result["alternatives"] if result.get("varies") else [result["reclaimable"]]
    accepted = {"canReclaim": [result["canReclaim"]], "reclaimable": varied}
    exact = result.get("exactArithmetic") or {}
    return accepted | {key: [answer] for key, answer in exact.items()}


def _answers(case: Json) -> dict[str, bool]:
    state = recorded_state(case)
    shares = {QueueName(queue["name"]): _share(state, queue) for queue in case["queues"]}
    job = case["reclaimer"]
    reclaimer = Reclaimer(
        queue=QueueName(job["queue"]), request=next_job(job), preemptible=job["preemptible"]
    )
    reason = reclaim_refusal(
        state, shares[reclaimer.queue], reclaimer.request, preemptible=reclaimer.preemptible
    )
    judge = ReclaimJudge(
        state,
        shares,
        reclaimer,
        allocated=allocated_now(state),
        multiplier=max(Fraction(1), exact_number(case["multiplier"])),
    )
    losses = [loss for victim in case["victims"] for loss in _losses(victim, case)]
    verdict = judge.judge(losses)
    _check_evidence(explain_verdict(judge, losses, verdict), stands=verdict.stands)
    return {"canReclaim": reason is None, "reclaimable": verdict.stands}


def _losses(victim: Json, case: Json) -> list[Loss]:
    """What is lost by a victim: what was moved only where moving is no way out."""
    evicted = [
        None if pod.get("moved") and case["consolidation"] else request(pod)
        for pod in victim["evicted"]
    ]
    return losses_of(QueueName(victim["queue"]), evicted, victim["minMember"])


def _share(state: ClusterState, row: Json) -> KaiShare:
    queue = state.queues[QueueName(row["name"])]
    fair_share, held = amounts(row, "fairShare"), amounts(row, "allocated")
    return KaiShare(
        queue=queue.name,
        requested=held,
        fair_share=fair_share,
        allocatable=tuple(map(allocatable, queue.guaranteed, queue.ceiling, fair_share)),
        usage_e9=AXES.zero,
    )


def _check_evidence(evidence: VerdictEvidence, *, stands: bool) -> None:
    told = [each.comparisons for each in evidence.losses]
    if evidence.refusal is not None:
        told.append(evidence.refusal.comparisons)
    if stands != (evidence.refusal is None) or not all(told):
        raise ValueError("the numbers do not say what the verdict says")
    for comparison in (each for comparisons in told for each in comparisons):
        if not comparison.holds():
            raise ValueError(f"the numbers do not bear out the verdict: {comparison}")
