"""A real API server accepts every object in examples/ and in the YAML blocks of the pages.

Each is created with a server-side dry run, as a user who tries it out would create it: with its
namespace there, and the PriorityClasses of its folder or page. Of the kinds of peers any object is
accepted; of ours and of Kubernetes' own only what is valid.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Final

import msgspec
import pytest
import yaml

from tests.doc_pages import blocks
from tests.live.api import AnswerError, Api, Object
from tests.live.binaries import find_binaries
from tests.live.installation import DEFINITIONS, install_kinds
from tests.live.kinds_of_examples import definitions_of_peers
from tests.live.waiting import wait_until
from tests.shared_folder import ROOT
from tools.k8s.cluster import Cluster

NO_API_KINDS: Final = {
    ("fairlead/v1", "Settings"): "options of Fairlead that no object of a peer has a field for",
    ("fairlead/v1", "Scenario"): "what a simulation runs",
    ("config.kueue.x-k8s.io/v1beta2", "Configuration"): "a file that Kueue's manager reads",
}
NO_OBJECTS: Final = {
    "examples/kai-simulator/two-queues.yaml": "an input of KAI's share simulator",
    "examples/usage/queue-map.yaml": "names of queues, for `fairlead usage import`",
    "docs/explanation/admission-fair-sharing.md": "a part of Kueue's Configuration",
    "docs/how-to/check-manifests-in-ci.md": "a job of a CI system",
    "docs/reference/scenario.md": "parts of scenarios",
}
BROKEN: Final = {
    "examples/broken/queues.yaml": "mistakes that `fairlead validate` finds",
    "docs/reference/findings.md": "what each finding is about",
}
PRIORITY_CLASSES: Final = "/apis/scheduling.k8s.io/v1/priorityclasses"


class _Loader(yaml.SafeLoader):
    """Reads times as texts, as Kubernetes does."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in known if not tag.endswith(":timestamp")]
    for first, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


class Source(msgspec.Struct, frozen=True):
    """A file or the blocks of a page, and the folder or page whose classes it needs."""

    name: str
    family: str
    texts: tuple[str, ...]


@cache
def sources() -> tuple[Source, ...]:
    """Return all files and pages but those with mistakes on purpose."""
    return tuple(each for each in (*_files(), *_pages()) if each.name not in BROKEN)


def _files() -> Iterator[Source]:
    for file in sorted((ROOT / "examples").rglob("*.y*ml")):
        family = str(file.parent.relative_to(ROOT))
        yield Source(str(file.relative_to(ROOT)), family, (file.read_text(),))


def _pages() -> Iterator[Source]:
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        name = str(page.relative_to(ROOT))
        found = [each for each in blocks(page.read_text()) if each.language in ("yaml", "yml")]
        if found:
            yield Source(name, name, tuple("\n".join(each.lines) for each in found))


def documents(source: Source) -> list[Any]:
    """Return what stands in a source, the items of lists one by one."""
    found: list[Any] = []
    for text in source.texts:
        for document in yaml.load_all(text, _Loader):
            is_list = isinstance(document, dict) and document.get("kind") == "List"
            found += document["items"] if is_list else [document]
    return found


def is_api_object(value: Any) -> bool:
    if not isinstance(value, dict) or "apiVersion" not in value or "kind" not in value:
        return False
    return (value["apiVersion"], value["kind"]) not in NO_API_KINDS


def objects(source: Source) -> list[Object]:
    return [each for each in documents(source) if is_api_object(each)]


def test_what_is_no_object_of_an_api_server_is_listed_with_its_reason() -> None:
    found = set()
    kinds = set()
    for source in sources():
        for each in documents(source):
            if is_api_object(each):
                continue
            if isinstance(each, dict) and "kind" in each:
                kinds.add((each["apiVersion"], each["kind"]))
            else:
                found.add(source.name)
    assert found == set(NO_OBJECTS)
    assert kinds == set(NO_API_KINDS)
    assert [name for name in BROKEN if not (ROOT / name).exists()] == []


class Server:
    """A control plane with the kinds and namespaces of all sources."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self._served: dict[str, dict[str, Object]] = {}
        install_kinds(api, with_older_group=True)
        for each in definitions_of_peers():
            api.create(DEFINITIONS, each)
        for each in definitions_of_peers():
            self._wait_until_served(_collection(each))
        self._create_namespaces()

    def refusal(self, each: Object) -> str:
        """Return why an object would be refused, "" if it would not."""
        try:
            self.api.request("POST", self._path(each), body=each, query={"dryRun": "All"})
        except AnswerError as problem:
            if each["kind"] == "Namespace" and problem.reason == "AlreadyExists":
                return ""
            return problem.message
        return ""

    @contextmanager
    def priority_classes(self, wanted: list[Object]) -> Iterator[None]:
        """Have these PriorityClasses: a pod that names one is refused without it."""
        for each in wanted:
            self.api.create(PRIORITY_CLASSES, each)
        for each in wanted:
            self._wait_until_known(each["metadata"]["name"])
        yield
        for each in wanted:
            self.api.delete(f"{PRIORITY_CLASSES}/{each['metadata']['name']}")

    def _wait_until_known(self, name: str) -> None:
        container = {"name": "main", "image": "example.com/main:1"}
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "probe"},
            "spec": {"priorityClassName": name, "containers": [container]},
        }
        wait_until(f"{name} is known", lambda: self.refusal(pod), lambda words: words == "")

    def _wait_until_served(self, path: str) -> None:
        wait_until(f"{path} is served", lambda: self.api.code_of(path), lambda code: code == 200)

    def _create_namespaces(self) -> None:
        found = [each["metadata"] for source in sources() for each in objects(source)]
        for name in sorted({each.get("namespace", "default") for each in found}):
            if self.api.find(f"/api/v1/namespaces/{name}") is None:
                body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
                self.api.create("/api/v1/namespaces", body)

    def _path(self, each: Object) -> str:
        version = each["apiVersion"]
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        if root not in self._served:
            listed = self.api.get(root)["resources"]
            self._served[root] = {one["kind"]: one for one in listed if "/" not in one["name"]}
        served = self._served[root][each["kind"]]
        namespace = each["metadata"].get("namespace", "default")
        within = f"/namespaces/{namespace}" if served["namespaced"] else ""
        return f"{root}{within}/{served['name']}"


def _collection(definition: Object) -> str:
    spec = definition["spec"]
    return f"/apis/{spec['group']}/{spec['versions'][0]['name']}/{spec['names']['plural']}"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Gives a control plane of its own: other tests must not meet the kinds of peers."""
    with Cluster(find_binaries(), tmp_path_factory.mktemp("examples")) as started:
        yield Server(Api(started))


@pytest.mark.parametrize("family", sorted({each.family for each in sources() if objects(each)}))
def test_every_object_is_accepted(server: Server, family: str) -> None:
    members = [each for each in sources() if each.family == family]
    found = [(source.name, each) for source in members for each in objects(source)]
    classes = {
        each["metadata"]["name"]: each for _, each in found if each["kind"] == "PriorityClass"
    }
    others = [(name, each) for name, each in found if each["kind"] != "PriorityClass"]
    with server.priority_classes(list(classes.values())):
        refused = [
            f"{name}: {each['kind']} {each['metadata'].get('name')}: {words}"
            for name, each in others
            if (words := server.refusal(each))
        ]
    assert refused == []
