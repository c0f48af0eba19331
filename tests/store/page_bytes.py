"""How SQLite lays numbers down in a file, to find and damage them there."""


def varint(number: int) -> bytes:
    """A number as SQLite writes it: seven bits to a byte, the high ones first."""
    digits = [number & 127]
    while number := number >> 7:
        digits.append(number & 127 | 128)
    return bytes(reversed(digits))
