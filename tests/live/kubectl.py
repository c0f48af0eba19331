"""kubectl as a user runs it, of the same release as the control plane."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.live.api import Object
from tools.k8s.cluster import Cluster

_DEADLINE_S = 60


class Kubectl:
    """kubectl for one cluster and one user; it writes nothing outside of the cluster's folder."""

    def __init__(self, cluster: Cluster, user: str = "admin") -> None:
        self._program = cluster.assets / "kubectl"
        self._options = (
            f"--kubeconfig={cluster.kubeconfig(user)}",
            f"--cache-dir={cluster.directory / 'kubectl-cache'}",
        )

    def __call__(self, *arguments: str, stdin: str = "") -> str:
        """Return what kubectl prints. The test fails if kubectl does."""
        done = self.attempt(*arguments, stdin=stdin)
        if done.returncode:
            pytest.fail(f"kubectl {' '.join(arguments)}: exit {done.returncode}\n{done.stderr}")
        return done.stdout

    def attempt(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run kubectl, and return its exit code and what it printed."""
        return subprocess.run(
            [str(self._program), *self._options, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=_DEADLINE_S,
            check=False,
        )

    def apply(self, *objects: Object, namespace: str = "") -> None:
        """Apply objects, as from one file."""
        listed = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
        within = (f"--namespace={namespace}",) if namespace else ()
        self("apply", "-f", "-", *within, stdin=json.dumps(listed))

    def apply_file(self, path: Path, namespace: str = "") -> None:
        """Apply the objects of a file, or of a folder."""
        within = (f"--namespace={namespace}",) if namespace else ()
        self("apply", "-f", str(path), *within)
