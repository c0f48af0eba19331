"""A shell that stays open: a page may start a program in one block and end it in another."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from tools.k8s.cluster import Cluster

_MARK = "__end_of_command__"


class Shell:
    """bash with the kubeconfig of an administrator; kubectl and fairlead are on its PATH."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        """Begin in *folder*."""
        places = (str(Path(sys.executable).parent), str(cluster.assets), os.environ["PATH"])
        self._process = subprocess.Popen(
            ["bash", "--norc"],
            cwd=folder,
            env={
                "KUBECONFIG": str(cluster.kubeconfig("admin")),
                "HOME": str(folder),
                "PATH": os.pathsep.join(places),
                "LC_ALL": "C.UTF-8",
                "TZ": "UTC",
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, command: str) -> list[str]:
        """Return the lines that *command* prints; its exit code is the last one, if it is not 0."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{command}\necho {_MARK} $?\n")
        self._process.stdin.flush()
        lines: list[str] = []
        for line in self._process.stdout:
            text, mark, code = line.rstrip("\n").partition(_MARK)
            if text:
                lines.append(text)
            if mark:
                return lines if code == " 0" else [*lines, f"[exit {code.strip()}]"]
        raise AssertionError(f"the shell has ended after {command!r}: {lines}")

    def close(self) -> None:
        """End the shell and all that it started."""
        for job in self.run("jobs -p"):
            if job.isdecimal():
                self.run(f"kill -TERM {job}; wait {job}")
        os.killpg(self._process.pid, signal.SIGKILL)  # bash ignores a polite end
        self._process.communicate()
