"""A real Prometheus scrapes our metrics: it keeps every number, and its history is the ledger's."""

import json
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairlead.manifest.assembled import Assembled
from fairlead.model.axes import QueueName
from fairlead.store.feed.usage_feed import UsageFeed
from fairlead.store.metrics.exposition import exposition
from fairlead.store.metrics.registry import state_families
from fairlead.usage.entries import Capacity, Held
from fairlead.usage.ledger import Ledger
from fairlead.usage.settings import PrometheusSource, UsageRules
from fairlead.usage.window import Sliding
from fairlead.web.metrics_server import MetricsServer
from tests.manifest.reading import load_or_raise
from tests.shared_folder import ROOT
from tests.store.prometheus_server import required_program, running
from tests.store.scraped import scraped

SCRAPED_WITHIN_S = 60
ADDED = ("__name__", "instance", "job")  # by Prometheus
CONFIGURATION = """
global: {{scrape_interval: 1s, scrape_timeout: 1s}}
scrape_configs:
  - {{job_name: fairlead, static_configs: [{{targets: ["127.0.0.1:{port}"]}}]}}
"""
CAPACITY = (
    ("gpuCapacityMetric", "fairlead_capacity_gpus"),
    ("cpuCapacityMetric", "fairlead_capacity_cpu_cores"),
    ("memoryCapacityMetric", "fairlead_capacity_memory_bytes"),
)


@pytest.fixture(scope="module")
def cluster() -> Assembled:
    """Gives the example of a Monday: seven queues in two departments, 32 GPUs."""
    return load_or_raise([str(ROOT / "examples/kai/monday")])


@pytest.fixture(scope="module")
def address(cluster: Assembled, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Gives the address of a Prometheus that has scraped the cluster at least three times."""
    binary = required_program()
    text = exposition(state_families(cluster.state, cluster.settings, None))
    folder: Path = tmp_path_factory.mktemp("prometheus")
    with MetricsServer("127.0.0.1", 0, lambda: text) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            configuration = CONFIGURATION.format(port=server.server_address[1])
            with running(binary, folder, configuration=configuration) as found:
                _wait_for_scrapes(found)
                yield found
        finally:
            server.shutdown()
            thread.join()


def asked(address: str, query: str) -> list[dict[str, Any]]:
    """Return what the server answers to an instant query."""
    url = f"{address}/api/v1/query?{urllib.parse.urlencode({'query': query})}"
    with urllib.request.urlopen(url, timeout=30) as response:
        document = json.load(response)
    assert document["status"] == "success", document
    found: list[dict[str, Any]] = document["data"]["result"]
    return found


def _wait_for_scrapes(address: str) -> None:
    deadline_s = time.monotonic() + SCRAPED_WITHIN_S
    while time.monotonic() < deadline_s:
        found = asked(address, "min(count_over_time(fairlead_capacity_gpus[1m]))")
        if found and int(found[0]["value"][1]) >= 3:
            return
        time.sleep(0.1)
    raise AssertionError(f"nothing was scraped: {asked(address, 'up')}")


def test_every_number_arrives_as_it_was(cluster: Assembled, address: str) -> None:
    told = scraped(exposition(state_families(cluster.state, cluster.settings, None)).decode())
    ours = {
        name: {tuple(pair for pair in labels if pair[1]): value for labels, value in each.items()}
        for name, each in told.items()  # an empty label is no label
    }
    theirs: dict[str, dict[tuple[tuple[str, str], ...], float]] = {}
    for each in asked(address, '{__name__=~"(kai|fairlead)_.+"}'):
        labels = {name: text for name, text in each["metric"].items() if name not in ADDED}
        numbers = theirs.setdefault(each["metric"]["__name__"], {})
        numbers[tuple(sorted(labels.items()))] = float(each["value"][1])
    assert theirs == ours


def test_the_history_that_comes_back_is_the_ledgers(cluster: Assembled, address: str) -> None:
    """Nothing changes, so whatever the time that was scraped, parts of the capacity are the same.

    language has 16 of 32 GPUs: 0.5. product has 6.5: 0.203125.
    """
    state = cluster.state
    now_ms = time.time_ns() // 10**6
    rules = UsageRules(window=Sliding(60_000), resolution_ms=1000)
    parents = {name: queue.parent for name, queue in state.queues.items()}
    axes = [axis.resource for axis in state.axes.axes]
    feed = UsageFeed(rules, PrometheusSource(url=address, metrics=CAPACITY), {})
    feed.refresh(now_ms)
    vector = feed.vector(now_ms, parents, axes)
    assert (vector.state, vector.problem) == ("fresh", None)

    ledger = Ledger(tuple(axes), rules.window, way="sampled", resolution_ms=1000)
    begin_ms = now_ms - 30_000
    ledger.take(Capacity(at_ms=begin_ms, amounts=state.total()))
    for name in state.queues:
        held = tuple(state.sums[name].allocated)
        ledger.take(Held(at_ms=begin_ms, queue=name, amounts=held))
    assert vector.usage == ledger.normalised(now_ms)
    gpu = axes.index("gpu")
    assert vector.usage[QueueName("language")][gpu] == 500_000_000
    assert vector.usage[QueueName("product")][gpu] == 203_125_000
