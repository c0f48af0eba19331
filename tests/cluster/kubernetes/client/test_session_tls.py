"""A session over TLS: which server it trusts, and what it says where it does not."""

import asyncio
import ssl
from pathlib import Path

import pytest

from fairlead.cluster.kubernetes.client.access import Access
from fairlead.cluster.kubernetes.client.errors import UnreachableError
from fairlead.cluster.kubernetes.client.session import Session
from tests.cluster.kubernetes.client.byte_server import FixedToken, answers, run, serving

NAME = "api.example"  # for which the certificate of the server is valid
OK = answers(200, {})


def of_server(folder: Path, client_ca: Path | None = None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem", folder / "server.key")
    if client_ca is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(client_ca)
    return context


def of_client(folder: Path, *, is_trusting: bool = True) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if is_trusting:
        context.load_verify_locations(folder / "ca.pem")
    return context


def asked(served: ssl.SSLContext, trust: ssl.SSLContext, server_name: str = NAME) -> bytes:
    async def story() -> bytes:
        async with serving(OK, tls=served) as server:
            return await posted(server.url, trust, server_name)

    return run(story())


async def posted(server: str, trust: ssl.SSLContext, server_name: str) -> bytes:
    access = Access(server=server, ssl=trust, server_name=server_name, credentials=FixedToken())
    lane = Session(access, connections=1, deadline_s=5)
    try:
        return await lane.ask("POST", "/api", body=b"{}")
    finally:
        await lane.close()


def test_the_server_is_known_by_the_name_that_it_must_have(certificates: Path) -> None:
    assert asked(of_server(certificates), of_client(certificates)) == b"{}"


@pytest.mark.parametrize(
    ("is_trusting", "server_name", "words"),
    [
        (True, "", "IP address mismatch"),
        (True, "other.example", "Hostname mismatch"),
        (False, NAME, "unable to get local issuer certificate"),
    ],
)
def test_a_server_that_is_not_trusted_gets_no_request(
    certificates: Path, is_trusting: bool, server_name: str, words: str
) -> None:
    """Another attempt will not help, and nothing was done."""
    trust = of_client(certificates, is_trusting=is_trusting)
    with pytest.raises(UnreachableError, match=f"is not trusted .*{words}") as raised:
        asked(of_server(certificates), trust, server_name)
    assert raised.value.retry_after_s is None
    assert not raised.value.is_unknown


def test_a_port_that_speaks_http_is_reported_as_that(certificates: Path) -> None:
    async def answer_in_http(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(b"HTTP/1.0 400 Bad Request\r\n\r\n")
        writer.close()

    async def story() -> bytes:
        server = await asyncio.start_server(answer_in_http, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        try:
            return await posted(f"https://127.0.0.1:{port}", of_client(certificates), NAME)
        finally:
            server.close()

    with pytest.raises(UnreachableError, match="TLS handshake failed") as raised:
        run(story())
    assert raised.value.retry_after_s is None


def test_a_client_proves_itself_by_its_certificate(certificates: Path) -> None:
    trust = of_client(certificates)
    trust.load_cert_chain(certificates / "first.pem", certificates / "first.key")
    served = of_server(certificates, certificates / "ca.pem")
    assert asked(served, trust) == b"{}"
    with pytest.raises(UnreachableError):
        asked(served, of_client(certificates))
