"""What becomes of a job that is placed on nodes, in one sentence."""

from collections.abc import Sequence

from fairlead.explain.best_claim import best_claim
from fairlead.explain.first_few import first_few
from fairlead.explain.reason_text import reason_text
from fairlead.model.axes import WorkloadName
from fairlead.model.plan import Decision, Evict, Move, Reserve, Start, Wait
from fairlead.model.state import ClusterState


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
