"""Why a workload under ElasticQuotas starts, waits or is preempted: rules, nodes, candidates.

The plan itself decides; here it is asked what it decided about one workload, and what it weighed.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from fairlead.explain.elastic_quota.holding import (
    elastic_holding,
    holding_document,
    holding_section,
)
from fairlead.explain.elastic_quota.turn import ElasticJobView, ElasticTurn, RuleLine, elastic_turn
from fairlead.explain.jobs.answer import (
    TurnBefore,
    claim_sections,
    job_answer,
    turns_section,
    why_older_or_higher,
)
from fairlead.explain.jobs.nodes import node_table, room_document
from fairlead.explain.plan.pods import places_section
from fairlead.explain.plan.report import decision_documents
from fairlead.explain.text.explanation import Explanation, Section
from fairlead.explain.text.names import first_few
from fairlead.explain.text.reasons import reason_text, verb_agrees
from fairlead.model.axes import WorkloadName
from fairlead.model.plan import Reserve
from fairlead.model.state import ClusterState
from fairlead.policy.elastic_quota.api import NodeOutcome, Outcome
from fairlead.policy.elastic_quota.settings import ElasticQuotaSettings

SHOWN_CHOICES: Final = 5
"""How many nodes are shown where it could have room: the one taken, then by the least harm."""

_OUTCOMES: Final[dict[Outcome, str]] = {
    "no-victim-needed": "have room without an eviction",
    "no-victims": "have no candidates",
    "does-not-fit": "have too little room even without all candidates",
    "quota": "give too little quota back even without all candidates",
    "error": "fail by an error of the plugin",
}


def explain_elastic_job(
    state: ClusterState, settings: ElasticQuotaSettings, job: WorkloadName, now_ms: int
) -> Explanation:
    """Return what a plan at *now_ms* decides about *job*, and by which numbers.

    *state* is left as it was. Cost: that of two plans, and a judgement of each node.
    """
    view = ElasticJobView(state, settings, job, now_ms)
    holding, turn, before = elastic_holding(view), elastic_turn(view), _before(view)
    sections = [places_section(state, job)] if job in state.runs else []
    if holding is not None:
        sections.append(holding_section(holding))
    if turn is not None:
        title = f"Its turn was number {len(before) + 1} of {len(view.line())}"
        sections += [turns_section(title, before), *_turn_sections(view, turn)]
    sections += claim_sections(state, view.decisions, view.victims)
    if view.gainers():
        sections.append(_gainers_section(view))
    return Explanation(
        answer=job_answer(state, job, view.decisions),
        sections=tuple(sections),
        data={
            "job": job,
            "queue": view.workload.queue,
            "decisions": decision_documents(state, view.decisions),
            "victims": decision_documents(state, view.victims),
            "holding": None if holding is None else holding_document(holding),
            "turn": None if turn is None else _turn_document(view, turn),
            "before": before,
            "gainers": decision_documents(state, view.gainers()),
        },
    )


def _before(view: ElasticJobView) -> list[TurnBefore]:
    """Return what had a turn before it, in order, and by which rule; none if it had no turn."""
    line, own = view.line(), view.workload
    if view.seeks() is None:
        return []
    rank = (own.priority, own.created_ms)
    found = []
    for turn, name in enumerate(line[: line.index(own.name)], start=1):
        first = view.state.workloads[name]
        why = why_older_or_higher((first.priority, first.created_ms), rank)
        found.append(TurnBefore(turn=turn, workload=name, queue=first.queue, why=why))
    return found


def _turn_sections(view: ElasticJobView, turn: ElasticTurn) -> list[Section]:
    sections = [_rules_section(view, turn)]
    sections.append(node_table(turn.pods[0], turn.standings, turn.nodes))
    if turn.tries:
        sections.append(_tries_section(view, turn))
    return sections


def _rules_section(view: ElasticJobView, turn: ElasticTurn) -> Section:
    pods = f"{len(turn.pods)} pods together" if len(turn.pods) > 1 else "1 pod"
    title = f"What its quota allows, for {pods}"
    if not turn.rules:
        remark = "Its namespace has no quota: no bound applies, and nothing is guaranteed."
        return Section(title=title, remarks=(remark, _asked_remark(view, turn)))
    head = ("RULE", "RESOURCE", "", "USED", "NOMINATED", "REQUEST", "BOUND")
    return Section(
        title=title,
        table=(head, *(_rule_row(view, line) for line in turn.rules)),
        words=3,
        remarks=(
            "all mins: what all namespaces use, against the sum of their mins.",
            _asked_remark(view, turn),
        ),
    )


def _rule_row(view: ElasticJobView, line: RuleLine) -> tuple[str, ...]:
    rule = "all mins" if line.rule == "pool" else f"{line.rule} of {view.workload.queue}"
    holds = "within" if line.holds else "over"
    return (rule, str(line.numbers.axis), holds, *line.numbers.texts())


def _asked_remark(view: ElasticJobView, turn: ElasticTurn) -> str:
    """Say which pods are candidates, which follows from the min."""
    queue = view.workload.queue
    if turn.asked == "without quota":
        return "Only pods of lower priority without a quota may be preempted."
    if turn.asked == "own namespace":
        return f"Over its min, only pods of lower priority in {queue} may be preempted."
    if not turn.over_min:
        return "Within its min, pods of namespaces over theirs may be preempted: there are none."
    names = first_few(turn.over_min)
    return f"Within its min, pods of namespaces over theirs may be preempted: {names}."


def _tries_section(view: ElasticJobView, turn: ElasticTurn) -> Section:
    choices = [each for each in turn.tries if each.is_choice(turn.looks_later)]
    choices.sort(key=lambda each: (each.node != _taken(view), each.cost))
    left_out = len(choices[SHOWN_CHOICES:])
    more = [(f"({left_out} more)", "with worse victims")] if left_out else []
    others = [each for each in turn.tries if not each.is_choice(turn.looks_later)]
    rows = (
        *_try_rows(view, turn, choices[:SHOWN_CHOICES]),
        *more,
        *_try_rows(view, turn, others),
    )
    return Section(
        title=f"Nodes if pods are preempted for {turn.pods[0]}",
        table=(("NODES", ""), *rows),
        words=2,
        remarks=tuple(_across_nodes(view, turn)),
    )


def _try_rows(
    view: ElasticJobView, turn: ElasticTurn, tries: Sequence[NodeOutcome]
) -> Iterator[tuple[str, str]]:
    """Yield a row for each thing that comes of nodes."""
    texts: dict[str, list[str]] = {}
    for each in tries:
        is_taken = each.node == _taken(view) and each.is_choice(turn.looks_later)
        text = _try_text(each, looks_later=turn.looks_later) + ("; taken" if is_taken else "")
        texts.setdefault(text, []).append(each.node)
    for text, nodes in texts.items():
        yield first_few(nodes), verb_agrees(text, len(nodes))


def _taken(view: ElasticJobView) -> str | None:
    """Return the node for which its first pod waits; None if it waits for none."""
    seeks = view.seeks()
    return seeks.placements[0].node if isinstance(seeks, Reserve) else None


def _try_text(outcome: NodeOutcome, *, looks_later: bool) -> str:
    """Return what comes of a node; the text goes on after "nodes"."""
    if outcome.outcome == "no-victim-needed" and not looks_later:
        return _OUTCOMES["error"]
    if outcome.outcome != "victims":
        return _OUTCOMES[outcome.outcome]
    names = first_few([each.title for each in outcome.victims])
    broken = f", violating {outcome.violations} PodDisruptionBudgets" if outcome.violations else ""
    return f"have room without {names}{broken}"


def _across_nodes(view: ElasticJobView, turn: ElasticTurn) -> list[str]:
    """Say on which pods it depends: the other pods of a gang, or victims on several nodes."""
    if len(turn.pods) > 1:
        return [f"It is the first of {len(turn.pods)} pods that start together or not at all."]
    if any(each.is_choice(turn.looks_later) for each in turn.tries):
        return []
    if all(each.outcome == "no-victims" for each in turn.tries):
        return []
    if not view.settings.cross_node_preemption:
        return ["Victims on several nodes at once are not considered."]
    if isinstance(view.seeks(), Reserve):
        return ["No node alone is enough, so several were considered together."]
    return ["Victims on several nodes at once do not help either."]


def _gainers_section(view: ElasticJobView) -> Section:
    """Say which preemptors it gives way to, and by what right they gain."""
    rows = [
        (each.workload, view.state.workloads[each.workload].queue, reason_text(each.reason))
        for each in view.gainers()
    ]
    return Section(title="Its preemptors", table=(("JOB", "QUEUE", "WHY"), *rows), words=3)


def _turn_document(view: ElasticJobView, turn: ElasticTurn) -> dict[str, object]:
    return {
        "turn": view.line().index(view.workload.name) + 1,
        "turns": len(view.line()),
        "pods": turn.pods,
        "rules": [
            {"rule": line.rule, **line.numbers.document(), "holds": line.holds}
            for line in turn.rules
        ],
        "asked": turn.asked,
        "overMin": turn.over_min,
        "nodes": turn.nodes,
        "rooms": [room_document(standing) for standing in turn.standings],
        "tries": [
            {
                "node": each.node,
                "outcome": each.outcome,
                "victims": [victim.title for victim in each.victims],
                "budgetsViolated": each.violations,
            }
            for each in turn.tries
        ],
    }
