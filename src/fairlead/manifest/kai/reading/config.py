"""Reads KAI's ``Config`` (kai.scheduler/v1): which Prometheus a shard uses that names none.

The object sets up all of KAI; the rest of it is about how KAI is installed, and passed over.
"""

from typing import Final

from fairlead.manifest.core.read_address import read_address
from fairlead.manifest.core.read_metadata import read_metadata
from fairlead.manifest.kai.objects import KaiConfigObject
from fairlead.manifest.text.cursor import Cursor

USUAL_NAMESPACE: Final = "kai-scheduler"

_OF_THE_INSTALLATION: Final = (
    "externalPrometheusHealthProbe",
    "retentionPeriod",
    "sampleInterval",
    "serviceMonitor",
    "storageClassName",
    "storageSize",
)


def read_kai_config(top: Cursor) -> KaiConfigObject:
    """Read a Config. An address in it counts; without one, a Prometheus that KAI itself runs."""
    top.ignore("apiVersion", "kind", "status")
    read_metadata(top)
    spec = top.mapping("spec")
    namespace = spec.text("namespace", "") or USUAL_NAMESPACE
    prometheus = spec.mapping("prometheus")
    spec.ignore(*spec.keys())
    prometheus.ignore(*_OF_THE_INSTALLATION)
    address = read_address(prometheus, "externalPrometheusUrl")
    if prometheus.boolean("enabled", False) and not prometheus.has("externalPrometheusUrl"):
        address = f"http://usage-prometheus.{namespace}.svc.cluster.local:9090"
    top.finish()
    return KaiConfigObject(source=top.source, prometheus_url=address)
