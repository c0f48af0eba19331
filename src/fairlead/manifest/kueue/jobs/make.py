"""Makes the Workloads that Kueue would make of an owner now; none of them has quota yet.

It depends on the owner, and on what the cluster says about queues and priorities.
"""

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from fairlead.manifest.core.objects import Identity, Owner, PriorityClassObject
from fairlead.manifest.core.owners.made_pods import made_pods
from fairlead.manifest.core.owners.objects import OwnerObject
from fairlead.manifest.core.owners.stable_names import stable_uid
from fairlead.manifest.kueue.jobs.managed import FRAMEWORKS, QUEUE_LABEL
from fairlead.manifest.kueue.jobs.names import workload_name
from fairlead.manifest.kueue.jobs.pod_sets import group_pod_sets, pod_sets, single_pod_set
from fairlead.manifest.kueue.objects import (
    KueuePodSet,
    KueueWorkloadObject,
    WorkloadPriorityClassObject,
)

PRIORITY_LABEL: Final = "kueue.x-k8s.io/priority-class"
MAX_EXECUTION: Final = "kueue.x-k8s.io/max-exec-time-seconds"
ELASTIC: Final = "kueue.x-k8s.io/elastic-job"
_DEFAULT_CLASS: Final = "default"


class Priorities(msgspec.Struct, frozen=True):
    """The priority classes of a cluster, by name."""

    of_workloads: Mapping[str, WorkloadPriorityClassObject]
    of_pods: Mapping[str, PriorityClassObject]


def make_workloads(
    owner: OwnerObject, queue: str, priorities: Priorities
) -> Iterator[KueueWorkloadObject]:
    """Yield the Workloads of *owner* for the LocalQueue *queue*.

    One for each pod of a Deployment, one for each group of a LeaderWorkerSet, else one.
    """
    match FRAMEWORKS.get(owner.title):
        case "deployment":
            for role in owner.roles:
                for pod in made_pods(owner, role):
                    name = workload_name("Pod", "", pod.name, pod.identity.uid)
                    by = Owner(
                        api_version="v1",
                        kind="Pod",
                        name=pod.name,
                        uid=pod.identity.uid,
                        is_controller=True,
                    )
                    yield _workload(owner, queue, priorities, name, by, single_pod_set(role))
        case "leaderworkerset.x-k8s.io/leaderworkerset":
            sets = group_pod_sets(owner)
            for index in range(owner.roles[0].replicas):
                name = _name(owner, f"{owner.name}-{index}")
                yield _workload(owner, queue, priorities, name, owner.reference(), sets)
        case _:
            by, sets = owner.reference(), pod_sets(owner)
            yield _workload(owner, queue, priorities, _name(owner, owner.name), by, sets)


def _name(owner: OwnerObject, name: str) -> str:
    is_elastic = owner.annotations.get(ELASTIC) == "true"
    generation = owner.identity.generation or 1
    return workload_name(
        owner.owner_kind, owner.group, name, owner.uid, generation if is_elastic else None
    )


def _workload(
    owner: OwnerObject,
    queue: str,
    priorities: Priorities,
    name: str,
    made_for: Owner,
    sets: tuple[KueuePodSet, ...],
) -> KueueWorkloadObject:
    uid = stable_uid(f"Workload/{owner.namespace}/{name}")
    limit = owner.labels.get(MAX_EXECUTION, "")
    found = KueueWorkloadObject(
        source=owner.source,
        identity=Identity(uid=uid, owners=(made_for,)),
        namespace=owner.namespace,
        name=name,
        local_queue=queue,
        local_queue_path=("metadata", "labels", QUEUE_LABEL),
        pod_sets=sets,
        created_ms=owner.created_ms,
        max_execution_s=int(limit) if limit.isdecimal() and 0 < len(limit) < 10 else None,
    )
    return _with_priority(found, owner, priorities)


def _with_priority(
    found: KueueWorkloadObject, owner: OwnerObject, priorities: Priorities
) -> KueueWorkloadObject:
    """Return *found* with the priority of its label, of its own rule, of its pods, or of all."""
    label = owner.labels.get(PRIORITY_LABEL, "")
    if not label and not owner.identity.uid and _DEFAULT_CLASS in priorities.of_workloads:
        label = _DEFAULT_CLASS  # that Kueue's webhook adds to what is created
    if label:
        return msgspec.structs.replace(
            found,
            priority_class=label,
            priority_class_path=("metadata", "labels", PRIORITY_LABEL),
            priority_class_kind="WorkloadPriorityClass",
        )
    of_pods = [role.template.spec.priority_class for role in owner.roles]
    named = next(filter(None, (owner.gang.priority_class, *of_pods)), "")
    if named:
        return msgspec.structs.replace(
            found,
            priority_class=named,
            priority_class_path=("spec",),
            priority_class_kind="PriorityClass",
        )
    defaults = [each.value for each in priorities.of_pods.values() if each.is_default]
    return msgspec.structs.replace(found, priority=min(defaults, default=0))
