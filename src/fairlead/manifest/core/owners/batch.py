"""Reads ``Job`` and ``CronJob`` (batch/v1)."""

from collections.abc import Mapping
from typing import Final

from fairlead.manifest.core.owners.objects import (
    OwnerObject,
    PodCounts,
    PodNames,
    PodTemplate,
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

JOB_NAME_LABELS: Final = ("batch.kubernetes.io/job-name", "job-name")  # the second is the old one
INDEX_LABEL: Final = "batch.kubernetes.io/job-completion-index"
_INDEXED: Final = "Indexed"
_ENDS: Final = frozenset({"Complete", "Failed"})


@reads_named
def read_job(top: Cursor, metadata: Metadata) -> OwnerObject:
    """Read a Job: as many pods as run at a time, less where fewer completions are left."""
    spec, status = passed_over(top, "spec"), passed_over(top, "status")
    counts = PodCounts(
        active=read_count(status, "active", 0),
        ready=read_count(status, "ready", 0),
        succeeded=read_count(status, "succeeded", 0),
        failed=read_count(status, "failed", 0),
    )
    labels = dict.fromkeys(JOB_NAME_LABELS, metadata.name)
    template = read_template(spec, metadata.namespace, labels=labels)
    role = job_role(spec, template, stem=metadata.name, labels=labels, succeeded=counts.succeeded)
    completions = read_count(spec, "completions", 0)
    is_done = bool(completions) and counts.succeeded >= completions
    return owner_of(
        top,
        metadata,
        roles=() if role is None else (role,),
        pods=counts,
        selector=having({JOB_NAME_LABELS[0]: metadata.name}),
        suspended=bool(spec.boolean("suspend", False)),
        finished=is_done or not _ENDS.isdisjoint(true_conditions(status)),
    )


def job_role(
    spec: Cursor,
    template: PodTemplate | None,
    *,
    stem: str,
    labels: Mapping[str, str],
    succeeded: int = 0,
) -> Role | None:
    """Return the pods that a Job with this *spec* has at a time; None: it has no template."""
    if template is None:
        return None
    is_indexed = spec.text("completionMode", "") == _INDEXED
    parallelism = read_count(spec, "parallelism", 1)
    completions = read_count(spec, "completions", parallelism)
    return Role(
        template=template,
        pods_each=min(parallelism, completions),
        left_each=min(parallelism, max(0, completions - succeeded)),
        stem=stem,
        names=PodNames.INDEXED_RANDOM if is_indexed else PodNames.RANDOM,
        labels=labels,
        index_label=INDEX_LABEL if is_indexed else "",
    )


@reads_named
def read_cron_job(top: Cursor, metadata: Metadata) -> OwnerObject:
    """Read a CronJob, of which a clock makes Jobs: its role is what one of them would be."""
    spec, status = passed_over(top, "spec"), passed_over(top, "status")
    job = passed_over(passed_over(spec, "jobTemplate"), "spec")
    template = read_template(job, metadata.namespace)
    role = job_role(job, template, stem=metadata.name, labels={})
    return owner_of(
        top,
        metadata,
        roles=() if role is None else (role,),
        pods=PodCounts(active=len(status.items("active"))),
        suspended=bool(spec.boolean("suspend", False)),
        scheduled=True,
    )
