"""Reads the training jobs and the ``Notebook`` of Kubeflow (kubeflow.org)."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from msgspec.structs import replace

from fairlead.manifest.core.owners.objects import (
    Gang,
    OwnerObject,
    PodCounts,
    PodNames,
    Role,
)
from fairlead.manifest.core.owners.read_owner import (
    having,
    owner_of,
    passed_over,
    read_count,
    read_template,
    true_conditions,
)
from fairlead.manifest.core.read_metadata import Metadata, reads_named
from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.limits import MAX_COUNT

JOB_NAME: Final = "training.kubeflow.org/job-name"
JOB_ROLE: Final = "training.kubeflow.org/job-role"
REPLICA_TYPE: Final = "training.kubeflow.org/replica-type"
REPLICA_INDEX: Final = "training.kubeflow.org/replica-index"
NOTEBOOK_NAME: Final = "notebook-name"
MASTERS: Final = frozenset({"master", "chief"})  # roles of which a pod leads the job
LAUNCHER: Final = "launcher"
_ENDS: Final = frozenset({"Succeeded", "Failed"})
_WHEN_READY: Final = "WaitForWorkersReady"


def training_job_reader(specs_key: str, *roles: str) -> Callable[[Cursor], OwnerObject | None]:
    """Return what reads a training job with its replicas at *specs_key*, of these *roles*.

    A role of another name is read after them.
    """

    @reads_named
    def read_training_job(top: Cursor, metadata: Metadata) -> OwnerObject:
        spec, status = passed_over(top, "spec"), passed_over(top, "status")
        policy, holding = _RunPolicy(spec), true_conditions(status)
        found = _roles(passed_over(spec, specs_key), metadata, roles)
        least = passed_over(spec, "elasticPolicy").integer(
            "minReplicas", None, minimum=0, maximum=MAX_COUNT
        )
        waits = spec.text("launcherCreationPolicy", "") == _WHEN_READY
        return owner_of(
            top,
            metadata,
            roles=tuple(
                [
                    replace(each, left_each=0) if waits and each.name == LAUNCHER else each
                    for each in found
                ]
            ),
            gang=Gang(
                min_available=least if policy.min_available is None else policy.min_available,
                priority_class=policy.priority_class,
                startup="workers-ready" if waits else "together",
            ),
            pods=_counts(passed_over(status, "replicaStatuses"), is_running="Running" in holding),
            selector=having({JOB_NAME: metadata.name}),
            suspended=policy.suspended,
            finished=not _ENDS.isdisjoint(holding),
        )

    return read_training_job


class _RunPolicy:
    """What ``runPolicy`` says; jobs of v2beta1 have it in the same place."""

    def __init__(self, spec: Cursor) -> None:
        run = passed_over(spec, "runPolicy")
        scheduling = passed_over(run, "schedulingPolicy")
        self.suspended = bool(run.boolean("suspend", False))
        self.min_available = scheduling.integer("minAvailable", None, minimum=0, maximum=MAX_COUNT)
        self.priority_class = scheduling.text("priorityClass", "")


def _roles(specs: Cursor, metadata: Metadata, order: tuple[str, ...]) -> Iterable[Role]:
    ranks = {name: rank for rank, name in enumerate(order)}
    for key in sorted(specs.keys(), key=lambda key: (ranks.get(key, len(ranks)), key)):
        role = _role(passed_over(specs, key), key.lower(), metadata)
        if role is not None:
            yield role


def _role(spec: Cursor, name: str, metadata: Metadata) -> Role | None:
    labels = {JOB_NAME: metadata.name, REPLICA_TYPE: name}
    if name in MASTERS:
        labels[JOB_ROLE] = "master"
    elif name == LAUNCHER:
        labels[JOB_ROLE] = LAUNCHER
    template = read_template(spec, metadata.namespace, labels=labels)
    if template is None:
        return None
    return Role(
        name=name,
        template=template,
        pods_each=read_count(spec, "replicas", 1),
        stem=f"{metadata.name}-{name}",
        # The launcher of an MPIJob is a Job, whose pods have no number.
        names=PodNames.RANDOM if name == LAUNCHER else PodNames.INDEXED,
        labels=labels,
        index_label=REPLICA_INDEX,
    )


def _counts(by_role: Cursor, *, is_running: bool) -> PodCounts:
    """Return the pods that the status counts; a job that runs has one at least."""
    each = [passed_over(by_role, key) for key in by_role.keys()]  # noqa: SIM118 - no mapping
    return PodCounts(
        active=max(int(is_running), sum(read_count(one, "active", 0) for one in each)),
        succeeded=sum(read_count(one, "succeeded", 0) for one in each),
        failed=sum(read_count(one, "failed", 0) for one in each),
    )


@reads_named
def read_notebook(top: Cursor, metadata: Metadata) -> OwnerObject:
    """Read a Notebook, which runs as one pod of a StatefulSet unless it was stopped."""
    spec, status = passed_over(top, "spec"), passed_over(top, "status")
    labels: Mapping[str, str] = {NOTEBOOK_NAME: metadata.name}
    template = read_template(spec, metadata.namespace, labels=labels)
    roles = (
        () if template is None else (Role(template=template, stem=metadata.name, labels=labels),)
    )
    return owner_of(
        top,
        metadata,
        roles=roles,
        pods=PodCounts(active=read_count(status, "readyReplicas", 0)),
        selector=having(labels),
        suspended="kubeflow-resource-stopped" in metadata.annotations,
    )
