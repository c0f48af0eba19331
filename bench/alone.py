"""Measures one benchmark in a process of its own.

What other benchmarks left in memory made some of them twice as slow. It also shows how much memory
a benchmark takes, its preparation included.
"""

import importlib
import resource
import sys
import traceback
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from msgspec.structs import replace

from bench.harness import AbsentInputError, Figure, measure, registered


def import_all() -> None:
    """Import every benchmark, which registers it."""
    for module in sorted(Path(__file__).parent.glob("bench_*.py")):
        importlib.import_module(f"bench.{module.stem}")


def measured_alone(name: str, repeats: int) -> Figure | AbsentInputError | None:
    """Measure the benchmark of that name; see `_attempt` for what comes of it."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as alone:
        return alone.submit(_attempt, name, repeats).result()


def _attempt(name: str, repeats: int) -> Figure | AbsentInputError | None:
    """Measure; what cannot be measured here is said, and None is what does not run."""
    print(f"measuring {name}", file=sys.stderr)
    import_all()
    (each,) = [each for each in registered(name) if each.name == name]
    try:
        return replace(measure(each, repeats), peak_mib=_peak_mib())
    except AbsentInputError as absent:
        print(f"left out {each.name}: {absent}", file=sys.stderr)
        return absent
    except Exception:  # noqa: BLE001 - one that breaks must not hide the figures of the others
        print(f"{each.name} failed:\n{traceback.format_exc()}", file=sys.stderr)
        return None


def _peak_mib() -> float:
    """Return the most memory that this process has held."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10  # in bytes there, else KiB
