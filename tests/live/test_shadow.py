"""`fairlead run --shadow` beside a scheduler that runs: what it finds, and that it writes nothing.

The running scheduler is the test, which binds and admits as KAI-Scheduler, Kueue and the plugin do.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.live.api import Api, Object
from tests.live.audited import requests_of
from tests.live.fairlead_process import FairleadProcess
from tests.live.pods import bind_pod
from tests.live.stored_objects import delete_objects, objects_in, store_objects
from tests.live.test_reading import FILES, quiet_cluster  # noqa: F401  a fixture
from tests.live.waiting import wait_until
from tools.k8s.cluster import Cluster

WORKLOADS = "/apis/kueue.x-k8s.io/v1beta2/namespaces/{}/workloads/{}"
READS = {"get", "list", "watch"}


class Shadowed:
    """A cluster with an example, a shadow beside it, and what the shadow says."""

    def __init__(self, cluster: Cluster, policy: str, folder: Path) -> None:
        self.api = Api(cluster)
        self.cluster = cluster
        self.objects = objects_in(FILES[policy])
        store_objects(self.api, self.objects)
        self._before_bytes = cluster.audit_log.stat().st_size
        kubeconfig = cluster.kubeconfig("shadow")
        self.process = FairleadProcess(
            "shadow", folder, kubeconfig, "--shadow", f"--policy={policy}"
        )
        self.process.wait_until_ready()
        self.wait_for("it has begun", lambda found: found["since"] is not None)

    def wait_for(self, expected: str, accept: Callable[[Any], bool]) -> Object:
        """Return what /shadow says once it is accepted."""
        return wait_until(
            expected, lambda: json.loads(self.process.get("/shadow")[1]), accept, within_s=25
        )

    def table(self) -> str:
        """End the shadow, and return what it prints."""
        assert self.process.terminate() == 0
        return self.process.text()

    def writes(self) -> list[str]:
        """Return the requests of the shadow that are no reads."""
        found = requests_of(self.cluster, "shadow", self._before_bytes)
        assert found
        return [str(each) for each in found if each.verb not in READS]


@pytest.fixture
def shadowed(
    request: pytest.FixtureRequest,
    quiet_cluster: Cluster,  # noqa: F811
    tmp_path: Path,
) -> Iterator[Shadowed]:
    """Gives a cluster with the example of a rule set, which the parameter names."""
    world = Shadowed(quiet_cluster, request.param, tmp_path)
    yield world
    if world.process.exit_code is None:
        world.process.kill()
    delete_objects(world.api, world.objects)


@pytest.mark.parametrize("shadowed", ["kai"], indirect=True)
def test_kai_beside_a_scheduler_that_binds_one_pod_too_many(shadowed: Shadowed) -> None:
    """8 GPUs: five for dictation and three for variants. The ninth pod goes where no room is."""
    for number in range(5):
        bind_pod(shadowed.api, "speech", f"dictation-{number}", "dgx-1")
    for number in range(3):
        bind_pod(shadowed.api, "genomics", f"variants-{number}", "dgx-1")
    found = shadowed.wait_for("eight are alike", lambda found: found["startedByBoth"] == 8)
    assert found["differing"] == {"started": 0, "not-started": 0, "not-evicted": 0}
    bind_pod(shadowed.api, "speech", "dictation-5", "dgx-1")
    found = shadowed.wait_for("one is not", lambda found: found["differing"]["started"] == 1)
    (difference,) = found["differences"]
    assert difference["pod"] == "dictation-5"
    assert "too little free nvidia.com/gpu" in difference["reason"]
    metrics = shadowed.process.get("/metrics")[1]
    assert 'fairlead_shadow_alike_total{act="started"} 8.0' in metrics
    assert 'fairlead_shadow_different_total{act="started"} 1.0' in metrics
    table = shadowed.table()
    assert "started by both: 8, 8 of them on the same node" in table
    assert "started by it only  dictation-5" in table
    assert shadowed.writes() == []


@pytest.mark.parametrize("shadowed", ["kueue"], indirect=True)
def test_kueue_beside_a_controller_that_admits_what_fits_and_what_does_not(
    shadowed: Shadowed,
) -> None:
    """Without ablation, segmenter fits with its 6 pods; evaluate, with 1, never borrows so much."""
    shadowed.api.delete(WORKLOADS.format("team-language", "ablation"))
    shadowed.wait_for("segmenter is to be admitted", lambda found: found["open"] >= 6)
    admit(shadowed.api, "team-vision", "segmenter", "vision")
    found = shadowed.wait_for("its pods are alike", lambda found: found["startedByBoth"] >= 6)
    assert found["differing"]["started"] == 0
    assert shadowed.writes() == []


def admit(api: Api, namespace: str, name: str, cluster_queue: str) -> None:
    """Admit a workload to the flavor a100, as Kueue writes it."""
    path = WORKLOADS.format(namespace, name)
    workload = api.get(path)
    now = workload["metadata"]["creationTimestamp"]
    admitted = {"status": "True", "reason": "Test", "message": "", "lastTransitionTime": now}
    assignments = []
    for pod_set in workload["spec"]["podSets"]:
        requests = pod_set["template"]["spec"]["containers"][0]["resources"]["requests"]
        assignments.append(
            {
                "name": pod_set["name"],
                "count": pod_set["count"],
                "flavors": dict.fromkeys(requests, "a100"),
                "resourceUsage": {
                    key: str(int(each) * pod_set["count"]) for key, each in requests.items()
                },
            }
        )
    status = {
        "admission": {"clusterQueue": cluster_queue, "podSetAssignments": assignments},
        "conditions": [{"type": each, **admitted} for each in ("QuotaReserved", "Admitted")],
    }
    api.patch(path, {"status": status})


@pytest.mark.parametrize("shadowed", ["elastic-quota"], indirect=True)
def test_elastic_quota_beside_a_plugin_that_forgets_a_victim(shadowed: Shadowed) -> None:
    """Nobody evicts train-c, for which decode waits."""
    found = shadowed.wait_for(
        "the eviction is missed", lambda found: found["differing"]["not-evicted"] == 1
    )
    assert [each["pod"] for each in found["differences"]] == ["train-c"]
    assert shadowed.writes() == []
    assert "evicted by Fairlead only: 1" in shadowed.table()
