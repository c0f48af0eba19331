"""``fairlead metrics``: printed, served, and refused."""

import re
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from fairlead.model.axes import QueueName
from fairlead.store.file.usage_store import UsageStore
from fairlead.usage.entries import Capacity, Held
from tests.cli.kueue_manifests import flavor, queue
from tests.cli.manifests import NODE, kai_queue, pod_group, write
from tests.cli.run_cli import of_shard, run_cli
from tests.cluster.kubernetes.canned_api import canned_api, status
from tests.shared_folder import ROOT
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
        "metrics", "-f", file, "--usage-source", store, "--now", "2027-01-15T08:00:00+00:00"
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
    ran = run_cli("metrics", "-f", file, "--usage-source", store, "--now", "2027-01-15T08:10:00Z")
    assert ran.exit_code == 0, ran.err
    told = scraped(ran.out)
    assert "kai_queue_gpu_usage" not in told
    assert told["fairlead_usage_store_staleness_seconds"] == {(): 11 * 60}
    assert told["fairlead_usage_store_degraded"] == {(): 1}
    assert by_label(ran.out, "kai_queue_fair_share_gpu", "queue_name") == {"a": 3, "b": 7}


SETTINGS = """
apiVersion: fairlead/v1
kind: Settings
spec: {{usage: {usage}}}
"""


def test_the_settings_say_where_past_use_is_and_how_it_counts(tmp_path: Path) -> None:
    """Of the last 50 minutes b had all GPUs in 25; stale after a second, and held."""
    usage = "{{k: 3, window: {{length: 50m}}, staleness: 1s, onStale: hold, store: {{path: {}}}}}"
    own = SETTINGS.format(usage=usage.format(record(tmp_path, NOW_MS)))
    file = write(tmp_path, "c.yaml", *TWO, own)
    ran = run_cli("metrics", "-f", file, "--usage", "--now", "2027-01-15T08:00:00Z")
    assert ran.exit_code == 0, ran.err
    # A minute ago, when somebody last looked, it was 26 of 50. k = 3: a 1/4 + 3/4 = 1,
    # b 3/4 + 3 (0.75 - 0.52) = 1.44; of 4 GPUs 1.64 and 2.36, so 2 and 2.
    assert by_label(ran.out, "kai_queue_gpu_usage", "queue_name") == {"a": 0, "b": 0.52}
    assert by_label(ran.out, "kai_queue_fair_share_gpu", "queue_name") == {"a": 4, "b": 6}
    assert scraped(ran.out)["fairlead_usage_store_degraded"] == {(): 1}
    assert ran.err.startswith("warning: past use is stale: ")


def test_settings_alone_read_nothing_and_a_note_says_so(tmp_path: Path) -> None:
    own = SETTINGS.format(usage=f"{{store: {{path: {record(tmp_path, NOW_MS)}}}}}")
    plain = run_cli("metrics", "-f", write(tmp_path, "plain.yaml", *TWO))
    ran = run_cli("metrics", "-f", write(tmp_path, "c.yaml", *TWO, own))
    assert (ran.exit_code, ran.out) == (0, plain.out)
    assert ran.err == (
        "note: past use is configured but was not read, so it does not count: add --usage\n"
    )


def test_a_server_that_is_down_is_told_with_the_metrics(tmp_path: Path) -> None:
    file = write(tmp_path, "c.yaml", *TWO)
    ran = run_cli("metrics", "-f", file, "--usage-source", "http://127.0.0.1:1")
    assert ran.exit_code == 0
    assert ran.err.startswith("warning: past use is missing: Prometheus at http://127.0.0.1:1 ")
    told = scraped(ran.out)
    assert told["fairlead_usage_store_degraded"] == {(): 1}
    assert not {"fairlead_usage_store_staleness_seconds", "kai_queue_gpu_usage"} & set(told)


@pytest.mark.parametrize("policy", ["kueue", "elastic-quota"])
def test_other_rule_sets_say_that_history_has_no_effect(policy: str, tmp_path: Path) -> None:
    folder = str(ROOT / "examples" / policy)
    store = record(tmp_path, NOW_MS)
    plain = run_cli("metrics", "-f", folder)
    ran = run_cli("metrics", "-f", folder, "--usage-source", store)
    note = f"note: past use has no effect under the rules of {policy} yet\n"
    assert (ran.exit_code, ran.out, ran.err) == (0, plain.out, plain.err + note)


@pytest.mark.parametrize(("minute", "counts"), [("04", True), ("10", False)])
def test_plans_and_metrics_see_the_same_past(tmp_path: Path, minute: str, counts: bool) -> None:
    """Also where it does not count, which the file's own numbers must not hide.

    At 8:00 it was last told what a queue holds, and five minutes are fresh.
    """
    store = record(tmp_path, NOW_MS)
    file = str(ROOT / "examples" / "share-simulation")
    with UsageStore.open(Path(store)) as writer:
        writer.append([Held(at_ms=NOW_MS, queue=QueueName("training"), amounts=(0, 0, 9_000))])
    asked = ("-f", file, "--usage-source", store, "--now", f"2027-01-15T08:{minute}:00Z")
    shares = of_shard(run_cli("queues", *asked, "-o", "json").out)
    assert shares["usage"]["counts"] is counts
    ran = run_cli("metrics", *asked)
    gpus = {each["name"]: float(each["resources"]["gpu"]["fairShare"]) for each in shares["queues"]}
    label = "queue_metadata_name"
    assert by_label(ran.out, "kai_queue_fair_share_gpu", label) == gpus
    used = {each["name"]: each["resources"]["gpu"]["usage"] for each in shares["queues"]}
    if counts:
        assert used["training"] > 0
        assert by_label(ran.out, "kai_queue_gpu_usage", label) == used
    else:
        assert set(used.values()) == {None}
        assert "kai_queue_gpu_usage" not in scraped(ran.out)


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


def test_a_cluster_is_read_for_every_scrape_and_its_absence_is_survived(tmp_path: Path) -> None:
    share, log = "kai_queue_fair_share_gpu", tmp_path / "log"
    objects = [each for text in CLUSTER for each in yaml.safe_load_all(text)]
    with canned_api() as server:
        server.put(*objects)
        cluster = ("--kubeconfig", str(server.kubeconfig(tmp_path)))
        with served(*cluster, log=log) as url:
            assert by_label(scrape(url), share, "queue_name") == {"a": 9}
            server.remove(objects[-1])  # the only pod
            assert by_label(scrape(url), share, "queue_name") == {"a": 0}
            server.play("/apis", (403, status(403, "Forbidden")))
            text = scrape(url)
            assert by_label(text, share, "queue_name") == {"a": 0}
            assert scraped(text)["fairlead_input_errors"] == {(): 1}
            server.put(objects[-1])
            assert by_label(scrape(url), share, "queue_name") == {"a": 9}


def test_a_store_that_cannot_be_read_any_more_is_survived_and_told_once(tmp_path: Path) -> None:
    store = record(tmp_path, time.time_ns() // 10**6)
    file = write(tmp_path, "c.yaml", *TWO)
    log = tmp_path / "log"
    degraded = "fairlead_usage_store_degraded"
    with served("-f", file, "--usage-source", store, log=log) as url:
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
    told_once, again = [line for line in log.read_text().splitlines() if "past use" in line]
    assert "usage.db" in told_once
    assert again == "note: past use is read again without problems"


def test_a_store_is_let_go_of_before_the_metrics_are_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who reads them from a pipe may take its time."""
    closed: list[Path] = []
    original = UsageStore.close

    def noting(store: UsageStore) -> None:
        closed.append(store.path)
        original(store)

    store = record(tmp_path, NOW_MS)
    monkeypatch.setattr(UsageStore, "close", noting)
    ran = run_cli("metrics", "-f", write(tmp_path, "c.yaml", *TWO), "--usage-source", store)
    assert ran.exit_code == 0
    assert closed == [Path(store)]


def test_a_server_that_never_answers_keeps_no_scrape_waiting(tmp_path: Path) -> None:
    """It takes the connection and is silent, and the timeout is an hour."""
    log = tmp_path / "log"
    usage = "{prometheus: {url: 'http://127.0.0.1:PORT', fetchInterval: 5s, queryTimeout: 1h}}"
    with socket.create_server(("127.0.0.1", 0)) as silent:
        own = SETTINGS.format(usage=usage.replace("PORT", str(silent.getsockname()[1])))
        with served("-f", write(tmp_path, "c.yaml", *TWO, own), "--usage", log=log) as url:
            for _ in range(3):
                told = scraped(scrape(url))
                assert told["fairlead_usage_store_degraded"] == {(): 1}
                assert "kai_queue_gpu_usage" not in told
                assert told["fairlead_input_errors"] == {(): 0}
    (said,) = [line for line in log.read_text().splitlines() if "past use" in line]
    assert said == "warning: past use is missing: nothing was read yet"


def test_what_the_stated_capacity_leaves_out_is_noted_once(tmp_path: Path) -> None:
    log = tmp_path / "log"
    file = write(tmp_path, "c.yaml", *CLUSTER[1:])
    with served("-f", file, "--capacity", "gpu=3", log=log) as url:
        for _ in range(3):
            assert by_label(scrape(url), "kai_queue_fair_share_gpu", "queue_name") == {"a": 3}
    notes = [line for line in log.read_text().splitlines() if "--capacity" in line]
    assert notes == ["note: --capacity leaves out cpu, memory, so there is none to share"]


def test_a_store_that_the_settings_name_may_come_later(tmp_path: Path) -> None:
    missing = tmp_path / "none.db"
    own = SETTINGS.format(usage=f"{{store: {{path: {missing}}}}}")
    ran = run_cli("metrics", "-f", write(tmp_path, "c.yaml", *TWO, own), "--usage")
    assert ran.exit_code == 0
    told = scraped(ran.out)
    assert told["fairlead_usage_store_degraded"] == {(): 1}
    assert not {"fairlead_usage_store_staleness_seconds", "kai_queue_gpu_usage"} & set(told)
    assert not missing.exists()


def test_settings_are_followed_while_they_change(tmp_path: Path) -> None:
    """At first everything counts, then the last quarter of an hour, in which b had nothing."""
    store = record(tmp_path, time.time_ns() // 10**6)
    log = tmp_path / "log"

    def settle(window: str) -> str:
        usage = f"{{window: {{length: {window}}}, store: {{path: {store}}}}}"
        return write(tmp_path, "c.yaml", *TWO, SETTINGS.format(usage=usage))

    with served("-f", settle("7d"), "--usage", log=log) as url:
        assert by_label(scrape(url), "kai_queue_gpu_usage", "queue_name")["b"] > 0.5
        settle("15m")
        assert by_label(scrape(url), "kai_queue_gpu_usage", "queue_name") == {"a": 0, "b": 0}


def test_a_source_that_is_no_file_is_wrong_usage(tmp_path: Path) -> None:
    file = write(tmp_path, "c.yaml", *TWO)
    ran = run_cli("metrics", "-f", file, "--usage-source", str(tmp_path / "none.db"))
    assert (ran.exit_code, ran.out) == (2, "")
    assert "there is no file" in ran.err
