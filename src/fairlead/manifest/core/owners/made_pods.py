"""The pods that the controller of an owner would make now, with names and uids that never change.

They are pending, as a pod is in the moment in which it is made.
"""

from collections.abc import Iterator
from itertools import count
from typing import Final

from fairlead.manifest.core.objects import Identity, PodObject
from fairlead.manifest.core.owners.objects import OwnerObject, Role
from fairlead.manifest.core.owners.stable_names import stable_suffix, stable_uid

MAX_MADE_PODS: Final = 20_000
"""Of one owner: as many as four of the largest groups that clusters of this size run."""


def made_pods(owner: OwnerObject, role: Role) -> Iterator[PodObject]:
    """Yield the pods of a *role* that its controller would have running now."""
    each = role.pods_each if role.left_each is None else role.left_each
    names: set[str] = set()
    for replica in range(role.replicas):
        for index in range(role.first_index, role.first_index + each):
            number = f"{owner.uid}/{role.name}/{replica}/{index}"
            attempts = (_name(role, replica, index, f"{number}/{at}") for at in count())
            name = next(name for name in attempts if name not in names)  # as the API server retries
            names.add(name)
            yield _made_pod(owner, role, replica, index, name=name, uid=stable_uid(number))


def _name(role: Role, replica: int, index: int, subject: str) -> str:
    """Return a name that a pod may get; one without random letters is of one pod only."""
    return role.names.value.format(
        stem=role.stem, replica=replica, index=index, random=stable_suffix(subject)
    )


def _made_pod(
    owner: OwnerObject, role: Role, replica: int, index: int, *, name: str, uid: str
) -> PodObject:
    template, spec = role.template, role.template.spec
    labels = {**template.labels, **role.labels}
    if role.index_label:
        labels[role.index_label] = str(index)
    if role.replica_label:
        labels[role.replica_label] = str(replica)
    return PodObject(
        source=template.source,
        identity=Identity(uid=uid, owners=(owner.reference(),)),
        namespace=owner.namespace,
        name=name,
        labels=labels,
        annotations=template.annotations,
        scheduler=spec.scheduler,
        requests=spec.requests,
        plugin_requests=spec.plugin_requests,
        constraints=spec.constraints,
        gpu_share=template.gpu_share,
        gated=bool(spec.scheduling_gates),
        priority=spec.priority,
        priority_class=spec.priority_class,
        preemption_policy=spec.preemption_policy,
        created_ms=owner.created_ms,
        claims=template.claims,
        device_claims=template.device_claims,
        ephemeral_volumes=(*spec.ephemeral_volumes, *role.claims),
    )
