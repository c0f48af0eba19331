"""The machines of a cluster, from the node list that was published with its trace."""

from pathlib import Path
from typing import Final

import msgspec

from fairlead.sim.traces.csv_rows import split_cells
from fairlead.sim.traces.trace_job import CPU, GPU, MEMORY, WHOLE_GPU, RowError, TraceError
from fairlead.sim.traces.trace_lines import trace_lines

COLUMNS: Final = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
_MIB: Final = 2**20
_MOST_DIGITS: Final = 40


class TraceNode(msgspec.Struct, frozen=True, kw_only=True):
    """One machine: what it has, in base units by resource, and the model of its GPUs if any."""

    name: str
    capacity: dict[str, int]
    gpu_model: str = ""


def read_trace_nodes(path: Path) -> list[TraceNode]:
    """Return the machines in the order of the file, which has the columns of `COLUMNS`.

    Raises `TraceError` at the first row that is broken: a cluster without some of its nodes is
    another cluster.
    """
    lines = enumerate(trace_lines(path), start=1)
    _, head = next(lines, (1, ""))
    names = head.split(",")
    missing = [name for name in COLUMNS if name not in names]
    if missing:
        raise TraceError(
            f"{path}: found no column {', '.join(missing)} in the first line", "name a node list"
        )
    nodes: dict[str, TraceNode] = {}
    for number, line in lines:
        if not line.strip():
            continue
        try:
            node = _node(names, line)
            if node.name in nodes:
                raise RowError("sn", f"found the node {node.name} for the second time")
        except ValueError as wrong:
            raise TraceError(f"{path}:{number}: {wrong}", "correct this row") from wrong
        nodes[node.name] = node
    if not nodes:
        raise TraceError(f"{path}: found no node", "name a node list with some")
    return list(nodes.values())


def _node(names: list[str], line: str) -> TraceNode:
    cells = split_cells(line, ",")
    if len(cells) != len(names):
        raise RowError("row", f"found {len(cells)} cells, expected {len(names)}")
    row = dict(zip(names, cells, strict=True))
    if not row["sn"]:
        raise RowError("sn", "found no name")
    capacity = {
        CPU: _amount(row, "cpu_milli"),
        MEMORY: _amount(row, "memory_mib") * _MIB,
        GPU: _amount(row, "gpu") * WHOLE_GPU,
    }
    return TraceNode(name=row["sn"], capacity=capacity, gpu_model=row["model"])


def _amount(row: dict[str, str], column: str) -> int:
    number = _whole_number(row[column])
    if number < 0:
        raise RowError(column, f"found {number} in {column}, expected 0 or more")
    return number


def _whole_number(text: str) -> int:
    """Return the number. Raises ValueError for anything but digits with a sign, and for too many.

    What else int() accepts is a mistake in a table.
    """
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal()):
        raise ValueError(f"found {text!r}, expected a whole number")
    if len(digits) > _MOST_DIGITS:
        raise ValueError(
            f"found a number of {len(digits):,} digits, expected at most {_MOST_DIGITS}"
        )
    return int(text)
