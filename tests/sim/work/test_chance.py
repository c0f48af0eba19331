"""Work that takes no draw has the same jobs with every seed."""

from decimal import Decimal
from itertools import islice

import pytest

from fairlead.sim.work.arrivals import At, Every, PerHour, Poisson
from fairlead.sim.work.chance import is_random
from fairlead.sim.work.description import ArrivingWork, Backlog, Drawn, InTurn, WorkDescription
from fairlead.sim.work.job_shape import JobShape
from fairlead.sim.work.number import Uniform
from fairlead.sim.work.source import make_source

FIXED = JobShape(requests={"gpu": 1}, run_ms=1_000)
ANY_LENGTH = JobShape(requests={"gpu": 1}, run_ms=Uniform(at_least=1, at_most=10**6))
EVERY = Every(interval_ms=10)
TURNS = InTurn(names=("a", "b"))
DRAWN = Drawn(names=(("a", Decimal(1)), ("b", Decimal(1))))

WORK: dict[str, tuple[WorkDescription, bool]] = {
    "given times": (
        ArrivingWork(name="w", queue="a", shapes=(FIXED,), arrivals=At(submit_ms=(0, 5))),
        False,
    ),
    "regular times, names in turn": (
        ArrivingWork(name="w", queue=TURNS, shapes=(FIXED,), arrivals=EVERY),
        False,
    ),
    "a backlog of equal jobs": (Backlog(name="w", queue="a", shapes=(FIXED,), jobs=5), False),
    "drawn times": (
        ArrivingWork(
            name="w",
            queue="a",
            shapes=(FIXED,),
            arrivals=Poisson(rate=PerHour(arrivals=Decimal(60))),
        ),
        True,
    ),
    "some come late": (
        ArrivingWork(
            name="w", queue="a", shapes=(FIXED,), arrivals=Every(interval_ms=9, jitter_ms=99)
        ),
        True,
    ),
    "drawn queues": (
        ArrivingWork(name="w", queue=DRAWN, shapes=(FIXED,), arrivals=EVERY),
        True,
    ),
    "a drawn length": (Backlog(name="w", queue="a", shapes=(ANY_LENGTH,), jobs=5), True),
    "a mix of jobs": (
        Backlog(name="w", queue="a", shapes=(FIXED, JobShape(requests={}, run_ms=2)), jobs=9),
        True,
    ),
}


@pytest.mark.parametrize(("work", "expected"), WORK.values(), ids=WORK)
def test_work_is_random_where_another_seed_gives_other_jobs(
    work: WorkDescription, expected: bool
) -> None:
    one, *others = [list(islice(make_source(work, seed).jobs(), 20)) for seed in range(8)]
    assert is_random(work) is any(other != one for other in others) is expected
