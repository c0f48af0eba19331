"""Why a job starts, waits or gives way: gate by gate, node by node, claim by claim."""

from collections.abc import Sequence

from fairlead.explain.amount_text import amount_text
from fairlead.explain.explanation import Explanation, Section
from fairlead.explain.job_answer import job_answer
from fairlead.explain.job_claims import claim_sections
from fairlead.explain.job_watch import GateLine, JobWatch, OwnTurn, turns_of
from fairlead.explain.node_standing import room_document
from fairlead.explain.node_table import node_table
from fairlead.explain.plan_report import decision_documents
from fairlead.explain.pod_places import places_section
from fairlead.explain.turns_before import TurnBefore, turns_section
from fairlead.model.axes import WorkloadName
from fairlead.model.plan import Decision, Plan
from fairlead.model.quantity import format_amount
from fairlead.model.state import ClusterState
from fairlead.policy.kai.api import new_cycle, planned_restraint
from fairlead.policy.kai.settings import KaiSettings


def explain_kai_job(
    state: ClusterState, settings: KaiSettings, job: WorkloadName, now_ms: int
) -> Explanation:
    """Return all that one cycle at *now_ms* weighs for *job*; *state* is left as it was."""
    restraint = planned_restraint(state, settings, now_ms)
    with state.trial():
        turns = turns_of(new_cycle(state, settings, now_ms, restraint), job)
    with state.trial():
        watch = JobWatch(new_cycle(state, settings, now_ms, restraint), job, turns)
        watch.run()
    own = watch.own
    sections = [places_section(state, job)] if job in state.runs else []
    if own is not None:
        nodes = node_table(own.pods[0], own.standings, own.nodes)
        sections += [_order(len(turns), own, watch.before), _gates(own), nodes]
    sections += claim_sections(state, watch.decisions, watch.victims)
    return Explanation(
        answer=job_answer(state, job, watch.decisions),
        sections=tuple(sections),
        data={
            "job": job,
            "queue": state.workloads[job].queue,
            "decisions": _documents(state, watch.decisions, now_ms),
            "victims": _documents(state, watch.victims, now_ms),
            "turns": len(turns),
            "turn": _turn_document(own),
            "before": watch.before,
        },
    )


def _documents(state: ClusterState, decisions: Sequence[Decision], now_ms: int) -> list[object]:
    return decision_documents(state, Plan(taken_ms=now_ms, decisions=tuple(decisions)))


def _order(turns: int, own: OwnTurn, before: list[TurnBefore]) -> Section:
    title = f"Its turn was number {own.turn}"
    if turns > 1:
        title = f"It had {turns} turns, the last was number {own.turn}"
    return turns_section(title, before)


def _gates(own: OwnTurn) -> Section:
    head = ("QUEUE", "RESOURCE", "GATES", "ALLOCATED", "REQUEST", "LIMIT", "QUOTA", "FAIR SHARE")
    pods = f"{len(own.pods)} pods together" if len(own.pods) > 1 else "1 pod"
    return Section(
        title=f"What its queue and those above allow, for {pods}",
        table=(head, *map(_gate_row, own.gates)),
        words=3,
    )


def _gate_row(line: GateLine) -> tuple[str, ...]:
    refused = []
    if not line.is_within_limit:
        refused.append("over the limit")
    if line.is_within_quota is False:
        held = amount_text(line.axis, line.non_preemptible)
        refused.append(f"over the quota, of which {held} is held for good")
    numbers = (line.allocated, line.request, line.limit, line.quota, line.fair_share)
    return (
        line.queue,
        str(line.axis),
        " and ".join(refused) or "pass",
        *(amount_text(line.axis, number) for number in numbers),
    )


def _turn_document(own: OwnTurn | None) -> dict[str, object] | None:
    """Return the turn as programs read it; None where the job had none."""
    if own is None:
        return None
    return {
        "turn": own.turn,
        "pods": own.pods,
        "gates": [_gate_document(line) for line in own.gates],
        "nodes": own.nodes,
        "rooms": [room_document(standing) for standing in own.standings],
    }


def _gate_document(line: GateLine) -> dict[str, object]:
    amounts = {
        "allocated": line.allocated,
        "nonPreemptible": line.non_preemptible,
        "request": line.request,
        "limit": line.limit,
        "quota": line.quota,
        "fairShare": line.fair_share,
    }
    texts = {
        name: None if amount is None else format_amount(line.axis.resource, amount)
        for name, amount in amounts.items()
    }
    return {
        "queue": line.queue,
        "resource": str(line.axis),
        **texts,
        "withinLimit": line.is_within_limit,
        "withinQuota": line.is_within_quota,
    }
