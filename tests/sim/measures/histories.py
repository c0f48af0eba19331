"""Histories of a simulation: small ones written as tables, and random ones that are legal."""

from random import Random
from typing import TypeAlias

from hypothesis import strategies as st

from fairlead.model.plan import Reason
from fairlead.sim.engine.events import (
    CapacityChanged,
    Cause,
    Evicted,
    Finished,
    SimulationEvent,
    Started,
    Stopped,
    Submitted,
)
from fairlead.sim.engine.job import Job
from fairlead.sim.measures.entitlement import EntitlementChange
from fairlead.sim.measures.measures import Measures
from fairlead.sim.measures.series import Series
from fairlead.sim.measures.summary import Summary
from tests.text_table import number, rows

Told: TypeAlias = SimulationEvent | EntitlementChange
RESOURCES = ("cpu", "gpu")
PARENTS = {"left": None, "right": None, "a": "left", "b": "left", "c": "right", "d": None}
LEAVES = ("a", "b", "c", "d")
WHY = Reason(code="because")
CAUSES: tuple[Cause, ...] = ("evicted", "moved", "node-lost")


def measure(
    told: list[Told],
    end_ms: int,
    *,
    resources: tuple[str, ...] = RESOURCES,
    parents: dict[str, str | None] = PARENTS,
    start_ms: int = 0,
    horizon_ms: int | None = None,
    period_ms: int = 0,
    most_buckets: int = 2000,
) -> tuple[Summary, Series]:
    measures = Measures(
        resources,
        parents,
        start_ms=start_ms,
        horizon_ms=horizon_ms or max(end_ms - start_ms, 1),
        period_ms=period_ms,
        most_buckets=most_buckets,
    )
    for each in told:
        if isinstance(each, EntitlementChange):
            measures.change_due(each)
        else:
            measures(each)
    return measures.end(end_ms)


def written(jobs: str, story: str) -> list[Told]:
    """Read a history of one resource, the gpu.

    A row of *jobs* is a job; ``run`` and all times are in ms, ``gpu`` is for one pod. A row of
    *story* says what happens ``to`` a job and with how many pods; or how large the cluster is
    (``capacity``); or what a queue is due and asks for from now on (``due``).
    """
    known = {row["job"]: _job(row) for row in rows(jobs)}
    told: list[Told] = []
    for row in rows(story):
        at_ms, to, count = int(row["at"]), row["to"], number(row["pods"]) or 0
        match row["what"]:
            case "capacity":
                told.append(CapacityChanged(at_ms=at_ms, capacity={"gpu": count}))
            case "due":
                due, wanted = map(int, row["more"].split("/"))
                told.append(
                    EntitlementChange(at_ms=at_ms, entitled={to: (due,)}, demand={to: (wanted,)})
                )
            case what:
                told.append(event(what, at_ms, known[to], count, number(row["more"]) or 0))
    return told


def _job(row: dict[str, str]) -> Job:
    return Job(
        name=row["job"],
        queue=row["queue"],
        user=row.get("user", ""),
        kind=row.get("kind", ""),
        submit_ms=int(row["submit"]),
        run_ms=number(row["run"]),
        pods=int(row.get("pods", "1")),
        requests={"gpu": int(row["gpu"])},
    )


def event(
    what: str, at_ms: int, job: Job, pods: int, lost_ms: int = 0, cause: Cause = "evicted"
) -> SimulationEvent:
    """One thing that happens to a job; what measures do not look at is left at nothing."""
    match what:
        case "submit":
            return Submitted(at_ms=at_ms, job=job)
        case "start":
            return Started(at_ms=at_ms, job=job, pods=pods, running=0, reason=WHY)
        case "told":
            return Evicted(
                at_ms=at_ms, job=job, pods=pods, cause=cause, beneficiary=None, reason=WHY
            )
        case "stop":
            return Stopped(at_ms=at_ms, job=job, pods=pods, running=0, cause=cause, lost_ms=lost_ms)
        case "finish":
            return Finished(
                at_ms=at_ms,
                job=job,
                pods=pods,
                first_start_ms=0,
                evictions=0,
                held_ms=0,
                lost_ms=0,
            )
    raise ValueError(what)


class RandomHistory:
    """What can happen, in the order of time, by chance.

    Pods start only when they wait, stop only when they have a place, and a job is done only if some
    have one. Steps of 0 ms are frequent, so that there are many ties. A plain generator of chance
    is used, because drawing each number from Hypothesis gives histories of one or two events.
    """

    def __init__(self, seed: int, steps: int) -> None:
        self._random = Random(seed)
        self._jobs: dict[str, Job] = {}
        self._placed: dict[str, int] = {}
        self._at_ms = 0
        self.told: list[Told] = []
        for _ in range(steps):
            self._at_ms += self._random.choice([0, 0, 1, 3, 10])
            self._step(self._random.choice(KINDS))
        self.end_ms = self._at_ms + self._random.choice([0, 1, 7])

    def _step(self, kind: str) -> None:
        if kind == "capacity":
            most = self._random.choice([20, 200])
            amounts = dict(zip(RESOURCES, self._pair(most), strict=True))
            self.told.append(CapacityChanged(at_ms=self._at_ms, capacity=amounts))
        elif kind == "due":
            self.told.append(self._due())
        elif kind == "submit":
            job = self._new_job()
            self._jobs[job.name], self._placed[job.name] = job, 0
            self.told.append(event("submit", self._at_ms, job, 0))
        else:
            self._turn(kind)

    def _pair(self, most: int) -> tuple[int, ...]:
        return (self._random.randint(0, most), self._random.randint(0, most))

    def _due(self) -> EntitlementChange:
        """What is due to some of the queues; inner ones may be told or left to their children."""
        fields = [
            {name: self._pair(12) for name in PARENTS if self._random.random() < 0.6}
            for _ in range(4)
        ]
        return EntitlementChange(
            at_ms=self._at_ms,
            entitled=fields[0],
            demand=fields[1],
            fair_share=fields[2],
            usage_e9=fields[3],
        )

    def _new_job(self) -> Job:
        """A job that comes now, or that came a little before it was told."""
        random = self._random
        cpu, gpu = self._pair(3)
        return Job(
            name=f"job-{len(self.told)}",
            queue=random.choice(LEAVES),
            user=random.choice(["ann", "bob", ""]),
            kind=random.choice(["train", "serve"]),
            submit_ms=max(0, self._at_ms - random.choice([0, 0, 5])),
            run_ms=random.choice([None, 0, 4, 30, 20_000]),
            pods=random.randint(1, 4),
            requests={"cpu": cpu, "gpu": gpu, "not-measured": 7},
        )

    def _turn(self, kind: str) -> None:
        """Let something happen to a job to which it can happen, if there is one."""
        room = {
            name: self._jobs[name].pods - count if kind == "start" else count
            for name, count in self._placed.items()
        }
        able = [name for name, pods in room.items() if pods]
        if not able:
            return
        random = self._random
        job = self._jobs[random.choice(able)]
        most = room[job.name]
        pods = most if kind == "finish" else random.randint(1, most)
        if kind == "start":
            self._placed[job.name] += pods
        elif kind == "stop":
            self._placed[job.name] -= pods
        elif kind == "finish":
            del self._placed[job.name]
        lost_ms, cause = random.randint(0, 9), random.choice(CAUSES)
        self.told.append(event(kind, self._at_ms, job, pods, lost_ms, cause))


KINDS = "submit submit start start start stop finish finish told due due capacity".split()

histories = st.builds(RandomHistory, seed=st.integers(0, 2**32), steps=st.integers(0, 60))
