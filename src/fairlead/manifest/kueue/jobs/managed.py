"""Which owners Kueue manages, and whether it would make Workloads of them now.

The topmost owner that names a queue is managed; what it makes is part of it. An owner without the
label is left alone, unless Kueue's webhook would give it the queue called default when it is
created.
"""

from collections.abc import Collection
from typing import Final

from fairlead.manifest.core.objects import PodObject, is_live
from fairlead.manifest.core.owners.kinship import Kinship
from fairlead.manifest.core.owners.made_pods import MAX_MADE_PODS
from fairlead.manifest.core.owners.objects import OwnerObject
from fairlead.manifest.core.owners.standing import Standing
from fairlead.manifest.kueue.objects import KueueWorkloadObject

QUEUE_LABEL: Final = "kueue.x-k8s.io/queue-name"
PREBUILT: Final = "kueue.x-k8s.io/prebuilt-workload-name"
DEFAULT_QUEUE: Final = "default"
# Kueue's own settings leave these out; its webhook does not look at them.
SYSTEM_NAMESPACES: Final = frozenset({"kube-system", "kueue-system"})

FRAMEWORKS: Final = {
    "Job.batch": "batch/job",
    "CronJob.batch": "batch/job",  # of whose Jobs it is
    "JobSet.jobset.x-k8s.io": "jobset.x-k8s.io/jobset",
    "Deployment.apps": "deployment",
    "StatefulSet.apps": "statefulset",
    "LeaderWorkerSet.leaderworkerset.x-k8s.io": "leaderworkerset.x-k8s.io/leaderworkerset",
    "MPIJob.kubeflow.org": "kubeflow.org/mpijob",
    "PyTorchJob.kubeflow.org": "kubeflow.org/pytorchjob",
    "TFJob.kubeflow.org": "kubeflow.org/tfjob",
    "XGBoostJob.kubeflow.org": "kubeflow.org/xgboostjob",
    "PaddleJob.kubeflow.org": "kubeflow.org/paddlejob",
    "JAXJob.kubeflow.org": "kubeflow.org/jaxjob",
    "RayCluster.ray.io": "ray.io/raycluster",
    "RayJob.ray.io": "ray.io/rayjob",
    "RayService.ray.io": "ray.io/rayservice",
}
"""The frameworks of Kueue by the kind of owner; other kinds it does not know."""


def queue_name(owner: OwnerObject, local_queues: Collection[str]) -> str:
    """Return the LocalQueue of *owner*; "": it names none.

    An object without uid is not created yet: then it gets the queue called default, where its
    namespace has one. *local_queues* are known by ``namespace/name``.
    """
    named = owner.labels.get(QUEUE_LABEL, "")
    if named or owner.identity.uid:
        return named
    return DEFAULT_QUEUE if f"{owner.namespace}/{DEFAULT_QUEUE}" in local_queues else ""


def kueue_standing(
    owner: OwnerObject,
    kinship: Kinship,
    queue: str,
    frameworks: Collection[str] | None,
) -> Standing:
    """Return whether Kueue would make Workloads of *owner*, which is for the LocalQueue *queue*.

    *frameworks* are those that are switched on; None: all. A suspended job is what waits for quota.
    """
    framework = FRAMEWORKS.get(owner.title)
    above = kinship.chain(owner)
    is_child = framework is None and bool(above)
    if is_child or any(QUEUE_LABEL in each.labels for each in above):
        return "nothing-wanted"  # part of the owner above, or a step to it
    if owner.finished:
        return "finished"
    dependents = list(kinship.dependents(owner))
    if any(isinstance(each, KueueWorkloadObject) for each in dependents):
        return "has-dependents"
    if PREBUILT in owner.labels or PREBUILT in owner.annotations:
        return "has-dependents"
    if owner.scheduled:
        return "scheduled"
    is_on = framework is not None and (frameworks is None or framework in frameworks)
    if not queue or not is_on or owner.namespace in SYSTEM_NAMESPACES:
        return "unqueued"
    live = [each for each in dependents if isinstance(each, PodObject) and is_live(each)]
    if live and framework == "deployment":
        return "has-dependents"  # each pod has a Workload of its own
    if owner.pods.active or live:
        return "workload-missing"
    if owner.left == 0:
        return "nothing-wanted"
    is_many = framework == "deployment" and owner.left > MAX_MADE_PODS
    return "too-many" if is_many else "due"
