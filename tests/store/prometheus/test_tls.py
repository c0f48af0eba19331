"""A server over TLS: whom the client trusts, and what it says where it does not."""

import shutil
import ssl
import subprocess
from pathlib import Path

import pytest

from fairlead.errors import StoreError
from fairlead.store.prometheus.client import PrometheusClient
from fairlead.usage.settings import Credentials, PrometheusSource
from tests.store.loopback_server import serving
from tests.store.told_series import range_of
from tests.store.whole_answer import whole

START = 1_767_225_600_000


def client_of(url: str, ca_file: Path | None) -> PrometheusClient:
    credentials = Credentials(ca_file="" if ca_file is None else str(ca_file))
    return PrometheusClient(PrometheusSource(url=url, credentials=credentials), {})


def problem_of(url: str, ca_file: Path | None) -> str:
    with pytest.raises(StoreError) as problem:
        whole(client_of(url, ca_file), "up", START, START, 1)
    return str(problem.value)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CA of our own (ca.pem), and what it signed.

    server.pem is for localhost, other.pem is for other names; old.pem has expired.
    """
    if shutil.which("openssl") is None:
        pytest.skip("no openssl on the PATH to make certificates with")
    folder = tmp_path_factory.mktemp("certificates")
    # Python 3.13 is strict about what a CA may do.
    ca = "req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -subj /CN=ours"
    _openssl(folder, f"{ca} -addext keyUsage=critical,keyCertSign,cRLSign")
    _openssl(folder, "req -newkey rsa:2048 -nodes -keyout key.pem -out ask.pem -subj /CN=localhost")
    _sign(folder, "server.pem", "DNS:localhost", "-days 30")
    _sign(folder, "other.pem", "DNS:a.example,IP:127.0.0.2", "-days 30")
    _sign(folder, "old.pem", "DNS:localhost", "-days -1")
    return folder


def _sign(folder: Path, to: str, names: str, days: str) -> None:
    (folder / "names").write_text(
        f"subjectAltName={names}\nauthorityKeyIdentifier=keyid,issuer\n", encoding="utf-8"
    )
    sign = "x509 -req -in ask.pem -CA ca.pem -CAkey ca.key -CAcreateserial -extfile names"
    _openssl(folder, f"{sign} {days} -out {to}")


def _openssl(folder: Path, arguments: str) -> None:
    subprocess.run(
        ["openssl", *arguments.split()], cwd=folder, check=True, capture_output=True, timeout=60
    )


def over_tls(folder: Path, certificate: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / certificate, folder / "key.pem")
    return context


def test_a_server_is_trusted_by_the_ca_that_is_named(certificates: Path) -> None:
    with serving(
        lambda request: range_of({}, request), over_tls(certificates, "server.pem")
    ) as url:
        client = client_of(url, certificates / "ca.pem")
        assert whole(client, "up", START, START, 1).series == []
        problem = problem_of(url, None)
    assert "has a certificate that is not trusted (" in problem
    assert problem.endswith("; name the file of its CA as caFile")


@pytest.mark.parametrize(
    ("certificate", "host"), [("server.pem", "127.0.0.1"), ("other.pem", "localhost")]
)
def test_a_certificate_for_another_name_is_refused(
    certificates: Path, certificate: str, host: str
) -> None:
    with serving(lambda request: range_of({}, request), over_tls(certificates, certificate)) as url:
        url = url.replace("localhost", host)
        assert problem_of(url, certificates / "ca.pem") == (
            f"Prometheus at {url} has a certificate that is not valid for {host}; use a name that "
            "it is valid for"
        )


def test_a_certificate_that_has_expired_is_no_matter_of_trust(certificates: Path) -> None:
    with serving(lambda request: range_of({}, request), over_tls(certificates, "old.pem")) as url:
        assert "has expired; it must be renewed there" in problem_of(url, certificates / "ca.pem")


def test_a_ca_file_that_is_none_is_named(certificates: Path, tmp_path: Path) -> None:
    with serving(lambda request: range_of({}, request)) as url:
        secure = url.replace("http:", "https:")
        for file in (tmp_path / "absent.pem", certificates / "names"):
            assert f"the CA file {file} cannot be used" in problem_of(secure, file)


def test_a_port_that_speaks_http_is_told_as_that() -> None:
    with serving(lambda request: range_of({}, request)) as url:
        problem = problem_of(url.replace("http:", "https:"), None)
    assert "does not speak https: this port probably speaks http" in problem
    assert "begin the address with http://, or name the port of https" in problem
    assert "SSL" not in problem
