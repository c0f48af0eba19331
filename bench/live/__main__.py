"""Measures Fairlead beside kube-scheduler: ``python -m bench.live backlog --rounds 1``.

Each measurement has a control plane of its own. The schedulers take turns, in each round in the
other direction. All runs on two cores, servers included. Exit 0 whatever the figures are, because
a noisy machine proves nothing; the cores that others used are printed for each run.
"""

import argparse
import os
import platform
import sys
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from bench.live.contenders import CONTENDERS, KUBE_SCHEDULER, versions
from bench.live.figures import Round, table
from bench.live.fresh_cluster import find_assets
from bench.live.scenarios import Scenario, scenarios

CORES: Final = 2
_ALWAYS: Final = ("backlog", "start", "latency")  # the others take long


def main() -> int:
    """Measure what the arguments ask for, and print tables."""
    arguments = _arguments()
    _use_cores()
    assets = find_assets()
    known = scenarios(arguments.minutes)
    for name in [arguments.scenario] if arguments.scenario else _ALWAYS:
        scenario = _adjusted(known[name], arguments)
        print(f"{name}: {_described(scenario, arguments.rounds)}", flush=True)
        rounds = [_round(assets, scenario, number) for number in range(arguments.rounds)]
        print(table(rounds, KUBE_SCHEDULER.title, scenario.goals), flush=True)
    print(f"{versions(assets)}; {platform.platform()}, {CORES} cores")
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.live", description=__doc__)
    titles = [each.title for each in CONTENDERS]
    parser.add_argument(
        "scenario", nargs="?", choices=tuple(scenarios(0)), help=f"default: {', '.join(_ALWAYS)}"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--nodes", type=int, help="other than the scenario has")
    parser.add_argument("--pods", type=int, help="other than the scenario has")
    parser.add_argument("--minutes", type=float, default=30, help="of churn (%(default)g)")
    parser.add_argument("--only", choices=titles, help="measure one scheduler")
    return parser.parse_args()


def _use_cores() -> None:
    """Run this process and all that it starts on two cores, as the goals have it."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])


def _adjusted(scenario: Scenario, arguments: argparse.Namespace) -> Scenario:
    world = scenario.world
    world = replace(world, nodes=arguments.nodes or world.nodes, pods=arguments.pods or world.pods)
    contenders = scenario.contenders
    if arguments.only:
        contenders = tuple(each for each in CONTENDERS if each.title == arguments.only)
    return replace(scenario, world=world, contenders=contenders)


def _described(scenario: Scenario, rounds: int) -> str:
    world = scenario.world
    size = f"{world.nodes:,} nodes, {world.pods:,} pods in {world.namespaces} namespaces"
    return f"{scenario.about}; {size}; rounds: {rounds}"


def _round(assets: Path, scenario: Scenario, number: int) -> Round:
    order = scenario.contenders if number % 2 == 0 else scenario.contenders[::-1]
    found = {}
    for contender in order:
        found[contender.title] = scenario.measurement(assets, contender, scenario.world)
        shown = ", ".join(f"{value:.4g} {name}" for name, value in found[contender.title].items())
        print(f"  round {number + 1}, {contender.title}: {shown}", file=sys.stderr, flush=True)
    return {each.title: found[each.title] for each in CONTENDERS if each.title in found}


if __name__ == "__main__":
    raise SystemExit(main())
