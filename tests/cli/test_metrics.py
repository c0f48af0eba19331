"""``fairlead metrics``: printed, served, and refused."""

import re
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fairlead.model.axes import QueueName
from fairlead.store.file.usage_store import UsageStore
from fairlead.usage.entries import Capacity, Held
from tests.cli.kueue_manifests import flavor, queue
from tests.cli.manifests import NODE, kai_queue, pod_group, write
from tests.cli.run_cli import run_cli
from tests.store.scraped import by_label, scraped

CLUSTER = (NODE, kai_queue("a", quota=2), pod_group("ja", "a", 9))


def test_the_exposition_is_printed(tmp_path: Path) -> None:
    ran = run_cli("metrics", "-f", write(tmp_path, "c.yaml", *CLUSTER))
    assert (ran.exit_code, ran.err) == (0, "")
    assert by_label(ran.out, "kai_queue_fair_share_gpu", "queue_name") == {"a": 9}


def test_only_who_serves_tells_how_the_input_is(tmp_path: Path) -> None:
    ran = run_cli("metrics", "-f", write(tmp_path, "c.yaml", *CLUSTER))
    assert "fairlead_input_errors" not in scraped(ran.out)


def test_the_capacity_can_be_stated(tmp_path: Path) -> None:
    file = write(tmp_path, "c.yaml", *CLUSTER[1:])
    assert run_cli("metrics", "-f", file).exit_code == 1
    ran = run_cli("metrics", "-f", file, "--capacity", "gpu=3,cpu=1,memory=1Gi")
    assert by_label(ran.out, "kai_queue_fair_share_gpu", "queue_name") == {"a": 3}


def test_the_queues_of_other_rule_sets_are_told_too(tmp_path: Path) -> None:
    file = write(tmp_path, "c.yaml", flavor("cold"), queue("q", cold=4))
    ran = run_cli("metrics", "-f", file)
    assert by_label(ran.out, "kueue_cluster_queue_nominal_quota", "cluster_queue") == {"q": 4}


def test_names_that_no_terminal_shows_are_escaped_as_prometheus_reads_them(tmp_path: Path) -> None:
    odd = kai_queue("a").replace("spec:\n", 'spec:\n  displayName: "x\\"\\n\\\\y"\n')
    ran = run_cli("metrics", "-f", write(tmp_path, "c.yaml", NODE, odd, pod_group("j", "a", 1)))
    assert ran.exit_code == 0, ran.err
    assert by_label(ran.out, "kai_queue_info", "queue_display_name") == {'x"\n\\y': 1}


@pytest.mark.parametrize("text", ["x", "host:", "host:x", "host:99999", "1:-1", "", "9.5", "٣"])
def test_an_address_that_is_none_is_wrong_usage(tmp_path: Path, text: str) -> None:
    ran = run_cli("metrics", "-f", write(tmp_path, "c.yaml", *CLUSTER), "--listen", text)
    assert (ran.exit_code, ran.out) == (2, "")
    assert "expected PORT or HOST:PORT" in ran.err


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        (("-f", "-"), "standard input can be read only once"),
        (("--now", "2026-11-16T09:00:00Z"), "leave out --now"),
    ],
)
def test_what_cannot_be_read_anew_is_not_served(
    tmp_path: Path, more: tuple[str, ...], complaint: str
) -> None:
    file = write(tmp_path, "c.yaml", *CLUSTER)
    ran = run_cli("metrics", "-f", file, "--listen", "0", *more)
    assert (ran.exit_code, ran.out) == (2, "")
    assert complaint in " ".join(ran.err.split())


def test_an_input_that_is_wrong_from_the_start_is_not_served(tmp_path: Path) -> None:
    ran = run_cli("metrics", "-f", str(tmp_path / "none.yaml"), "--listen", "0")
    assert (ran.exit_code, ran.out) == (1, "")
    assert "none.yaml" in ran.err


NOW_MS = 1_800_000_000_000  # 2027-01-15T08:00:00Z
MINUTE_MS = 60_000
# Of 10 GPUs a is guaranteed 2 and b 4; the other 4 go 1:3 by weight, so 3 and 7.
TWO = (
    NODE,
    kai_queue("a", quota=2, weight=1),
    kai_queue("b", quota=4, weight=3),
    pod_group("ja", "a", 9),
    pod_group("jb", "b", 9),
)


def record(folder: Path, now_ms: int) -> str:
    """Write that b had all 10 GPUs in the first 75 of the last 100 minutes; a minute old."""
    file = folder / "usage.db"
    begin_ms = now_ms - 100 * MINUTE_MS
    b = QueueName("b")
    with UsageStore.open(file, resources=("cpu", "memory", "nvidia.com/gpu")) as store:
        store.append(
            [
                Capacity(at_ms=begin_ms, amounts=(64_000, 2**38, 10_000)),
                Held(at_ms=begin_ms, queue=b, amounts=(0, 0, 10_000)),
                Held(at_ms=begin_ms + 75 * MINUTE_MS, queue=b, amounts=(0, 0, 0)),
                Held(at_ms=now_ms - MINUTE_MS, queue=QueueName("a"), amounts=(0, 0, 0)),
            ]
        )
    return str(file)


def test_what_a_store_recorded_counts_and_is_told(tmp_path: Path) -> None:
    store = record(tmp_path, NOW_MS)
    file = write(tmp_path, "c.yaml", *TWO)
    ran = run_cli(
        "metrics", "-f", file, "--usage-store", store, "--now", "2027-01-15T08:00:00+00:00"
    )
    assert ran.exit_code == 0, ran.err
    # k = 1: a 1/4 + 1/4, b 3/4 + (3/4 - 3/4); of 4 GPUs 2:3, that is 1.6 and 2.4, so 2 and 2
    assert by_label(ran.out, "kai_queue_gpu_usage", "queue_name") == {"a": 0, "b": 0.75}
    assert by_label(ran.out, "kai_queue_fair_share_gpu", "queue_name") == {"a": 4, "b": 6}
    without = by_label(ran.out, "fairlead_queue_fair_share_without_history_gpus", "queue_name")
    assert without == {"a": 3, "b": 7}
    told = scraped(ran.out)
    assert told["fairlead_usage_store_staleness_seconds"] == {(): 60}
    assert told["fairlead_usage_store_degraded"] == {(): 0}


def test_a_store_that_is_stale_says_so_and_does_not_count(tmp_path: Path) -> None:
    store = record(tmp_path, NOW_MS)
    file = write(tmp_path, "c.yaml", *TWO)
    ran = run_cli("metrics", "-f", file, "--usage-store", store, "--now", "2027-01-15T08:10:00Z")
    assert ran.exit_code == 0, ran.err
    told = scraped(ran.out)
    assert "kai_queue_gpu_usage" not in told
    assert told["fairlead_usage_store_staleness_seconds"] == {(): 11 * 60}
    assert told["fairlead_usage_store_degraded"] == {(): 1}
    assert by_label(ran.out, "kai_queue_fair_share_gpu", "queue_name") == {"a": 3, "b": 7}


def test_past_use_is_for_kais_rules(tmp_path: Path) -> None:
    file = write(tmp_path, "c.yaml", flavor("cold"), queue("q", cold=4))
    ran = run_cli("metrics", "-f", file, "--usage-store", record(tmp_path, NOW_MS))
    assert (ran.exit_code, ran.out) == (1, "")
    assert "only under KAI's rules" in ran.err


@contextmanager
def served(*arguments: str, log: Path) -> Iterator[str]:
    """Run ``fairlead metrics --listen``, and give the address that it says."""
    with log.open("w") as err:
        process = subprocess.Popen(
            [sys.executable, "-m", "fairlead", "metrics", "--listen", "0", *arguments], stderr=err
        )
    try:
        while not (found := re.search(r"serving (\S+)\n", log.read_text())):
            assert process.poll() is None, log.read_text()
            threading.Event().wait(0.01)
        yield found[1]
    finally:
        process.terminate()
        process.wait(30)


def scrape(url: str) -> str:
    with urllib.request.urlopen(url, timeout=30) as response:
        body: bytes = response.read()
    return body.decode()


def test_the_files_are_read_for_every_scrape_and_a_mistake_in_them_is_survived(
    tmp_path: Path,
) -> None:
    log = tmp_path / "log"
    file = write(tmp_path, "c.yaml", *CLUSTER)
    share = "kai_queue_fair_share_gpu"
    with served("-f", file, log=log) as url:
        assert url.startswith("http://127.0.0.1:")
        assert by_label(scrape(url), share, "queue_name") == {"a": 9}
        write(tmp_path, "c.yaml", *CLUSTER[:2], pod_group("ja", "a", 5))
        text = scrape(url)
        assert by_label(text, share, "queue_name") == {"a": 5}
        assert scraped(text)["fairlead_input_errors"] == {(): 0}
        for broken in ("kind: [", NODE):
            write(tmp_path, "c.yaml", broken)
            for _ in range(2):
                text = scrape(url)
                assert by_label(text, share, "queue_name") == {"a": 5}
                assert scraped(text)["fairlead_input_errors"][()] > 0
        write(tmp_path, "c.yaml", *CLUSTER)
        assert by_label(scrape(url), share, "queue_name") == {"a": 9}
    lines = log.read_text().splitlines()
    assert sum("metrics stay what they were" in line for line in lines) == 2
    assert lines[-1] == "the input can be read again"


def test_a_store_that_cannot_be_read_any_more_is_survived_and_told_once(tmp_path: Path) -> None:
    store = record(tmp_path, time.time_ns() // 10**6)
    file = write(tmp_path, "c.yaml", *TWO)
    log = tmp_path / "log"
    degraded = "fairlead_usage_store_degraded"
    with served("-f", file, "--usage-store", store, log=log) as url:
        told = scraped(scrape(url))
        assert told[degraded] == {(): 0}
        assert 0.5 < max(told["kai_queue_gpu_usage"].values()) <= 0.75  # time goes on
        Path(store).unlink()
        for _ in range(3):
            told = scraped(scrape(url))
            assert told[degraded] == {(): 1}
            assert "kai_queue_gpu_usage" in told  # what was read is fresh for five minutes
            assert told["fairlead_input_errors"] == {(): 0}
        record(tmp_path, time.time_ns() // 10**6)
        assert scraped(scrape(url))[degraded] == {(): 0}
    (told_once,) = [line for line in log.read_text().splitlines() if "past use" in line]
    assert "usage.db" in told_once


def test_a_store_that_is_not_there_is_told_with_the_metrics(tmp_path: Path) -> None:
    file = write(tmp_path, "c.yaml", *TWO)
    ran = run_cli("metrics", "-f", file, "--usage-store", str(tmp_path / "none.db"))
    assert ran.exit_code == 0
    told = scraped(ran.out)
    assert told["fairlead_usage_store_degraded"] == {(): 1}
    assert not {"fairlead_usage_store_staleness_seconds", "kai_queue_gpu_usage"} & set(told)
    assert not (tmp_path / "none.db").exists()
