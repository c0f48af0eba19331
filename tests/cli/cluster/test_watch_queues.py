"""``fairlead queues --watch``: a new answer when the cluster changes, until Ctrl-C."""

import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from tests.cli.manifests import NODE, kai_queue
from tests.cli.run_cli import run_cli
from tests.cluster.kubernetes.canned_api import CannedApi, canned_api

WITHIN_S = 30.0
CLEARED = "\x1b[H\x1b[2J\x1b[3J"


@pytest.fixture
def server() -> Iterator[CannedApi]:
    """Gives an API server with a node and a queue."""
    with canned_api() as api:
        api.put(*map(yaml.safe_load, (NODE, kai_queue("vision", quota=6))))
        yield api


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
            self.printed += os.read(self.output, 65536).decode()
        return self.printed

    def end(self) -> int:
        """Press Ctrl-C, and return the exit code."""
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(WITHIN_S)
        os.close(self.output)
        return code


@pytest.mark.usefixtures("ctrl_c_is_heard")
@pytest.mark.parametrize("on_terminal", [False, True])
def test_the_queues_are_shown_anew_when_they_change(
    on_terminal: bool, server: CannedApi, tmp_path: Path
) -> None:
    """On a terminal in the place of the old answer, else below it, with the time of each."""
    watching = Watching(server.kubeconfig(tmp_path), on_terminal=on_terminal)
    watching.until(lambda text: "vision" in text and text.endswith("\n"))
    server.put(yaml.safe_load(kai_queue("speech", quota=4)))
    printed = watching.until(lambda text: "speech" in text and text.endswith("\n"))
    assert watching.end() == 0
    assert printed.count(f"  context ours ({server.url})") == 2
    assert printed.count(CLEARED) == (2 if on_terminal else 0)
    assert printed.count("rules: ") == 2


WRONG = {
    "without a cluster": (("queues", "--watch"), "--watch follows a cluster"),
    "with files only": (("queues", "--watch", "-f", "x"), "--watch follows a cluster"),
    "as JSON": (("queues", "--watch", "-A", "-o", "json"), "--watch prints tables"),
    "with two sides": (("queues", "--watch", "-A", "--diff", "a"), "exclude each other"),
}


@pytest.mark.parametrize(("arguments", "message"), WRONG.values(), ids=WRONG.keys())
def test_wrong_usage(arguments: tuple[str, ...], message: str) -> None:
    ran = run_cli(*arguments)
    assert ran.exit_code == 2
    assert message in ran.err
