"""`fairlead run` as a process of its own, as a user starts it."""

import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.live.installation import LEASE_NAMESPACE
from tests.live.waiting import wait_until
from tests.shared_folder import ROOT
from tools.k8s.cluster import free_ports, start_program

_STOPS_WITHIN_S = 20


class FairleadProcess:
    """One running `fairlead run`; its output, with the log, is in the file *log*."""

    def __init__(
        self,
        name: str,
        folder: Path,
        kubeconfig: Path,
        *arguments: str,
        module: str = "fairlead",
    ) -> None:
        """Start it with *arguments* after the kubeconfig; *name* tells replicas apart.

        Another *module* is one that checks more, and then runs Fairlead.
        """
        self.name = name
        self.module = module
        self.log = folder / f"{name}.log"
        self.port = free_ports(1)[0]
        own = [f"--kubeconfig={kubeconfig}", f"--listen=127.0.0.1:{self.port}"]
        if "--shadow" not in arguments:  # a shadow has no Lease, and refuses to be given a place
            own.append(f"--namespace={LEASE_NAMESPACE}")
        self.arguments = ("run", *own, *arguments)
        self._process = self._start()
        self._is_expected_to_run = True

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait_until_ready(self, within_s: float = 20.0) -> None:
        """Return once /readyz answers 200: all kinds are listed."""
        wait_until(
            f"{self.name} is ready",
            lambda: (self.exit_code, self.get("/readyz")),
            lambda seen: seen[0] is not None or seen[1][0] == 200,
            within_s=within_s,
        )
        assert self.exit_code is None, f"{self.name} ended with {self.exit_code}:\n{self.text()}"

    @property
    def exit_code(self) -> int | None:
        """The exit code; None: it runs."""
        return self._process.poll()

    def get(self, path: str) -> tuple[int, str]:
        """Return the status and the body of a path of its HTTP server; 0: it does not answer."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as problem:
            with problem:
                return problem.code, problem.read().decode()
        except OSError as problem:
            return 0, str(problem)

    def text(self) -> str:
        """Return all that it printed and logged so far."""
        return self.log.read_text(errors="replace")

    def pause(self) -> None:
        """Freeze the process, as a stall of its machine does."""
        self.send(signal.SIGSTOP)

    def resume(self) -> None:
        """Let a paused process go on."""
        self.send(signal.SIGCONT)

    def send(self, which: signal.Signals) -> None:
        """Send it a signal."""
        self._process.send_signal(which)

    def kill(self) -> None:
        """End it without a chance to clean up."""
        self._is_expected_to_run = False
        self._process.kill()
        self._process.wait()

    def start_again(self) -> None:
        """Start it once more with the same arguments, after `kill` or `stop`."""
        assert self.exit_code is not None
        self._process = self._start()
        self._is_expected_to_run = True

    def terminate(self) -> int:
        """End it with SIGTERM and return its exit code."""
        self._is_expected_to_run = False
        self._process.send_signal(signal.SIGCONT)
        self._process.terminate()
        try:
            return self._process.wait(_STOPS_WITHIN_S)
        except subprocess.TimeoutExpired:
            self.kill()
            pytest.fail(f"{self.name} did not end within {_STOPS_WITHIN_S} s of SIGTERM")

    def stop(self) -> None:
        """End it with SIGTERM; the test fails unless it ran until now and ends with 0."""
        if not self._is_expected_to_run:
            return
        self._is_expected_to_run = False
        ended = self.exit_code
        assert ended is None, f"{self.name} ended unasked, with {ended}:\n{self.text()[-4000:]}"
        code = self.terminate()
        assert code == 0, f"{self.name} ended with {code} on SIGTERM:\n{self.text()[-4000:]}"

    def _start(self) -> subprocess.Popen[bytes]:
        return start_program([sys.executable, "-m", self.module, *self.arguments], self.log, ROOT)
