"""Many sources of work as one."""

from collections import Counter
from collections.abc import Iterator, Sequence
from heapq import merge
from operator import attrgetter

from fairlead.sim.job import Job
from fairlead.sim.work.source import WorkSource
from fairlead.sim.work.work_error import WorkError


def merged(sources: Sequence[WorkSource]) -> Iterator[Job]:
    """Yield the jobs of all sources by time, then source, then number.

    Each is made when it is asked for: memory does not grow with their number. Cost of a job:
    O(log sources).
    """
    # Of equal keys, merge takes the one of the earlier source first.
    return merge(*(source.jobs() for source in sources), key=attrgetter("submit_ms"))


class AllWork:
    """All sources, and for each job the source that wants to hear of it."""

    def __init__(self, sources: Sequence[WorkSource]) -> None:
        """Raise `WorkError` if two have one name: so would their jobs."""
        for name, count in Counter(source.name for source in sources).items():
            if count > 1:
                problem = f"found {count} sources {name}, expected a name each"
                raise WorkError("name", problem, "rename all but one")
        self._sources = tuple(sources)
        self._by_name = {source.name: source for source in sources}

    def jobs(self) -> Iterator[Job]:
        """Begin all sources anew, and yield what they submit by themselves, in order of time."""
        return merged(self._sources)

    def on_started(self, job: Job, at_ms: int) -> Sequence[Job]:
        """What is submitted because *job* has got places."""
        return self._by_name[job.kind].on_started(job, at_ms)

    def on_finished(self, job: Job, at_ms: int) -> Sequence[Job]:
        """What is submitted because *job* is done."""
        return self._by_name[job.kind].on_finished(job, at_ms)
