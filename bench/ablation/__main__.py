"""Switches each shortcut off in turn: ``python -m bench.ablation --policy kai``.

Every measurement runs in a process of its own. In each repetition all shortcuts have their turn
beside a run with everything on, so that a slow spell of the machine meets all of them; the best
CPU time of each is shown. A shortcut that wins less than 20 % on every workload does not pay.
"""

import argparse
import multiprocessing
import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext

from bench.ablation.rule_sets import RULE_SETS
from bench.ablation.shortcut import Shortcut, switched_off
from bench.ablation.workloads import AblationWorkload
from bench.harness import AbsentInputError


def main() -> int:
    """Measure what the arguments ask for, and print one table per workload."""
    arguments = _arguments()
    for policy, rule_set in RULE_SETS.items():
        if arguments.policy not in (None, policy):
            continue
        shortcuts = [each for each in rule_set.shortcuts if arguments.only in each.name]
        for workload in rule_set.workloads:
            if arguments.workload in workload.name:
                print(f"{policy}: {workload.name}")
                _print(workload, shortcuts, arguments.repeats)
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.ablation", description=__doc__)
    parser.add_argument("--policy", choices=tuple(RULE_SETS))
    parser.add_argument("--only", default="", metavar="TEXT", help="shortcuts that contain TEXT")
    parser.add_argument("--workload", default="", metavar="TEXT", help="workloads with TEXT")
    parser.add_argument("--repeats", type=int, default=2, help="best of how many (2)")
    return parser.parse_args()


def _print(workload: AblationWorkload, shortcuts: Sequence[Shortcut], repeats: int) -> None:
    """Measure *workload* with everything on and without each of *shortcuts*."""
    best: dict[str, float] = {}
    outcome: dict[str, str] = {}
    try:
        for _ in range(repeats):
            for each in (None, *shortcuts):
                name = "all on" if each is None else f"without {each.name}"
                cpu_s, outcome[name] = _measured(workload, each)
                best[name] = min(cpu_s, best.get(name, cpu_s))
    except AbsentInputError as absent:
        print(f"  skipped: {absent}", file=sys.stderr)
        return
    base_s = best["all on"]
    for name, cpu_s in best.items():
        differs = "" if outcome[name] == outcome["all on"] else "  OTHER DECISIONS"
        print(f"  {name:50} {cpu_s:8.2f} s CPU  x {cpu_s / base_s:.2f}{differs}", flush=True)


def _measured(workload: AblationWorkload, without: Shortcut | None) -> tuple[float, str]:
    """Return the CPU seconds and the outcome of *workload*, in a process of its own."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)

    def run() -> None:
        with nullcontext() if without is None else switched_off(without):
            work = workload.prepare()
            began_s = time.process_time()
            outcome = work()
            sender.send((time.process_time() - began_s, outcome))

    process = context.Process(target=run)
    process.start()
    sender.close()  # so that a child that dies ends the wait below
    try:
        measured: tuple[float, str] = receiver.recv()
    except EOFError:
        raise SystemExit(f"the run of {workload.name} failed, see above") from None
    finally:
        process.join()
    return measured


if __name__ == "__main__":
    raise SystemExit(main())
