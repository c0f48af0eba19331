"""The server that the tests of reading read."""

from collections.abc import Iterator

import pytest

from tests.cluster.kubernetes.canned_api import CannedApi, canned_api


@pytest.fixture
def server() -> Iterator[CannedApi]:
    """Gives an API server without objects."""
    with canned_api() as api:
        yield api
