"""What must hold of a run that is read back, so that nobody who reads on has to ask.

The file that says what a run was has no sum of its own, and people edit it: whatever it says, the
others must agree with it, and reading them must come to an end.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, get_args

from fairlead.sim.happenings import Cause
from fairlead.sim.measures.series_recorder import MOST_BUCKETS
from fairlead.sim.measures.summary import JobMeasures, Summary
from fairlead.sim.results.about import RUN_FILE, SUMMED_FILES, RunAbout
from fairlead.sim.results.file_errors import damaged

_BY_CAUSE: Final = ("preemptions", "preempted_pods")
_CAUSES: Final = frozenset(get_args(Cause))


def check_about(path: Path, about: RunAbout) -> None:
    """Raise `ResultError` where *about*, read from *path*, cannot be of any run."""
    for problem in _problems(about):
        raise damaged(path, None, problem)


def check_summary(path: Path, summary: Summary, about: RunAbout) -> None:
    """Raise `ResultError` where *summary* does not tell of what the run has."""
    if set(summary.of_queues) != set(about.parents):
        raise damaged(path, None, f"found other queues than in {RUN_FILE}")
    for rows in ({"": summary.of_cluster}, summary.of_queues, summary.of_users, summary.of_kinds):
        for row in rows.values():
            if any(set(each) != set(about.resources) for each in _by_resource(row)):
                raise damaged(path, None, f"found other resources than in {RUN_FILE}")
            if any(set(getattr(row, field)) != _CAUSES for field in _BY_CAUSE):
                raise damaged(path, None, "found other causes than those of evictions")


def _problems(about: RunAbout) -> Iterator[str]:
    if about.bucket_ms < 1 or about.end_ms < about.start_ms:
        yield "time does not go on in it"
        return
    buckets = -(-(about.end_ms - about.start_ms) // about.bucket_ms)
    if buckets > MOST_BUCKETS:
        yield f"found {buckets:,} buckets of time, expected at most {MOST_BUCKETS:,}"
    if len(set(about.resources)) < len(about.resources):
        yield "found a resource twice"
    yield from _tree_problems(about.parents)
    for name in SUMMED_FILES:
        if name not in about.files:
            yield f"found no sum of {name}"


def _tree_problems(parents: Mapping[str, str | None]) -> Iterator[str]:
    """Tell of queues that hang from nowhere. Cost: linear, for each is walked over once."""
    hung: set[str] = set()  # those that are known to hang from the top
    for name in parents:
        way: set[str] = set()
        above: str | None = name
        while above is not None and above not in hung:
            if above not in parents:
                yield f"found {above!r} above other queues, and no such queue"
                return
            if above in way:
                yield f"found the queue {above!r} above itself"
                return
            way.add(above)
            above = parents[above]
        hung |= way


def _by_resource(row: JobMeasures) -> Iterator[Mapping[str, object]]:
    for field in row.__struct_fields__:
        value = getattr(row, field)
        if isinstance(value, dict) and field not in _BY_CAUSE:
            yield value
