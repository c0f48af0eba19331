"""Reads durations that have a lower bound, and the addresses of servers."""

from typing import Final, TypeVar
from urllib.parse import urlsplit

from fairlead.manifest.text.cursor import Cursor
from fairlead.manifest.text.path import Path, quote
from fairlead.model.duration import format_duration, parse_duration
from fairlead.usage.address_text import without_login

D = TypeVar("D")


def positive_ms(cursor: Cursor, key: str, default_ms: int, why: str = "", fix: str = "") -> int:
    """Read a duration above 0; any other is an error, and the default stands for it.

    *why* says what 0 would lead to; *fix* is the cure where the default is none.
    """
    length_ms = cursor.duration(key, default_ms, is_zero_refused=True)
    if length_ms > 0:
        return length_ms
    message = f"{not_above_zero(cursor, key)}{why}"
    usual = f"remove it, or write the usual {format_duration(default_ms)}"
    cursor.error(key, "out-of-range", message, fix or usual)
    return default_ms


def not_above_zero(cursor: Cursor, key: str) -> str:
    """Say what was found in place of a duration above 0, as we count."""
    text = cursor.text(key, "")
    is_cut = not parse_duration(text)[1]
    expected = (
        "at least 1ms, the shortest duration that Fairlead counts" if is_cut else "more than 0"
    )
    return f"found {quote(text)}, expected {expected}"


def protection_ms(cursor: Cursor, key: str, default_ms: D) -> int | D:
    """Read a time for which something is protected; a negative one is reported and counts as 0."""
    length_ms = cursor.duration(key, default_ms)
    if not isinstance(length_ms, int) or length_ms >= 0:
        return length_ms
    warn_of_negative(cursor, key, cursor.text(key, ""))
    return 0


def warn_of_negative(cursor: Cursor, at: str | Path, text: str) -> None:
    """Report that the duration *text* is negative, and counts as 0."""
    message = f"found {quote(text)}, which is taken as 0s"
    cursor.warn(at, "out-of-range", message, "write 0s or more")


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
