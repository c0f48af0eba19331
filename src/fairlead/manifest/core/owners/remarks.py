"""What to say of owners that make nothing: one remark for each kind of them and reason."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from fairlead.errors import Severity
from fairlead.manifest.core.owners.made_pods import MAX_MADE_PODS
from fairlead.manifest.core.owners.objects import OwnerObject
from fairlead.manifest.core.owners.standing import Standing
from fairlead.manifest.core.tree_checks import MAX_SHOWN_NAMES
from fairlead.manifest.finding import Findings
from fairlead.manifest.text.path import Path


class _Remark(NamedTuple):
    severity: Severity
    code: str
    path: Path
    message: str
    fix: str


_REMARKS: Final[Mapping[Standing, _Remark]] = {
    "pods-missing": _Remark(
        "warning",
        "pods-missing",
        ("status",),
        "found pods in the status, and none of them in the input; they are not counted",
        "add the pods, as kubectl get pods -o yaml writes them, or remove the status",
    ),
    "workload-missing": _Remark(
        "warning",
        "pods-missing",
        ("status",),
        "found pods, and no Workload in the input to which they are charged; they are not counted",
        "add the Workloads, as kubectl get workloads -A -o yaml writes them",
    ),
    "unqueued": _Remark(
        "advice",
        "left-alone",
        ("metadata", "labels"),
        "no label that names a queue, or a framework that is switched off, so no Workload is made",
        "add the queue-name label, and the framework to the integrations of the Configuration",
    ),
    "suspended": _Remark(
        "advice",
        "left-alone",
        ("spec",),
        "suspended, so no pods are made",
        "resume them to see their pods planned",
    ),
    "scheduled": _Remark(
        "advice",
        "left-alone",
        ("spec",),
        "a clock says when Jobs are made, and none is due here",
        "add the Job, as kubectl create job --from=cronjob/NAME --dry-run=client -o yaml writes it",
    ),
    "other-scheduler": _Remark(
        "advice",
        "left-alone",
        ("spec",),
        "pods of another scheduler, which are not made",
        "add the pods if they hold places on nodes, or change the schedulerName of the template",
    ),
    "too-many": _Remark(
        "warning",
        "left-alone",
        ("spec",),
        f"more than {MAX_MADE_PODS:,} pods, so that none is made",
        "lower the number, or divide the object",
    ),
}
"""Of the others nothing is said: they have their pods in the input, or want none."""


def report_owners(
    owners: Mapping[str, OwnerObject], standings: Mapping[str, Standing], findings: Findings
) -> None:
    """Report the owners that make nothing, by kind; *standings* has their keys."""
    alike: defaultdict[tuple[str, Standing], list[OwnerObject]] = defaultdict(list)
    for key in sorted(standings):
        owner = owners[key]
        alike[owner.title, standings[key]].append(owner)
    for (title, standing), found in alike.items():
        remark = _REMARKS.get(standing)
        if remark is not None:
            found[0].source.report(
                findings,
                remark.severity,
                remark.code,
                remark.path,
                f"{len(found)} {title} ({_names(found)}): {remark.message}",
                remark.fix,
            )


def _names(owners: Sequence[OwnerObject]) -> str:
    shown = [f"{each.namespace}/{each.name}" for each in owners[:MAX_SHOWN_NAMES]]
    if len(owners) > MAX_SHOWN_NAMES:
        shown.append(f"{len(owners) - MAX_SHOWN_NAMES} more")
    return ", ".join(shown)
