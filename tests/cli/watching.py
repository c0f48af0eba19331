"""``fairlead queues --watch`` in a process of its own."""

import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

WITHIN_S = 30.0


class Watching:
    """A process that watches, and what it printed so far."""

    def __init__(self, kubeconfig: Path, *, on_terminal: bool) -> None:
        command = (sys.executable, "-m", "fairlead", "queues", "--watch")
        self.output, theirs = pty.openpty() if on_terminal else os.pipe()
        self.process = subprocess.Popen(
            [*command, "--kubeconfig", str(kubeconfig)],
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs)
        self.printed = ""

    def until(self, is_enough: Callable[[str], bool]) -> str:
        """Return what was printed as soon as it is enough."""
        deadline = time.monotonic() + WITHIN_S
        while not is_enough(self.printed):
            left_s = deadline - time.monotonic()
            readable, _, _ = select.select([self.output], [], [], max(0.0, left_s))
            assert readable, f"not printed in time; so far:\n{self.printed}"
            printed = os.read(self.output, 65536)
            assert printed, f"it ended; before that:\n{self.printed}"
            self.printed += printed.decode()
        return self.printed

    def end(self) -> int:
        """Press Ctrl-C, and return the exit code."""
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(WITHIN_S)
        os.close(self.output)
        return code
