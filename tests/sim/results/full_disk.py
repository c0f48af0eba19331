"""A disk without room for one of the tables of a run."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any
from unittest import mock

import pytest

from fairlead.sim.results.own_files import new_file


@contextmanager
def full_for(name: str) -> Iterator[None]:
    """Let a device that is always full stand in the place of the file called *name*."""
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full on this system")

    def opened(path: Path, own: int, **form: Any) -> IO[Any]:
        if path.name == name:
            return Path("/dev/full").open("w", encoding="utf-8")
        return new_file(path, own, **form)

    with mock.patch("fairlead.sim.results.files.new_file", opened):
        yield
