"""A writer that is killed at any moment leaves a whole file, with all that it said was safe."""

import re
import subprocess
import sys

import pytest

from tests.shared_folder import ROOT

pytestmark = pytest.mark.exhaustive


def test_50_kills_lose_nothing_that_was_safe() -> None:
    """In a process of its own, because that one forks; 1,000 kills are in `make soak`."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.store.crashes", "--points", "50", "--seed", "8"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    landed = re.search(r"50 kills in (\d+) batches, (\d+) .* in roll-ups and (\d+)", done.stdout)
    assert landed is not None, done.stdout
    assert all(int(count) > 0 for count in landed.groups()), done.stdout
