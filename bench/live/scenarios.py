"""What is measured, in which world, and what Fairlead is to reach."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Final, Protocol

import msgspec

from bench.live import backlog, churn, latency
from bench.live.backlog import Figures, measure_backlog
from bench.live.churn import measure_churn
from bench.live.contenders import FAIRLEAD, FAIRLEAD_WITH_EVENTS, KUBE_SCHEDULER, Contender
from bench.live.figures import Goal
from bench.live.latency import measure_latency
from bench.live.world import World


class Measurement(Protocol):
    """One measurement of one scheduler on a control plane of its own."""

    def __call__(self, assets: Path, contender: Contender, world: World) -> Figures:
        """Return what was measured."""


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """A measurement that is made of several schedulers in turn."""

    about: str
    world: World
    measurement: Measurement
    contenders: tuple[Contender, ...]
    goals: tuple[Goal, ...]


_BOTH: Final = (FAIRLEAD_WITH_EVENTS, FAIRLEAD)


def _times_peer(figure: str, contender: Contender, value: float) -> Goal:
    return Goal(
        figure=figure, scheduler=contender.title, bound="at most", value=value, times_peer=True
    )


def _at_most(figure: str, value: float) -> Goal:
    return Goal(figure=figure, scheduler=FAIRLEAD.title, bound="at most", value=value)


def _pods_per_s(contender: Contender, value: float) -> Goal:
    return Goal(
        figure=backlog.PODS_PER_S,
        scheduler=contender.title,
        bound="at least",
        value=value,
        times_peer=True,
    )


def _start(world: World, *, first_bind_s: float, peak_mib: float) -> Scenario:
    return Scenario(
        about="a scheduler starts and finds its pods waiting",
        world=world,
        measurement=measure_backlog,
        contenders=(FAIRLEAD, KUBE_SCHEDULER),
        goals=(_at_most(backlog.FIRST_BIND_S, first_bind_s), _at_most(backlog.PEAK_MIB, peak_mib)),
    )


def scenarios(minutes: float) -> Mapping[str, Scenario]:
    """Return all scenarios by name; *minutes* is how long pods come and go in that of memory."""
    return {
        "backlog": Scenario(
            about="a scheduler starts and binds the pods that wait for it",
            world=World(nodes=1_000, pods=5_000),
            measurement=measure_backlog,
            contenders=(FAIRLEAD_WITH_EVENTS, KUBE_SCHEDULER, FAIRLEAD),
            goals=(
                _pods_per_s(FAIRLEAD_WITH_EVENTS, 1.3),
                _pods_per_s(FAIRLEAD, 2.5),
                *[_times_peer(backlog.LAST_BIND_S, each, 1.0) for each in _BOTH],
                *[_times_peer(backlog.SCHEDULER_CPU_MS, each, 0.5) for each in _BOTH],
            ),
        ),
        "latency": Scenario(
            about=f"{latency.PODS_PER_S} pods are created per second",
            world=World(nodes=1_000, pods=3_000),
            measurement=measure_latency,
            contenders=(FAIRLEAD_WITH_EVENTS, KUBE_SCHEDULER),
            goals=tuple(
                _times_peer(figure, FAIRLEAD_WITH_EVENTS, 1.2)
                for figure in (latency.P50_MS, latency.P95_MS)
            ),
        ),
        "start": _start(World(nodes=1_000, pods=10_000), first_bind_s=4, peak_mib=200),
        "large-start": _start(World(nodes=5_000, pods=50_000), first_bind_s=20, peak_mib=800),
        "churn": Scenario(
            about=f"pods come and go for {minutes:g} minutes",
            world=World(nodes=1_000, pods=1_000),
            measurement=partial(measure_churn, minutes=minutes),
            contenders=(FAIRLEAD,),
            goals=(_at_most(churn.GROWTH, 1.1),),
        ),
    }
