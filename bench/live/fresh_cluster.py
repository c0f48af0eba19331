"""A control plane for one measurement: fresh, because a used API server is larger and slower."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from bench.live.requests import create_all, create_of_new_kind, opened_session
from bench.live.world import World
from tools.k8s.cluster import Cluster

_ROOT: Final = Path(__file__).parents[2]
_DEFINITIONS: Final = _ROOT / "deploy" / "crds"


def find_assets() -> Path:
    """Return the directory with the servers. Builds them first where they are missing."""
    build = [sys.executable, str(_ROOT / "tools/k8s/build.py")]
    return Path(subprocess.run(build, check=True, stdout=subprocess.PIPE, text=True).stdout.strip())


@contextmanager
def fresh_cluster(assets: Path) -> Iterator[Cluster]:
    """Give a control plane that has the kinds of ElasticQuota; its files go with it."""
    with (
        tempfile.TemporaryDirectory(prefix="bench-live-", ignore_cleanup_errors=True) as folder,
        Cluster(assets, Path(folder), is_audited=False) as cluster,
    ):
        kubectl = [str(assets / "kubectl"), f"--kubeconfig={cluster.kubeconfig('admin')}"]
        subprocess.run(
            [*kubectl, "create", "-k", str(_DEFINITIONS)], check=True, stdout=subprocess.DEVNULL
        )
        yield cluster


async def furnish(cluster: Cluster, world: World) -> None:
    """Create the namespaces, nodes and quotas of a world."""
    async with opened_session(cluster.kubeconfig("admin")) as session:
        await create_all(session, world.surroundings())
        await create_of_new_kind(session, world.quotas())


async def create_backlog(cluster: Cluster, world: World, scheduler_name: str) -> None:
    """Create all pods of a world, for a scheduler that does not run yet."""
    async with opened_session(cluster.kubeconfig("admin")) as session:
        await create_all(session, world.backlog(scheduler_name))


def processes_of(cluster: Cluster) -> dict[str, int]:
    """Return the process ids of the servers."""
    return {name: process.pid for name, process in cluster.processes.items()}
