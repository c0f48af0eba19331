"""Usage that is recorded from a live cluster, and goes on after a restart."""

import json
import subprocess
import sys
from pathlib import Path

from tests.live.api import Api
from tests.live.conftest import StartFairlead
from tests.live.elastic_quota.holding import wait_until_hold
from tests.live.elastic_quotas import create_elastic_quota
from tests.live.nodes import create_node
from tests.live.pods import create_pod
from tests.live.waiting import wait_until


def held(store: Path, queue: str) -> list[int]:
    """Return the CPUs that a queue held, in thousandths, one after the other."""
    done = subprocess.run(
        [sys.executable, "-m", "fairlead", "usage", "export", "--store", str(store)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    entries = [json.loads(line) for line in done.stdout.splitlines()]
    return [
        each["amounts"][0] for each in entries if each["type"] == "held" and each["queue"] == queue
    ]


def test_what_queues_hold_is_recorded_across_a_restart(
    api: Api, namespace: str, start_fairlead: StartFairlead, tmp_path: Path
) -> None:
    store = tmp_path / "usage.db"
    create_node(api, "node-1", cpu="8")
    create_elastic_quota(api, namespace, "quota", min={"cpu": "4"}, max={"cpu": "4"})
    fairlead = start_fairlead(f"--usage-store={store}")
    create_pod(api, namespace, "one", cpu="1", memory="")
    wait_until_hold(api, {namespace: {"one"}})
    wait_until("the first pod is recorded", lambda: held(store, namespace)[-1:] == [1000])
    assert fairlead.terminate() == 0
    create_pod(api, namespace, "two", cpu="2", memory="")
    fairlead.start_again()
    wait_until_hold(api, {namespace: {"one", "two"}})
    wait_until("both pods are recorded", lambda: held(store, namespace)[-1:] == [3000])
    assert held(store, namespace) == [1000, 3000]
