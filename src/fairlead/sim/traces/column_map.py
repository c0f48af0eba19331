"""Which column of a table is what, in which unit: what a user says about a CSV of their own."""

from collections.abc import Iterable
from fractions import Fraction
from typing import Annotated, Final, Literal, TypeAlias

import msgspec

from fairlead.sim.fields import INTERNAL, says
from fairlead.sim.traces.trace_job import CPU, GPU, MEMORY

TimeUnit: TypeAlias = Literal["ms", "s", "min", "h", "d", "unix-s", "unix-ms", "date"]
AmountUnit: TypeAlias = Literal[
    "one", "milli", "percent", "bytes", "kB", "MB", "GB", "KiB", "MiB", "GiB"
]

TIME_UNITS_MS: Final[dict[TimeUnit, int]] = {
    "ms": 1,
    "s": 1000,
    "min": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
    "unix-s": 1000,
    "unix-ms": 1,
}
"""A ``date`` is no number: 2017-09-04T03:01:02, with a zone or in that of the rules."""

DATED: Final[frozenset[TimeUnit]] = frozenset({"unix-s", "unix-ms", "date"})
"""Units of which the clock is known, so that a trace can be cut by date."""

AMOUNT_UNITS: Final[dict[AmountUnit, Fraction]] = {
    "one": Fraction(1),
    "milli": Fraction(1, 1000),
    "percent": Fraction(1, 100),
    "bytes": Fraction(1),
    "kB": Fraction(10**3),
    "MB": Fraction(10**6),
    "GB": Fraction(10**9),
    "KiB": Fraction(2**10),
    "MiB": Fraction(2**20),
    "GiB": Fraction(2**30),
}


class TimeColumn(msgspec.Struct, frozen=True, kw_only=True):
    """A column with moments or lengths of time."""

    name: str
    unit: TimeUnit = "s"


class AmountColumn(msgspec.Struct, frozen=True, kw_only=True):
    """A column with amounts of one resource."""

    name: str
    unit: AmountUnit = "one"


class ColumnMap(msgspec.Struct, frozen=True, kw_only=True):
    """What the columns of a table mean. Only ``submit``, and ``run`` or ``end``, must be there.

    Without ``run`` a job runs from ``start`` to ``end``, and without ``start`` from ``submit``.
    Without ``wait`` it waited from ``submit`` to ``start``. All moments are on one clock.
    """

    submit: TimeColumn
    run: TimeColumn | None = None
    start: TimeColumn | None = None
    end: TimeColumn | None = None
    wait: TimeColumn | None = None
    asked: TimeColumn | None = None
    id: str | None = None  # None: the number of the line
    user: str | None = None
    group: str | None = None
    queue: str | None = None
    amounts: Annotated[dict[str, AmountColumn], says("By resource.")] = {}
    amounts_of: Literal["job", "pod"] = "job"
    pods: str | None = None
    priority: str | None = None
    names: Annotated[tuple[str, ...], says("Of all columns, if the table has no heading.")] = ()
    separator: str = ","
    unknown: Annotated[tuple[str, ...], INTERNAL] = (
        "",
        "NA",
        "NaN",
        "nan",
        "NULL",
        "null",
        "None",
    )

    def columns(self) -> Iterable[str]:
        """Yield the name of each column that is used."""
        times = (self.submit, self.run, self.start, self.end, self.wait, self.asked)
        yield from (column.name for column in times if column)
        yield from (column.name for column in self.amounts.values())
        texts = (self.id, self.user, self.group, self.queue, self.pods, self.priority)
        yield from (name for name in texts if name)


OWN_COLUMNS: Final = ColumnMap(
    id="job_id",
    submit=TimeColumn(name="submit_s"),
    run=TimeColumn(name="run_s"),
    user="user",
    group="group",
    queue="queue",
    amounts={
        GPU: AmountColumn(name="gpus"),
        CPU: AmountColumn(name="cpus"),
        MEMORY: AmountColumn(name="mem_mb", unit="MiB"),
    },
    pods="nodes_or_pods",
    priority="priority",
    wait=TimeColumn(name="obs_wait_s"),
    asked=TimeColumn(name="req_time_s"),
)
"""The CSV of our own. A table with the first three columns is one; the others may be missing."""

OWN_NEEDED: Final = ("job_id", "submit_s", "run_s")
