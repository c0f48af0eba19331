"""Runs on an existing Dask cluster, for more machines than one."""

import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fairlead import __version__
from fairlead.errors import SimulationError
from fairlead.sim.results.about import RunAbout
from fairlead.sim.results.eviction_table import Phrase
from fairlead.sim.run_variant import RunOrder
from fairlead.sim.sweep.packed_run import run_packed, unpack
from fairlead.sim.sweep.run_in_processes import LOOK_EVERY_S

if TYPE_CHECKING:
    from distributed import Client

_CONNECT_S: Final = 10


def run_on_dask(
    address: str,
    orders: Mapping[str, RunOrder],
    folder: Path,
    *,
    phrase: Phrase,
    is_stopped: Callable[[], bool],
) -> Iterator[RunAbout]:
    """Run *orders* on the cluster at *address*, write them below *folder*, and yield them.

    As `run_in_processes`, with the same files. The workers need the same Fairlead, and the files
    that the scenario names under the same paths. Raises `SimulationError` where nobody answers,
    where there are no workers, and for a run that fails.
    """
    with _connected(address) as client:
        asked = {
            client.submit(run_packed, order, name, phrase, __version__, pure=False): name
            for name, order in orders.items()
        }
        try:
            for future in _ended(client, set(asked), is_stopped, address):
                yield unpack(_result(future, asked[future]), folder / asked[future])
        finally:
            client.cancel(list(asked))


def _connected(address: str) -> "Client":
    try:
        from distributed import Client
    except ImportError:
        raise SimulationError(
            "Dask is not installed: pip install 'fairlead[dask]', here and where the workers are"
        ) from None
    try:
        client = Client(address, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as wrong:
        raise SimulationError(
            f"no Dask scheduler answers at {address} ({wrong}): start one with dask scheduler, and "
            "name its address, such as dask:tcp://10.0.0.5:8786"
        ) from None
    if not client.scheduler_info(n_workers=-1)["workers"]:
        client.close()
        raise SimulationError(
            f"the Dask scheduler at {address} has no workers: start some with dask worker {address}"
        )
    return client


def _ended(
    client: "Client", waiting: set[Any], is_stopped: Callable[[], bool], address: str
) -> Iterator[Any]:
    while waiting and not is_stopped():
        ended = {each for each in waiting if each.done()}
        if not ended:
            time.sleep(LOOK_EVERY_S)
        if client.status != "running":
            raise SimulationError(
                f"the Dask scheduler at {address} does not answer any more; the runs that had "
                "ended are kept"
            )
        waiting -= ended
        yield from ended


def _result(future: Any, name: str) -> Any:
    from distributed import KilledWorker
    from distributed.client import FutureCancelledError

    try:
        return future.result()
    except KilledWorker as wrong:
        raise SimulationError(
            f"{name}: workers of the Dask cluster died while it ran, perhaps for want of memory "
            f"({wrong}); the runs that had ended are kept"
        ) from None
    except FutureCancelledError:
        raise SimulationError(
            f"{name}: the Dask cluster gave it up; the runs that had ended are kept"
        ) from None
