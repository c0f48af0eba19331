"""What a job claims from others, or gives up to them, with the numbers of both sides."""

from collections.abc import Sequence

from fairlead.explain.explanation import Section
from fairlead.explain.reason_text import reason_text
from fairlead.explain.side_document import side_section
from fairlead.model.plan import Decision, Evict, FailedClaim, Move, Wait
from fairlead.model.state import ClusterState

SHOWN_VICTIMS = 10
"""How many of those who give way are listed, the first ones."""


def claim_sections(
    state: ClusterState, decisions: Sequence[Decision], victims: Sequence[Evict | Move]
) -> list[Section]:
    """Return who gives way to a job, which queues were compared, and which claims failed.

    *decisions* are those about the job, *victims* what others do for its sake.
    """
    sections = [_victims(state, victims)] if victims else []
    compared = [each.reason.sides for each in (*victims, *decisions) if each.reason.sides]
    if compared:
        sections.append(side_section("The two queues compared, at the last loss", compared[-1]))
    for each in decisions:
        if isinstance(each, Wait) and each.claims:
            sections += _failed(each.claims)
    return sections


def _victims(state: ClusterState, victims: Sequence[Evict | Move]) -> Section:
    head = ("JOB", "QUEUE", "", "WHY", "PODS")
    shown = victims[:SHOWN_VICTIMS]
    left_out = len(victims) - len(shown)
    return Section(
        title="Who makes room for it",
        table=(head, *(_victim_row(state, each) for each in shown)),
        words=4,
        remarks=(f"{left_out} more are left out.",) if left_out else (),
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
    sections = [Section(title="Why it gets no place from others", table=table, words=2)]
    for claim in claims:
        if claim.reason.sides:
            title = f"The two queues compared, by {claim.action}"
            sections.append(side_section(title, claim.reason.sides))
    return sections
