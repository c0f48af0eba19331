"""Every right of a role is used: the audit log of the API server has a request for each of them.

What is expected is read from the roles, so that a right that nothing needs fails here. One that is
missing shows as a denial. Fairlead itself makes every request of the users that are looked at.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
import yaml

from fairlead.policy.contract import POLICY_NAMES
from tests.cli.conftest import ctrl_c_is_heard  # noqa: F401  a fixture
from tests.cli.run_cli import run_cli
from tests.cli.watching import Watching
from tests.live.api import Api, Object
from tests.live.audited import denials, requests_of
from tests.live.binaries import find_binaries
from tests.live.elastic_quotas import create_elastic_quota, elastic_quotas_path
from tests.live.fairlead_process import FairleadProcess
from tests.live.faults.fault import Fault, Kind
from tests.live.faults.proxy import proxied
from tests.live.faults.writes import Write
from tests.live.installation import DEPLOY, create_definitions, install_kinds, install_roles
from tests.live.kinds_of_examples import definitions_of_peers
from tests.live.leases import release_lease
from tests.live.namespaces import create_namespace, remove_all_namespaces
from tests.live.nodes import create_node, delete_all_nodes
from tests.live.pods import create_pod, pods_path, wait_until_bound
from tests.live.stored_objects import delete_objects, objects_in, store_objects
from tests.live.test_reading import FILES
from tests.live.test_reporting import condition, events
from tests.live.waiting import wait_until
from tools.k8s.audit import Request
from tools.k8s.cluster import Cluster

Run = Callable[..., FairleadProcess]
OLDER_GROUP: Final = "scheduling.sigs.k8s.io"


class Right(msgspec.Struct, frozen=True):
    """What one rule of a role allows to do with one resource."""

    verb: str
    group: str
    resource: str  # perhaps with a subresource: pods/binding
    namespace: str  # "": in all
    name: str  # "": any object

    def is_used_by(self, request: Request) -> bool:
        """Return whether a request needs this right, and succeeded."""
        resource = "/".join(filter(None, (request.resource, request.subresource)))
        return (
            200 <= request.code < 300
            and (request.verb, request.group, resource) == (self.verb, self.group, self.resource)
            and self.namespace in {"", request.namespace}
            and self.name in {"", request.name}
        )


def rights_of(component: str) -> list[Right]:
    """Return every right that the roles of a component grant."""
    roles = yaml.safe_load_all((DEPLOY / component / "role.yaml").read_text())
    return [
        each
        for role in roles
        if role["kind"] in {"ClusterRole", "Role"}
        for rule in role["rules"]
        for each in _rights_of_rule(rule, role["metadata"].get("namespace", ""))
    ]


def _rights_of_rule(rule: dict[str, Any], namespace: str) -> Iterator[Right]:
    names = rule.get("resourceNames", [""])
    for verb, group, resource, name in product(
        rule["verbs"], rule["apiGroups"], rule["resources"], names
    ):
        yield Right(verb, group, resource, namespace, name)


def assert_rights_are_used(cluster: Cluster, component: str, user: str) -> None:
    """Wait until *user* has used each right of its role, which was enough for every request."""
    rights = rights_of(component)
    assert rights

    def unused() -> list[Right]:
        made = requests_of(cluster, user)
        return [right for right in rights if not any(map(right.is_used_by, made))]

    wait_until(f"no right of the {component} is unused", unused, lambda found: not found)
    assert denials(cluster, user) == []


@pytest.fixture(scope="module")
def _all_kinds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Gives a control plane of its own, without controllers, that serves every kind we read.

    Its audit log has no requests of other tests.
    """
    with Cluster(find_binaries(), tmp_path_factory.mktemp("all-kinds")) as started:
        admin = Api(started)
        install_kinds(admin, with_older_group=True)
        create_definitions(admin, definitions_of_peers())
        install_roles(admin)
        yield started


@pytest.fixture
def all_kinds(_all_kinds: Cluster) -> Iterator[Cluster]:
    """Gives that control plane, without objects of another test."""
    yield _all_kinds
    admin = Api(_all_kinds)
    remove_all_namespaces(admin)
    delete_all_nodes(admin)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    """Gives a function that starts `fairlead run`, which must end with 0 when it is stopped."""
    processes: list[FairleadProcess] = []

    def start(name: str, kubeconfig: Path, *arguments: str) -> FairleadProcess:
        processes.append(FairleadProcess(name, tmp_path, kubeconfig, *arguments))
        return processes[-1]

    yield start
    try:
        for process in processes:
            process.stop()
    finally:
        for process in processes:
            if process.exit_code is None:
                process.kill()


def test_the_scheduler_uses_every_right(all_kinds: Cluster, run: Run, tmp_path: Path) -> None:
    user = "fairlead"
    api = Api(all_kinds)
    elect(all_kinds, run, user)
    owner, borrower = create_namespace(api, "owner"), create_namespace(api, "borrower")
    lost = Fault(Write("bind", f"pods {borrower}/victim", 1), Kind.CUT_AFTER)

    async def schedule_by_proxy() -> None:
        async with proxied(all_kinds.url, all_kinds.certificate, lost) as proxy:
            direct = all_kinds.kubeconfig(user).read_text()
            by_proxy = tmp_path / "by-proxy.kubeconfig"
            by_proxy.write_text(direct.replace(all_kinds.url, proxy.url))
            await asyncio.to_thread(schedule, api, owner, borrower, run, by_proxy)
            assert proxy.is_delivered

    asyncio.run(schedule_by_proxy())
    assert_rights_are_used(all_kinds, "scheduler", user)


def elect(cluster: Cluster, run: Run, user: str) -> None:
    """Let a process create the Lease, and renew it. It would not act before 15 s are over."""
    process = run("elected", cluster.kubeconfig(user), "--policy=elastic-quota")

    def verbs() -> set[str]:
        return {each.verb for each in requests_of(cluster, user) if each.resource == "leases"}

    wait_until("the Lease is created and renewed", verbs, lambda found: "update" in found)
    process.stop()
    release_lease(Api(cluster))  # so that the next process need not wait either


def schedule(api: Api, owner: str, borrower: str, run: Run, kubeconfig: Path) -> None:
    """Make a scheduler write whatever it can write.

    The only node has 2 CPUs. The answer to the binding of victim is lost, so the pod is read. Then
    the owner takes its 2 CPUs back. Its next pod waits for one reason, another, and the first one
    again, which is an Event that is counted twice.
    """
    process = run("acts", kubeconfig, "--policy=elastic-quota")
    process.wait_until_ready()
    create_node(api, "n1", cpu="2")
    least = {"cpu": "2", "memory": "1Gi"}
    create_elastic_quota(api, owner, "quota", min=least, max=least)
    create_elastic_quota(
        api, borrower, "quota", min={"cpu": "0", "memory": "1Gi"}, group=OLDER_GROUP
    )
    create_pod(api, borrower, "victim", cpu="2", memory="1Mi")
    wait_until_bound(api, borrower, "victim")
    create_pod(api, owner, "wants", cpu="2", memory="1Mi")
    wait_until_bound(api, owner, "wants")

    create_pod(api, owner, "waits", cpu="1", memory="1Mi")
    wait_for_reason(api, owner, "over its max", "used 2 + request 1 > max 2")
    set_max_cpu(api, owner, "4")
    wait_for_reason(api, owner, "over all mins", "used by all 2 + request 1 > all mins 2")
    set_max_cpu(api, owner, "2")
    wait_until(
        "the first Event is counted again",
        lambda: [each["count"] for each in events(api, owner, "waits")],
        lambda counts: 2 in counts,
    )
    process.stop()


def wait_for_reason(api: Api, namespace: str, expected: str, text: str) -> None:
    wait_until(
        f"the pod waits: {expected}",
        lambda: condition(api.get(pods_path(namespace, "waits"))).get("message", ""),
        lambda said: text in said,
    )


def set_max_cpu(api: Api, namespace: str, cpu: str) -> None:
    changed: Object = {"spec": {"max": {"cpu": cpu}}}
    api.patch(elastic_quotas_path(namespace, "quota"), changed)


def test_the_shadow_uses_every_right_beside_each_rule_set(all_kinds: Cluster, run: Run) -> None:
    kubeconfig = all_kinds.kubeconfig("shadow")
    started = [
        run(f"shadow-{each}", kubeconfig, "--shadow", f"--policy={each}") for each in POLICY_NAMES
    ]
    for process in started:
        process.wait_until_ready()
    assert_rights_are_used(all_kinds, "shadow", "shadow")


@pytest.mark.usefixtures("ctrl_c_is_heard")
def test_the_viewer_uses_every_right_in_the_read_only_commands(all_kinds: Cluster) -> None:
    live = ("--kubeconfig", str(all_kinds.kubeconfig("viewer")))
    for policy in POLICY_NAMES:
        with example_of(policy, Api(all_kinds)):
            for command in ("queues", "plan", "validate", "metrics"):
                ran = run_cli(command, *live)
                assert ran.exit_code == 0, ran.err
            watch_queues(all_kinds, "viewer")
    assert_rights_are_used(all_kinds, "viewer", "viewer")


def watch_queues(cluster: Cluster, user: str) -> None:
    """Let `queues --watch` run until it watches each kind that it has listed."""
    before_bytes = cluster.audit_log.stat().st_size
    watching = Watching(cluster.kubeconfig(user), on_terminal=False)
    watching.until(lambda text: "rules: " in text)

    def unwatched() -> set[tuple[str, str]]:
        kinds: dict[str, set[tuple[str, str]]] = {"list": set(), "watch": set()}
        for each in requests_of(cluster, user, before_bytes):
            kinds.setdefault(each.verb, set()).add((each.group, each.resource))
        assert kinds["list"]
        return kinds["list"] - kinds["watch"]

    wait_until("each kind is watched", unwatched, lambda found: not found)
    assert watching.end() == 0


@contextmanager
def example_of(policy: str, admin: Api) -> Iterator[None]:
    """Have the objects of the example of a rule set in the cluster."""
    objects = objects_in(FILES[policy])
    try:
        store_objects(admin, objects)
        yield
    finally:
        delete_objects(admin, objects)
