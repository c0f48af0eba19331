"""KAI's own objects and metrics, from a real Prometheus server to shares that count history."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.manifests import NODE, kai_queue, pod_group, write
from tests.cli.past_store import NOW, NOW_MS
from tests.cli.run_cli import Ran, of_shard, run_cli
from tests.store.prometheus_server import exposition, required_program, running, write_past
from tests.store.scraped import by_label, scraped

SHARD = """
apiVersion: kai.scheduler/v1
kind: SchedulingShard
metadata: {{name: default}}
spec: {{kValue: 1, usageDBConfig: {{clientType: prometheus, usageParams: {params}}}}}
"""
CONFIG = """
apiVersion: kai.scheduler/v1
kind: Config
metadata: {{name: kai-config}}
spec: {{prometheus: {{enabled: true, externalPrometheusUrl: "{url}"}}}}
"""
CLUSTER = (
    NODE,
    kai_queue("a"),
    kai_queue("b"),
    pod_group("ja", "a", 10),
    pod_group("jb", "b", 10),
)
MINUTES = 600


def gpus_of_a(at_s: int) -> int:
    """Ten hours of samples, a minute apart: 8 GPUs in the first 300 of them, then none."""
    return 8 if NOW_MS // 1000 - at_s >= 300 * 60 else 0


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    binary = required_program()
    folder = tmp_path_factory.mktemp("prometheus")
    now_s = NOW_MS // 1000
    moments = range(now_s - (MINUTES - 1) * 60, now_s + 1, 60)
    series = [
        ('kai_queue_allocated_gpus{queue_name="a"}', gpus_of_a),
        ('kai_queue_allocated_gpus{queue_name="b"}', lambda _: 0),
        ('kube_node_status_capacity{node="n1",resource="nvidia_com_gpu"}', lambda _: 10),
        ('kube_node_status_capacity{node="n1",resource="memory"}', lambda _: 2**38),
    ]
    write_past(binary, folder, exposition(series, moments))
    with running(binary, folder, lookback="30s") as address:
        yield address


def queues(folder: Path, url: str, params: str = "{}", *options: str) -> Ran:
    objects = (*CLUSTER, SHARD.format(params=params), CONFIG.format(url=url))
    file = write(folder, "c.yaml", *objects)
    return run_cli("queues", "-f", file, "--now", NOW, "-o", "json", *options)


def gpu_of(ran: Ran, queue: int) -> dict[str, object]:
    found = of_shard(ran.out)["queues"][queue]["resources"]["gpu"]
    keys = ("usedHours", "decayedHours", "usage", "fairShareWithoutHistory", "fairShare")
    return {key: found[key] for key in keys}


def test_the_address_of_the_config_gives_history_to_the_shard(tmp_path: Path, url: str) -> None:
    """8 GPUs x 300 of 10 x 600 samples: u = 0.4, so a 0.6 and b 1 of 1.6: 3.75 and 6.25."""
    ran = queues(tmp_path, url, "{}", "--usage")
    usage = of_shard(ran.out)["usage"]
    assert (usage["state"], usage["counts"], usage["source"]) == ("fresh", True, "prometheus")
    assert gpu_of(ran, 0) == {
        "usedHours": "40",
        "decayedHours": "40",
        "usage": 0.4,
        "fairShareWithoutHistory": "5",
        "fairShare": "4",
    }
    assert gpu_of(ran, 1)["fairShare"] == "6"


def test_what_the_server_does_not_have_is_told_and_the_rest_counts(
    tmp_path: Path, url: str
) -> None:
    ran = queues(tmp_path, url, "{}", "--usage")
    assert ran.err.startswith("warning: past use counts, with a problem: ")
    assert "kai_queue_allocated_memory_bytes" in ran.err
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize("absent", ["Allocation", "Capacity", "both"])
def test_what_nobody_tells_is_no_silent_zero(tmp_path: Path, url: str, absent: str) -> None:
    """Cores are known and GPUs are not: no number of theirs is printed or told, and shares stay."""
    names = ("Allocation", "Capacity") if absent == "both" else (absent,)
    cores = {"cpuAllocationMetric": "kai_queue_allocated_gpus", "cpuCapacityMetric": "vector(10)"}
    extra = {**cores, **{f"gpu{name}Metric": "not_scraped" for name in names}}
    params = json.dumps({"extraParams": extra})
    ran = queues(tmp_path, url, params, "--usage")
    assert gpu_of(ran, 0) == {
        "usedHours": None,
        "decayedHours": None,
        "usage": None,
        "fairShareWithoutHistory": "5",
        "fairShare": "5",
    }
    assert of_shard(ran.out)["queues"][0]["resources"]["cpu"]["usage"] == 0.4
    assert "nvidia.com/gpu" in ran.err
    table = run_cli("queues", "-f", str(tmp_path / "c.yaml"), "--now", NOW, "--usage")
    [line] = [line for line in table.out.splitlines() if line.split()[:2] == ["a", "gpu"]]
    assert line.split()[3:6] == ["-", "-", "-"]
    ran = run_cli("metrics", "-f", str(tmp_path / "c.yaml"), "--now", NOW, "--usage")
    told = scraped(ran.out)
    assert "kai_queue_gpu_usage" not in told
    assert by_label(ran.out, "kai_queue_cpu_usage", "queue_name") == {"a": 0.4, "b": 0}
    assert told["fairlead_usage_store_degraded"] == {(): 1}


def test_metrics_tell_what_the_server_knows(tmp_path: Path, url: str) -> None:
    """From where the objects say, and from where the command line says; degraded without memory."""
    objects = (*CLUSTER, SHARD.format(params="{}"), CONFIG.format(url=url))
    configured = write(tmp_path, "c.yaml", *objects)
    plain = write(tmp_path, "plain.yaml", *CLUSTER)
    for source in (("-f", configured, "--usage"), ("-f", plain, "--usage-source", url)):
        ran = run_cli("metrics", "--now", NOW, *source)
        assert ran.exit_code == 0, ran.err
        assert by_label(ran.out, "kai_queue_gpu_usage", "queue_name") == {"a": 0.4, "b": 0}
        assert by_label(ran.out, "kai_queue_fair_share_gpu", "queue_name") == {"a": 4, "b": 6}
        told = scraped(ran.out)
        assert told["fairlead_usage_store_staleness_seconds"] == {(): 0}
        assert told["fairlead_usage_store_degraded"] == {(): 1}
        assert ran.err.startswith("warning: past use counts, with a problem: ")


def test_a_window_that_tumbled_five_hours_ago_has_forgotten(tmp_path: Path, url: str) -> None:
    """Since 03:00 of this day a held nothing."""
    params = "{windowType: cron, cronString: '0 3 * * *'}"
    assert gpu_of(queues(tmp_path, url, params, "--usage"), 0)["usage"] == 0.0


def test_without_the_flag_the_server_is_not_asked(tmp_path: Path) -> None:
    ran = queues(tmp_path, "http://127.0.0.1:1")
    assert ran.exit_code == 0
    assert "past use is configured but was not read" in ran.err
    assert "usage" not in of_shard(ran.out)
