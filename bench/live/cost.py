"""What processes have cost, as Linux counts it: CPU time, memory, and the CPU of all others."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")
_MIB: Final = 1024  # KiB
_BUSY_FIELDS: Final = (0, 1, 2, 5, 6, 7)  # user, nice, system, irq, softirq, steal


class Cost(NamedTuple):
    """CPU time up to a moment, in seconds."""

    at_s: float
    by_process: Mapping[str, float]
    of_machine: float

    def since(self, before: "Cost", process: str) -> float:
        """Return what a process has used since; one that was not there had used nothing."""
        return self.by_process[process] - before.by_process.get(process, 0.0)

    def others_cores(self, before: "Cost") -> float:
        """Return how many cores all other processes of the machine used on average since."""
        own = sum(self.since(before, process) for process in self.by_process)
        elapsed_s = self.at_s - before.at_s
        return max(0.0, self.of_machine - before.of_machine - own) / elapsed_s


def read_cost(at_s: float, processes: Mapping[str, int]) -> Cost:
    """Read what each of *processes* has used, by process id."""
    used = {name: cpu_s(pid) for name, pid in processes.items()}
    fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    busy = sum(int(fields[each]) for each in _BUSY_FIELDS)
    return Cost(at_s, used, busy / _TICKS_PER_S)


def cpu_s(pid: int) -> float:
    """Return the CPU time of a process with all its threads."""
    after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(after_name[11]) + int(after_name[12])) / _TICKS_PER_S


def memory_mib(pid: int, *, peak: bool) -> float:
    """Return the memory of a process: the most it has held, or what it holds now."""
    wanted = "VmHWM:" if peak else "VmRSS:"
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(wanted):
            return int(line.split()[1]) / _MIB
    raise ProcessLookupError(f"process {pid} has ended")
