"""Which owners are read: one line for each kind, with its API group and versions."""

from collections.abc import Callable
from typing import Final, NamedTuple

from fairlead.manifest.core.owners.apps import (
    read_deployment,
    read_replica_set,
    read_stateful_set,
)
from fairlead.manifest.core.owners.batch import read_cron_job, read_job
from fairlead.manifest.core.owners.jobset import read_job_set, read_leader_worker_set
from fairlead.manifest.core.owners.kubeflow import read_notebook, training_job_reader
from fairlead.manifest.core.owners.objects import OwnerObject
from fairlead.manifest.core.owners.ray import read_ray_cluster, read_ray_job, read_ray_service
from fairlead.manifest.text.cursor import Cursor


class OwnerKind(NamedTuple):
    """How a kind of owner is read, and in which versions, the usual one first."""

    read: Callable[[Cursor], OwnerObject | None]
    versions: tuple[str, ...]


_APPS: Final = "apps"
_KUBEFLOW: Final = "kubeflow.org"
_RAY: Final = "ray.io"
_RAY_VERSIONS: Final = ("v1", "v1alpha1")

OWNER_KINDS: Final[dict[tuple[str, str], OwnerKind]] = {
    ("batch", "Job"): OwnerKind(read_job, ("v1",)),
    ("batch", "CronJob"): OwnerKind(read_cron_job, ("v1", "v1beta1")),
    (_APPS, "Deployment"): OwnerKind(read_deployment, ("v1",)),
    (_APPS, "ReplicaSet"): OwnerKind(read_replica_set, ("v1",)),
    (_APPS, "StatefulSet"): OwnerKind(read_stateful_set, ("v1",)),
    ("jobset.x-k8s.io", "JobSet"): OwnerKind(read_job_set, ("v1alpha2",)),
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): OwnerKind(read_leader_worker_set, ("v1",)),
    (_KUBEFLOW, "PyTorchJob"): OwnerKind(
        training_job_reader("pytorchReplicaSpecs", "Master", "Worker"), ("v1",)
    ),
    (_KUBEFLOW, "TFJob"): OwnerKind(
        training_job_reader("tfReplicaSpecs", "Chief", "Master", "PS", "Worker", "Evaluator"),
        ("v1",),
    ),
    (_KUBEFLOW, "XGBoostJob"): OwnerKind(
        training_job_reader("xgbReplicaSpecs", "Master", "Worker"), ("v1",)
    ),
    (_KUBEFLOW, "PaddleJob"): OwnerKind(
        training_job_reader("paddleReplicaSpecs", "Master", "Worker"), ("v1",)
    ),
    (_KUBEFLOW, "JAXJob"): OwnerKind(training_job_reader("jaxReplicaSpecs", "Worker"), ("v1",)),
    (_KUBEFLOW, "MPIJob"): OwnerKind(
        training_job_reader("mpiReplicaSpecs", "Launcher", "Worker"), ("v2beta1", "v1")
    ),
    (_KUBEFLOW, "Notebook"): OwnerKind(read_notebook, ("v1", "v1beta1", "v1alpha1")),
    (_RAY, "RayCluster"): OwnerKind(read_ray_cluster, _RAY_VERSIONS),
    (_RAY, "RayJob"): OwnerKind(read_ray_job, _RAY_VERSIONS),
    (_RAY, "RayService"): OwnerKind(read_ray_service, _RAY_VERSIONS),
}
"""By API group and kind."""
