"""Usage of a live cluster reaches the store, without the engine ever waiting for a disk."""

from itertools import pairwise
from pathlib import Path

import pytest

from fairlead.cluster.kubernetes.loop.usage_recording import UsageRecording
from fairlead.store.file.usage_store import UsageStore
from fairlead.usage.entries import Held
from tests.cluster.kubernetes.engine.led_engine import LedEngine, node, pod, quota, quota_key

SECOND_MS = 1000
MINUTE_MS = 60_000


def held(path: Path) -> list[tuple[int, ...]]:
    """Return what the queue a held, one after the other."""
    with UsageStore.open(path, writes=False) as store:
        return [
            each.amounts
            for each in store.entries(0)
            if isinstance(each, Held) and each.queue == "a"
        ]


def test_looks_are_a_second_apart_and_each_change_they_see_is_written(tmp_path: Path) -> None:
    """Pods of 1 CPU. The second one comes a second after the first, the third one at once."""
    led = LedEngine(node("n", 8), quota("a", 4, 8))
    recording = UsageRecording(tmp_path / "usage.db")
    recording.start()
    for names in (["a/0"], ["a/1", "a/2"], []):
        for name in names:
            led.create(pod(name))
            led.bind(name, "n")
            led.deliver()
            recording.rested(led.engine, led.server.now_ms)
        led.pass_time(SECOND_MS)
        recording.rested(led.engine, led.server.now_ms)
    recording.close(within_s=10)
    assert held(tmp_path / "usage.db") == [(1000,), (2000,), (3000,)]
    assert recording.status.state == "ok"


def test_a_cluster_at_rest_is_looked_at_once_a_minute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    led = LedEngine(node("n", 8), quota("a", 4, 8))
    recording = UsageRecording(tmp_path / "usage.db")
    looks: list[tuple[object, int]] = []
    monkeypatch.setattr(recording._observations, "put_nowait", looks.append)
    for _ in range(5 * 60):
        recording.rested(led.engine, led.server.now_ms)
        led.pass_time(SECOND_MS)
    assert len(looks) == 5
    assert {later[1] - earlier[1] for earlier, later in pairwise(looks)} == {MINUTE_MS}


def test_a_disk_that_hangs_delays_no_look(tmp_path: Path) -> None:
    """The thread that writes is not started: its queue fills up, and looks go on."""
    led = LedEngine(node("n", 8), quota("a", 4, 8))
    recording = UsageRecording(tmp_path / "usage.db")
    for number in range(650):
        led.change(quota_key("a"), max={"cpu": str(8 + number % 2)})
        led.deliver()
        recording.rested(led.engine, led.server.now_ms)
        led.pass_time(SECOND_MS)
    recording.close(within_s=0.01)
    assert not (tmp_path / "usage.db").exists()


def test_a_store_that_cannot_be_written_is_said_and_raises_nothing(tmp_path: Path) -> None:
    led = LedEngine(node("n", 8), quota("a", 4, 8))
    recording = UsageRecording(tmp_path)  # a folder
    recording.start()
    recording.rested(led.engine, led.server.now_ms)
    recording.close(within_s=10)
    assert recording.status.state == "degraded"
    assert recording.status.problem is not None
