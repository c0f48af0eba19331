"""An object that is no job itself: which jobs it stands for, and what becomes of each."""

from collections.abc import Mapping, Sequence
from typing import Final

from fairlead.explain.jobs.answer import job_answer
from fairlead.explain.text.explanation import Explanation, Section
from fairlead.manifest.core.owners.standing import Standing
from fairlead.manifest.translate.directory import Entry
from fairlead.model.axes import WorkloadName
from fairlead.model.plan import Decision
from fairlead.model.state import ClusterState

_STANDINGS: Final[Mapping[Standing | None, str]] = {
    "scheduled": "makes jobs when its clock says so, and has none now",
    "suspended": "is suspended, so it wants no pods",
    "pods-missing": "has pods, as its status says, which are not in the input: add them",
    "nothing-wanted": "is scaled to 0",
    "too-many": "wants more pods than are read",
    "other-scheduler": "is not planned here: its pods are for another scheduler",
}


def object_title(entry: Entry) -> str:
    """Return ``Pod lab/train-0``."""
    return f"{entry.kind} {entry.name}"


def why_no_job(entry: Entry) -> str:
    """Return why an object stands for no job."""
    if entry.finished:
        return "has finished: it holds nothing and waits for nothing"
    if entry.standing in _STANDINGS:
        return _STANDINGS[entry.standing]
    if entry.in_other_pool:
        return "is not planned here: it belongs to another node pool"
    if entry.scheduler:
        return f"is not planned here: the scheduler of its pods is {entry.scheduler}"
    if entry.kind == "Pod":
        return "is charged to no workload of the input"
    return "has no pods or workloads that wait or run"


def explain_object(
    state: ClusterState,
    entry: Entry,
    jobs: Sequence[WorkloadName],
    decisions: Sequence[Decision],
) -> Explanation:
    """Return what a plan decides about each of the *jobs* of an object, in a sentence each."""
    answers = {
        job: job_answer(state, job, [each for each in decisions if each.workload == job])
        for job in jobs
    }
    rows = [
        (job, state.workloads[job].queue, answer.removeprefix(f"{job} "))
        for job, answer in answers.items()
    ]
    table = (("JOB", "QUEUE", "DECISION"), *rows)
    is_none = f"{object_title(entry)} {why_no_job(entry)}."
    return Explanation(
        answer=f"{object_title(entry)} is {len(jobs)} jobs." if jobs else is_none,
        sections=(Section(title="Its jobs", table=table, words=3),) if jobs else (),
        data={"jobs": [{"workload": job, "answer": answer} for job, answer in answers.items()]},
    )
