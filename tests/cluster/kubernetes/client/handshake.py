"""TLS between a client and a server of ours, in memory."""

import ssl
from pathlib import Path
from typing import Any


def client_seen_by_server(client: ssl.SSLContext, folder: Path, name: str = "api.example") -> str:
    """Return the common name in the certificate of the client, "" for none, after a handshake.

    The server is server.pem in *folder*, and asks for a certificate of the CA there. Raises
    ssl.SSLError where one does not trust the other.
    """
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(folder / "server.pem", folder / "server.key")
    server.load_verify_locations(folder / "ca.pem")
    server.verify_mode = ssl.CERT_OPTIONAL
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    asks = client.wrap_bio(to_client, to_server, server_hostname=name)
    answers = server.wrap_bio(to_server, to_client, server_side=True)
    done: set[ssl.SSLObject] = set()
    while len(done) < 2:
        for side in (asks, answers):
            try:
                side.do_handshake()
                done.add(side)
            except ssl.SSLWantReadError:
                continue
    found: dict[str, Any] = answers.getpeercert() or {}
    parts = dict(pair for part in found.get("subject", ()) for pair in part)
    return str(parts.get("commonName", ""))
