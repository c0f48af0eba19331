"""Certificates for tests, made by openssl: a CA, a server and two clients."""

import shutil
import subprocess
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ca.pem and, signed by it, server.pem and two clients, each with its key.

    The CA has no keyUsage and what it signs no authorityKeyIdentifier, as in many clusters.
    """
    if shutil.which("openssl") is None:
        pytest.skip("no openssl on the PATH to make certificates with")
    folder = tmp_path_factory.mktemp("certificates")
    _openssl(folder, "req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -subj /CN=ca")
    for name in ("server", "first", "second"):
        new = f"req -newkey rsa:2048 -nodes -keyout {name}.key -out {name}.ask -subj /CN={name}"
        _openssl(folder, new)
        (folder / "names").write_text(
            "subjectAltName=DNS:api.example\nauthorityKeyIdentifier=none\n", encoding="utf-8"
        )
        sign = f"x509 -req -in {name}.ask -CA ca.pem -CAkey ca.key -CAcreateserial -days 30"
        _openssl(folder, f"{sign} -extfile names -out {name}.pem")
    _openssl(folder, "rsa -aes256 -passout pass:x -in first.key -out encrypted.key")
    return folder


def _openssl(folder: Path, arguments: str) -> None:
    subprocess.run(
        ["openssl", *arguments.split()], cwd=folder, check=True, capture_output=True, timeout=60
    )
