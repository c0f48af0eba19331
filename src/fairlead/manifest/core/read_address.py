"""Reads the address of a server, which must say how to reach it."""

from typing import Final
from urllib.parse import urlsplit

from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.path import quote

SCHEMES: Final = ("http", "https")


def read_address(cursor: Cursor, key: str) -> str:
    """Read an address of http or https with a host; "" where there is none or it is wrong."""
    address = cursor.text(key, "")
    problem = address_problem(address) if address else ""
    if problem:
        fix = "write it in full, such as http://prometheus.monitoring:9090"
        cursor.error(key, "bad-url", f"found {quote(address)}, {problem}", fix)
        return ""
    return address


def address_problem(address: str) -> str:
    """Say what is wrong with *address*; "" if nothing is."""
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError as wrong:
        return f"which is no address: {wrong}"
    if parts.scheme not in SCHEMES:
        return f"expected an address that begins with {' or '.join(f'{s}://' for s in SCHEMES)}"
    if not parts.hostname or port == 0:
        return "expected an address with a host"
    return ""
