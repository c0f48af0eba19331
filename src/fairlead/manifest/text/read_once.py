"""Values that are the same in many objects, such as the template of pods, are read once.

What was read is kept by a key, which is the value in JSON. Only what was read without a finding may
be kept: findings have places of their own.
"""

from typing import Final, Generic, TypeVar

import msgspec

_MOST_KEPT: Final = 1024
_LONGEST_KEY: Final = 16 * 1024  # bytes: all together they are at most 16 MiB
_ENCODER: Final = msgspec.json.Encoder(decimal_format="number")  # 0.5 is not the text "0.5"

T = TypeVar("T")


class ReadOnce(Generic[T]):
    """What was read last, at most so much; of more the oldest is forgotten."""

    def __init__(self, most: int = _MOST_KEPT) -> None:
        """Begin with nothing, and keep at most *most*."""
        self._most = most
        self._by_key: dict[bytes | None, T] = {}

    def __len__(self) -> int:
        return len(self._by_key)

    def get(self, key: bytes | None) -> T | None:
        """Return what is kept for *key*; None: nothing."""
        return self._by_key.get(key)

    def keep(self, key: bytes | None, found: T) -> None:
        """Keep what was *found*, unless there is no key or it is very long."""
        if key is None or len(key) > _LONGEST_KEY or not self._most:
            return
        if len(self._by_key) >= self._most:
            del self._by_key[next(iter(self._by_key))]
        self._by_key[key] = found


def json_key(value: object) -> bytes | None:
    """Return a key that is equal for equal values only.

    None: it has none, because it holds a value that was refused, or half of a character.
    """
    try:
        return _ENCODER.encode(value)
    except (TypeError, ValueError):
        return None
