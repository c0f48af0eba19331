"""How the tests of the commands run."""

import signal
from collections.abc import Iterator

import pytest


@pytest.fixture
def ctrl_c_is_heard() -> Iterator[None]:
    """Listen as on a terminal; shells tell what runs in the background to ignore Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
