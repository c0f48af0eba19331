"""Keeps the garbage collector from walking over growing trees again and again."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused_collector() -> Iterator[None]:
    """Let nothing be collected meanwhile: for work that makes many objects and hardly any garbage.

    Only cycles of references wait for the collector, so whoever works under this must leave none
    behind, or few. Afterwards the collector is as it was.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
