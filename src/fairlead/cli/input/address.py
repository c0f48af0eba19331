"""Where a command listens, as users write it."""

from typing import Final

import click

LOOPBACK: Final = "127.0.0.1"
MAX_PORT: Final = 65535


def read_address(
    _context: click.Context, _option: click.Parameter, text: str | None
) -> tuple[str, int] | None:
    """Return the host and port of ``[HOST:]PORT``; without a host, that of this machine only."""
    if text is None:
        return None
    host, _, port = text.rpartition(":")
    if not (port.isdecimal() and port.isascii() and int(port) <= MAX_PORT):
        raise click.BadParameter(
            f"found {text!r}, expected PORT or HOST:PORT, such as 9464 or 0.0.0.0:9464"
        )
    return host.removeprefix("[").removesuffix("]") or LOOPBACK, int(port)
