"""A run as data, for machines that share no disk: its files travel with the answer."""

import tempfile
import zlib
from pathlib import Path

import msgspec

from fairlead import __version__
from fairlead.errors import FairleadError, SimulationError
from fairlead.sim.results.about import RUN_FILE, RUN_FILES, RunAbout
from fairlead.sim.results.eviction_table import Phrase
from fairlead.sim.results.file_errors import not_written
from fairlead.sim.run_variant import RunOrder, run_variant


class PackedRun(msgspec.Struct, frozen=True, kw_only=True):
    """What a run was, and its files, compressed."""

    about: RunAbout
    files: dict[str, bytes]


def run_packed(order: RunOrder, name: str, phrase: Phrase, version: str) -> PackedRun:
    """Run *order* here, for somebody with this *version* of Fairlead, and return its files.

    Another version might decide otherwise, so it is refused. Raises `SimulationError` only, which
    can be sent to where it is told.
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
            (folder / name).write_bytes(zlib.decompress(run.files[name]))
    except OSError as wrong:
        raise not_written(folder, wrong) from None
    return run.about
