"""Lets Python look for garbage rarely while a simulation makes and drops millions of objects.

What refers to nothing that refers back is freed at once without it. The collector finds the few
circles that are left, and by default it looks for them each time that 700 objects more are there
than before: several times in one plan. Every look goes through all that is young.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

NEW_OBJECTS: Final = 20_000
"""How many more may be there before a look: a few megabytes."""


@contextmanager
def rare_collections() -> Iterator[None]:
    """Collect rarely in the body, and as before after it."""
    before, *older = gc.get_threshold()
    gc.set_threshold(max(before, NEW_OBJECTS) if before else 0, *older)  # 0: it is off
    try:
        yield
    finally:
        gc.set_threshold(before, *older)
