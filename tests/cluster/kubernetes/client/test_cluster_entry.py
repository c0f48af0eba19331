"""The entry of a cluster: address, CA, proxy, and who is trusted."""

import ssl
from base64 import b64encode
from pathlib import Path

import pytest

from fairlead.cluster.kubernetes.client.access import Access
from tests.cluster.kubernetes.client.handshake import client_seen_by_server
from tests.cluster.kubernetes.client.kubeconfigs import (
    access_by,
    found_by,
    kubeconfig,
    problem_of,
    written,
)

SERVER = "server: https://api.example\n"


def context_of(access: Access) -> ssl.SSLContext:
    assert access.ssl is not None
    return access.ssl


def encoded(file: Path) -> str:
    return b64encode(file.read_bytes()).decode()


def test_a_server_is_trusted_by_the_ca_in_a_file_or_in_the_kubeconfig(
    tmp_path: Path, certificates: Path
) -> None:
    """By no other: not by the system's, and not the server's own name in another certificate."""
    ca = certificates / "ca.pem"
    by_file = kubeconfig(cluster=f"{SERVER}certificate-authority: {ca}")
    by_data = kubeconfig(
        cluster=f"{SERVER}certificate-authority-data: {encoded(ca)}\n"
        "certificate-authority: is-not-read"
    )
    for text in (by_file, by_data):
        context = context_of(access_by(written(tmp_path, text)))
        assert client_seen_by_server(context, certificates) == ""
        with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
            client_seen_by_server(context, certificates, "other.example")
    context = context_of(access_by(written(tmp_path, kubeconfig())))
    with pytest.raises(ssl.SSLCertVerificationError, match="certificate verify failed"):
        client_seen_by_server(context, certificates)


def test_a_certificate_may_be_trusted_by_itself(tmp_path: Path, certificates: Path) -> None:
    text = kubeconfig(cluster=f"{SERVER}certificate-authority: {certificates / 'server.pem'}")
    context = context_of(access_by(written(tmp_path, text)))
    assert client_seen_by_server(context, certificates) == ""


def test_a_server_is_not_left_unchecked_unless_that_is_allowed(
    tmp_path: Path, certificates: Path
) -> None:
    text = kubeconfig(cluster=f"{SERVER}insecure-skip-tls-verify: true")
    file = written(tmp_path, text)
    assert "[unverified-server]" in problem_of(file)
    access, [warning] = found_by(file, allow_insecure=True)
    assert (warning.severity, warning.path) == (
        "warning",
        "$.clusters[0].cluster.insecure-skip-tls-verify",
    )
    assert client_seen_by_server(context_of(access), certificates, "other.example") == ""


def test_names_and_proxies_are_passed_on(tmp_path: Path) -> None:
    text = kubeconfig(
        cluster=f"{SERVER}tls-server-name: inner.example\nproxy-url: http://u:secret@proxy:3128/"
    )
    access = access_by(written(tmp_path, text))
    assert (access.server_name, access.proxy) == ("inner.example", "http://u:secret@proxy:3128")
    assert "secret" not in repr(access)


@pytest.mark.parametrize(
    ("cluster", "told"),
    [
        ("{}", "$.clusters[0].cluster.server: found nothing, expected a value"),
        ("server: api.example:6443", "$.clusters[0].cluster.server: found another text, expected"),
        ("server: https://", "expected an address: https://host:port or http://host:port"),
        ("server: https://a.example:99999", "[bad-url]"),
        ("server: https://a.example?x=1", "[bad-url]"),
        ("server: https://me:hidden@a.example", "found a login in the address"),
        (SERVER + "proxy-url: socks5://u:hidden@proxy", "$.clusters[0].cluster.proxy-url: found"),
        (SERVER + "certificate-authority: gone.pem", "gone.pem cannot be read: No such file"),
        (SERVER + "certificate-authority-data: '*'", "found text that is not base64"),
        (SERVER + "certificate-authority-data: aGlkZGVu", "found no certificate in PEM form"),
        (
            SERVER + "certificate-authority-data: LS0tLS1CRUdJTiBoaWRkZW4=",
            "found a certificate that is broken",
        ),
    ],
)
def test_what_is_wrong_with_a_cluster_is_told(tmp_path: Path, cluster: str, told: str) -> None:
    problem = problem_of(written(tmp_path, kubeconfig(cluster=cluster)))
    assert told in problem
    assert "hidden" not in problem


def test_an_unchecked_server_with_a_ca_is_a_contradiction(
    tmp_path: Path, certificates: Path
) -> None:
    text = kubeconfig(
        cluster=f"{SERVER}insecure-skip-tls-verify: true\n"
        f"certificate-authority: {certificates / 'ca.pem'}"
    )
    assert "[contradiction]" in problem_of(written(tmp_path, text), allow_insecure=True)


def test_a_misspelt_field_is_told(tmp_path: Path) -> None:
    text = kubeconfig(cluster=SERVER + "certificate-authorty: ca.pem")
    _, [warning] = found_by(written(tmp_path, text))
    assert warning.fix == 'did you mean "certificate-authority"?'
