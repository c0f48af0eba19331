"""Chance that depends on a seed and on what it is for, and on nothing else.

Every purpose of every source of work draws from a stream of its own. So the list of users does not
move the times of submission, and one more source changes nothing about the others: two runs that
differ in one setting differ by that setting only.
"""

from hashlib import sha256
from random import Random

import msgspec


def random_stream(seed: int, source: str, purpose: str, index: int = 0) -> Random:
    """The stream of a purpose; of it only ``random()`` may be used.

    Python promises the same sequence of ``random()`` for a seed in all versions, and of nothing
    else. The digest makes a whole number, the plainest kind of seed, of names of any kind; it
    knows nothing of the process, its hash seed, its locale or its time zone.
    """
    digest = sha256(msgspec.json.encode([seed, source, purpose, index])).digest()
    return Random(int.from_bytes(digest, "big"))
