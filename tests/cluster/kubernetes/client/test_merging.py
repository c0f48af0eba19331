"""Which kubeconfig counts, and how several are merged."""

from pathlib import Path

import pytest

from fairlead.cluster.kubernetes.client.find_access import Wanted, find_access
from fairlead.errors import ManifestError
from tests.cluster.kubernetes.client.kubeconfigs import (
    access_by,
    kubeconfig,
    problem_of,
    token_of,
    written,
)

TWO_CONTEXTS = """
current-context: day
contexts:
- name: day
  context: {cluster: east, user: ann, namespace: team-a}
- name: night
  context: {cluster: west, user: ann}
clusters:
- {name: east, cluster: {server: "https://east.example:6443/"}}
- {name: west, cluster: {server: "https://west.example/k8s/clusters/c-1"}}
users:
- {name: ann, user: {token: of-ann}}
"""


def server_by(environ: dict[str, str], **wanted: str) -> str:
    return find_access(Wanted(**wanted), environ)[0].server  # type: ignore[arg-type]


def test_the_context_says_which_server_namespace_and_user(tmp_path: Path) -> None:
    file = written(tmp_path, TWO_CONTEXTS)
    day, night = access_by(file), access_by(file, context="night")
    assert (day.server, day.namespace, day.context) == (
        "https://east.example:6443",
        "team-a",
        "day",
    )
    assert (night.server, night.namespace) == ("https://west.example/k8s/clusters/c-1", "default")
    assert token_of(day) == token_of(night) == "of-ann"


def test_a_given_file_goes_before_the_variable_and_that_before_the_home(tmp_path: Path) -> None:
    for name in ("given", "variable", ".kube"):
        server = f"server: https://{name.strip('.')}.example"
        written(tmp_path / name, kubeconfig(cluster=server))
    environ = {"HOME": str(tmp_path)}
    assert server_by(environ) == "https://kube.example"
    environ["KUBECONFIG"] = str(tmp_path / "variable" / "config")
    assert server_by(environ) == "https://variable.example"
    given = str(tmp_path / "given" / "config")
    assert server_by(environ, kubeconfig=given) == "https://given.example"


def test_the_first_file_that_has_an_entry_wins_with_the_whole_of_it(tmp_path: Path) -> None:
    """The first file has no namespace in its context, so the one in the second is of no use."""
    first = written(
        tmp_path,
        "contexts: [{name: day, context: {cluster: east, user: bob}}]\n"
        "users: [{name: bob, user: {token: of-bob}}]\n",
        "first",
    )
    second = written(tmp_path, TWO_CONTEXTS, "second")
    missing = tmp_path / "missing"
    empty = written(tmp_path, "", "empty")
    listed = ":".join(map(str, (missing, empty, first, first, second)))
    access, findings = find_access(Wanted(), {"KUBECONFIG": f"{listed}:"})
    assert findings == ()
    assert (access.server, access.namespace) == ("https://east.example:6443", "default")
    assert token_of(access) == "of-bob"
    assert access.context == "day"  # only the second file says which is the current one


def test_relative_paths_are_those_of_the_file_they_stand_in(tmp_path: Path) -> None:
    cluster = "clusters: [{name: here, cluster: {server: 'https://a.example'}}]\n"
    context = "contexts: [{name: c, context: {cluster: here, user: me}}]\ncurrent-context: c\n"
    one = written(tmp_path / "one", context + cluster)
    two = written(tmp_path / "two", "users: [{name: me, user: {tokenFile: secrets/token}}]")
    written(tmp_path / "two" / "secrets", "from-two\n", "token")
    access, _ = find_access(Wanted(), {"KUBECONFIG": f"{one}:{two}"})
    assert token_of(access) == "from-two"


def test_a_mistake_in_an_entry_that_is_not_used_is_no_hindrance(tmp_path: Path) -> None:
    broken = "- {name: broken, user: {auth-provider: {name: oidc}, tokenFile: 7}}\n"
    assert access_by(written(tmp_path, TWO_CONTEXTS + broken)).context == "day"


def test_a_context_without_a_user_is_anonymous(tmp_path: Path) -> None:
    text = TWO_CONTEXTS.replace("user: ann, ", "")
    assert token_of(access_by(written(tmp_path, text))) is None


@pytest.mark.parametrize(
    ("text", "context", "told"),
    [
        (TWO_CONTEXTS, "nigt", '$.contexts: found no context named "nigt"'),
        (TWO_CONTEXTS, "nigt", 'fix: did you mean "night"?'),
        (TWO_CONTEXTS, "qq", 'fix: choose one of "day", "night" with --context'),
        (TWO_CONTEXTS.replace("current-context: day", ""), "", "found no current-context"),
        (TWO_CONTEXTS.replace("user: ann,", "user: eve,"), "", 'found no user named "eve"'),
        (TWO_CONTEXTS.replace("name: east", "name: est"), "", 'fix: did you mean "est"?'),
        (TWO_CONTEXTS.replace("cluster: east, ", ""), "", "$.contexts[0].context.cluster: found"),
        (TWO_CONTEXTS + "- {name: ann, user: {}}", "", 'found "ann" a second time in users'),
        (TWO_CONTEXTS + "---\na: 1", "", "found a second document, expected one kubeconfig"),
        ("clusters: {a: b}", "", "$.clusters: found a mapping, expected a list"),
        ("a: [", "", "found no valid YAML"),
    ],
)
def test_what_is_wrong_is_told_with_its_cure(
    tmp_path: Path, text: str, context: str, told: str
) -> None:
    assert told in problem_of(written(tmp_path, text), context=context)


def test_a_missing_kubeconfig_is_told(tmp_path: Path) -> None:
    assert "missing: error: $: found no kubeconfig" in problem_of(tmp_path / "missing")
    assert "found a folder, expected a kubeconfig" in problem_of(tmp_path)
    with pytest.raises(ManifestError, match="name one with --kubeconfig or in KUBECONFIG"):
        find_access(Wanted(), {})
