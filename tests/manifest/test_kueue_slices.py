"""Slices of elastic workloads: only the difference is charged, and waits."""

import pytest

from fairlead.manifest.translate.family import OF_FILES
from fairlead.manifest.translate.translator import Translator
from fairlead.model.axes import WorkloadName
from fairlead.model.plan import Start, Wait
from fairlead.model.state import ClusterState
from fairlead.policy.kueue.policy import KueuePolicy
from fairlead.policy.kueue.settings import KueueSettings
from tests.manifest.test_assemble_kueue import cluster_queue, documents_of, local_queue, sound

QUEUES = (cluster_queue("a", quota="cpu: f 5"), local_queue("jobs", "a"))
WORKLOAD = """apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata:
  name: {name}
  namespace: team
  annotations: {{{annotations}}}
spec:
  queueName: jobs
  active: {active}
  podSets:
  - count: {count}
    template: {{spec: {{containers: [{{name: c, resources: {{requests: {{cpu: 1}}}}}}]}}}}
status: {{{status}}}
"""
OLD = "kueue.x-k8s.io/workload-slice-replacement-for: team/old"


def pods(name: str, count: int, *, quota: bool = False, replaces: str = "", more: str = "") -> str:
    """Return a workload of so many pods of a core each; *more* are conditions."""
    reserved = '{type: QuotaReserved, status: "True"}' if quota else ""
    status = f"conditions: [{', '.join(filter(None, (reserved, more)))}]"
    if quota:
        granted = f"{{name: main, flavors: {{cpu: f}}, resourceUsage: {{cpu: {count}}}}}"
        status += f", admission: {{clusterQueue: a, podSetAssignments: [{granted}]}}"
    return WORKLOAD.format(
        name=name, annotations=replaces, active="true", count=count, status=status
    )


def counts(state: ClusterState) -> dict[str, int]:
    return {name.removeprefix("team/"): each.pod_count() for name, each in state.workloads.items()}


def used(state: ClusterState) -> int:
    (queue,) = state.sums.values()
    return sum(queue.allocated) // 1000


def decision(state: ClusterState, name: str) -> object:
    plan = KueuePolicy(KueueSettings()).plan(state, 0)
    return next(each for each in plan.decisions if each.workload == f"team/{name}")


HELD = pods("old", 3, quota=True)
EVICTED = '{type: Evicted, status: "True", reason: Preempted}'
FINISHED = '{type: Finished, status: "True", reason: WorkloadSliceReplaced}'
# Of 5 cores the old slice has 3. The new one wants 5: only 2 more.
CASES = {
    "only the difference waits": ((HELD, pods("new", 5, replaces=OLD)), {"old": 3, "new": 2}, 3),
    "by its name alone": (
        (HELD, pods("new", 5, replaces=OLD.replace("team/", ""))),
        {"old": 3, "new": 2},
        3,
    ),
    "without the annotation all of it": ((HELD, pods("new", 5)), {"old": 3, "new": 5}, 3),
    "an old slice that waits holds nothing": (
        (pods("old", 3), pods("new", 5, replaces=OLD)),
        {"old": 3, "new": 5},
        0,
    ),
    "one that is evicted will hold nothing": (
        (pods("old", 3, quota=True, more=EVICTED), pods("new", 5, replaces=OLD)),
        {"old": 3, "new": 5},
        0,
    ),
    "none replaces itself": (
        (pods("old", 3, quota=True, replaces=OLD),),
        {"old": 3},
        3,
    ),
    "nor one that is not there": ((pods("new", 5, replaces=OLD),), {"new": 5}, 0),
    "with quota the new one has all": (
        (HELD, pods("new", 5, quota=True, replaces=OLD)),
        {"new": 5},
        5,
    ),
    "as when the old one says so": (
        (
            pods("old", 3, quota=True, more=FINISHED),
            pods("new", 5, quota=True, replaces=OLD),
        ),
        {"new": 5},
        5,
    ),
}


@pytest.mark.parametrize(("texts", "expected", "charged"), CASES.values(), ids=CASES)
def test_what_counts(texts: tuple[str, ...], expected: dict[str, int], charged: int) -> None:
    state = sound(*QUEUES, *texts)
    assert counts(state) == expected
    assert used(state) == charged


def test_a_slice_starts_where_its_difference_fits() -> None:
    """2 <= 5 - 3, and 3 > 5 - 3. Whole, 5 > 2 would never fit."""
    assert isinstance(decision(sound(*QUEUES, HELD, pods("new", 5, replaces=OLD)), "new"), Start)
    assert isinstance(decision(sound(*QUEUES, HELD, pods("new", 6, replaces=OLD)), "new"), Wait)


def test_of_a_difference_at_least_one_pod_starts() -> None:
    """3 held, and at least 2 of 4 wanted: 1 more, and not none of it."""
    least = pods("new", 4, replaces=OLD).replace("- count: 4", "- count: 4\n    minCount: 2")
    (pod_set,) = sound(*QUEUES, HELD, least).workloads[WorkloadName("team/new")].pod_sets
    assert (pod_set.min_count, pod_set.count) == (1, 1)


def test_slices_follow_each_other_as_they_change() -> None:
    translator = Translator("kueue", OF_FILES)

    def seen(*texts: str) -> dict[str, int]:
        for document in documents_of(*texts):
            translator.changed(document)
        translator.settle()
        return counts(translator.state)

    assert seen(*QUEUES, pods("old", 3), pods("new", 5, replaces=OLD)) == {"old": 3, "new": 5}
    assert seen(HELD) == {"old": 3, "new": 2}
    assert seen(pods("new", 5, quota=True, replaces=OLD)) == {"new": 5}
    assert seen(pods("new", 5)) == {"old": 3, "new": 5}
    assert WorkloadName("team/old") in translator.state.runs
