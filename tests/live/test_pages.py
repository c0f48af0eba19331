"""The blocks of the docs that need a cluster do on one what their page says."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.doc_pages import blocks, matches, steps
from tests.live.api import Api
from tests.live.nodes import delete_all_nodes
from tests.live.shell import Shell
from tests.shared_folder import ROOT
from tools.k8s.cluster import Cluster

PAGES = sorted(
    str(page.relative_to(ROOT))
    for page in ROOT.glob("docs/**/*.md")
    if any(block.live for block in blocks(page.read_text(encoding="utf-8")))
)
_AGE = re.compile(r"\b(?:\d+[dhms])+\b")
_CLOCK = re.compile(r"\b\d\d:\d\d:\d\d\b")
_READ_FROM = re.compile(r"^context \S+ \(https://.*\): .* objects of .* kinds$")


@pytest.fixture
def shell(breakable_cluster: Cluster, tmp_path: Path) -> Iterator[Shell]:
    """Gives a shell in a copy of the examples, on a cluster that is emptied afterwards."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    opened = Shell(breakable_cluster, tmp_path)
    yield opened
    opened.close()
    delete_all_nodes(Api(breakable_cluster))


@pytest.mark.parametrize("page", PAGES)
def test_the_page_is_true_on_a_cluster(page: str, shell: Shell) -> None:
    """Ages, times of day and the first line of a command on a cluster are not compared.

    Nor are blank lines, and how wide columns are.
    """
    for block in blocks((ROOT / page).read_text(encoding="utf-8")):
        for step in steps(block) if block.live else ():
            found = shell.run(step.command)
            assert matches(_plain(step.expected), _plain(found)), (
                f"{page}:{block.first + 1}: $ {step.command}\n" + "\n".join(found)
            )


def _plain(lines: tuple[str, ...] | list[str]) -> tuple[str, ...]:
    """Return lines without what differs from run to run."""
    timeless = (_CLOCK.sub("TIME", _AGE.sub("AGE", line)) for line in lines)
    narrow = (_READ_FROM.sub("CONTEXT", " ".join(line.split())) for line in timeless)
    return tuple(filter(None, narrow))
