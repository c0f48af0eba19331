"""Tokens and certificates in files that somebody else renews."""

import asyncio
import shutil
from pathlib import Path

import pytest

from fairlead.cluster.kubernetes.client.credentials import (
    CertificateFiles,
    FixedToken,
    TokenFile,
    checked_token,
)
from fairlead.cluster.kubernetes.client.tls import trusting
from fairlead.errors import ClusterError
from tests.cluster.kubernetes.client.handshake import client_seen_by_server
from tests.cluster.kubernetes.client.set_clock import SetClock
from tests.text_table import rows

# Each line: seconds passed, what happened to the file, and the token of the next request.
RENEWED = {
    "read again every 60 s": """
        s    file    event    token
        0    one     -        one
        59   two     -        one
        60   two     -        two
        119  three   -        two
        120  three   -        three
    """,
    "read again after a refusal": """
        s    file    event    token
        0    one     -        one
        1    two     -        one
        1    two     refused  two
        60   three   -        two
        61   three   -        three
    """,
    "what was read serves while the file cannot be read": """
        s    file    event    token
        0    one     -        one
        60   (gone)  -        one
        61   (gone)  refused  one
        120  (gone)  -        one
        121  two     -        two
    """,
}


@pytest.mark.parametrize("table", RENEWED.values(), ids=RENEWED.keys())
def test_the_file_of_a_token_is_read_again(table: str, tmp_path: Path) -> None:
    time, file = SetClock(), tmp_path / "token"
    credentials = TokenFile(file, clock=time.clock)
    start_s = time.now_s
    for row in rows(table):
        time.now_s = start_s + int(row["s"])
        file.unlink(missing_ok=True)
        if row["file"] != "(gone)":
            file.write_text(f"{row['file']}\n", encoding="utf-8")
        if row["event"] == "refused":
            credentials.refused()
        assert asyncio.run(credentials.token()) == row["token"], row


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "No such file"),
        (b" \n", "no token"),
        (b"hid\nden", "no token"),
        (b"\xff", "no token"),
    ],
)
def test_a_file_without_a_token_is_told_without_its_content(
    content: bytes | None, told: str, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ClusterError, match=told) as problem:
        asyncio.run(TokenFile(file).token())
    assert str(file) in str(problem.value)
    assert "hid" not in str(problem.value)
    assert problem.value.retry_after_s is not None


def test_a_token_is_one_line_of_ascii() -> None:
    assert checked_token(" a.b-c \n") == "a.b-c"
    for bad in ("", "\n", "a\r\nX: y", "ä"):
        with pytest.raises(ValueError, match="no token"):
            checked_token(bad)


def test_renewed_certificates_are_presented_once_both_halves_fit(
    tmp_path: Path, certificates: Path
) -> None:
    pem, key = tmp_path / "pem", tmp_path / "key"

    def write(certificate: str, private: str) -> None:
        shutil.copy(certificates / f"{certificate}.pem", pem)
        shutil.copy(certificates / f"{private}.key", key)

    write("first", "first")
    time = SetClock()
    context = trusting((certificates / "ca.pem").read_bytes())
    credentials = CertificateFiles(
        context,
        lambda: (pem.read_bytes(), key.read_bytes()),
        FixedToken("beside"),
        time.clock,
    )

    def seen() -> str:
        assert asyncio.run(credentials.token()) == "beside"
        return client_seen_by_server(context, certificates)

    assert seen() == "first"
    write("second", "first")  # half of it is written
    time.now_s += 60
    assert seen() == "first"
    write("second", "second")
    assert seen() == "first"  # it is not looked at for each request
    time.now_s += 60
    assert seen() == "second"
    write("first", "first")
    credentials.refused()
    assert seen() == "first"
    pem.unlink()
    credentials.refused()
    assert seen() == "first"
