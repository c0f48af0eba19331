"""What a plan decides about one job: the turns before it, the answer, claims and victims."""

from collections.abc import Sequence
from typing import Final, TypeAlias

import msgspec

from fairlead.explain.plan.reason_document import side_section
from fairlead.explain.text.explanation import Section
from fairlead.explain.text.names import first_few
from fairlead.explain.text.reasons import best_claim, reason_text
from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.duration import moment_text
from fairlead.model.plan import Decision, Evict, FailedClaim, Move, Reserve, Start, Unknown, Wait
from fairlead.model.state import ClusterState

SHOWN_TURNS: Final = 10
"""How many of the turns before a job are listed, the nearest ones."""


class TurnBefore(msgspec.Struct, frozen=True, kw_only=True):
    """A turn that another job had earlier, and why."""

    turn: int
    workload: WorkloadName
    queue: QueueName
    why: str


def turns_section(title: str, before: Sequence[TurnBefore]) -> Section:
    """Return the nearest of the turns *before* a job's own, of which *title* tells."""
    if not before:
        return Section(title=f"{title}: no other job came first")
    shown = before[-SHOWN_TURNS:]
    rows = [(str(each.turn), each.workload, each.queue, each.why) for each in shown]
    left_out = len(before) - len(shown)
    table = (("TURN", "JOB", "QUEUE", "CAME FIRST BECAUSE"), *rows)
    remarks = (f"{left_out} earlier turns are left out.",) if left_out else ()
    return Section(title=title, table=table, words=len(table[0]), remarks=remarks)


PriorityAndAge: TypeAlias = tuple[int, int]  # priority, and since when it waits, in milliseconds


def why_older_or_higher(first: PriorityAndAge, other: PriorityAndAge) -> str:
    """Return which rule puts *first* before *other*."""
    (priority, since_ms), (other_priority, other_since_ms) = first, other
    if priority != other_priority:
        return f"higher priority: {priority} against {other_priority}"
    if since_ms != other_since_ms:
        return f"waits longer: since {moment_text(since_ms)}, not {moment_text(other_since_ms)}"
    return "first by name"


def job_answer(state: ClusterState, job: WorkloadName, decisions: Sequence[Decision]) -> str:
    """Return what a plan decides about *job*, and why; *decisions* are those about it."""
    total = state.workloads[job].pod_count()
    started = sum(len(each.placements) for each in decisions if isinstance(each, Start))
    reserved = [each for each in decisions if isinstance(each, Reserve)]
    parts = _losses(decisions, total)
    if started:
        parts.append(f"starts {_of_its_pods(started, total)}")
    if reserved:
        count = sum(len(each.placements) for each in reserved)
        why = reason_text(reserved[-1].reason)
        parts.append(f"has capacity reserved for {_of_its_pods(count, total)}: {why}")
    for each in decisions:
        if isinstance(each, Wait):
            rest = "its other pods wait" if parts else "waits"
            parts.append(f"{rest}: {reason_text(each.reason)}")
            best = best_claim(each)
            parts += [f"{best.action}: {reason_text(best.reason)}"] if best else []
        elif isinstance(each, Unknown):
            rest = "its other pods are not judged" if parts else "is not judged"
            parts.append(f"{rest}: {reason_text(each.reason)}")
    if not parts:
        parts.append("has a node for each of its pods already")
    return f"{job} {'; '.join(parts)}."


def _losses(decisions: Sequence[Decision], total: int) -> list[str]:
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


SHOWN_VICTIMS = 10
"""How many victims are listed, the first ones."""


def claim_sections(
    state: ClusterState, decisions: Sequence[Decision], victims: Sequence[Evict | Move]
) -> list[Section]:
    """Return the victims of a job, which queues were compared, and which claims failed.

    *decisions* are those about the job, *victims* what others do for its sake.
    """
    sections = [_victims(state, victims)] if victims else []
    compared = [each.reason.sides for each in (*victims, *decisions) if each.reason.sides]
    if compared:
        sections.append(side_section("The two queues compared, at the last eviction", compared[-1]))
    for each in decisions:
        if isinstance(each, Wait) and each.claims:
            sections += _failed(each.claims)
    return sections


def _victims(state: ClusterState, victims: Sequence[Evict | Move]) -> Section:
    head = ("JOB", "QUEUE", "", "WHY", "PODS")
    shown = victims[:SHOWN_VICTIMS]
    left_out = len(victims) - len(shown)
    return Section(
        title="Victims that make room for it",
        table=(head, *(_victim_row(state, each) for each in shown)),
        words=4,
        remarks=(f"{left_out} more victims are left out.",) if left_out else (),
    )


def _victim_row(state: ClusterState, victim: Evict | Move) -> tuple[str, ...]:
    workload = state.workloads[victim.workload]
    is_lost = isinstance(victim, Evict)
    pods = victim.pods if isinstance(victim, Evict) else victim.placements
    what = "evicted" if is_lost else "moved"
    return workload.name, workload.queue, what, reason_text(victim.reason), str(len(pods))


def _failed(claims: Sequence[FailedClaim]) -> list[Section]:
    rows = [(claim.action, reason_text(claim.reason)) for claim in claims]
    table = (("ACTION", "WHAT STOPPED IT"), *rows)
    sections = [Section(title="Why no victims make room for it", table=table, words=2)]
    for claim in claims:
        if claim.reason.sides:
            title = f"The two queues compared, by {claim.action}"
            sections.append(side_section(title, claim.reason.sides))
    return sections
