"""The jobs and shapes that stand in a scenario, each with where it does; those of logs do not."""

from collections.abc import Iterator, Sequence

from fairlead.manifest.text.path import Path
from fairlead.sim.scenario.work_form import JobForm, ShapeForm, WorkForm


def written_jobs(work: Sequence[WorkForm]) -> Iterator[tuple[Path, JobForm | ShapeForm]]:
    """Yield each of them in the order of the file."""
    for place, source in enumerate(work):
        path: Path = ("spec", "work", place)
        for at, job in enumerate(source.jobs or ()):
            yield (*path, "jobs", at), job
        for at, shape in enumerate(source.shapes or ()):
            yield (*path, "shapes", at), shape
