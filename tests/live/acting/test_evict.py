"""What becomes of evictions on a real API server."""

import pytest

from tests.live.acting.acts_of_pods import carry_out, evict
from tests.live.acting.test_bind import OTHER_UID
from tests.live.api import Api, Object
from tests.live.budgets import create_budget
from tests.live.nodes import create_node
from tests.live.pods import (
    bind_pod,
    create_pod,
    is_leaving,
    nodes_by_pod,
    pods_path,
    wait_until_gone,
    wait_until_running,
)
from tools.k8s.cluster import Cluster

SLOWLY = {"test.fairlead/stops-for": "1h"}


def running_pod(api: Api, namespace: str, name: str, **options: object) -> Object:
    """Create a pod, bind it, and return it once it runs."""
    create_pod(api, namespace, name, **options)  # type: ignore[arg-type]
    bind_pod(api, namespace, name, "n1")
    return wait_until_running(api, namespace, name)


@pytest.fixture(autouse=True)
def node(api: Api, namespace: str) -> None:
    """Gives each test the node n1."""
    create_node(api, "n1")


def test_an_evicted_pod_terminates_and_says_why(cluster: Cluster, api: Api, namespace: str) -> None:
    pod = running_pod(api, namespace, "a", grace_s=30, annotations=SLOWLY)
    [outcome] = carry_out(cluster, [evict(pod)])
    assert outcome.result == "done"
    leaving = api.get(pods_path(namespace, "a"))
    assert is_leaving(leaving)
    assert leaving["metadata"]["deletionGracePeriodSeconds"] == 30
    targets = [
        each["status"]
        for each in leaving["status"]["conditions"]
        if each["type"] == "DisruptionTarget"
    ]
    assert targets == ["True"]


def test_an_eviction_of_a_pod_that_is_leaving_or_gone_is_done(
    cluster: Cluster, api: Api, namespace: str
) -> None:
    """What the eviction was to bring about is so; it was asked for in an older version."""
    leaving = running_pod(api, namespace, "leaving", grace_s=30, annotations=SLOWLY)
    gone = running_pod(api, namespace, "gone")
    api.delete(pods_path(namespace, "leaving"))
    api.delete(pods_path(namespace, "gone"))
    wait_until_gone(api, namespace, "gone")
    outcomes = carry_out(cluster, [evict(leaving), evict(gone)])
    assert [each.result for each in outcomes] == ["done", "done"]


def test_a_budget_refuses_an_eviction_and_the_pod_stays(
    cluster: Cluster, api: Api, namespace: str
) -> None:
    """2 pods, at least 2 available: 2 - 2 = 0 evictions are allowed."""
    pods = [running_pod(api, namespace, name, labels={"app": "web"}) for name in ("a", "b")]
    create_budget(api, namespace, "web", app="web", min_available=2, allowed=0)
    pods = [api.get(pods_path(namespace, name)) for name in ("a", "b")]
    outcomes = carry_out(cluster, [evict(each) for each in pods])
    assert [each.result for each in outcomes] == ["refused", "refused"]
    assert "disruption budget" in outcomes[0].why
    assert not any(is_leaving(each) for each in api.items(pods_path(namespace)))


def test_a_budget_allows_as_many_evictions_as_it_says(
    cluster: Cluster, api: Api, namespace: str
) -> None:
    """3 pods, at least 2 available: 3 - 2 = 1 eviction is allowed."""
    names = ("a", "b", "c")
    for name in names:
        running_pod(api, namespace, name, labels={"app": "web"}, grace_s=30, annotations=SLOWLY)
    create_budget(api, namespace, "web", app="web", min_available=2, allowed=1)
    pods = [api.get(pods_path(namespace, name)) for name in names]
    outcomes = carry_out(cluster, [evict(each) for each in pods])
    assert sorted(each.result for each in outcomes) == ["done", "refused", "refused"]
    done = {each.act.target.name for each in outcomes if each.result == "done"}
    assert done == {
        each["metadata"]["name"] for each in api.items(pods_path(namespace)) if is_leaving(each)
    }


def test_a_pod_that_changed_after_the_decision_is_not_evicted(
    cluster: Cluster, api: Api, namespace: str
) -> None:
    pod = running_pod(api, namespace, "a")
    api.patch(pods_path(namespace, "a"), {"metadata": {"labels": {"protected": "yes"}}})
    [outcome] = carry_out(cluster, [evict(pod)])
    assert outcome.result == "overtaken"
    assert not is_leaving(api.get(pods_path(namespace, "a")))


def test_a_pod_of_the_same_name_is_not_evicted_in_the_place_of_another(
    cluster: Cluster, api: Api, namespace: str
) -> None:
    pod = running_pod(api, namespace, "a")
    [outcome] = carry_out(cluster, [evict(pod, uid=OTHER_UID)])
    assert outcome.result == "done"  # the pod that was meant is gone
    assert not is_leaving(api.get(pods_path(namespace, "a")))


def test_a_pod_that_waits_is_gone_at_once(cluster: Cluster, api: Api, namespace: str) -> None:
    pod = create_pod(api, namespace, "a", grace_s=30)
    [outcome] = carry_out(cluster, [evict(pod)])
    assert outcome.result == "done"
    assert nodes_by_pod(api, namespace) == {}
