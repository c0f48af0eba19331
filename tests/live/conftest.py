"""One control plane for all tests of a process, and a namespace of its own for each of them.

It starts with the first test that asks for it, in three seconds. Tests that stop servers use
`breakable_cluster`, so that the others never see the damage.
"""

from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest

from tests.live.api import Api
from tests.live.audited import denials
from tests.live.binaries import find_binaries
from tests.live.fairlead_process import FairleadProcess
from tests.live.installation import install_kinds, install_roles
from tests.live.kubectl import Kubectl
from tests.live.lease_policy import keep_leases_up_to_date
from tests.live.leases import release_lease
from tests.live.namespaces import create_namespace, remove_all_namespaces, remove_namespace
from tests.live.nodes import delete_all_nodes
from tools.k8s.cluster import Cluster

StartFairlead = Callable[..., FairleadProcess]
_LOG_END = 6_000  # characters of a log that a failure shows
_HERE = Path(__file__).parent
_processes = pytest.StashKey[list[FairleadProcess]]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if _HERE in item.path.parents:
            item.add_marker(pytest.mark.live)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        for each in item.stash.get(_processes, []):
            report.sections.append((f"log of {each.name}", each.text()[-_LOG_END:]))
    return report


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Gives a control plane with kwok and kube-controller-manager."""
    with Cluster(find_binaries(), tmp_path_factory.mktemp("cluster")) as started:
        _prepare(started, with_older_group=True)
        yield started


@pytest.fixture(scope="session")
def _second_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(find_binaries(), tmp_path_factory.mktemp("breakable-cluster")) as started:
        _prepare(started, with_older_group=False)
        yield started


@pytest.fixture
def breakable_cluster(_second_cluster: Cluster) -> Iterator[Cluster]:
    """Gives a control plane whose servers a test may stop, kill and pause: all run now.

    It has no nodes, and no namespaces of other tests.
    """
    _second_cluster.ensure_running()
    yield _second_cluster
    _second_cluster.ensure_running()
    admin = Api(_second_cluster)
    remove_all_namespaces(admin)
    delete_all_nodes(admin)


def _prepare(started: Cluster, *, with_older_group: bool) -> None:
    admin = Api(started)
    install_kinds(admin, with_older_group=with_older_group)
    install_roles(admin)
    keep_leases_up_to_date(admin)
    started.start("kwok")
    started.start("kube-controller-manager")


@pytest.fixture
def api(cluster: Cluster) -> Api:
    """Gives the API of the cluster as admin."""
    return Api(cluster)


@pytest.fixture
def kubectl(cluster: Cluster) -> Kubectl:
    """Gives kubectl for the cluster as admin."""
    return Kubectl(cluster)


@pytest.fixture
def make_namespace(api: Api) -> Iterator[Callable[[str], str]]:
    """Gives a function that creates a namespace for the time of the test."""
    made: list[str] = []

    def make(words: str) -> str:
        made.append(create_namespace(api, words))
        return made[-1]

    yield make
    for name in made:
        remove_namespace(api, name)
    delete_all_nodes(api)


@pytest.fixture
def namespace(request: pytest.FixtureRequest, make_namespace: Callable[[str], str]) -> str:
    """Gives a namespace of its own to a test; all nodes are deleted at its end."""
    return make_namespace(request.node.name.removeprefix("test_"))


@pytest.fixture
def start_fairlead(
    request: pytest.FixtureRequest, cluster: Cluster, tmp_path: Path
) -> Iterator[StartFairlead]:
    """Gives a function that starts `fairlead run` and waits until it is ready.

    The first process of a test finds a Lease that was released.
    Its arguments are those of the command, after `--policy elastic-quota --kubeconfig FILE
    --listen 127.0.0.1:PORT`. At the end of the test each process has to end with 0 on SIGTERM, and
    the API server must have denied nothing to the user of any of them.
    """
    processes = request.node.stash.setdefault(_processes, [])
    asked: dict[tuple[Cluster, str], int] = {}  # by which user where, after which size of the log

    def start(
        *arguments: str,
        policy: str = "elastic-quota",
        user: str = "fairlead",
        on: Cluster = cluster,
        is_awaited: bool = True,
    ) -> FairleadProcess:
        if not any(each is on for each, _ in asked):
            release_lease(Api(on))
        asked.setdefault((on, user), on.audit_log.stat().st_size)
        name = f"fairlead-{len(processes) + 1}"
        kubeconfig = on.kubeconfig(user)
        process = FairleadProcess(name, tmp_path, kubeconfig, f"--policy={policy}", *arguments)
        processes.append(process)
        if is_awaited:
            process.wait_until_ready()
        return process

    yield start
    try:
        for process in processes:
            process.stop()
    finally:
        for process in processes:
            if process.exit_code is None:
                process.kill()
    for (where, user), after_bytes in asked.items():
        assert denials(where, user, after_bytes) == []
