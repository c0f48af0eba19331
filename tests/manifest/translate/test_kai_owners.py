"""Owners under KAI: their pods are planned in the groups that KAI would make."""

from typing import Any

from fairlead.manifest.translate.family import OF_FILES
from fairlead.model.plan import Start
from fairlead.policy.contract import make_policy
from tests.manifest.translate.cluster_objects import Value, again, kai_group, manifest
from tests.manifest.translate.watched_world import NOW_MS, World

UID = "u"


def template(**spec: Any) -> Value:
    containers = [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]
    return {"spec": {"schedulerName": "kai-scheduler", "containers": containers, **spec}}


def training_job(workers: int, **spec: Any) -> Value:
    """Return a job of a master and some workers, of 2 cpus each."""
    return manifest(
        "kubeflow.org/v1",
        "PyTorchJob",
        "work",
        uid=UID,
        metadata={"namespace": "lab", "labels": {"kai.scheduler/queue": "a"}},
        spec={
            "pytorchReplicaSpecs": {
                "Master": {"replicas": 1, "template": template(**spec)},
                "Worker": {"replicas": workers, "template": template(**spec)},
            }
        },
    )


def kai_world(*values: Value) -> World:
    return World("kai", *values, rules=OF_FILES)


def started(world: World) -> int:
    """Return how many pods start."""
    translator = world.translator
    plan = make_policy(translator.settings).plan(translator.state, NOW_MS)
    return sum(len(each.placements) for each in plan.decisions if isinstance(each, Start))


def test_a_training_job_starts_as_a_whole_or_waits() -> None:
    """The node has 8 cpus: a master and 3 workers need 8, with 4 workers 10."""
    world = kai_world(training_job(3))
    name = f"lab/pg-work-{UID}"
    assert {each: len(pods) for each, pods in world.pods().items()} == {name: 4}
    assert world.waits() == {}
    world.see(again(training_job(4)))
    assert world.waits().keys() == {name}
    assert world.told() == []


def test_a_group_that_is_there_counts_with_what_it_says() -> None:
    """KAI made the group, and a user lowered its minimum to 2: 4 of 5 pods find their 2 of 8."""
    world = kai_world(training_job(4), kai_group(f"pg-work-{UID}", 2))
    assert started(world) == 4
    world.lose(kai_group(f"pg-work-{UID}"))
    assert started(world) == 0


def test_pods_of_another_scheduler_with_a_queue_are_a_mistake() -> None:
    world = kai_world(training_job(1, schedulerName="default-scheduler"))
    assert world.pods() == {}
    assert world.told() == ["no-effect", "left-alone"]


def test_the_config_says_which_scheduler_and_label_are_kais() -> None:
    named = {"schedulerName": "own", "queueLabelKey": "team"}
    config = manifest("kai.scheduler/v1", "Config", "kai-config", spec={"global": named})
    job = training_job(1, schedulerName="own")
    job["metadata"]["labels"] = {"team": "a"}
    world = kai_world(job)
    assert world.pods() == {}
    world.see(config)
    assert len(world.pods()) == 1
    assert world.waits() == {}


def test_a_class_of_the_template_counts_when_it_comes() -> None:
    job = training_job(1, priorityClassName="own")
    world = kai_world(job)
    (workload,) = world.translator.state.workloads.values()
    assert workload.priority == 50
    world.see(manifest("scheduling.k8s.io/v1", "PriorityClass", "own", value=120))
    (workload,) = world.translator.state.workloads.values()
    assert (workload.priority, workload.preemptible) == (120, False)
