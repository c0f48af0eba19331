"""Making the jobs of one source, one after the other, from its mix and its names."""

from collections.abc import Callable
from typing import TypeAlias

from fairlead.sim.job import Job
from fairlead.sim.work.description import WorkDescription
from fairlead.sim.work.draw_number import Draw, drawing
from fairlead.sim.work.job_shape import SHORTEST_MS, JobShape
from fairlead.sim.work.name_pick import naming
from fairlead.sim.work.number import Number
from fairlead.sim.work.random_stream import random_stream
from fairlead.sim.work.weighted_pick import picking

_DrawMaybe: TypeAlias = Callable[[], int | None]


class JobMaker:
    """Makes the first job, the second and so on; only the description and the seed decide."""

    def __init__(self, work: WorkDescription, seed: int) -> None:
        """Start before the first job; *work* has no defects. Cost: a stream per purpose."""
        self.made = 0
        self._source = work.name
        self._queue = naming(work.queue, random_stream(seed, work.name, "queue"))
        self._user = naming(work.user, random_stream(seed, work.name, "user"))
        self._next_shape = picking(
            [self._draws(shape, seed, index) for index, shape in enumerate(work.shapes)],
            [shape.weight for shape in work.shapes],
            random_stream(seed, work.name, "shape"),
        )

    def make(self, submit_ms: int) -> Job:
        """Return the next job, submitted at *submit_ms*. Cost: a few microseconds."""
        self.made += 1
        shape, draw_pods, draw_run_ms, draw_asked_ms = self._next_shape()
        pods = draw_pods()
        return Job(
            name=f"{self._source}-{self.made}",
            queue=self._queue(),
            user=self._user(),
            kind=self._source,
            submit_ms=submit_ms,
            run_ms=draw_run_ms(),
            pods=pods,
            min_pods=pods if shape.min_pods is None else shape.min_pods,
            requests=shape.requests,
            priority=shape.priority,
            preemptible=shape.preemptible,
            checkpoint_ms=shape.checkpoint_ms,
            asked_ms=draw_asked_ms(),
            node_labels=shape.node_labels,
        )

    def _draws(
        self, shape: JobShape, seed: int, index: int
    ) -> tuple[JobShape, Draw, _DrawMaybe, _DrawMaybe]:
        def maybe(number: Number | None, purpose: str) -> _DrawMaybe:
            if number is None:
                return lambda: None
            stream = random_stream(seed, self._source, purpose, index)
            return drawing(number, stream, lowest=SHORTEST_MS)

        pods_stream = random_stream(seed, self._source, "pods", index)
        return (
            shape,
            drawing(shape.pods, pods_stream, lowest=shape.fewest_pods),
            maybe(shape.run_ms, "run"),
            maybe(shape.asked_ms, "asked"),
        )
