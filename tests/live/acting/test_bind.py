"""What becomes of bindings on a real API server."""

import asyncio

from tests.live.acting.acts_of_pods import TERM, bind, carry_out
from tests.live.api import AnswerError, Api, Object
from tests.live.namespaces import create_namespace
from tests.live.nodes import create_node
from tests.live.pods import create_pod, node_of, nodes_by_pod, pods_path
from tests.live.waiting import wait_until
from tools.k8s.cluster import Cluster

OTHER_UID = "00000000-0000-0000-0000-000000000000"


def test_a_bound_pod_says_which_term_placed_it(cluster: Cluster, api: Api, namespace: str) -> None:
    create_node(api, "n1")
    [outcome] = carry_out(cluster, [bind(create_pod(api, namespace, "a"), "n1")])
    assert (outcome.result, outcome.why) == ("done", "")
    pod = api.get(pods_path(namespace, "a"))
    assert node_of(pod) == "n1"
    assert pod["metadata"]["annotations"]["fairlead/term"] == TERM


def test_a_hundred_pods_are_bound_each_to_its_node(
    cluster: Cluster, api: Api, namespace: str
) -> None:
    names = [f"p{number}" for number in range(100)]
    for node in ("n0", "n1", "n2"):
        create_node(api, node, cpu="40")
    acts = [
        bind(create_pod(api, namespace, name), f"n{number % 3}")
        for number, name in enumerate(names)
    ]
    assert {each.result for each in carry_out(cluster, acts)} == {"done"}
    assert nodes_by_pod(api, namespace) == {
        name: f"n{number % 3}" for number, name in enumerate(names)
    }


def test_of_two_bindings_of_a_pod_one_is_done_and_the_other_overtaken(
    cluster: Cluster, api: Api, namespace: str
) -> None:
    create_node(api, "n1")
    create_node(api, "n2")
    pod = create_pod(api, namespace, "a")
    outcomes = carry_out(cluster, [bind(pod, "n1"), bind(pod, "n2")])
    by_result = {each.result: each for each in outcomes}
    assert by_result.keys() == {"done", "overtaken"}
    done = by_result["done"].act
    assert nodes_by_pod(api, namespace) == {"a": done.node}  # type: ignore[union-attr]
    assert "already assigned to node" in by_result["overtaken"].why


def test_a_binding_comes_too_late_for_a_pod_that_is_another_or_gone(
    cluster: Cluster, api: Api, namespace: str
) -> None:
    create_node(api, "n1")
    other = create_pod(api, namespace, "other")
    gone = create_pod(api, namespace, "gone")
    leaving = create_pod(api, namespace, "leaving", finalizers=["test.fairlead/stays"])
    api.delete(pods_path(namespace, "gone"), grace_period_s=0)
    api.delete(pods_path(namespace, "leaving"), grace_period_s=0)
    acts = [bind(other, "n1", uid=OTHER_UID), bind(gone, "n1"), bind(leaving, "n1")]
    outcomes = carry_out(cluster, acts)
    assert [each.result for each in outcomes] == ["overtaken"] * 3
    assert nodes_by_pod(api, namespace) == {"other": "", "leaving": ""}


def test_a_gated_pod_is_not_bound(cluster: Cluster, api: Api, namespace: str) -> None:
    """Nothing came first, so the same binding is not to be tried again at once."""
    create_node(api, "n1")
    gates = [{"name": "test.fairlead/gate"}]
    pod = create_pod(api, namespace, "gated", schedulingGates=gates)
    [outcome] = carry_out(cluster, [bind(pod, "n1")])
    assert outcome.result == "refused"
    assert nodes_by_pod(api, namespace) == {"gated": ""}


def test_a_binding_that_an_admission_policy_refuses_is_refused_with_its_words(
    cluster: Cluster, api: Api, namespace: str
) -> None:
    create_node(api, "n1")
    pods = [create_pod(api, namespace, name) for name in ("allowed", "forbidden")]
    path, policies = "/apis/admissionregistration.k8s.io/v1", "validatingadmissionpolicies"
    bindings = "validatingadmissionpolicybindings"
    for plural, body in ((policies, policy(namespace)), (bindings, policy_binding(namespace))):
        api.create(f"{path}/{plural}", body)
    try:
        # A policy acts within a second of its creation.
        wait_until(
            "the policy acts", lambda: dry_run(api, namespace, "forbidden"), lambda c: c == 422
        )
        outcomes = carry_out(cluster, [bind(each, "n1") for each in pods])
    finally:
        api.delete(f"{path}/{policies}/{namespace}")
        api.delete(f"{path}/{bindings}/{namespace}")
    assert [each.result for each in outcomes] == ["done", "refused"]
    assert "not on Thursdays" in outcomes[1].why


def policy(name: str) -> Object:
    """Return a policy that refuses to bind pods called forbidden."""
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["pods/binding"],
    }
    check = {"expression": "object.metadata.name != 'forbidden'", "message": "not on Thursdays"}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "matchConstraints": {"resourceRules": [rule]},
            "matchConditions": [{"name": "here", "expression": f"request.namespace == '{name}'"}],
            "validations": [check],
        },
    }


def policy_binding(name: str) -> Object:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name, "validationActions": ["Deny"]},
    }


def dry_run(api: Api, namespace: str, name: str) -> int:
    """Return the status code of a binding that changes nothing."""
    body = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name, "namespace": namespace},
        "target": {"apiVersion": "v1", "kind": "Node", "name": "n1"},
    }
    try:
        api.request(
            "POST", pods_path(namespace, name, "binding"), body=body, query={"dryRun": "All"}
        )
    except AnswerError as problem:
        return problem.code
    return 201


def test_a_binding_whose_answer_is_late_ends_as_the_pod_shows(breakable_cluster: Cluster) -> None:
    """The server is frozen when the request comes, and answers after its deadline of 0.5 s."""
    api = Api(breakable_cluster)
    namespace = create_namespace(api, "late")
    pods = [create_pod(api, namespace, f"p{number}") for number in range(8)]

    async def thaw() -> None:
        await asyncio.sleep(1.5)
        breakable_cluster.resume("kube-apiserver")

    breakable_cluster.pause("kube-apiserver")
    acts = [bind(each, "n1") for each in pods]
    outcomes = carry_out(breakable_cluster, acts, deadline_s=0.5, meanwhile=thaw)
    bound = nodes_by_pod(api, namespace)
    assert {each.act.target.name: each.result == "done" for each in outcomes} == {
        name: node == "n1" for name, node in bound.items()
    }


def test_no_binding_is_lost_or_repeated_while_the_api_server_is_killed(
    breakable_cluster: Cluster,
) -> None:
    api = Api(breakable_cluster)
    namespace = create_namespace(api, "killed")
    pods = [create_pod(api, namespace, f"p{number}") for number in range(60)]

    async def kill_and_restart() -> None:
        await asyncio.sleep(0.02)
        breakable_cluster.stop("kube-apiserver")
        await asyncio.sleep(0.2)
        await asyncio.to_thread(breakable_cluster.restart, "kube-apiserver")

    acts = [bind(each, "n1") for each in pods]
    outcomes = carry_out(breakable_cluster, acts, meanwhile=kill_and_restart)
    bound = nodes_by_pod(api, namespace)
    done = {each.act.target.name for each in outcomes if each.result == "done"}
    assert done == {name for name, node in bound.items() if node}
    assert len(done) < 60
