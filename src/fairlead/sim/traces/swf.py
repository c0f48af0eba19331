"""Logs in the Standard Workload Format, in which the public archives of parallel machines are kept.

A row has 18 numbers with blanks between them, and -1 is unknown. Lines that begin with ``;`` are
remarks, some of which describe the machine. What is read, by position:

1 id, 2 submit (s), 3 wait (s), 4 run (s), 5 processors given, 7 memory used (KiB a processor),
8 processors asked, 9 time asked (s), 10 memory asked (KiB a processor), 11 status, 12 user,
13 group, 15 queue. The partition, the program and which job came before it are not read.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from fairlead.sim.traces.exact_number import rounded_down, rounded_up
from fairlead.sim.traces.trace_job import CPU, MEMORY, Asks, RowError, RowReader, TraceJob

COLUMNS: Final = 18
_UNKNOWN: Final = "-1"
_PARTS: Final = ("2", "3", "4")
"""Statuses of rows about one of several runs of a job, which has a row for all of them too."""
_START: Final = re.compile(r";\s*UnixStartTime:\s*([0-9]{1,11})\b")


def swf_reader(head: Iterable[str]) -> RowReader:
    """Return the reader of a log that begins with the lines *head*."""
    found = (_START.match(line) for line in head)
    starts = [int(match[1]) * 1000 for match in found if match]
    # A log whose start was not known says 0, and 1970 would be a lie.
    zero_unix_ms = starts[0] if starts and starts[0] else None
    return RowReader(kind="swf", read=read_swf_line, zero_unix_ms=zero_unix_ms)


def read_swf_line(_number: int, line: str) -> TraceJob | str | None:
    """Read a row; see `ReadLine`."""
    cells = line.split()
    if not cells or cells[0][0] == ";":
        return None
    if len(cells) != COLUMNS:
        raise RowError("row", f"found {len(cells)} columns, expected {COLUMNS}")
    if cells[10] in _PARTS:
        return "parts of jobs that are listed as a whole too"
    submit_ms = _time_ms("submit", cells[1])
    if submit_ms is None:
        raise RowError("submit", "found -1, expected seconds since the start of the log")
    return TraceJob(
        id=cells[0],
        submit_ms=submit_ms,
        run_ms=_time_ms("run", cells[3]),
        user=_name(cells[11]),
        group=_name(cells[12]),
        queue=_name(cells[14]),
        asks=_asks(cells[4], cells[7], cells[9], cells[6]),
        asked_ms=_time_ms("time asked", cells[8]),
        wait_ms=_time_ms("wait", cells[2]),
    )


def is_swf_line(line: str) -> bool:
    """Whether a line could be a remark or a row of this format."""
    cells = line.split()
    if line.startswith(";"):
        return True
    return len(cells) == COLUMNS and all(re.fullmatch(r"-?[0-9.]+", cell) for cell in cells)


def _name(cell: str) -> str:
    return "" if cell == _UNKNOWN else cell


def _time_ms(column: str, cell: str) -> int | None:
    if cell == _UNKNOWN:
        return None
    try:
        return rounded_down(cell, 1000)
    except ValueError as wrong:
        raise RowError(column, f"{wrong}, or -1") from wrong


@lru_cache(maxsize=65536)  # jobs come in few sizes
def _asks(given: str, asked: str, memory_asked: str, memory_used: str) -> Asks:
    """What a job asks for; 0 processors or memory is how some logs say that they do not know."""
    processors = _amount("processors", given, 1) or _amount("processors", asked, 1)
    if not processors:
        return ()
    cpu = _amount("processors", str(processors), 1000)
    memory_kib = _amount("memory", memory_asked, 1) or _amount("memory", memory_used, 1)
    if not memory_kib:
        return ((CPU, cpu),)
    return ((CPU, cpu), (MEMORY, _amount("memory", str(memory_kib), processors * 1024)))


def _amount(column: str, cell: str, unit: int) -> int:
    if cell == _UNKNOWN:
        return 0
    try:
        return rounded_up(cell, unit)
    except ValueError as wrong:
        raise RowError(column, f"{wrong}, or -1") from wrong
