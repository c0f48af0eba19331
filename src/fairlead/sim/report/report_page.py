"""The document behind a report: what its page shows of each run, and no more.

Everything is of bounded size, whatever the simulation was: time is cut into as many buckets as a
chart needs, small queues are drawn as one, and long lists are cut with a count of what is left
out. Amounts are in units that people write (cores, GPUs, GiB), rounded to what a chart can show;
the files of the result have every number exactly.
"""

import msgspec

from fairlead.sim.results.about import HistoryMark

Points = list[float]
"""One number for each bucket."""


class ShownResource(msgspec.Struct, frozen=True, kw_only=True):
    """A resource of which some queue held something."""

    name: str
    unit: str  # what one of it is called: GPU, core, GiB
    scale: int  # how many base units that is


class QueueLines(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One queue and one resource over time: averages; None where it is 0 throughout."""

    allocated: Points | None = None
    entitled: Points | None = None
    fair_share: Points | None = None
    usage: Points | None = None  # past use that counts, as a part of the cluster in percent


Lines = dict[str, QueueLines]
"""The lines of one queue, by resource."""


class PlacedQueue(msgspec.Struct, frozen=True, kw_only=True):
    """A queue and where it stands in the tree."""

    name: str
    parent: int | None  # its place in the list of queues


class QueueGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Queues that are shown in one chart; queues are named by their place in the list."""

    title: str
    parent: int | None  # whose children these are; None: not those of one queue
    members: list[int]
    others: list[int]  # queues that are drawn as one
    others_lines: Lines


class WaitBins(msgspec.Struct, frozen=True, kw_only=True):
    """How many jobs of a queue waited how long, by the bins of the page."""

    counts: list[int]


class ListedEvictions(msgspec.Struct, frozen=True, kw_only=True):
    """Evictions, as columns; of too many, some from all of the time."""

    total: int
    at_ms: list[int]  # since the start
    job: list[str]
    queue: list[int | None]  # None: the queue is not in the tree
    pods: list[int]
    cause: list[str]
    beneficiary: list[str]
    why: list[int]  # a place in sentences
    sentences: list[str]


class MeasureColumn(msgspec.Struct, frozen=True, kw_only=True):
    """One column of the table of measures."""

    key: str
    title: str
    form: str  # count, ms, ratio, percent, amount-time
    meaning: str
    by_resource: bool


class MeasureRow(msgspec.Struct, frozen=True, kw_only=True):
    """The measures of the cluster, a queue, a user or a kind, in the order of the columns."""

    name: str
    values: list[float | None]
    by_resource: dict[str, list[float | None]]


class MeasureTable(msgspec.Struct, frozen=True, kw_only=True):
    """The rows of one scope; *left_out* says how many more there are."""

    rows: list[MeasureRow]
    left_out: int


class RunPage(msgspec.Struct, frozen=True, kw_only=True):
    """One run."""

    name: str
    variant: str
    policy: str
    seed: int
    settings: dict[str, str]
    history: HistoryMark | None  # None: nothing was used before the start
    complete: bool
    start_ms: int
    end_ms: int
    bucket_ms: int  # the last one may be shorter
    buckets: int
    queues: list[PlacedQueue]
    groups: list[QueueGroup]
    groups_left_out: int
    lines: dict[str, Lines]  # of the queues that are drawn, by their place
    capacity: dict[str, Points]
    waits: dict[str, WaitBins]  # by place of the queue; "" is the cluster
    evictions: ListedEvictions
    measures: dict[str, MeasureTable]  # by scope: cluster, queue, user, kind


class ReportPage(msgspec.Struct, frozen=True, kw_only=True):
    """All runs of one result."""

    scenario: str
    resources: list[ShownResource]
    columns: list[MeasureColumn]
    wait_edges_ms: list[int]  # where bins end; the last bin has no end
    runs: list[RunPage]
    runs_left_out: int
    complete: bool  # all runs that were asked for are there, each until its end
