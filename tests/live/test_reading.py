"""Commands that only read: their answers about a cluster are those about its objects in files."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import ctrl_c_is_heard  # noqa: F401  a fixture
from tests.cli.run_cli import Ran, run_cli
from tests.cli.watching import Watching
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
        objects = objects_in(FILES[policy])
        store_objects(admin, objects)
        stored.extend(objects)
        return objects

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

OWN_COMMANDS: dict[str, list[tuple[str, ...]]] = {
    "elastic-quota": [("explain", "speech"), ("explain", "vision/train-d", *NOW)],
    "kai": [("explain", "speech"), ("explain", "speech/dictation", *NOW)],
    "kueue": [("pending", "language", *NOW), ("explain", "team-vision/segmenter", *NOW)],
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
    groups = {(each["kind"], each["apiVersion"].rpartition("/")[0]) for each in stored}
    kinds = ",".join(sorted(".".join(filter(None, each)) for each in groups))
    printed = tmp_path / "printed.json"
    printed.write_text(Kubectl(quiet_cluster)("get", "-A", "-o", "json", kinds))
    for command in (*COMMANDS.values(), *OWN_COMMANDS[policy]):
        same(run_cli(*command, *viewer), run_cli(*command, "-f", str(printed)))


@pytest.mark.parametrize("policy", FILES)
def test_the_queues_are_those_of_the_example(
    policy: str, store: Callable[[str], list[Object]], viewer: tuple[str, ...]
) -> None:
    store(policy)
    files = [option for file in FILES[policy] for option in ("-f", str(file))]
    same(run_cli("queues", *viewer), run_cli("queues", *files))


def test_the_first_line_says_what_was_read(
    store: Callable[[str], list[Object]], viewer: tuple[str, ...], quiet_cluster: Cluster
) -> None:
    store("kai")
    first = run_cli("queues", *viewer).err.splitlines()[0]
    assert first.startswith(f"context test ({quiet_cluster.url}): ")


def test_objects_of_several_rule_sets_ask_for_a_choice(
    store: Callable[[str], list[Object]], viewer: tuple[str, ...]
) -> None:
    store("kueue")
    assert run_cli("queues", *viewer).exit_code == 0
    store("kai")
    both = run_cli("queues", *viewer)
    assert both.exit_code == 1
    assert "choose with --policy" in both.err
    assert run_cli("queues", *viewer, "--policy", "kai").exit_code == 0


def test_a_user_without_rights_gets_one_line(
    store: Callable[[str], list[Object]], quiet_cluster: Cluster
) -> None:
    store("kai")
    ran = run_cli("plan", "--kubeconfig", str(quiet_cluster.kubeconfig("nobody")))
    assert ran.exit_code == 1
    assert len(ran.err.splitlines()) == 1
    assert "may list none of the" in ran.err


def test_a_change_is_tried_on_the_cluster_and_changes_nothing_there(
    store: Callable[[str], list[Object]],
    viewer: tuple[str, ...],
    quiet_cluster: Cluster,
    tmp_path: Path,
) -> None:
    """The quota of speech goes from 2 GPUs to 4."""
    store("kai")
    queue = "/apis/scheduling.run.ai/v2/queues/speech"
    before = Api(quiet_cluster).get(queue)
    change = tmp_path / "change.json"
    gpu = {"resources": {"gpu": {"quota": 4}}}
    metadata = {"name": "speech"}
    api_version = before["apiVersion"]
    change.write_text(
        json.dumps({"apiVersion": api_version, "kind": "Queue", "metadata": metadata, "spec": gpu})
    )
    ran = run_cli("queues", *viewer, "--diff", str(change), *NOW)
    rows = [line.split() for line in ran.out.splitlines()]
    assert ["speech", "gpu", "guaranteed", "2", "4"] in rows
    assert Api(quiet_cluster).get(queue) == before


@pytest.mark.usefixtures("ctrl_c_is_heard")
def test_the_queues_are_watched(
    store: Callable[[str], list[Object]], quiet_cluster: Cluster
) -> None:
    """A queue that is deleted goes from the next table."""
    store("kai")
    watching = Watching(quiet_cluster.kubeconfig("viewer"), on_terminal=False)
    first = watching.until(lambda text: "genomics" in text and text.endswith("\n"))
    Api(quiet_cluster).delete("/apis/scheduling.run.ai/v2/queues/robotics")
    both = watching.until(lambda text: text.count("rules: ") == 2 and text.endswith("\n"))
    assert watching.end() == 0
    assert "robotics" in first
    assert "robotics" not in both.removeprefix(first)
