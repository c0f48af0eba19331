"""Finds the binaries of the control plane, or skips the tests that need them.

Nothing is built here: a build takes minutes, and `make test-live` does it before. Where
FAIRLEAD_LIVE is `required`, as in CI, a missing binary is a failure.
"""

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.shared_folder import ROOT

NEEDED = ("etcd", "kube-apiserver", "kube-controller-manager", "kubectl", "kwok")


def find_binaries() -> Path:
    """Return the directory that holds the binaries, or skip with the words of build.py."""
    code, directory, words = _ask_build_script()
    if code == 0:
        return Path(directory)
    if os.environ.get("FAIRLEAD_LIVE") == "required":
        pytest.fail(f"FAIRLEAD_LIVE=required\n{words}", pytrace=False)
    pytest.skip(words)


@cache
def _ask_build_script() -> tuple[int, str, str]:
    asked = subprocess.run(
        [sys.executable, str(ROOT / "tools/k8s/build.py"), "--no-build", *NEEDED],
        capture_output=True,
        text=True,
        check=False,
    )
    return asked.returncode, asked.stdout.strip(), asked.stderr.strip()
