"""Finds the recorded vectors and traces that are not part of the repository.

``FAIRLEAD_SHARED`` names their folder; without it, ``shared`` beside the repository is
taken. Tests that need it skip where it is absent, and the skip says so.
"""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def shared_folder() -> Path:
    """Return where the folder should be, whether or not it is there."""
    return Path(os.environ.get("FAIRLEAD_SHARED") or ROOT.parent / "shared").absolute()


def shared_file(name: str) -> Path:
    """Return a file of the shared folder, or skip the test that asks for it."""
    file = shared_folder() / name
    if not file.exists():
        pytest.skip(f"no {name} in the shared folder (FAIRLEAD_SHARED, default ../shared)")
    return file
