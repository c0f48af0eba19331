"""Runs on an existing Dask cluster, for more machines than one."""

import asyncio
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
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


@contextmanager
def dask_cluster(address: str) -> Iterator["DaskCluster"]:
    """Connect to the cluster at *address*, for as long as it is needed.

    Raises `SimulationError` where nobody answers, and where there are no workers. What Dask has to
    say about lost connections to its log is left out: it is told in a sentence, once.
    """
    try:
        import distributed
    except ImportError:
        raise SimulationError(
            "Dask is not installed: pip install 'fairlead[dask]', here and where the workers are"
        ) from None
    levels = {logger: logger.level for logger in _loggers(distributed.__name__)}
    for logger in levels:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        _see_who_answers(address)
        with distributed.Client(address, timeout=_CONNECT_S, set_as_default=False) as client:
            if not client.scheduler_info(n_workers=-1)["workers"]:
                raise SimulationError(
                    f"the Dask scheduler at {address} has no workers: start some with dask worker "
                    f"{address}"
                )
            yield DaskCluster(address, client)
    finally:
        for logger, level in levels.items():
            logger.setLevel(level)


def _loggers(package: str) -> list[logging.Logger]:
    """Return the loggers of a package and its parts, some of which have levels of their own."""
    names = [name for name in logging.root.manager.loggerDict if name.startswith(f"{package}.")]
    return [logging.getLogger(name) for name in (package, *names)]


def _see_who_answers(address: str) -> None:
    """Connect and leave again: a client that fails to connect tries on, and ends with noise."""
    from distributed.comm.core import connect
    from distributed.security import Security

    async def try_once() -> None:
        secrets = Security().get_connection_args("client")
        comm = await connect(address, timeout=_CONNECT_S, **secrets)
        await comm.close()

    try:
        asyncio.run(try_once())
    # Of an address that is none, each kind of connection complains in its own way.
    except (OSError, ValueError, TypeError, RuntimeError, OverflowError, ImportError) as wrong:
        raise SimulationError(
            f"no Dask scheduler answers at {address} ({wrong}): start one with dask scheduler, and "
            "name its address, such as dask:tcp://10.0.0.5:8786"
        ) from None


class DaskCluster:
    """A cluster that answers, and has workers."""

    def __init__(self, address: str, client: "Client") -> None:
        """Take a *client* that is connected."""
        self._address = address
        self._client = client

    def run(
        self,
        orders: Mapping[str, RunOrder],
        folder: Path,
        *,
        phrase: Phrase,
        is_stopped: Callable[[], bool],
    ) -> Iterator[RunAbout]:
        """Run *orders* on the cluster, write them below *folder*, and yield them.

        As `run_in_processes`, with the same files. The workers need the same Fairlead, and the
        files that the scenario names under the same paths. Raises `SimulationError` for a run that
        fails, and for a cluster that does not answer any more.
        """
        client = self._client
        asked = {
            client.submit(run_packed, order, name, phrase, __version__, pure=False): name
            for name, order in orders.items()
        }
        try:
            for future in _ended(client, set(asked), is_stopped, self._address):
                yield unpack(_result(future, asked[future]), folder / asked[future])
        finally:
            client.cancel(list(asked))


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
