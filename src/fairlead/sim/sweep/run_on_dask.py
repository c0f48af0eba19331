"""Runs on an existing Dask cluster, for more machines than one.

The machines need not share a disk: the files of a run travel with the answer.
"""

import asyncio
import logging
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from fairlead import __version__
from fairlead.errors import FairleadError, SimulationError
from fairlead.sim.results.about import RUN_FILE, RUN_FILES, RunAbout
from fairlead.sim.results.eviction_table import Phrase
from fairlead.sim.results.files import not_written
from fairlead.sim.results.own_files import OF_RUN, put_in_place
from fairlead.sim.run.run_variant import RunOrder, run_variant
from fairlead.sim.sweep.run_in_processes import LOOK_EVERY_S


class PackedRun(msgspec.Struct, frozen=True, kw_only=True):
    """What a run was, and its files, compressed."""

    about: RunAbout
    files: dict[str, bytes]


def run_packed(order: RunOrder, name: str, phrase: Phrase, version: str) -> PackedRun:
    """Run *order* here, for a client with this *version* of Fairlead, and return its files.

    Another version might decide otherwise, so it is refused. Raises `SimulationError` only, which
    can be sent to the client, which shows it.
    """
    if version != __version__:
        raise SimulationError(
            f"a worker has Fairlead {__version__}, and this is {version}: install the same"
        )
    try:
        with tempfile.TemporaryDirectory(prefix="fairlead-") as place:
            folder = Path(place) / name
            about = run_variant(order, folder, phrase=phrase)
            files = {each: zlib.compress((folder / each).read_bytes()) for each in RUN_FILES}
            return PackedRun(about=about, files=files)
    except FairleadError as wrong:
        raise SimulationError(f"{name}: {wrong}") from None


def unpack(run: PackedRun, folder: Path) -> RunAbout:
    """Write the files of *run* to *folder*, that which says what it was at last."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in sorted(run.files, key=lambda each: each == RUN_FILE):
            put_in_place(folder / name, zlib.decompress(run.files[name]), OF_RUN)
    except OSError as wrong:
        raise not_written(folder, wrong) from None
    return run.about


if TYPE_CHECKING:
    from distributed import Client

_CONNECT_S: Final = 10


@contextmanager
def dask_cluster(address: str) -> Iterator["DaskCluster"]:
    """Connect to the cluster at *address*, for as long as it is needed.

    Raises `SimulationError` where no scheduler answers, and where there are no workers. What Dask
    has to log about lost connections is left out: it is reported in one sentence.
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
        _check_scheduler(address)
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


def _check_scheduler(address: str) -> None:
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
            f"{name}: workers of the Dask cluster died while it ran, perhaps for lack of memory "
            f"({wrong}); the runs that had ended are kept"
        ) from None
    except FutureCancelledError:
        raise SimulationError(
            f"{name}: the Dask cluster gave it up; the runs that had ended are kept"
        ) from None
