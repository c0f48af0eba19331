"""Which jobs of a scenario would have one name, before any of them comes.

Jobs that are told one by one may have any name. Those of other sources are called after the source,
with a number or the id in a log. Two alive at the same time would end a run in its middle, and two
one after the other could not be told apart in its files. Logs whose sources are called such as
``a`` and ``a-b`` are not compared with each other: a run tells if ids of theirs meet.
"""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from fairlead.manifest.text.path import Path, quote
from fairlead.sim.scenario.work_part import JobList, TraceWork, WorkPart
from fairlead.sim.work.arrivals import At, Every
from fairlead.sim.work.description import ArrivingWork
from fairlead.sim.work.expected_jobs import expected_jobs

RENAME: Final = "rename one of them"


class Clash(NamedTuple):
    """Where a name stands that another job has too, and which."""

    path: Path
    message: str


class _Numbered(NamedTuple):
    """A source whose jobs are numbered, and how many there can be; None: any number."""

    path: Path
    most: int | None


class JobNames:
    """All names that are told in the file, and all that its sources can make."""

    def __init__(
        self, told: Mapping[str, Path], parts: Mapping[Path, WorkPart], until_ms: int | None
    ) -> None:
        """Take jobs that are *told* one by one, by name, and *parts* by where they stand."""
        self._told = told
        self._numbered = {
            part.name: _Numbered(path, _most_jobs(part, until_ms))
            for path, part in parts.items()
            if not isinstance(part, JobList | TraceWork)
        }
        self._of_logs: dict[Path, Clash] = {}  # the first at each place

    def notice(self, name: str, source: str) -> None:
        """Take notice that the log of *source* has a job called *name*. Cost: two look-ups."""
        path = self._told.get(name)
        maker = self._maker(name) if path is None and self._numbered else None
        if path is None and maker is None:
            return
        what = f"the job {quote(name)}, which"
        if maker is not None:
            path = self._numbered[maker].path
            what = f"the source {quote(maker)}, whose job {quote(name)}"
        assert path is not None
        if path not in self._of_logs:
            message = f"found {what} is in the log of {quote(source)} too, expected a name each"
            self._of_logs[path] = Clash((*path, "name"), message)

    def clashes(self) -> Iterator[Clash]:
        """Tell names that two have: those of logs are known when all their jobs were noticed."""
        for name, path in self._told.items():
            maker = self._maker(name)
            if maker is not None:
                message = f"found the job {quote(name)}, as the source {quote(maker)} calls one of "
                yield Clash((*path, "name"), f"{message}its own, expected a name each")
        yield from self._of_logs.values()

    def _maker(self, name: str) -> str | None:
        """Return the source that can give *name* to a job by numbering."""
        source, dash, number = name.rpartition("-")
        found = self._numbered.get(source) if dash else None
        if found is None or not (number.isascii() and number.isdigit()) or number[0] == "0":
            return None
        is_within = found.most is None or len(number) <= len(str(found.most))
        return source if is_within and (found.most is None or int(number) <= found.most) else None


def _most_jobs(part: WorkPart, until_ms: int | None) -> int | None:
    """Return how many jobs *part* submits at most; None where chance or other jobs decide."""
    match part:
        case ArrivingWork(arrivals=At() | Every()):
            return expected_jobs(part, until_ms)
        case JobList() | TraceWork():
            return None
        case _:
            return part.jobs_at_most
