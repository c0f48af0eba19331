"""A backlog is never short of jobs, and never grows without end."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.sim.engine.job import Job
from fairlead.sim.work.description import Backlog
from fairlead.sim.work.job_shape import JobShape
from fairlead.sim.work.number import Uniform
from fairlead.sim.work.source import BacklogSource, WorkSource, make_source
from tests.scale_examples import scale_examples

SHAPE = JobShape(requests={"gpu": 1}, run_ms=Uniform(at_least=1, at_most=100))
WAITING = Backlog(name="backlog", queue="q", shapes=(SHAPE,), jobs=3)
ALIVE = msgspec.structs.replace(WAITING, keep="alive")


def names(jobs: object) -> list[str]:
    assert isinstance(jobs, list | tuple)
    return [job.name for job in jobs]


def test_a_job_that_starts_is_replaced_where_so_many_are_to_wait() -> None:
    source = make_source(WAITING, seed=1)
    jobs = list(source.jobs())
    assert [(job.name, job.submit_ms, job.kind) for job in jobs] == [
        ("backlog-1", 0, "backlog"),
        ("backlog-2", 0, "backlog"),
        ("backlog-3", 0, "backlog"),
    ]
    [fourth] = source.on_started(jobs[1], 50)
    assert (fourth.name, fourth.submit_ms) == ("backlog-4", 50)
    assert names(source.on_finished(jobs[1], 70)) == []


def test_a_job_that_is_done_is_replaced_where_so_many_are_to_be_alive() -> None:
    source = make_source(ALIVE, seed=1)
    jobs = list(source.jobs())
    assert names(source.on_started(jobs[0], 50)) == []
    [fourth] = source.on_finished(jobs[0], 70)
    assert (fourth.name, fourth.submit_ms) == ("backlog-4", 70)


def test_an_evicted_job_that_starts_again_is_not_replaced_again() -> None:
    source = make_source(WAITING, seed=1)
    [one, *_] = source.jobs()
    assert len(source.on_started(one, 10)) == 1
    assert names(source.on_started(one, 20)) == []


def test_it_begins_and_ends_when_it_should() -> None:
    source = make_source(msgspec.structs.replace(WAITING, from_ms=10, until_ms=60), seed=1)
    jobs = list(source.jobs())
    assert {job.submit_ms for job in jobs} == {10}
    assert names(source.on_started(jobs[0], 59)) == ["backlog-4"]
    assert names(source.on_started(jobs[1], 60)) == []


def test_there_are_at_most_so_many_jobs() -> None:
    source = make_source(msgspec.structs.replace(WAITING, jobs_at_most=4), seed=1)
    jobs = list(source.jobs())
    assert names(source.on_started(jobs[0], 1)) == ["backlog-4"]
    assert names(source.on_started(jobs[1], 1)) == []
    few = make_source(msgspec.structs.replace(WAITING, jobs_at_most=2), seed=1)
    assert len(list(few.jobs())) == 2


@pytest.mark.parametrize("work", [WAITING, ALIVE])
def test_a_second_run_of_the_same_source_is_the_same(work: Backlog) -> None:
    source = make_source(work, seed=1)

    def run() -> list[Job]:
        jobs = list(source.jobs())
        for at_ms, job in enumerate(jobs):
            if at_ms < 20:
                jobs += source.on_started(job, at_ms)
            if at_ms % 2 == 0 and at_ms < 20:
                jobs += source.on_finished(job, at_ms)  # the others run when the next run begins
        return jobs

    once = run()
    assert len(once) > work.jobs
    assert run() == once


def test_nothing_is_remembered_of_jobs_that_are_done() -> None:
    source = BacklogSource(WAITING, seed=1, start_ms=0)
    jobs = list(source.jobs())
    for at_ms in range(100):
        jobs += source.on_started(jobs[at_ms], at_ms)
        source.on_finished(jobs[at_ms], at_ms)
    assert source._started == set()


class Desk:
    """A cluster that does what it is told: starts, evicts or finishes some job."""

    def __init__(self, source: WorkSource) -> None:
        self.source = source
        self.waiting = list(source.jobs())
        self.running: list[Job] = []
        self.evicted: set[str] = set()

    def act(self, verb: str, choice: int, at_ms: int) -> None:
        side = self.waiting if verb == "start" else self.running
        if not side:
            return
        job = side.pop(choice % len(side))
        if verb == "start":
            self.running.append(job)
            self.evicted.discard(job.name)
            self.waiting += self.source.on_started(job, at_ms)
        elif verb == "evict":
            self.waiting.append(job)
            self.evicted.add(job.name)
        else:
            self.waiting += self.source.on_finished(job, at_ms)


actions = st.lists(
    st.tuples(st.sampled_from(["start", "start", "evict", "finish"]), st.integers(0, 99)),
    max_size=60,
)


@settings(max_examples=scale_examples(60))
@given(wanted=st.integers(1, 4), actions=actions)
def test_as_many_wait_as_wanted_and_the_evicted_besides(
    wanted: int, actions: list[tuple[str, int]]
) -> None:
    desk = Desk(make_source(msgspec.structs.replace(WAITING, jobs=wanted), seed=1))
    for at_ms, (verb, choice) in enumerate(actions):
        desk.act(verb, choice, at_ms)
        assert len(desk.waiting) == wanted + len(desk.evicted)


@settings(max_examples=scale_examples(60))
@given(wanted=st.integers(1, 4), actions=actions)
def test_as_many_are_alive_as_wanted(wanted: int, actions: list[tuple[str, int]]) -> None:
    desk = Desk(make_source(msgspec.structs.replace(ALIVE, jobs=wanted), seed=1))
    for at_ms, (verb, choice) in enumerate(actions):
        desk.act(verb, choice, at_ms)
        assert len(desk.waiting) + len(desk.running) == wanted
