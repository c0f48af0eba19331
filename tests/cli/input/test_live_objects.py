"""What is said while a cluster is read."""

import io
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairlead.cli.input import live_objects
from fairlead.cli.input.live_objects import LiveCluster
from tests.cluster.kubernetes.canned_api import CannedApi, canned_api


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def server() -> Iterator[CannedApi]:
    """Gives an API server with 600 pods, which are two pages."""
    with canned_api() as api:
        names = [f"p{number}" for number in range(600)]
        api.put(
            *[{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": each}} for each in names]
        )
        yield api


def said(
    server: CannedApi, folder: Path, stderr: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> str:
    monkeypatch.setattr(sys, "stderr", stderr)
    live = LiveCluster("ours", str(server.kubeconfig(folder)))
    try:
        assert live.read("kai").objects.count() == 600
    finally:
        live.close()
    return stderr.getvalue()


def test_a_long_reading_says_how_far_it_is_on_a_terminal(
    server: CannedApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Long is set to nothing here, so that each page is said."""
    monkeypatch.setattr(live_objects, "_SILENT_S", 0.0)
    monkeypatch.setattr(live_objects, "_NEWS_EVERY_S", 0.0)
    text = said(server, tmp_path, Terminal(), monkeypatch)
    title = f"reading context ours ({server.url})"
    assert text == (f"\r{title}: 500 objects, 0 of 1 kinds\r{title}: 600 objects, 0 of 1 kinds\n")


def test_a_short_reading_says_nothing(
    server: CannedApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_objects, "_SILENT_S", 3600.0)
    assert said(server, tmp_path, Terminal(), monkeypatch) == ""


def test_a_file_gets_no_progress(
    server: CannedApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_objects, "_SILENT_S", 0.0)
    assert said(server, tmp_path, io.StringIO(), monkeypatch) == ""
