"""Workloads that have quota reserved and are not admitted yet: which checks they wait for.

Kueue admits a workload when every admission check of its ClusterQueue is ready. Until then it holds
its quota, and its pods do not start.
"""

from collections.abc import Iterator

from fairlead.explain.text.explanation import Section
from fairlead.model.axes import QueueName, WorkloadName
from fairlead.model.state import ClusterState
from fairlead.model.workload import AdmissionCheck, KueueWorkload, Workload
from fairlead.policy.kueue.api import awaits_checks


def checks_of(workload: Workload) -> tuple[AdmissionCheck, ...]:
    """Return what the admission checks of *workload* say, by name."""
    extension = workload.extension
    return extension.checks if isinstance(extension, KueueWorkload) else ()


def open_checks_text(workload: Workload) -> str:
    """Return the checks that are not ready, with their messages: ``prov is Pending: no nodes``."""
    texts = [
        f"{each.name} is {each.state}" + (f": {each.message}" if each.message else "")
        for each in checks_of(workload)
        if each.state != "Ready"
    ]
    return "; ".join(texts) or "its status names none that is not ready"


def reserved_in(state: ClusterState, queue: QueueName) -> Iterator[Workload]:
    """Yield the workloads of a ClusterQueue that wait for checks, by name."""
    for name in sorted(state.queued(queue)):
        if awaits_checks(state, name):
            yield state.workloads[name]


def checks_section(state: ClusterState, job: WorkloadName) -> Section | None:
    """Return the checks of a workload that has quota; None: there are none, or it has no quota."""
    checks = checks_of(state.workloads[job])
    if not checks or job not in state.runs:
        return None
    rows = [(each.name, each.state, each.message) for each in checks]
    return Section(title="Admission checks", table=(("CHECK", "STATE", "MESSAGE"), *rows), words=3)


def check_documents(workload: Workload) -> list[dict[str, object]]:
    """Return the checks as Kueue's status has them."""
    return [
        {"name": each.name, "state": each.state, "message": each.message}
        for each in checks_of(workload)
    ]
