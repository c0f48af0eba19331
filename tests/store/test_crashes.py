"""A writer that is killed at any moment leaves a whole file, with all that it said was safe."""

import subprocess
import sys

from tests.shared_folder import ROOT


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
    assert "50 kills in" in done.stdout
    assert "50 kills in 0 batches" not in done.stdout
