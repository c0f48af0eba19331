"""A picture of what queues held over time: a panel for each resource, a line for each queue.

The library that draws is an extra, and slow to load, so it is loaded only here.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from fairlead.explain.figures.drawing import drawing_with, drawn, finish_panel
from fairlead.explain.text.amounts import by_interest
from fairlead.explain.text.names import printable, short_name
from fairlead.explain.text.whole_file import write_whole
from fairlead.model.axes import Axis
from fairlead.model.quantity import is_memory_like, scale_of
from fairlead.usage.entries import Capacity, Entry, Gap, Held, Removed, Renamed
from fairlead.usage.settings import DAY_MS

Points = list[float | None]
"""One average for each stretch; None where nothing is known of all of it."""


class HeldOverTime(msgspec.Struct, frozen=True, kw_only=True):
    """Averages for drawing, in base units: lists of points, one list for each resource."""

    begin_ms: int
    end_ms: int
    count: int  # of stretches
    queues: dict[str, list[Points]]
    capacity: list[Points]


class _Track:
    """Sums a level over stretches of time."""

    def __init__(self, width: int, count: int) -> None:
        self.levels: dict[str, tuple[int, ...]] = {}  # by user
        self.since_ms = 0
        self.sums = [[0] * count for _ in range(width)]


class _Tracks:
    """All tracks, and the stretches into which their time is cut."""

    def __init__(self, begin_ms: int, end_ms: int, count: int, width: int) -> None:
        self.begin_ms = begin_ms
        self.length_ms = max(1, -(-(end_ms - begin_ms) // count))  # rounded up: the end is in
        self.end_ms = begin_ms + self.length_ms * count
        self.count = count
        self.width = width
        self.queues: dict[str, _Track] = {}
        self.capacity = _Track(width, count)
        self.gaps = _Track(1, count)

    def of(self, queue: str) -> _Track:
        if queue not in self.queues:
            self.queues[queue] = _Track(self.width, self.count)
        return self.queues[queue]

    def charge(self, track: _Track, until_ms: int) -> None:
        """Add what *track* held since it was last charged to the stretches that it crosses."""
        begin_ms, until_ms = max(track.since_ms, self.begin_ms), min(until_ms, self.end_ms)
        track.since_ms = max(track.since_ms, until_ms)
        held = [sum(each) for each in zip(*track.levels.values(), strict=True)]
        while begin_ms < until_ms and any(held):
            at = (begin_ms - self.begin_ms) // self.length_ms
            next_ms = min(until_ms, self.begin_ms + (at + 1) * self.length_ms)
            for sums, level in zip(track.sums, held, strict=True):
                sums[at] += level * (next_ms - begin_ms)
            begin_ms = next_ms

    def take(self, entry: Entry) -> None:
        match entry:
            case Held():
                track = self.of(entry.queue)
                self.charge(track, entry.at_ms)
                track.levels[entry.user] = entry.amounts
            case Capacity():
                self.charge(self.capacity, entry.at_ms)
                self.capacity.levels[""] = entry.amounts
            case Removed() if entry.queue in self.queues:
                self.charge(self.queues[entry.queue], entry.at_ms)
                self.queues[entry.queue].levels.clear()
            case Renamed() if entry.queue in self.queues:
                self.queues[entry.name] = self.queues.pop(entry.queue)
            case Gap():
                self._skip(entry)

    def _skip(self, gap: Gap) -> None:
        for track in (*self.queues.values(), self.capacity):
            self.charge(track, gap.since_ms)
            track.since_ms = gap.at_ms
        self.gaps.since_ms = gap.since_ms
        self.gaps.levels[""] = (1,)
        self.charge(self.gaps, gap.at_ms)
        self.gaps.levels.clear()

    def points(self, track: _Track, end_ms: int) -> list[Points]:
        self.charge(track, end_ms)
        ends = [self.begin_ms + (at + 1) * self.length_ms for at in range(self.count)]
        known = [
            min(end, end_ms) - (end - self.length_ms) - gap
            for end, gap in zip(ends, self.gaps.sums[0], strict=True)
        ]
        return [
            [total / ms if ms > 0 else None for total, ms in zip(sums, known, strict=True)]
            for sums in track.sums
        ]


def held_over_time(
    entries: Iterable[Entry], width: int, begin_ms: int, end_ms: int, count: int
) -> HeldOverTime:
    """Return averages of what was held between two moments, in *count* equal stretches.

    *entries* begin with the levels at *begin_ms*, and have *width* resources. Law: an average times
    its known time is what was held in it. Cost: O(entries + queues times stretches).
    """
    tracks = _Tracks(begin_ms, end_ms, count, width)
    for entry in entries:
        if entry.at_ms > end_ms:
            break
        tracks.take(entry)
    return HeldOverTime(
        begin_ms=begin_ms,
        end_ms=tracks.end_ms,
        count=count,
        queues={name: tracks.points(track, end_ms) for name, track in tracks.queues.items()},
        capacity=tracks.points(tracks.capacity, end_ms),
    )


if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_LINES: Final = 7
"""More lines than that cannot be told apart; the smaller ones are drawn as one."""

# Told apart also by who does not see red and green, and dark enough on white.
COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#a67c00", "#56b4e9", "#5d3a9b")
OTHERS_COLOUR: Final = "#777777"
CAPACITY: Final = "(capacity)"
CAPACITY_COLOUR: Final = "#bbbbbb"
MOST_HEADROOM: Final = 3
"""A capacity of more than so many times what was held is written in words."""
LABEL_HEIGHT: Final = 0.085  # of a panel
LABEL_COLUMNS: Final = 28  # a quarter of the width, whatever the name
TITLE_COLUMNS: Final = 60
GIB: Final = 2**30

Line = tuple[str, str, Points]
"""A name, a colour, and the points."""


def draw_usage(held: HeldOverTime, resources: tuple[str, ...], file: Path) -> str | None:
    """Draw averages into *file*, whose ending says whether as SVG or PNG.

    Resources without usage are left out. Raises FairleadError if the library is missing or the
    file cannot be written, and leaves what was there. Equal input gives equal pictures. Letters
    that no installed font has are boxes in a PNG: then the text to tell of it is returned.
    """
    shown = [place for place in _places(resources) if _is_held(held, place)]
    labels = [_label_text(name) for place in shown for name, _, _ in lines_of(held, place)]
    titles = [_title_text(resources[place]) for place in shown]
    form = file.suffix.lower().removeprefix(".")
    with drawing_with("".join([*labels, *titles])) as missing:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(9, 1.0 + 2.6 * max(1, len(shown))), layout="constrained")
        panels = figure.subplots(max(1, len(shown)), sharex=True, squeeze=False)[:, 0]
        for panel, place in zip(panels, shown, strict=False):
            _draw_panel(panel, held, resources[place], place)
        if not shown:
            panels[0].set_title("no usage", loc="left")
            panels[0].set_axis_off()
        data = drawn(figure, form)
    write_whole(file, [data])
    if not missing or form == "svg":  # whose text the viewer draws, with fonts of its own
        return None
    return (
        f"no installed font has {short_name(missing, LABEL_COLUMNS)}, so the picture has boxes "
        "there: install one, or draw an .svg"
    )


def lines_of(held: HeldOverTime, place: int) -> list[Line]:
    """Return a line for each queue that held most, and one for all others together.

    The queues and their colours are the same in all panels; who held nothing has no line.
    """
    names = _by_use(held)
    count = MOST_LINES if len(names) <= MOST_LINES else MOST_LINES - 1
    coloured = zip(names[:count], COLOURS, strict=False)
    lines = [(name, colour, held.queues[name][place]) for name, colour in coloured]
    rest = [held.queues[name][place] for name in names[count:]]
    if rest:
        together = [_sum(points) for points in zip(*rest, strict=True)]
        lines.append((f"({len(rest)} others)", OTHERS_COLOUR, together))
    return [line for line in lines if _total(line[2])]


def label_heights(wanted: Sequence[float], apart: float) -> list[float]:
    """Return heights near the *wanted* ones that are at least *apart*, in the same order.

    They stay between 0 and 1 while there is room for all.
    """
    order = sorted(range(len(wanted)), key=lambda at: wanted[at])
    heights = list(wanted)
    floor = 0.0
    for at in order:
        heights[at] = floor = max(heights[at], floor)
        floor += apart
    ceiling = 1.0
    for at in reversed(order):
        heights[at] = ceiling = min(heights[at], ceiling)
        ceiling -= apart
    return heights


def _by_use(held: HeldOverTime) -> list[str]:
    def greatest_part(name: str) -> float:
        totals = [_total(points) for points in held.queues[name]]
        return max(
            (used / whole for used, whole in zip(totals, everything, strict=True) if whole),
            default=0,
        )

    everything = [sum(each) for each in zip(*_totals(held), strict=True)]
    return sorted(held.queues, key=lambda name: (-greatest_part(name), name))


def _totals(held: HeldOverTime) -> list[list[float]]:
    return [[_total(points) for points in each] for each in held.queues.values()]


def _total(points: Points) -> float:
    return sum(each or 0 for each in points)


def _sum(points: Sequence[float | None]) -> float | None:
    known = [each for each in points if each is not None]
    return sum(known) if known else None


def _places(resources: tuple[str, ...]) -> list[int]:
    ordered = by_interest(Axis(name) for name in resources)
    return [resources.index(axis.resource) for axis in ordered]


def _is_held(held: HeldOverTime, place: int) -> bool:
    return any(_total(points[place]) for points in held.queues.values())


def _draw_panel(panel: "Axes", held: HeldOverTime, resource: str, place: int) -> None:
    size = GIB if is_memory_like(resource) else scale_of(resource)
    title = _title_text(resource)
    lines = lines_of(held, place)
    capacity = held.capacity[place]
    most = _highest(points for _, _, points in lines)
    if _highest([capacity]) > MOST_HEADROOM * most:
        title += f", of {_last(capacity) / size:g}"  # its line would press all others flat
    elif _total(capacity):
        lines.append((CAPACITY, CAPACITY_COLOUR, capacity))
    top = _highest(points for _, _, points in lines) / size * 1.08
    _draw_lines(panel, held, lines, size)
    panel.set_ylim(0, top)
    _label(panel, lines, size * top)
    panel.set_title(title, loc="left", fontsize=11, parse_math=False)
    finish_panel(panel, is_dated=True)


def _draw_lines(panel: "Axes", held: HeldOverTime, lines: Sequence[Line], size: int) -> None:
    edges = [_day(held, at) for at in range(held.count + 1)]
    panel.set_xlim(edges[0], edges[-1])
    for name, colour, points in lines:
        values = [float("nan") if each is None else each / size for each in points]
        style = "--" if name == CAPACITY else "-"
        panel.stairs(values, edges, baseline=None, color=colour, linewidth=1.8, linestyle=style)


def _highest(lines: Iterable[Points]) -> float:
    return max((each or 0 for points in lines for each in points), default=0)


def _last(points: Points) -> float:
    return next((each for each in reversed(points) if each is not None), 0)


def _label(panel: "Axes", lines: Sequence[Line], top: float) -> None:
    """Write each name where its line ends, moved apart where they would overlap."""
    heights = label_heights([_last(points) / top for _, _, points in lines], LABEL_HEIGHT)
    for (name, colour, _), height in zip(lines, heights, strict=True):
        panel.annotate(
            _label_text(name),
            (1.01, height),
            xycoords="axes fraction",
            color=OTHERS_COLOUR if name == CAPACITY else colour,
            fontsize=9,
            verticalalignment="center",
            annotation_clip=False,
            parse_math=False,
        )


def _label_text(name: str) -> str:
    return short_name(printable(name), LABEL_COLUMNS)


def _title_text(resource: str) -> str:
    unit = " (GiB)" if is_memory_like(resource) else ""
    return short_name(printable(resource), TITLE_COLUMNS) + unit


def _day(held: HeldOverTime, at: int) -> float:
    """Where a stretch begins, in days since 1970, which is how the library counts time."""
    at_ms = held.begin_ms + (held.end_ms - held.begin_ms) * at // held.count
    return at_ms / DAY_MS
