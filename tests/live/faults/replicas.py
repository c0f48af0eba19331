"""The schedulers of a run: one or two processes, which are started again where they may end."""

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

import pytest

from tests.live.fairlead_process import FairleadProcess

MODULE: Final = "tests.live.faults.checked"
_LOOKS_S: Final = 0.1
_LOG_END: Final = 3_000
_LEADS: Final = re.compile(r"^fairlead_leader 1(\.0)?$", re.MULTILINE)


class Replicas:
    """Processes of one scheduler."""

    def __init__(self, processes: Sequence[FairleadProcess]) -> None:
        """Know the *processes*, which run."""
        self.processes = processes
        self.problems: list[str] = []

    @property
    def first(self) -> FairleadProcess:
        """The process that is killed, paused and so on."""
        return self.processes[0]

    async def kill(self) -> None:
        """Kill the first process, and start it again at once."""
        self.first.kill()
        self.first.start_again()

    async def leader(self) -> FairleadProcess | None:
        """Return the process that leads; None: there is none now."""
        for process in self.processes:
            _, text = await asyncio.to_thread(process.get, "/metrics")
            if _LEADS.search(text):
                return process
        return None

    async def metrics(self) -> str:
        """Return /metrics of the process that leads; "": there is none now."""
        leader = await self.leader()
        return "" if leader is None else (await asyncio.to_thread(leader.get, "/metrics"))[1]

    async def supervise(self) -> None:
        """Start a process again when it ends by itself, as a Deployment does."""
        while True:
            for process in self.processes:
                if process.exit_code is not None:
                    process.start_again()
            await asyncio.sleep(_LOOKS_S)

    async def stop(self) -> None:
        """End all processes; each has to run until now and to end in order."""
        for process in self.processes:
            try:
                await asyncio.to_thread(process.stop)
            except (AssertionError, pytest.fail.Exception) as failure:
                self.problems.append(str(failure))

    def end(self) -> None:
        """Let none of the processes be left, and show the logs if something was wrong."""
        for process in self.processes:
            if process.exit_code is None:
                process.kill()
            if self.problems:
                log = process.text()[-_LOG_END:]
                self.problems.append(f"the log of {process.name} ends: {log}")


@asynccontextmanager
async def running(
    name: str,
    kubeconfigs: Sequence[Path],
    arguments: Sequence[str],
    folder: Path,
    *,
    is_supervised: bool,
) -> AsyncIterator[Replicas]:
    """Run a process for each kubeconfig; what is wrong in the end is in the problems."""
    replicas = Replicas(
        [
            FairleadProcess(
                f"{name}-{number}",
                folder,
                kubeconfig,
                "--policy=elastic-quota",
                *arguments,
                module=MODULE,
            )
            for number, kubeconfig in enumerate(kubeconfigs, 1)
        ]
    )
    supervision = asyncio.create_task(replicas.supervise() if is_supervised else asyncio.sleep(0))
    try:
        yield replicas
        supervision.cancel()
        with suppress(asyncio.CancelledError):
            await supervision
        await replicas.stop()
    finally:
        supervision.cancel()
        replicas.end()
