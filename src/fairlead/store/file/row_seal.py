"""Checksums that bind what a row says to the place where it stands.

A disk may forget a bit anywhere: in what a row says, in the key by which it is found, or in the
page that lists the rows, and then a row is lost, told twice, or found elsewhere. So what is sealed
is the row, its key, and the key of the row before it.

Wrong bits that are all within a run as long as the checksum, 16 bits or 32, are surely told. Of any
other damage one case in 65,536, or in 4 billion, passes.
"""

from binascii import crc_hqx
from struct import Struct
from typing import Final
from zlib import crc32

BEFORE_ALL: Final = -(2**63)  # stands for the key before the first row; no row has it
SHORT_BYTES: Final = 2

_PLACE = Struct(">qq")


class DamagedRowError(ValueError):
    """What was read is not what was written."""


def short_seal(previous: int, key: int, body: bytes) -> bytes:
    """Two bytes that differ for any two rows that differ by up to 16 bits in a row.

    That is CRC-16; the half of a longer sum would overlook some single bits.
    """
    return crc_hqx(body, crc_hqx(_PLACE.pack(previous, key), 0xFFFF)).to_bytes(SHORT_BYTES)


def long_seal(previous: int, key: int, body: bytes) -> int:
    """The same in four bytes, CRC-32, for rows of which there are few."""
    return crc32(body, crc32(_PLACE.pack(previous, key)))


def seal_of(*parts: object) -> int:
    """Four bytes of some texts and whole numbers; bytes are taken as they are."""
    seal = 0
    for part in parts:
        content = part if isinstance(part, bytes) else f"{part!r}".encode()
        seal = crc32(b"\0" + content, seal)
    return seal
