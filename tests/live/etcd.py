"""etcd behind a test cluster, by its HTTP gateway."""

import json
import urllib.request
from base64 import b64encode
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


def put(cluster: Cluster, key: str, value: str) -> None:
    """Write a value past the API server, whose watches show it all the same."""
    encoded = {
        name: b64encode(each.encode()).decode() for name, each in (("key", key), ("value", value))
    }
    _ask(cluster, "/v3/kv/put", encoded)
