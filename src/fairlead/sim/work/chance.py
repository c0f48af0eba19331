"""Whether chance decides anything about work: if not, each seed has the same jobs."""

from fairlead.sim.work.arrivals import At, Every
from fairlead.sim.work.description import ArrivingWork, Drawn, Names, WorkDescription
from fairlead.sim.work.job_shape import JobShape


def is_random(work: WorkDescription) -> bool:
    """Return whether any job of *work* depends on a draw. Cost: its description."""
    return (
        len(work.shapes) > 1
        or any(map(_is_random_shape, work.shapes))
        or any(map(_is_drawn_name, (work.queue, work.user)))
        or (isinstance(work, ArrivingWork) and _come_by_chance(work))
    )


def _is_random_shape(shape: JobShape) -> bool:
    numbers = (shape.pods, shape.run_ms, shape.asked_ms)
    return not all(number is None or isinstance(number, int) for number in numbers)


def _is_drawn_name(names: Names) -> bool:
    return isinstance(names, Drawn) and len(names.names) > 1


def _come_by_chance(work: ArrivingWork) -> bool:
    match work.arrivals:
        case At():
            return False
        case Every(jitter_ms=jitter_ms):
            return jitter_ms > 0
        case _:
            return True
