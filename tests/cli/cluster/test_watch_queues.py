"""``fairlead queues --watch``: a new answer when the cluster changes, until Ctrl-C."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.cli.manifests import NODE, kai_queue
from tests.cli.run_cli import run_cli
from tests.cli.watching import Watching
from tests.cluster.kubernetes.canned_api import CannedApi, canned_api

CLEARED = "\x1b[H\x1b[2J"


@pytest.fixture
def server() -> Iterator[CannedApi]:
    """Gives an API server with a node and a queue."""
    with canned_api() as api:
        api.put(*map(yaml.safe_load, (NODE, kai_queue("vision", quota=6))))
        yield api


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
    assert printed.count(CLEARED) == (1 if on_terminal else 0)
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
