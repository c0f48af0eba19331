"""Owners without pods count with the pods that their controllers would make, as long as they do."""

from typing import Any

from fairlead.manifest.translate.family import OF_FILES
from tests.manifest.translate.cluster_objects import Value, again, manifest, pod
from tests.manifest.translate.watched_world import World


def template(**spec: Any) -> Value:
    containers = [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]
    return {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": containers, **spec},
    }


def owner(api_version: str, kind: str, name: str = "web", **more: Any) -> Value:
    metadata = {"namespace": "lab", **more.pop("metadata", {})}
    spec = {"template": template(), **more.pop("spec", {})}
    return manifest(api_version, kind, name, metadata=metadata, spec=spec, **more)


def stateful_set(replicas: int = 2, **more: Any) -> Value:
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}}
    return owner("apps/v1", "StatefulSet", spec={**spec, **more.pop("spec", {})}, **more)


def job(**more: Any) -> Value:
    return owner("batch/v1", "Job", name="work", **more)


def owned(value: Value, by: Value) -> Value:
    reference = {key: by["metadata"][key] for key in ("name", "uid")}
    reference |= {key: by[key] for key in ("apiVersion", "kind")}
    return again(value, metadata={"ownerReferences": [{**reference, "controller": True}]})


class OwnersWorld(World):
    """A cluster under ElasticQuotas, read as files are."""

    def __init__(self, *values: Value) -> None:
        super().__init__("elastic-quota", rules=OF_FILES)
        self.see(*values)

    def names(self) -> list[str]:
        return sorted(self.pods())

    def reports(self) -> list[str]:
        return [each.message for each in self.translator.findings()]


def test_a_live_cluster_starts_only_what_is_there() -> None:
    world = World("elastic-quota", stateful_set())
    assert world.pods() == {}
    assert world.told() == []


def test_pods_are_made_for_an_owner_and_go_with_it() -> None:
    world = OwnersWorld(stateful_set(2))
    assert world.names() == ["lab/web-0", "lab/web-1"]
    world.see(again(stateful_set(2), spec=stateful_set(3)["spec"]))
    assert world.names() == ["lab/web-0", "lab/web-1", "lab/web-2"]
    world.lose(stateful_set())
    assert world.names() == []


def test_one_pod_of_an_owner_shows_that_it_has_its_pods() -> None:
    web = stateful_set(2)
    real = owned(pod("mine", scheduler="default-scheduler"), web)
    world = OwnersWorld(web, real)
    assert world.names() == ["lab/mine"]
    world.lose(real)
    assert world.names() == ["lab/web-0", "lab/web-1"]


def test_a_pod_that_is_there_counts_in_place_of_a_made_one_of_its_name() -> None:
    world = OwnersWorld(stateful_set(2))
    real = pod("web-1", scheduler="default-scheduler", cpu="3", labels={"app": "other"})
    world.see(real)
    cpu = {
        name: each.pod_sets[0].requests[world.translator.state.resources.index("cpu")]
        for name, each in world.translator.state.workloads.items()
    }
    assert cpu == {"lab/web-0": 1000, "lab/web-1": 3000}
    world.lose(stateful_set())
    assert world.names() == ["lab/web-1"]
    world.see(stateful_set(2, uid="another"))
    world.lose(real)
    assert world.names() == ["lab/web-0", "lab/web-1"]


def test_owners_of_owners_count_once() -> None:
    """A Deployment, its ReplicaSet, and a pod of that; each is lost in turn from below."""
    deployment = owner("apps/v1", "Deployment", spec={"replicas": 1})
    replica_set = owned(
        owner("apps/v1", "ReplicaSet", name="web-1", spec={"replicas": 1}), deployment
    )
    real = owned(pod("mine", scheduler="default-scheduler"), replica_set)
    world = OwnersWorld(deployment, replica_set, real)
    assert world.names() == ["lab/mine"]
    world.lose(real)
    (of_set,) = world.names()
    assert of_set.startswith("lab/web-1-")
    world.lose(replica_set)
    (of_deployment,) = world.names()
    assert of_deployment.startswith("lab/web-")
    assert of_deployment.count("-") == 2


def test_the_status_of_an_owner_shows_pods_that_were_left_out() -> None:
    world = OwnersWorld(job(status={"active": 1}))
    assert world.names() == []
    assert world.told() == ["pods-missing"]
    world.see(again(job(), status={"conditions": [{"type": "Complete", "status": "True"}]}))
    assert (world.names(), world.told()) == ([], [])


def test_a_suspended_job_makes_pods_when_it_is_resumed() -> None:
    world = OwnersWorld(job(spec={"suspend": True}))
    assert world.names() == []
    assert world.reports() == ["1 Job.batch (lab/work): suspended, so no pods are made"]
    world.see(again(job(), spec=job()["spec"]))
    assert len(world.names()) == 1
    assert world.told() == []


def test_only_pods_of_our_schedulers_are_made_as_the_settings_say() -> None:
    other = job(spec={"template": template(schedulerName="third")})
    world = OwnersWorld(other)
    assert (world.names(), world.told()) == ([], ["left-alone"])
    own = {"elasticQuota": {"schedulerNames": ["third"]}}
    world.see(manifest("fairlead/v1", "Settings", "settings", spec=own))
    assert len(world.names()) == 1
    assert world.told() == []


def test_a_made_pod_has_the_priority_class_of_its_template() -> None:
    high = job(spec={"template": template(priorityClassName="high")})
    world = OwnersWorld(high, manifest("scheduling.k8s.io/v1", "PriorityClass", "high", value=7))
    assert [each.priority for each in world.translator.state.workloads.values()] == [7]


def test_remarks_are_one_for_each_kind() -> None:
    waiting = [
        owner("batch/v1", "Job", name=f"j{number:02}", spec={"suspend": True})
        for number in range(12)
    ]
    world = OwnersWorld(*waiting, owner("apps/v1", "Deployment", spec={"replicas": 0}))
    (report,) = world.reports()
    assert report.startswith("12 Job.batch (lab/j00, ")
    assert report.endswith("lab/j09, 2 more): suspended, so no pods are made")
