"""Why a job starts, waits or gives way: gate by gate, node by node, claim by claim."""

from collections import Counter
from collections.abc import Sequence

from fairlead.explain.amount_text import amount_text
from fairlead.explain.best_claim import best_claim
from fairlead.explain.explanation import Explanation, Section
from fairlead.explain.first_few import first_few
from fairlead.explain.job_claims import claim_sections
from fairlead.explain.job_watch import GateLine, JobWatch, OwnTurn, TurnBefore, turns_of
from fairlead.explain.node_standing import NodeStanding
from fairlead.explain.node_table import node_table
from fairlead.explain.plan_report import decision_documents
from fairlead.explain.reason_text import reason_text
from fairlead.model.axes import WorkloadName
from fairlead.model.plan import Decision, Evict, Move, Plan, Reserve, Start, Wait
from fairlead.model.quantity import format_amount
from fairlead.model.state import ClusterState
from fairlead.policy.kai.look_ahead import look_ahead
from fairlead.policy.kai.settings import KaiSettings

SHOWN_TURNS = 10
"""How many of the turns before a job are listed, the nearest ones."""


def explain_kai_job(
    state: ClusterState, settings: KaiSettings, job: WorkloadName, now_ms: int
) -> Explanation:
    """Return all that one cycle at *now_ms* weighs for *job*; *state* is left as it was."""
    restraint = look_ahead(state, settings, now_ms).restraint
    with state.trial():
        turns = turns_of(restraint.cycle(state, settings, now_ms), job)
    with state.trial():
        watch = JobWatch(restraint.cycle(state, settings, now_ms), job, turns)
        watch.run()
    own = watch.own
    sections = [_places(state, job)] if job in state.runs else []
    if own is not None:
        nodes = node_table(own.pods[0], own.standings, own.nodes)
        sections += [_order(len(turns), own, watch.before), _gates(own), nodes]
    sections += claim_sections(state, watch.decisions, watch.victims)
    return Explanation(
        answer=_answer(state, job, watch.decisions),
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


def _answer(state: ClusterState, job: WorkloadName, decisions: list[Decision]) -> str:
    total = state.workloads[job].pod_count()
    started = sum(len(each.placements) for each in decisions if isinstance(each, Start))
    reserved = [each for each in decisions if isinstance(each, Reserve)]
    parts = _losses(decisions, total)
    if started:
        parts.append(f"starts {_of_its_pods(started, total)}")
    if reserved:
        count = sum(len(each.placements) for each in reserved)
        why = reason_text(reserved[-1].reason)
        parts.append(f"has room reserved for {_of_its_pods(count, total)}: {why}")
    for each in decisions:
        if isinstance(each, Wait):
            rest = "other pods of it wait" if parts else "waits"
            parts.append(f"{rest}: {reason_text(each.reason)}")
            best = best_claim(each)
            parts += [f"{best.action}: {reason_text(best.reason)}"] if best else []
    if not parts:
        parts.append("has a place for all of its pods, so there is nothing to decide")
    return f"{job} {'; '.join(parts)}."


def _losses(decisions: list[Decision], total: int) -> list[str]:
    """Say what the job gives up, for whom and why, with the reason of the last loss."""
    evicted = [each for each in decisions if isinstance(each, Evict)]
    moved = [each for each in decisions if isinstance(each, Move)]
    lost = sum(len(each.pods) for each in evicted)
    parts = [f"loses {_of_its_pods(lost, total)}{_to_whom(evicted)}"] if evicted else []
    if moved:
        count = sum(len(each.placements) for each in moved)
        parts.append(f"moves {_of_its_pods(count, total)}{_to_whom(moved)}")
    return parts


def _of_its_pods(count: int, total: int) -> str:
    return "its pod" if total == 1 else f"{count} of its {total} pods"


def _to_whom(given: Sequence[Evict | Move]) -> str:
    names = sorted({each.beneficiary for each in given if each.beneficiary})
    whom = f", for {first_few(names)}" if names else ""
    return f"{whom}: {reason_text(given[-1].reason)}"


def _places(state: ClusterState, job: WorkloadName) -> Section:
    """Say where the pods are that have a place already."""
    pods = state.runs[job].pods.values()
    counts = Counter((placed.node or "no node", placed.phase) for placed in pods)
    rows = [(node, phase, str(count)) for (node, phase), count in sorted(counts.items())]
    return Section(
        title="Pods that have a place already", table=(("NODE", "", "PODS"), *rows), words=2
    )


def _order(turns: int, own: OwnTurn, before: list[TurnBefore]) -> Section:
    shown = before[-SHOWN_TURNS:]
    rows = [(str(each.turn), each.workload, each.queue, each.why) for each in shown]
    left_out = len(before) - len(shown)
    remarks = [f"{left_out} earlier turns are left out."] if left_out else []
    title = f"Its turn was number {own.turn}"
    if turns > 1:
        title = f"It had {turns} turns, the last was number {own.turn}"
    if not before:
        return Section(title=f"{title}: nobody else was before it")
    table = (("TURN", "JOB", "QUEUE", "WAS BEFORE IT BECAUSE"), *rows)
    return Section(title=title, table=table, words=len(table[0]), remarks=tuple(remarks))


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
        "rooms": [_room_document(standing) for standing in own.standings],
    }


def _room_document(standing: NodeStanding) -> dict[str, object]:
    free = [
        {
            "resource": each.axis.resource,
            "now": [format_amount(each.axis.resource, amount) for amount in each.now],
            "later": [format_amount(each.axis.resource, amount) for amount in each.later],
        }
        for each in standing.free
    ]
    return {"node": standing.node, "what": standing.what, "free": free}


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
