"""What users see on the API server of what is decided: Events, conditions, nominations, quotas."""

from collections.abc import Callable
from typing import Any

from tests.live.api import Api, Object
from tests.live.conftest import StartFairlead
from tests.live.elastic_quotas import create_elastic_quota, elastic_quotas_path
from tests.live.kubectl import Kubectl
from tests.live.nodes import create_node
from tests.live.pods import create_pod, pods_path, wait_until_bound, wait_until_running
from tests.live.waiting import wait_until

LEAST = {"cpu": "2", "memory": "1Gi"}


def events(api: Api, namespace: str, pod: str) -> list[Object]:
    """Return the Events about a pod, in the order in which they were written."""
    found = api.items(
        f"/api/v1/namespaces/{namespace}/events", fieldSelector=f"involvedObject.name={pod}"
    )
    return sorted(found, key=lambda each: int(each["metadata"]["resourceVersion"]))


def wait_for_event(api: Api, namespace: str, pod: str, reason: str) -> Object:
    """Return the first Event about a pod with a reason, once there is one."""
    found = wait_until(
        f"an Event {reason} about {namespace}/{pod}",
        lambda: [each for each in events(api, namespace, pod) if each["reason"] == reason],
        bool,
    )
    return found[0]


def condition(pod: Object, kind: str = "PodScheduled") -> dict[str, Any]:
    """Return a condition of a pod; {}: it has none of this kind."""
    conditions: list[dict[str, Any]] = pod["status"].get("conditions", [])
    return next((each for each in conditions if each["type"] == kind), {})


def fill(api: Api, namespace: str) -> None:
    """Fill a quota of at most 4 CPUs, so that a pod of 2 has to wait."""
    create_node(api, "n1", cpu="8")
    create_elastic_quota(
        api, namespace, "quota", min={**LEAST, "cpu": "4"}, max={**LEAST, "cpu": "4"}
    )
    create_pod(api, namespace, "runs", cpu="4", memory="1Mi")
    wait_until_bound(api, namespace, "runs")
    create_pod(api, namespace, "waits", cpu="2", memory="1Mi")


WHY = "cpu: used 4 + request 2 > max 4"


def test_a_pod_that_waits_says_why_to_users_and_to_autoscalers(
    api: Api, kubectl: Kubectl, namespace: str, start_fairlead: StartFairlead
) -> None:
    start_fairlead("--no-leader-elect")
    fill(api, namespace)
    event = wait_for_event(api, namespace, "waits", "FailedScheduling")
    assert event["type"] == "Warning"
    assert WHY in event["message"]
    pod = wait_until(
        "the condition of the pod that waits",
        lambda: api.get(pods_path(namespace, "waits")),
        lambda pod: bool(condition(pod)),
    )
    said = condition(pod)
    assert (said["status"], said["reason"]) == ("False", "Unschedulable")
    assert said["message"] == event["message"]
    described = kubectl("describe", "pod", "waits", "-n", namespace)
    (line,) = [line for line in described.splitlines() if "FailedScheduling" in line]
    assert line.split()[:2] == ["Warning", "FailedScheduling"]
    assert "fairlead" in line
    assert WHY in line


def test_nothing_is_said_again_after_a_restart(
    api: Api, namespace: str, start_fairlead: StartFairlead
) -> None:
    first = start_fairlead("--no-leader-elect")
    fill(api, namespace)
    wait_for_event(api, namespace, "waits", "FailedScheduling")
    before = wait_until(
        "the condition of the pod that waits",
        lambda: api.get(pods_path(namespace, "waits")),
        lambda pod: bool(condition(pod)),
    )
    first.stop()
    start_fairlead("--no-leader-elect")
    create_pod(api, namespace, "also-waits", cpu="2", memory="1Mi")
    wait_for_event(api, namespace, "also-waits", "FailedScheduling")
    after = api.get(pods_path(namespace, "waits"))
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
    (event,) = events(api, namespace, "waits")
    assert event["count"] == 1


def test_a_preemption_names_its_rule_and_the_pod_whose_node_it_frees(
    api: Api,
    make_namespace: Callable[[str], str],
    start_fairlead: StartFairlead,
) -> None:
    """The victim takes two seconds to terminate. As long the pod is nominated to its node."""
    start_fairlead("--no-leader-elect")
    lender, borrower = make_namespace("lender"), make_namespace("borrower")
    create_node(api, "n1", cpu="2")
    create_elastic_quota(api, lender, "quota", min=LEAST)
    create_elastic_quota(api, borrower, "quota", min={"cpu": "0", "memory": "1Gi"})
    stops = {"test.fairlead/stops-for": "2s"}
    create_pod(api, borrower, "victim", cpu="2", memory="1Mi", grace_s=30, annotations=stops)
    wait_until_running(api, borrower, "victim")
    create_pod(api, lender, "wants", cpu="2", memory="1Mi")
    nominated = wait_until(
        "the pod is nominated",
        lambda: api.get(pods_path(lender, "wants")),
        lambda pod: "nominatedNodeName" in pod["status"],
    )
    assert nominated["status"]["nominatedNodeName"] == "n1"
    assert condition(nominated)["reason"] == "Unschedulable"
    event = wait_for_event(api, borrower, "victim", "Preempted")
    assert event["message"].startswith(f"gives way to {lender}/wants: ")
    assert "cpu: used 2 > min 0" in event["message"]
    running = wait_until_running(api, lender, "wants")
    assert condition(running)["status"] == "True"
    assert condition(running, "Ready")["status"] == "True"
    assert "message" not in condition(running)
    assert running["status"]["phase"] == "Running"


def test_our_part_of_a_status_is_the_condition_alone(
    api: Api, namespace: str, start_fairlead: StartFairlead
) -> None:
    """What a kubelet owns stays the kubelet's: another condition is neither changed nor owned."""
    start_fairlead("--no-leader-elect")
    fill(api, namespace)
    other = {"type": "example.com/Other", "status": "True"}
    body = {"status": {"conditions": [other]}}
    api.patch(
        pods_path(namespace, "waits", "status"),
        body,
        content_type="application/strategic-merge-patch+json",
    )
    pod = wait_until(
        "both conditions",
        lambda: api.get(pods_path(namespace, "waits")),
        lambda pod: len(pod["status"].get("conditions", [])) == 2,
    )
    assert condition(pod, "example.com/Other")["status"] == "True"
    (ours,) = [each for each in pod["metadata"]["managedFields"] if each["manager"] == "fairlead"]
    assert (ours["operation"], ours["subresource"]) == ("Apply", "status")
    assert list(ours["fieldsV1"]) == ["f:status"]
    (owned,) = ours["fieldsV1"]["f:status"].values()
    assert list(owned) == ['k:{"type":"PodScheduled"}']


def test_a_gated_pod_is_left_to_the_api_server(
    api: Api, namespace: str, start_fairlead: StartFairlead
) -> None:
    start_fairlead("--no-leader-elect")
    gates = [{"name": "example.com/wait"}]
    create_elastic_quota(api, namespace, "quota", min=LEAST, max=LEAST)
    create_node(api, "n1", cpu="8")
    create_pod(api, namespace, "gated", cpu="9", memory="1Mi", schedulingGates=gates)
    create_pod(api, namespace, "waits", cpu="9", memory="1Mi")
    wait_for_event(api, namespace, "waits", "FailedScheduling")
    assert condition(api.get(pods_path(namespace, "gated")))["reason"] == "SchedulingGated"
    assert events(api, namespace, "gated") == []


def test_quotas_of_both_groups_show_what_their_pods_use(
    api: Api,
    kubectl: Kubectl,
    make_namespace: Callable[[str], str],
    start_fairlead: StartFairlead,
) -> None:
    start_fairlead("--no-leader-elect")
    create_node(api, "n1", cpu="8", memory="16Gi")
    newer, older = make_namespace("newer"), make_namespace("older")
    create_elastic_quota(api, newer, "quota", min={"cpu": "4", "memory": "4Gi"})
    create_elastic_quota(api, older, "quota", min=LEAST, group="scheduling.sigs.k8s.io")
    create_pod(api, newer, "p", cpu="1500m", memory="1Gi")
    create_pod(api, newer, "q", cpu="500m", memory="512Mi")
    create_pod(api, older, "p", cpu="1", memory="1Mi")
    used = wait_until(
        "what the pods use",
        lambda: api.get(elastic_quotas_path(newer, "quota")).get("status", {}),
        lambda status: status.get("used") == {"cpu": "2", "memory": "1536Mi"},
    )
    assert used["scheduled"] == used["used"]
    wait_until(
        "what the pod uses in the older group",
        lambda: api.get(elastic_quotas_path(older, "quota", group="scheduling.sigs.k8s.io")),
        lambda quota: quota.get("status", {}).get("used") == {"cpu": "1", "memory": "1Mi"},
    )
    assert '"cpu":"2"' in kubectl("get", "elasticquotas.scheduling.x-k8s.io", "-n", newer)


def test_each_start_is_an_event_where_all_are_wanted(
    api: Api, kubectl: Kubectl, namespace: str, start_fairlead: StartFairlead
) -> None:
    start_fairlead("--no-leader-elect", "--events=all")
    create_node(api, "n1")
    create_pod(api, namespace, "p", cpu="1", memory="1Mi")
    event = wait_for_event(api, namespace, "p", "Scheduled")
    assert event["message"] == f"Successfully assigned {namespace}/p to n1"
    assert "Successfully assigned" in kubectl("describe", "pod", "p", "-n", namespace)


def test_a_process_says_that_it_lives_and_what_it_does(
    api: Api, namespace: str, start_fairlead: StartFairlead
) -> None:
    process = start_fairlead("--no-leader-elect")
    create_node(api, "n1")
    create_pod(api, namespace, "p", cpu="1", memory="1Mi")
    wait_until_bound(api, namespace, "p")
    assert process.get("/healthz") == (200, "ok\n")
    status, text = wait_until(
        "the bind is counted",
        lambda: process.get("/metrics"),
        lambda answer: 'fairlead_acts_total{result="done",verb="bind"} 1.0\n' in answer[1],
    )
    assert status == 200
    assert "\nfairlead_leader 1.0\n" in text
