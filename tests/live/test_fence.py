"""The fence on a real API server: which bindings and evictions it refuses, and which pass."""

import json
from collections.abc import Callable

import pytest

from fairlead.cluster.kubernetes.install.render import Installation, installation_text
from tests.live.api import Api, Object
from tests.live.kubectl import Kubectl
from tests.live.nodes import create_node
from tests.live.pods import create_pod, node_of, pods_path
from tests.live.waiting import wait_until

SCHEDULER = "fenced"
OTHER = "another-scheduler"
LEADER, TERMS = "replica-b", 3
CURRENT = f"{LEADER}/{TERMS}"


class Fenced:
    """An installation whose fence is at work, and requests of its scheduler and of others."""

    def __init__(self, kubectl: Kubectl, api: Api, namespace: str) -> None:
        self.api = api
        self.namespace = namespace
        self.account = f"system:serviceaccount:{namespace}:fairlead-{SCHEDULER}-scheduler"
        self._kubectl = kubectl
        self._leases = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        installation = Installation(namespace=namespace, scheduler_name=SCHEDULER)
        kubectl("apply", "-f", "-", stdin=installation_text(installation, ()))

    def write_lease(self, holder: str) -> None:
        lease = f"{self._leases}/{SCHEDULER}"
        spec = {"holderIdentity": holder, "leaseTransitions": TERMS}
        if self.api.find(lease):
            self.api.patch(lease, {"spec": spec})
            return
        body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": spec}
        self.api.create(self._leases, {**body, "metadata": {"name": SCHEDULER}})

    def delete_lease(self) -> None:
        self.api.delete(f"{self._leases}/{SCHEDULER}")

    def bind(self, pod: str, term: str, user: str = "", dry_run: bool = False) -> str:
        """Bind a pod; returns why it was refused, "" if it was not."""
        target = {"apiVersion": "v1", "kind": "Node", "name": "n1"}
        body = {"apiVersion": "v1", "kind": "Binding", "target": target}
        return self._send(pod, "binding", body, term, user, dry_run)

    def evict(self, pod: str, term: str) -> str:
        """Evict a pod; returns why it was refused, "" if it was not."""
        return self._send(pod, "eviction", {"apiVersion": "policy/v1", "kind": "Eviction"}, term)

    def wait_until_refused(self, words: str) -> None:
        """Return once the fence is at work, and knows the Lease as it is."""
        wait_until(
            f"a binding is refused: {words}",
            lambda: self.bind("probe", "former-leader/1", dry_run=True),
            lambda refusal: words in refusal,
        )

    def _send(
        self, pod: str, act: str, body: Object, term: str, user: str = "", dry_run: bool = False
    ) -> str:
        metadata: Object = {"name": pod, "namespace": self.namespace}
        if term:
            metadata["annotations"] = {"fairlead/term": term}
        path = pods_path(self.namespace, pod, act) + ("?dryRun=All" if dry_run else "")
        done = self._kubectl.attempt(
            f"--as={user or self.account}",
            *("create", "--raw", path, "-f", "-"),
            stdin=json.dumps({**body, "metadata": metadata}),
        )
        return done.stderr


@pytest.fixture
def fenced(kubectl: Kubectl, api: Api, namespace: str) -> Fenced:
    """Gives a fence whose Lease is held, three waiting pods and a node."""
    create_node(api, "n1")
    for name in ("probe", "a", "b"):
        create_pod(api, namespace, name)
    fence = Fenced(kubectl, api, namespace)
    fence.write_lease(LEADER)
    fence.wait_until_refused(f"is held by {CURRENT}")
    return fence


def test_the_leader_binds_and_evicts_and_the_pod_names_its_term(fenced: Fenced) -> None:
    assert fenced.bind("a", CURRENT) == ""
    bound = fenced.api.get(pods_path(fenced.namespace, "a"))
    assert node_of(bound) == "n1"
    assert bound["metadata"]["annotations"]["fairlead/term"] == CURRENT
    assert fenced.evict("a", CURRENT) == ""


STALE = {
    "the holder of a former term": ("replica-a/2", "sent by replica-a/2"),
    "the same replica in a former term": (f"{LEADER}/2", f"sent by {LEADER}/2"),
    "no leader at all": ("", "sent by no leader"),
}


@pytest.mark.parametrize(("term", "words"), STALE.values(), ids=STALE.keys())
def test_acts_of_a_former_leader_are_refused_and_the_holder_is_named(
    fenced: Fenced, term: str, words: str
) -> None:
    for refusal in (fenced.bind("a", term), fenced.evict("b", term)):
        assert "(Forbidden)" in refusal
        lease = f"{fenced.namespace}/{SCHEDULER}"
        assert f"{words}, and the Lease {lease} is held by {CURRENT}" in refusal
    assert node_of(fenced.api.get(pods_path(fenced.namespace, "a"))) == ""


def test_nothing_passes_while_the_lease_has_no_holder(fenced: Fenced) -> None:
    fenced.write_lease("")
    fenced.wait_until_refused("is held by no replica")
    assert "(Forbidden)" in fenced.bind("a", CURRENT)
    assert "(Forbidden)" in fenced.bind("a", f"/{TERMS}")


def allow_binding(api: Api, user: str) -> None:
    rbac = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole"}
    body = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": f"{user}-binds"},
        "roleRef": {**reference, "name": "system:kube-scheduler"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
    }
    if api.find(f"{rbac}/{user}-binds") is None:
        api.create(rbac, body)


def test_other_schedulers_bind_as_ever_with_and_without_the_lease(fenced: Fenced) -> None:
    """Seen on v1.36.3: with parameterNotFoundAction Deny the second binding gets 422."""
    allow_binding(fenced.api, OTHER)
    assert fenced.bind("a", "", user=OTHER) == ""
    fenced.delete_lease()
    wait_until(
        "the server knows that the Lease is gone",
        lambda: fenced.bind("probe", "former-leader/1", dry_run=True),
        lambda refusal: refusal == "",
    )
    assert fenced.bind("b", "", user=OTHER) == ""


def test_fences_of_two_schedulers_do_not_know_each_other(
    fenced: Fenced, kubectl: Kubectl, make_namespace: Callable[[str], str]
) -> None:
    second = Installation(namespace=make_namespace("second"), scheduler_name="second")
    kubectl("apply", "-f", "-", stdin=installation_text(second, ()))
    allow_binding(fenced.api, OTHER)
    account = f"system:serviceaccount:{second.namespace}:fairlead-second-scheduler"
    assert fenced.bind("a", "any/9", user=account) == ""  # which has no Lease yet
    assert "(Forbidden)" in fenced.bind("b", "any/9")
