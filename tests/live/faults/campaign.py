"""All faults at all writes of the worlds, as many of them as there is time for, chosen by a seed.

    python -m tests.live.faults.campaign                   # all of them, which takes hours
    python -m tests.live.faults.campaign --seconds 240 --seed 7
    python -m tests.live.faults.campaign --only '409 at: bind pods a/base #1'

Every world runs twice without a fault first. Writes that came in both runs are those at which
faults are tried. A fault that was not delivered, because its write did not come this time, is tried
again; it is wrong if it never is.
"""

import argparse
import asyncio
import math
import random
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import product, zip_longest
from pathlib import Path

import msgspec

from tests.live.api import Api
from tests.live.binaries import find_binaries
from tests.live.faults.fault import OF_WATCHES, Fault, Kind
from tests.live.faults.run import Plan, Result, perform
from tests.live.faults.worlds import WORLDS, World
from tests.live.installation import install_kinds, install_roles
from tools.k8s.cluster import Cluster

Pair = tuple[str, Fault]  # the name of a world, and what happens in it


class Campaign(msgspec.Struct):
    """What there is to run, what was run, and what was wrong."""

    pairs: list[Pair]
    run: list[Pair] = []
    problems: list[str] = []

    def summary(self) -> str:
        """Return how much was run of how much there is."""
        writes = len({(world, fault.write) for world, fault in self.pairs})
        return (
            f"{len(self.run)} of {len(self.pairs)} faults were run, at {writes} writes of "
            f"{len(WORLDS)} worlds; with {len(self.problems)} of them something was wrong"
        )


class Runner:
    """Runs plans one after the other on one cluster."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        """Let the logs of all runs be in *folder*."""
        self.cluster = cluster
        self.folder = folder

    def run(self, world: World, fault: Fault | None = None) -> Result:
        """Run a world once, with a fault or without."""
        plan = Plan(world=world, fault=fault)
        return asyncio.run(perform(self.cluster, plan, self.folder))


def record(runner: Runner) -> Campaign:
    """Run each world without a fault, and return every fault at every write.

    Raises AssertionError if something is wrong without a fault already.
    """
    pairs: list[Pair] = []
    for world in WORLDS.values():
        results = [runner.run(world) for _ in range(2)]
        for result in results:
            assert not result.problems, "\n  ".join([f"{world.name}, no fault", *result.problems])
        faults = set(_faults(results[0])) & set(_faults(results[1]))
        pairs += [(world.name, fault) for fault in sorted(faults)]
    return Campaign(pairs)


def _faults(result: Result) -> Iterator[Fault]:
    """Yield every fault that is possible at a write of a run."""
    for write, kind in product(result.writes, Kind):
        if kind not in OF_WATCHES or write in result.watched:
            yield Fault(write, kind)


def conduct(
    campaign: Campaign,
    runner: Runner,
    chosen: Iterable[Pair],
    *,
    seconds: float,
) -> list[str]:
    """Run the *chosen* faults until *seconds* have passed; returns what was wrong."""
    until_s = time.monotonic() + seconds
    wrong: list[str] = []
    for name, fault in chosen:
        if time.monotonic() > until_s:
            break
        began_s = time.monotonic()
        problems = run_until_delivered(runner, WORLDS[name], fault)
        took_s = time.monotonic() - began_s
        campaign.run.append((name, fault))
        say(f"{name}, {fault}: {'WRONG' if problems else 'as without it'} ({took_s:.1f} s)")
        if problems:
            wrong.append("\n  ".join([f"{name}, {fault}", *problems]))
            say(wrong[-1])
    campaign.problems += wrong
    return wrong


def in_turns(pairs: Sequence[Pair], chance: random.Random) -> Iterator[Pair]:
    """Yield all pairs, so that each verb has met each kind of fault before one has so twice."""
    groups: dict[tuple[str, str, Kind], list[Pair]] = defaultdict(list)
    for name, fault in pairs:
        groups[fault.write.verb, fault.write.subject.split()[0], fault.kind].append((name, fault))
    shuffled = list(groups.values())
    chance.shuffle(shuffled)
    for group in shuffled:
        chance.shuffle(group)
    for turn in zip_longest(*shuffled):
        yield from (pair for pair in turn if pair is not None)


def run_until_delivered(runner: Runner, world: World, fault: Fault) -> list[str]:
    """Run a world with a fault until it was delivered; returns what was wrong.

    How often the status of an object is written depends on when it changes. Where the nth write did
    not come this time, an earlier one of the same meaning takes its place, in the end the first.
    """
    last = fault.write.number
    numbers = (last, max(1, last - 1), 1)
    for number in numbers:
        write = msgspec.structs.replace(fault.write, number=number)
        result = runner.run(world, Fault(write, fault.kind))
        if result.problems:
            return result.problems
        if result.is_delivered:
            return []
    return [f"it was never delivered, in {len(numbers)} runs"]


def main(arguments: Sequence[str]) -> int:
    """Run a campaign on a cluster of its own."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--seconds", type=float, default=math.inf, help="default: until all are run"
    )
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--only", default="", help="faults whose text contains this")
    options = parser.parse_args(arguments)
    folder = Path(tempfile.mkdtemp(prefix="faults-"))
    say(f"seed {options.seed}, logs in {folder}")
    with Cluster(find_binaries(), folder / "cluster") as cluster:
        admin = Api(cluster)
        install_kinds(admin, with_older_group=False)
        install_roles(admin)
        cluster.start("kwok")
        cluster.start("kube-controller-manager")
        runner = Runner(cluster, folder)
        campaign = record(runner)
        wanted = [pair for pair in campaign.pairs if options.only in str(pair[1])]
        chosen = in_turns(wanted, random.Random(options.seed))
        conduct(campaign, runner, chosen, seconds=options.seconds)
    say(campaign.summary())
    return bool(campaign.problems)


def say(text: str) -> None:
    """Write a line at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
