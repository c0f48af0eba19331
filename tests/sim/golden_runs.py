"""The golden results: everything that happens in a small day, under each rule set.

They show what a change of the engine does to whole runs, line by line. After a change that is meant
to alter them, ``python -m tests.sim.golden_runs --write`` makes them anew; read what git shows.
"""

import sys
from pathlib import Path

import msgspec

from fairlead.sim.engine.events import (
    CapacityChanged,
    Evicted,
    Finished,
    SimulationEvent,
    Started,
    Stopped,
    Submitted,
)
from fairlead.sim.scenario.read.read_scenario import read_scenario
from tests.sim.scenario.scenario_files import events

FOLDER = Path(__file__).parent / "golden"
POLICIES = ("kai", "kueue", "elastic-quota")


def golden(policy: str) -> bytes:
    """Run the small day and write down what happens, a line each."""
    scenario = read_scenario(str(FOLDER / "small-day.yaml")).scenario
    assert scenario is not None
    start_ms = scenario.spec.start_ms
    lines = [line(each, each.at_ms - start_ms) for each in events(scenario, policy)]
    return msgspec.json.format(msgspec.json.encode(lines)) + b"\n"


def line(event: SimulationEvent, at_ms: int) -> str:
    """Return what happened in words; times are minutes, seconds and thousandths since the start."""
    minutes, rest_ms = divmod(at_ms, 60_000)
    at = f"{minutes:3}:{rest_ms // 1000:02}.{rest_ms % 1000:03}"
    match event:
        case CapacityChanged():
            amounts = ", ".join(f"{name} {n}" for name, n in sorted(event.capacity.items()))
            return f"{at} the cluster has {amounts}"
        case Submitted(job=job):
            wants = ", ".join(f"{name} {amount}" for name, amount in sorted(job.requests.items()))
            return f"{at} {job.name} comes to {job.queue}: {job.pods} x {wants} for {job.run_ms}"
        case Started(job=job):
            code = event.reason.code
            return f"{at} {job.name} starts {event.pods}, has {event.running}: {code}"
        case Evicted(job=job):
            why = "" if event.reason is None else f": {event.reason.code}"
            whom = event.beneficiary or "nobody"
            return f"{at} {job.name} is told to leave {event.pods} for {whom}{why}"
        case Stopped(job=job):
            left = f"has {event.running}, lost {event.lost_ms}"
            return f"{at} {job.name} stops {event.pods} ({event.cause}), {left}"
        case Finished(job=job):
            return f"{at} {job.name} is done, held {event.held_ms}, lost {event.lost_ms}"


def main() -> None:
    """Write the files, or show what they should be."""
    for policy in POLICIES:
        if "--write" in sys.argv[1:]:
            (FOLDER / f"{policy}.json").write_bytes(golden(policy))
        else:
            sys.stdout.buffer.write(golden(policy))


if __name__ == "__main__":
    main()
