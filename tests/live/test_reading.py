"""Commands that only read: their answers about a cluster are those about its objects in files."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.run_cli import Ran, run_cli
from tests.live.api import Api, Object
from tests.live.binaries import find_binaries
from tests.live.installation import install_kinds, install_roles
from tests.live.kubectl import Kubectl
from tests.live.peer_kinds import install_peer_kinds
from tests.live.stored_objects import delete_objects, objects_in, store_objects
from tests.shared_folder import ROOT
from tools.k8s.cluster import Cluster

EXAMPLES = ROOT / "examples"
FILES = {
    "elastic-quota": [*sorted((EXAMPLES / "elastic-quota").glob("*.yaml"))],
    "kai": [EXAMPLES / "kai" / "borrow" / "world.yaml"],
    "kueue": [EXAMPLES / "kueue" / f"{name}.yaml" for name in ("nodes", "queues", "workloads")],
}
NOW = ("--now", "2036-01-01T00:00:00Z")


@pytest.fixture(scope="module")
def quiet_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Gives a control plane without controllers, which leaves every object as it is."""
    with Cluster(find_binaries(), tmp_path_factory.mktemp("quiet-cluster")) as started:
        admin = Api(started)
        install_kinds(admin, with_older_group=False)
        install_peer_kinds(admin)
        install_roles(admin)
        yield started


@pytest.fixture
def store(quiet_cluster: Cluster) -> Iterator[Callable[[str], list[Object]]]:
    """Gives a function that puts an example into the cluster for the time of the test."""
    admin, stored = Api(quiet_cluster), []

    def put(policy: str) -> list[Object]:
        stored.extend(objects_in(FILES[policy]))
        store_objects(admin, stored)
        return stored

    yield put
    delete_objects(admin, stored)


@pytest.fixture
def viewer(quiet_cluster: Cluster) -> tuple[str, ...]:
    """Gives the options that name the cluster, as a user who may read it."""
    return ("--kubeconfig", str(quiet_cluster.kubeconfig("viewer")))


COMMANDS = {
    "queues": ("queues",),
    "queues as JSON": ("queues", "-o", "json"),
    "plan": ("plan", *NOW),
    "plan as JSON": ("plan", *NOW, "-o", "json"),
}


def same(by_cluster: Ran, by_files: Ran) -> None:
    assert by_cluster.out == by_files.out
    assert by_cluster.exit_code == by_files.exit_code == 0


@pytest.mark.parametrize("policy", FILES)
def test_answers_are_those_about_the_objects_that_kubectl_prints(
    policy: str,
    store: Callable[[str], list[Object]],
    viewer: tuple[str, ...],
    quiet_cluster: Cluster,
    tmp_path: Path,
) -> None:
    stored = store(policy)
    kinds = sorted(
        {each["kind"].lower() + "." + each["apiVersion"].rpartition("/")[0] for each in stored}
    )
    printed = tmp_path / "printed.json"
    printed.write_text(Kubectl(quiet_cluster)("get", "-A", "-o", "json", ",".join(sorted(kinds))))
    for command in COMMANDS.values():
        same(run_cli(*command, *viewer), run_cli(*command, "-f", str(printed)))


@pytest.mark.parametrize("policy", FILES)
def test_the_queues_are_those_of_the_example(
    policy: str, store: Callable[[str], list[Object]], viewer: tuple[str, ...]
) -> None:
    store(policy)
    files = [option for file in FILES[policy] for option in ("-f", str(file))]
    same(run_cli("queues", *viewer), run_cli("queues", *files))
