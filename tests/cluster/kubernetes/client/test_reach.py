"""From a kubeconfig to an answer: a session over TLS with what the kubeconfig says."""

import asyncio
import ssl
from pathlib import Path
from typing import Any

from fairlead.cluster.kubernetes.client.session import Session
from tests.cluster.kubernetes.client.kubeconfigs import access_by, kubeconfig, written

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
REFUSAL = b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n"


class Server:
    """Accepts one token only, and notes the path and the certificate of each request."""

    def __init__(self, token: str) -> None:
        self.token = token
        self.seen: list[tuple[str, str]] = []

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        certificate: dict[str, Any] = writer.get_extra_info("peercert")
        name = dict(pair for part in certificate["subject"] for pair in part)["commonName"]
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                self.seen.append((head.split(" ")[1], name))
                is_known = f"Authorization: Bearer {self.token}\r\n" in head
                writer.write(ANSWER if is_known else REFUSAL)
        except asyncio.IncompleteReadError:
            writer.close()


def test_a_refused_session_goes_on_with_the_renewed_token_and_certificate(
    tmp_path: Path, certificates: Path
) -> None:
    """The server is known by another name than its address, and by the CA in the kubeconfig."""
    for kind in ("pem", "key"):
        (tmp_path / f"me.{kind}").write_bytes((certificates / f"first.{kind}").read_bytes())
    written(tmp_path, "old", "token")
    user = "client-certificate: me.pem\nclient-key: me.key\ntokenFile: token"
    server = Server("old")

    async def story(address: str) -> None:
        cluster = (
            f"server: {address}/prefix/\n"
            f"certificate-authority: {certificates / 'ca.pem'}\ntls-server-name: api.example"
        )
        access = access_by(written(tmp_path, kubeconfig(cluster=cluster, user=user)))
        session = Session(access, connections=1, deadline_s=10)
        assert await session.ask("GET", "/version") == b"{}"
        server.token = "new"
        written(tmp_path, "new", "token")
        for kind in ("pem", "key"):
            (tmp_path / f"me.{kind}").write_bytes((certificates / f"second.{kind}").read_bytes())
        assert await session.ask("GET", "/version") == b"{}"
        await session.close()

    asyncio.run(_with_server(server, certificates, story))
    path = "/prefix/version"
    assert server.seen == [(path, "first"), (path, "first"), (path, "second")]


async def _with_server(server: Server, certificates: Path, story: Any) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / "server.pem", certificates / "server.key")
    context.load_verify_locations(certificates / "ca.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    listening = await asyncio.start_server(server.answer, "127.0.0.1", 0, ssl=context)
    async with listening:
        port = listening.sockets[0].getsockname()[1]
        await story(f"https://127.0.0.1:{port}")
