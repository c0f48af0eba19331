"""Queues that share GPUs over time as KAI does, and what they got in the long run.

One cycle a second, and before each the usage is told anew; windows and half-lives are in cycles. A
claim is followed up at once, so that the only delay is the one that is asked for.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction

import msgspec

from fairlead.policy.kai.policy import KaiPolicy
from fairlead.policy.kai.settings import KaiSettings
from fairlead.sim.engine.events import Evicted, Finished, SimulationEvent, Started, Stopped
from fairlead.sim.engine.job import Job
from fairlead.sim.engine.past_use import PastUse, UsageInterest
from fairlead.sim.engine.simulation import Simulation
from fairlead.sim.engine.simulation_rules import SimulationRules
from fairlead.sim.engine.workload_maker import WorkloadMaker
from fairlead.sim.scenario.kai.rule_set import kai_address_book
from fairlead.sim.work.source import WorkSource
from fairlead.usage.queue_use import Charge
from fairlead.usage.settings import UsageRules
from fairlead.usage.window import Sliding
from tests.sim.small_cluster import DEVICE, SECOND, cluster, job, queue

AT_ONCE_MS = 1


class Sharing(msgspec.Struct, frozen=True, kw_only=True):
    """Queues with backlogs that never end: so many jobs each, of so many GPUs."""

    gpus: int
    weights: Sequence[int]
    deserved: Sequence[int]
    job_gpus: Sequence[int]
    backlog: Sequence[int]
    run_cycles: int | None = None  # None: jobs never end
    k: Fraction
    window: int
    half_life: int | None
    charge: Charge = "all"
    latency: int = 0  # cycles from a claim to the start
    cycles: int
    step: int = 1  # cycles between two looks


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it."""

    starts: list[tuple[int, int]]  # cycle and queue, of each start
    turns: list[int]  # how long each job ran that was told to leave
    reclaims: int
    held: list[list[int]]  # for each queue, GPU cycles in each tenth of the time


class Backlogs(WorkSource):
    """So many jobs of each queue at any time."""

    def __init__(self, sharing: Sharing) -> None:
        super().__init__("backlogs", self._first)
        self._sharing = sharing
        self._made = 0

    def _first(self) -> Iterator[Job]:
        for at, count in enumerate(self._sharing.backlog):
            for _ in range(count):
                yield self._next(at, 0)

    def on_finished(self, job: Job, at_ms: int) -> Sequence[Job]:
        return (self._next(int(job.queue[1:]), at_ms),)

    def _next(self, at: int, now_ms: int) -> Job:
        self._made += 1
        sharing = self._sharing
        made = job(f"j{self._made:06}", f"q{at}", gpus=sharing.job_gpus[at], run=sharing.run_cycles)
        return msgspec.structs.replace(made, submit_ms=now_ms)


class _Watch:
    """Adds up who holds what, in tenths of the time."""

    def __init__(self, sharing: Sharing) -> None:
        self._tenth = sharing.cycles * SECOND // 10
        queues = len(sharing.weights)
        self.held = [[0] * 10 for _ in range(queues)]
        self._level = [0] * queues
        self._since = [0] * queues
        self._began: dict[str, int] = {}
        self.starts: list[tuple[int, int]] = []
        self.turns: list[int] = []
        self.reclaims = 0

    def take(self, event: SimulationEvent) -> None:
        match event:
            case Started():
                self._began[event.job.name] = event.at_ms
                at = int(event.job.queue[1:])
                self.starts.append((event.at_ms // SECOND, at))
                self._change(event.job, event.at_ms, 1)
            case Evicted():
                self.reclaims += 1
                ran_ms = event.at_ms - self._began.pop(event.job.name)
                self.turns.append(ran_ms // SECOND)
            case Stopped() | Finished():
                self._change(event.job, event.at_ms, -1)
            case _:
                pass

    def account(self, at: int, until_ms: int) -> None:
        since_ms = self._since[at]
        while since_ms < until_ms:
            tenth = min(since_ms // self._tenth, 9)
            end_ms = until_ms if tenth == 9 else min(until_ms, (tenth + 1) * self._tenth)
            self.held[at][tenth] += self._level[at] * (end_ms - since_ms)
            since_ms = end_ms
        self._since[at] = until_ms

    def _change(self, job: Job, at_ms: int, sign: int) -> None:
        at = int(job.queue[1:])
        self.account(at, at_ms)
        self._level[at] += sign * sum(job.requests.values()) // DEVICE


def share(sharing: Sharing, *, faithful: bool = False) -> Outcome:
    """Let the queues share for as long as is asked."""
    owned = zip(sharing.weights, sharing.deserved, strict=True)
    queues = [
        queue(f"q{at}", weight=str(weight), gpus=gpus) for at, (weight, gpus) in enumerate(owned)
    ]
    state = cluster(queues, {"n": sharing.gpus})
    until_ms = sharing.cycles * SECOND
    rules = SimulationRules(
        until_ms=until_ms,
        at_most_every_ms=AT_ONCE_MS,
        look_again_ms=until_ms,
        grace_ms=sharing.latency * SECOND,
    )
    usage = UsageRules(
        window=Sliding(sharing.window * SECOND),
        half_life_ms=None if sharing.half_life is None else sharing.half_life * SECOND,
        charge=sharing.charge,
    )
    watch = _Watch(sharing)
    Simulation(
        state,
        KaiPolicy(KaiSettings(k=sharing.k, faithful=faithful)),
        WorkloadMaker(state, kai_address_book(state)),
        Backlogs(sharing),
        rules,
        watch.take,
        past_use=PastUse(state, UsageInterest(usage, sharing.step * SECOND)),
    ).run()
    for at in range(len(queues)):
        watch.account(at, until_ms)
    held = [[each // SECOND for each in row] for row in watch.held]
    return Outcome(starts=watch.starts, turns=watch.turns, reclaims=watch.reclaims, held=held)
