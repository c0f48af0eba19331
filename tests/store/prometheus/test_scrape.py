"""Out and in again: Prometheus scrapes our metrics, and what it answers is what the ledger says."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest

from fairlead.manifest.assembled import Assembled
from fairlead.model.axes import QueueName
from fairlead.store.feed.usage_feed import UsageFeed
from fairlead.store.feed.usage_vector import UsageVector
from fairlead.store.metrics.exposition import exposition
from fairlead.store.metrics.registry import state_families
from fairlead.store.recording.recorder import Recorder
from fairlead.store.recording.state_levels import levels_of
from fairlead.usage.settings import PrometheusSource, StoreSource, UsageRules
from fairlead.usage.window import Sliding
from fairlead.web.metrics_server import MetricsServer
from tests.cli.manifests import NODE, kai_queue, pod_group
from tests.manifest.reading import load_or_raise
from tests.store.prometheus_server import required_program, running

KNOWN_WITHIN_S = 60
RULES = UsageRules(window=Sliding(3_600_000), resolution_ms=1000)
CAPACITY = (
    ("cpuCapacityMetric", "fairlead_capacity_cpu_cores"),
    ("gpuCapacityMetric", "fairlead_capacity_gpus"),
    ("memoryCapacityMetric", "fairlead_capacity_memory_bytes"),
)
SCRAPING = """
global: {{scrape_interval: 500ms, scrape_timeout: 500ms}}
scrape_configs:
  - job_name: fairlead
    static_configs: [{{targets: ["{host}"]}}]
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Assembled:
    """Of 10 GPUs, a holds 3 and b 1; both are below a department."""
    texts = [
        NODE,
        kai_queue("department"),
        kai_queue("a", parent="department"),
        kai_queue("b", parent="department"),
        _runs(pod_group("first", "a", 3)),
        _runs(pod_group("second", "b", 1)),
    ]
    file = tmp_path / "cluster.yaml"
    file.write_text("---\n".join(texts), encoding="utf-8")
    return load_or_raise([str(file)])


def _runs(text: str) -> str:
    placed = text.replace("spec:\n  schedulerName", "spec:\n  nodeName: n1\n  schedulerName")
    return placed + "status: {phase: Running}\n"


@contextmanager
def metrics_of(cluster: Assembled) -> Iterator[str]:
    """Serve the metrics of the cluster; gives host and port."""
    told = exposition(state_families(cluster.state, cluster.settings, None))
    server = MetricsServer("127.0.0.1", 0, lambda: told)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server.url.removeprefix("http://").removesuffix("/metrics")
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def vector_of(feed: UsageFeed, cluster: Assembled, at_ms: int) -> UsageVector:
    parents = {name: queue.parent for name, queue in cluster.state.queues.items()}
    return feed.vector(at_ms, parents, [str(axis) for axis in cluster.state.axes.axes])


def scraped(url: str, cluster: Assembled) -> UsageVector:
    """What the server knows as soon as it knows anything."""
    source = PrometheusSource(url=url, metrics=CAPACITY, fetch_interval_ms=100)
    feed = UsageFeed(RULES, source, {})
    deadline_s = time.monotonic() + KNOWN_WITHIN_S
    while True:
        at_ms = now_ms()
        feed.refresh(at_ms)
        vector = vector_of(feed, cluster, at_ms)
        if vector.state == "fresh" or time.monotonic() > deadline_s:
            return vector
        time.sleep(0.2)


def recorded(path: Path, cluster: Assembled, begin_ms: int) -> UsageVector:
    """The same cluster as our own store knows it."""
    recorder = Recorder(path)
    end_ms = begin_ms + 10_000
    recorder.observe(levels_of(cluster.state), begin_ms)
    recorder.observe(levels_of(cluster.state), end_ms)
    feed = UsageFeed(RULES, StoreSource(path=str(path)), {})
    feed.refresh(end_ms)
    return vector_of(feed, cluster, end_ms)


def test_what_was_scraped_from_us_comes_back_as_the_ledger_has_it(
    cluster: Assembled, tmp_path: Path
) -> None:
    """Nothing changes while it is scraped, so the moments at which that happens do not matter."""
    binary = required_program()
    begin_ms = now_ms()
    with (
        metrics_of(cluster) as host,
        running(binary, tmp_path, configuration=SCRAPING.format(host=host)) as url,
    ):
        from_server = scraped(url, cluster)
    from_store = recorded(tmp_path / "usage.db", cluster, begin_ms)
    assert (from_server.state, from_server.problem) == ("fresh", None)
    assert (from_store.state, from_store.problem) == ("fresh", None)
    assert from_server.usage == from_store.usage
    gpus = [str(axis) for axis in cluster.state.axes.axes].index("gpu")
    assert from_server.usage is not None
    parts = {name: each[gpus] for name, each in from_server.usage.items()}
    assert parts[QueueName("a")] == 300_000_000
    assert parts[QueueName("department")] == 400_000_000
