"""Many numbers of the same width in few bytes, quickly: the first byte of all, then the second.

Lanes have room for the largest numbers, and most numbers need half of it. Beyond what they need
there is nothing but their signs, byte after byte; laid out by planes those bytes are planes that
are all the same, and one of them is enough. A plane is found and put back by one slice with a step,
so what this costs hardly depends on how many numbers there are.
"""

from collections.abc import Sequence
from itertools import chain, repeat


def planes_of(data: bytes, width: int) -> list[bytes]:
    """The planes of numbers of *width* bytes each, lowest byte first; equal last ones are one."""
    planes = [data[place::width] for place in range(width)]
    while len(planes) > 1 and planes[-1] == planes[-2]:
        planes.pop()
    return planes


def of_planes(planes: Sequence[bytes], width: int) -> bytearray:
    """The data of which these are the *planes*."""
    data = bytearray(len(planes[0]) * width)
    for place, plane in enumerate(chain(planes, repeat(planes[-1], width - len(planes)))):
        data[place::width] = plane
    return data
