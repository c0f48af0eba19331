"""What the documents of capacity scheduling promise, on a real control plane.

The two stories are those of the proposal (KEP 9 of scheduler-plugins), told in
`docs/explanation/elastic-quota.md` too; the Deployments are those of the demo of the plugin.
"""

from collections.abc import Callable
from typing import Any

from tests.live.api import Api
from tests.live.conftest import StartFairlead
from tests.live.deployments import create_deployment
from tests.live.elastic_quota.holding import bound_pods, wait_until_counts, wait_until_hold
from tests.live.elastic_quotas import Group, create_elastic_quota, elastic_quotas_path
from tests.live.kubectl import Kubectl
from tests.live.nodes import create_node
from tests.live.pods import create_pod
from tests.live.waiting import assert_stays, wait_until

GPU = "nvidia.com/gpu"


def gpu_quota(api: Api, namespace: str, low: int, high: int) -> None:
    create_elastic_quota(api, namespace, "quota", min={GPU: str(low)}, max={GPU: str(high)})


def pod(api: Api, namespace: str, name: str, *, gpus: int, **spec: Any) -> None:
    """Create a pod that asks for GPUs alone: what a quota does not list, none may ask for."""
    create_pod(api, namespace, name, gpus=gpus, cpu="", memory="", **spec)


def cpu_pod(api: Api, namespace: str, name: str, *, cpu: str = "1", **spec: Any) -> None:
    """Create a pod that asks for CPU alone."""
    create_pod(api, namespace, name, cpu=cpu, memory="", **spec)


def test_what_is_lent_comes_back(
    api: Api, make_namespace: Callable[[str], str], start_fairlead: StartFairlead
) -> None:
    """10 GPUs; a has min 4 and max 6, b has min 6 and max 8."""
    a, b = make_namespace("a"), make_namespace("b")
    create_node(api, "gpu-1", gpus=10, cpu="100")
    gpu_quota(api, a, 4, 6)
    gpu_quota(api, b, 6, 8)
    start_fairlead()
    pod(api, a, "a2", gpus=2)
    pod(api, b, "b3", gpus=3)
    wait_until_hold(api, {a: {"a2"}, b: {"b3"}})
    pod(api, a, "a4", gpus=2)  # 2 + 2 <= 4
    wait_until_hold(api, {a: {"a2", "a4"}, b: {"b3"}})
    pod(api, a, "a6", gpus=2)  # 4 + 2 > 4, borrowed: 7 + 2 <= 10, and 6 <= 6
    wait_until_hold(api, {a: {"a2", "a4", "a6"}, b: {"b3"}})
    pod(api, a, "a7", gpus=1)  # 6 + 1 > 6
    assert_stays(
        "a holds no more than its max",
        lambda: bound_pods(api, a),
        lambda found: "a7" not in found,
    )
    pod(api, b, "b6", gpus=3)  # 3 + 3 <= 6, and 1 is free: a gives 2 back
    wait_until_hold(api, {a: {"a2", "a4"}, b: {"b3", "b6"}})
    pod(api, b, "b7", gpus=1)  # 6 + 1 > 6, and a holds its min of 4
    assert_stays(
        "a keeps what is guaranteed to it",
        lambda: (bound_pods(api, a), bound_pods(api, b)),
        lambda found: found == ({"a2", "a4"}, {"b3", "b6"}),
    )


def test_over_its_min_a_namespace_takes_from_its_own_less_important_pods(
    api: Api,
    kubectl: Kubectl,
    make_namespace: Callable[[str], str],
    start_fairlead: StartFairlead,
) -> None:
    """10 GPUs; a has min 3 and max 4, b has min 4 and max 6, c has min 3 and max 4."""
    a, b, c = (make_namespace(each) for each in "abc")
    create_node(api, "gpu-1", gpus=10, cpu="100")
    for namespace, low, high in ((a, 3, 4), (b, 4, 6), (c, 3, 4)):
        gpu_quota(api, namespace, low, high)
    important = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
    kubectl.apply({**important, "metadata": {"name": "important"}, "value": 1000})
    start_fairlead()
    pod(api, a, "a3", gpus=3)
    pod(api, b, "b3", gpus=3)
    pod(api, c, "c3", gpus=3)
    wait_until_hold(api, {a: {"a3"}, b: {"b3"}, c: {"c3"}})
    pod(api, a, "a4", gpus=1)  # 3 + 1 > 3, borrowed
    wait_until_hold(api, {a: {"a3", "a4"}, b: {"b3"}, c: {"c3"}})
    pod(api, b, "b4", gpus=1)  # 3 + 1 <= 4, and only a is over its min
    wait_until_hold(api, {a: {"a3"}, b: {"b3", "b4"}, c: {"c3"}})
    pod(api, b, "urgent", gpus=1, priorityClassName="important")  # 4 + 1 > 4
    wait_until(
        "b gives one of its own pods for its important one",
        lambda: bound_pods(api, b),
        lambda found: "urgent" in found,
    )
    assert bound_pods(api, a) == {"a3"}
    assert bound_pods(api, c) == {"c3"}
    kubectl("delete", "priorityclass", "important")


def test_the_deployments_of_the_demo_share_eight_cpus(
    api: Api, make_namespace: Callable[[str], str], start_fairlead: StartFairlead
) -> None:
    """8 CPUs, min 4 and max 6 each, pods of 2 CPUs; the quotas are of the older API group."""
    quota1, quota2 = make_namespace("quota1"), make_namespace("quota2")
    create_node(api, "cpu-1", cpu="8")
    older: Group = "scheduling.sigs.k8s.io"
    for each in (quota1, quota2):
        create_elastic_quota(api, each, each, min={"cpu": "4"}, max={"cpu": "6"}, group=older)
    start_fairlead("--scheduler-name=default-scheduler", "--no-leader-elect")
    create_deployment(api, quota1, "nginx", 4, scheduler="default-scheduler", cpu="2", memory="")
    wait_until_counts(api, {quota1: (3, 1)})  # 3 * 2 <= 6, 4 * 2 > 6
    create_deployment(api, quota2, "nginx", 2, scheduler="default-scheduler", cpu="2", memory="")
    # 2 are free for the first; the second takes back what quota1 has over its min.
    wait_until_counts(api, {quota1: (2, 2), quota2: (2, 0)})
    status = wait_until(
        "the status of the quota says what is used",
        lambda: api.get(elastic_quotas_path(quota1, quota1, group=older)).get("status", {}),
        lambda status: status.get("used", {}).get("cpu") == "4",
    )
    assert "used" in status


def test_a_min_that_was_lent_on_two_nodes_comes_back_from_both(
    api: Api, make_namespace: Callable[[str], str], start_fairlead: StartFairlead
) -> None:
    """Nodes of 2 CPUs; quota1 has min 0 and runs 1 CPU on each, quota2 has min 2."""
    quota1, quota2 = make_namespace("quota1"), make_namespace("quota2")
    create_elastic_quota(api, quota1, "quota", min={"cpu": "0"}, max={"cpu": "2"})
    create_elastic_quota(api, quota2, "quota", min={"cpu": "2"}, max={"cpu": "2"})
    create_node(api, "left", cpu="2")
    create_node(api, "right", cpu="2")
    start_fairlead()
    for node in ("left", "right"):
        cpu_pod(api, quota1, f"on-{node}", nodeSelector={"kubernetes.io/hostname": node})
    wait_until_hold(api, {quota1: {"on-left", "on-right"}})
    cpu_pod(api, quota2, "whole", cpu="2")
    wait_until_hold(api, {quota1: set(), quota2: {"whole"}})
