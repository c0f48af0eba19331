"""The schedulers that are measured, and how each is started."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

import fairlead
from tools.k8s.cluster import HERE, Cluster

_LAST_LINES: Final = 15
_DIE_WITH_PARENT: Final = HERE / "die_with_parent.py"


class SchedulerEndedError(Exception):
    """A scheduler that is measured has ended; the message has the end of its log."""


class Contender(msgspec.Struct, frozen=True, kw_only=True):
    """A scheduler as it is run, and which pods it takes."""

    title: str
    scheduler_name: str
    command: tuple[str, ...]  # with {assets} and {kubeconfig} to be filled in

    @contextmanager
    def started(self, cluster: Cluster) -> Iterator["RunningScheduler"]:
        """Run the scheduler as admin for the block."""
        log = cluster.directory / "scheduler.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(_DIE_WITH_PARENT), *self._command(cluster)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=_environment(),
            )
        try:
            yield RunningScheduler(process, log)
        finally:
            process.kill()
            process.wait()

    def _command(self, cluster: Cluster) -> list[str]:
        kubeconfig = cluster.kubeconfig("admin")
        return [each.format(assets=cluster.assets, kubeconfig=kubeconfig) for each in self.command]


class RunningScheduler:
    """The process of a scheduler."""

    def __init__(self, process: "subprocess.Popen[bytes]", log: Path) -> None:
        """Take over *process*, which writes to *log*."""
        self.pid = process.pid
        self._process = process
        self._log = log

    def check(self) -> None:
        """Raise SchedulerEndedError if it does not run any more."""
        code = self._process.poll()
        if code is not None:
            lines = self._log.read_text(errors="replace").splitlines()[-_LAST_LINES:]
            raise SchedulerEndedError("\n".join([f"the scheduler ended with {code}:", *lines]))


def _environment() -> dict[str, str]:
    """Let Python keep compiled files, as an installed package has them: 0.5 s less to start."""
    return {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}


def versions(assets: Path) -> str:
    """Return which versions are measured."""
    command = [str(assets / "kube-scheduler"), "--version"]
    peer = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    return (
        f"Fairlead {fairlead.__version__}, Python {sys.version.split()[0]}; kube-scheduler: {peer}"
    )


_FAIRLEAD: Final = (
    *(sys.executable, "-m", "fairlead", "run", "--policy", "elastic-quota"),
    *("--kubeconfig", "{kubeconfig}", "--no-leader-elect"),
)

FAIRLEAD: Final = Contender(
    title="fairlead",
    scheduler_name="fairlead",
    command=_FAIRLEAD,
)
FAIRLEAD_WITH_EVENTS: Final = Contender(
    title="fairlead --events all",
    scheduler_name="fairlead",
    command=(*_FAIRLEAD, "--events", "all"),
)
KUBE_SCHEDULER: Final = Contender(
    title="kube-scheduler",
    scheduler_name="default-scheduler",
    command=(
        *("{assets}/kube-scheduler", "--kubeconfig={kubeconfig}"),
        *("--leader-elect=false", "--secure-port=0"),
        *("--kube-api-qps=5000", "--kube-api-burst=5000"),  # its own 50 would decide all
    ),
)
"""It writes one Event for each bind."""

CONTENDERS: Final = (FAIRLEAD_WITH_EVENTS, FAIRLEAD, KUBE_SCHEDULER)
