"""How every test runs: the profiles of Hypothesis, the shared folder, our own options."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.shared_folder import shared_file

# No profile judges by time: the machines that run the tests are shared and noisy. A profile's
# max_examples scales those of every law (tests/scale_examples.py): with 33, to a third.
settings.register_profile(
    "dev",
    max_examples=33,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
dev = settings.get_profile("dev")
settings.register_profile("thorough", parent=dev, max_examples=1000)
# The same examples on every run, so that a red build means that the change is at fault.
settings.register_profile("ci", parent=dev, max_examples=100, derandomize=True)
settings.register_profile("ci-brief", parent=dev, derandomize=True)
settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "dev")
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--refresh-docs",
        action="store_true",
        help="write what the commands in the docs print into the docs",
    )
    parser.addoption(
        "--refresh-golden",
        action="store_true",
        help="write what is decided now into the files that say what should be",
    )


@pytest.fixture
def shared() -> Callable[[str], Path]:
    """Gives a file of the shared folder by its name there, or skips the test."""
    return shared_file
