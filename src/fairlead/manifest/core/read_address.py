"""Reads the address of a server, which must say how to reach it."""

from typing import Final
from urllib.parse import urlsplit

from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.path import quote
from fairlead.usage.address_text import without_login

SCHEMES: Final = ("http", "https")


def read_address(cursor: Cursor, key: str) -> str:
    """Read an address of http or https with a host; "" where there is none or it is wrong.

    A password in it is a warning, and never shown.
    """
    address = cursor.text(key, "")
    problem = address_problem(address) if address else ""
    if problem:
        fix = "write it in full, such as http://prometheus.monitoring:9090"
        shown = quote(without_login(address))
        cursor.error(key, "bad-url", f"found {shown}, {problem}", fix)
        return ""
    if urlsplit(address).password:
        message = "found a password in the address, where every reader of this file can see it"
        fix = "write it into a file, and name that as passwordFile below prometheus of Settings"
        cursor.warn(key, "exposed-secret", message, fix)
    return address


def address_problem(address: str) -> str:
    """Say what is wrong with *address*, without a word of it; "" if nothing is."""
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:  # whose text may hold a part of a password
        return "which is not an address: its host or port is not valid"
    if parts.scheme not in SCHEMES:
        return f"expected an address that begins with {' or '.join(f'{s}://' for s in SCHEMES)}"
    if not parts.hostname or port == 0:
        return "expected an address with a host"
    if any(letter.isspace() or not letter.isprintable() for letter in address):
        return "expected an address without spaces"
    return ""
