"""`fairlead run` as a process: it begins, schedules, survives a kill, and ends on SIGTERM."""

import pytest

from tests.live.api import Api
from tests.live.audited import denials
from tests.live.conftest import StartFairlead
from tests.live.nodes import create_node
from tests.live.pods import create_pod, nodes_by_pod, wait_until_bound, wait_until_running
from tests.live.waiting import assert_stays
from tools.k8s.cluster import Cluster


def test_it_binds_a_pod_of_its_name_and_no_other_and_ends_with_0(
    api: Api, namespace: str, start_fairlead: StartFairlead
) -> None:
    create_node(api, "n1")
    process = start_fairlead()
    create_pod(api, namespace, "other", scheduler="another")
    create_pod(api, namespace, "ours")
    wait_until_bound(api, namespace, "ours")
    wait_until_running(api, namespace, "ours")
    assert nodes_by_pod(api, namespace) == {"ours": "n1", "other": ""}
    assert process.terminate() == 0


def test_after_a_kill_it_goes_on_from_what_the_api_server_has(
    api: Api, namespace: str, start_fairlead: StartFairlead
) -> None:
    """2 CPUs: the pod that runs from before has 1, one more fits, the third does not."""
    create_node(api, "n1", cpu="2")
    process = start_fairlead("--no-leader-elect")
    create_pod(api, namespace, "a")
    wait_until_bound(api, namespace, "a")
    process.kill()
    create_pod(api, namespace, "b")
    assert_stays(
        "b waits", lambda: nodes_by_pod(api, namespace)["b"], lambda node: not node, for_s=0.3
    )
    process.start_again()
    process.wait_until_ready()
    wait_until_bound(api, namespace, "b")
    create_pod(api, namespace, "c")
    assert_stays("c waits", lambda: nodes_by_pod(api, namespace)["c"], lambda node: not node)


def test_an_end_that_was_not_asked_for_is_a_failure(
    api: Api, namespace: str, start_fairlead: StartFairlead
) -> None:
    process = start_fairlead("--no-such-option", is_awaited=False)
    with pytest.raises(AssertionError, match="fairlead-1 ended with 2"):
        process.wait_until_ready()
    with pytest.raises(AssertionError, match=r"ended unasked, with 2:\n(.*\n)*.*--no-such-option"):
        process.stop()


def test_what_is_denied_to_a_user_is_found_in_the_audit_log(cluster: Cluster) -> None:
    size = cluster.audit_log.stat().st_size
    nobody = Api(cluster, "nobody")
    for _ in range(2):
        assert nobody.code_of("/apis/apps/v1/deployments") == 403
    assert nobody.code_of("/metrics") == 403
    assert nobody.code_of("/version") == 200
    assert denials(cluster, "nobody", size) == ["get /metrics: 403", "list apps/deployments: 403"]
    assert denials(cluster, "nobody", cluster.audit_log.stat().st_size) == []
