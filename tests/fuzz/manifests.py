"""Fuzzes the door of manifests: ``python -m tests.fuzz.manifests --seconds 10 --seed 1``.

Whatever an input holds, every command that reads it ends with an answer, or with findings.
"""

import re
from random import Random
from typing import Final

from fairlead.policy.contract import POLICY_NAMES
from tests.cli.run_cli import run_cli
from tests.fuzz.campaign import run
from tests.fuzz.mutate import (
    broken_documents,
    broken_text,
    example_documents,
    example_texts,
    text_of,
)

COMMANDS: Final = (
    ("validate",),
    ("validate", "--strict", "-o", "json"),
    ("queues",),
    ("queues", "-o", "json"),
    ("plan", "-o", "wide"),
    ("metrics",),
)
NAMES: Final = re.compile(r'"?name"?: *"?([A-Za-z0-9-]+)')


def make(random: Random) -> str:
    """Return a manifest of the examples that is broken in some places."""
    if random.random() < 0.3:
        return broken_text(random, random.choice(example_texts()))
    text = text_of(broken_documents(random, random.choice(example_documents())))
    return broken_text(random, text) if random.random() < 0.2 else text


def check(text: str) -> None:
    """Raise whatever a command raises that is neither an answer nor an error for people."""
    data = text.encode(errors="replace")
    random = Random(data)  # so that a text has the same commands again
    for command in random.sample(COMMANDS, 2):
        _run(command, data)
    _run(("queues", "--policy", random.choice(POLICY_NAMES)), data)
    _run(("explain", random.choice(NAMES.findall(text) or ["x"])), data)


def _run(command: tuple[str, ...], data: bytes) -> None:
    ran = run_cli(*command, "-f", "-", stdin=data)
    assert ran.exit_code in (0, 1, 2), f"{command} ended with {ran.exit_code}"
    assert ran.exit_code == 0 or ran.out or ran.err, f"{command} failed without a word"


if __name__ == "__main__":
    run("manifests", make, check)
