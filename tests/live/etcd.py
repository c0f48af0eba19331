"""etcd behind a test cluster, by its HTTP gateway."""

import json
import urllib.request
from typing import Any

from tools.k8s.cluster import Cluster


def compact(cluster: Cluster) -> None:
    """Make etcd forget every revision but the newest, as the API server does after minutes."""
    newest = _ask(cluster, "/v3/kv/range", {"key": "AA=="})["header"]["revision"]
    _ask(cluster, "/v3/kv/compaction", {"revision": newest, "physical": True})


def _ask(cluster: Cluster, path: str, body: dict[str, Any]) -> dict[str, Any]:
    request = urllib.request.Request(cluster.etcd_url + path, json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=10) as answer:
        found: dict[str, Any] = json.load(answer)
        return found
