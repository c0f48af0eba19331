"""The entry of a user: tokens, certificates, impersonation, and what is refused."""

import ssl
from base64 import b64encode
from pathlib import Path

import pytest

from tests.cluster.kubernetes.client.handshake import client_seen_by_server
from tests.cluster.kubernetes.client.kubeconfigs import (
    access_by,
    found_by,
    kubeconfig,
    problem_of,
    token_of,
    written,
)

EXEC = "exec:\n  apiVersion: client.authentication.k8s.io/v1\n  interactiveMode: Never\n"


def data(file: Path) -> str:
    return b64encode(file.read_bytes()).decode()


def seen_with(tmp_path: Path, certificates: Path, user: str) -> str:
    cluster = f"server: https://api.example\ncertificate-authority: {certificates / 'ca.pem'}"
    context = access_by(written(tmp_path, kubeconfig(cluster=cluster, user=user))).ssl
    assert isinstance(context, ssl.SSLContext)
    return client_seen_by_server(context, certificates)


@pytest.mark.parametrize("has_memory_files", [True, False])
def test_a_client_certificate_is_presented(
    tmp_path: Path,
    certificates: Path,
    has_memory_files: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The second half of each user is from a file where the first is data, and the reverse."""
    if not has_memory_files:
        monkeypatch.delattr("os.memfd_create", raising=False)
    pem, key = certificates / "first.pem", certificates / "first.key"
    both = {
        "files": f"client-certificate: {pem}\nclient-key: {key}",
        "data": f"client-certificate-data: {data(pem)}\nclient-key-data: {data(key)}",
        "mixed": f"client-certificate-data: {data(pem)}\nclient-key: {key}",
        "data first": f"client-certificate-data: {data(pem)}\nclient-key: {key}\n"
        "client-certificate: is-not-read",
    }
    seen = {name: seen_with(tmp_path, certificates, user) for name, user in both.items()}
    assert seen == dict.fromkeys(both, "first")


def test_a_token_may_stand_beside_a_certificate(tmp_path: Path, certificates: Path) -> None:
    user = (
        f"client-certificate: {certificates / 'first.pem'}\n"
        f"client-key: {certificates / 'first.key'}\ntoken: beside"
    )
    assert token_of(access_by(written(tmp_path, kubeconfig(user=user)))) == "beside"


@pytest.mark.parametrize(
    ("before", "token"),
    [
        ("token: abc", "abc"),
        ("tokenFile: {folder}/names", "subjectAltName"),
        ("client-certificate: {folder}/first.pem\nclient-key: {folder}/first.key", None),
    ],
)
def test_a_token_or_a_certificate_goes_before_a_plugin(
    before: str, token: str | None, tmp_path: Path, certificates: Path
) -> None:
    """The plugin does not exist, and a warning says that it is not run."""
    written(tmp_path, "subjectAltName\n", "names")
    folder = tmp_path if "tokenFile" in before else certificates
    user = EXEC + "  command: missing\n" + before.format(folder=folder)
    access, [warning] = found_by(written(tmp_path, kubeconfig(user=user)))
    assert token_of(access) == token
    assert (warning.path, warning.code) == ("$.users[0].user.exec", "no-effect")


def test_the_file_of_a_token_goes_before_the_token(tmp_path: Path) -> None:
    written(tmp_path, "newer\n", "file")
    text = kubeconfig(user="token: older\ntokenFile: file")
    assert token_of(access_by(written(tmp_path, text))) == "newer"
    (tmp_path / "file").unlink()
    assert token_of(access_by(written(tmp_path, text))) == "older"


def test_impersonation_is_sent_in_headers(tmp_path: Path) -> None:
    user = """
        as: ann
        as-uid: u-1
        as-groups: [dev, ops]
        as-user-extra: {Scopes/x: [view, edit]}
    """
    assert access_by(written(tmp_path, kubeconfig(user=user))).headers == (
        ("Impersonate-User", "ann"),
        ("Impersonate-Group", "dev"),
        ("Impersonate-Group", "ops"),
        ("Impersonate-Uid", "u-1"),
        ("Impersonate-Extra-scopes%2Fx", "view"),
        ("Impersonate-Extra-scopes%2Fx", "edit"),
    )


def test_no_secret_is_sent_over_http_but_whom_to_act_for_is(tmp_path: Path) -> None:
    text = kubeconfig(cluster="server: http://127.0.0.1:8001", user="{token: abc, as: ann}")
    access, [warning] = found_by(written(tmp_path, text))
    assert access.ssl is None
    assert token_of(access) is None
    assert access.headers == (("Impersonate-User", "ann"),)
    assert (warning.severity, warning.path) == ("warning", "$.users[0].user.token")


@pytest.mark.parametrize(
    ("user", "told"),
    [
        ("auth-provider: {name: oidc, config: {id-token: hidden}}", "use an exec plugin"),
        (
            "{username: admin, password: hidden}",
            "$.users[0].user.username: found the name of a user",
        ),
        ("password: hidden", "[unsupported-login]"),
        ("token: 'two\n\n  hidden lines'", "found a token that is not a single line"),
        ("token: 12345", "$.users[0].user.token: found a number, expected a text"),
        ("token: {hidden: 1}", "$.users[0].user.token: found a mapping, expected a text"),
        ("token: !hidden x", "found a tag, expected plain YAML"),
        ("token: *hidden", "found no valid YAML"),
        ("exec: hidden", "$.users[0].user.exec: found a text, expected a mapping"),
        ("hidden", "$.users[0].user: found a text, expected a mapping"),
        (EXEC + "  command: x\n  env: [K=hidden]", "exec.env[0]: found a text, expected a mapping"),
        (EXEC + "  command: x\n  env: [{value: hidden}]", "exec.env[0].name: found nothing"),
        (EXEC, "$.users[0].user.exec.command: found nothing, expected a value"),
        ("exec: {apiVersion: v1, command: x}", "client.authentication.k8s.io/v1beta1"),
        (
            "exec: {apiVersion: client.authentication.k8s.io/v1, command: x}",
            "$.users[0].user.exec.interactiveMode: found nothing, expected Never, IfAvailable",
        ),
        (EXEC.replace("Never", "Always") + "  command: x", "no terminal is there to answer"),
        (EXEC + "  command: x\nauth-provider: {name: gcp}", "[contradiction]"),
        ("client-key-data: aGlkZGVu", "$.users[0].user.client-certificate: found a certificate"),
        ("client-certificate-data: aGlkZGVu", "add client-key"),
        ("{client-certificate-data: aGlkZGVu, client-key-data: eA==}", "found no certificate"),
        ("{client-certificate: gone, client-key: gone}", "gone cannot be read: No such file"),
        ("as-groups: [dev]", "fix: add as, with the name of the user"),
        ('as: "a\\nb"', "found a character that cannot be sent in a header"),
    ],
)
def test_what_is_wrong_with_a_user_is_told_without_secrets(
    tmp_path: Path, user: str, told: str
) -> None:
    problem = problem_of(written(tmp_path, kubeconfig(user=user)))
    assert told in problem
    assert "hidden" not in problem
    assert "12345" not in problem


@pytest.mark.parametrize(
    ("pem", "key", "told"),
    [
        ("first.pem", "second.key", "cannot be used together (key values mismatch)"),
        ("first.pem", "encrypted.key", "found a key that is encrypted"),
        ("first.pem", "first.pem", "cannot be used together"),
        ("first.pem", "names", "found no key in PEM form"),
    ],
)
def test_a_pair_that_does_not_fit_is_told(
    tmp_path: Path, certificates: Path, pem: str, key: str, told: str
) -> None:
    user = f"client-certificate: {certificates / pem}\nclient-key: {certificates / key}"
    assert told in problem_of(written(tmp_path, kubeconfig(user=user)))


def test_version_1_beta_1_needs_no_interactive_mode(tmp_path: Path) -> None:
    user = "exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: hidden}"
    access = access_by(written(tmp_path, kubeconfig(user=user)))
    assert "hidden" not in repr(access)
