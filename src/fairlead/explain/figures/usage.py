"""A picture of what queues held over time: a panel for each resource, a line for each queue.

The library that draws is an extra, and slow to load, so it is loaded only here.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from fairlead.explain.figures.drawing import drawing_with, drawn, finish_panel
from fairlead.explain.text.amounts import by_interest
from fairlead.explain.text.names import printable, short_name
from fairlead.explain.text.whole_file import write_whole
from fairlead.model.axes import Axis, QueueName
from fairlead.model.quantity import is_memory_like, scale_of
from fairlead.usage.entries import Capacity, Entry, Forgiven, Gap, Held, Removed, Renamed
from fairlead.usage.ledger import Ledger
from fairlead.usage.queue_use import Sums
from fairlead.usage.settings import DAY_MS
from fairlead.usage.window import Tumbling

Points = list[float | None]
"""One average for each stretch; None where nothing is known of all of it."""


class HeldOverTime(msgspec.Struct, frozen=True, kw_only=True):
    """Averages for drawing, in base units: lists of points, one list for each resource."""

    begin_ms: int
    end_ms: int
    count: int  # of stretches
    queues: Mapping[str, list[Points]]
    capacity: list[Points]


# These two are followed like queues, whose names are never empty and have no control characters.
_KNOWN: Final = QueueName("")  # held one of everything whenever anything is known
_CAPACITY: Final = QueueName("\0")


def held_over_time(
    entries: Iterable[Entry], width: int, begin_ms: int, end_ms: int, count: int
) -> HeldOverTime:
    """Return averages of what was held between two moments, in *count* equal stretches.

    *entries* begin with the levels at *begin_ms*, and have *width* resources. Law: an average times
    its known time is what was held in it. Cost: O(entries + queues times stretches).
    """
    length_ms = max(1, -(-(end_ms - begin_ms) // count))  # rounded up: the end is in
    window = Tumbling(length_ms * count + 1, begin_ms)  # from the begin on, at every end
    ledger = Ledger(tuple(map(str, range(width))), window)
    ledger.take(Held(at_ms=begin_ms, queue=_KNOWN, amounts=(1,) * width))
    sums: dict[QueueName, list[Sums]] = {}
    edges_ms = [min(begin_ms + (at + 1) * length_ms, end_ms) for at in range(count)]
    for at, (edge_ms, told) in enumerate(_by_stretch(entries, edges_ms)):
        for entry in told:
            ledger.take(entry)
            if isinstance(entry, Renamed) and entry.queue in sums:
                sums[entry.name] = sums.pop(entry.queue)
        for name, use in ledger.usage(edge_ms).queues.items():
            sums.setdefault(name, [(0,) * width] * at).append(use.all)
        ledger.take(Forgiven(at_ms=edge_ms, queue=None, who="", reason=""))  # count from 0 again
    known = sums.pop(_KNOWN)
    capacity = sums.pop(_CAPACITY, [(0,) * width] * count)
    return HeldOverTime(
        begin_ms=begin_ms,
        end_ms=begin_ms + length_ms * count,
        count=count,
        queues={name: _points(each, known) for name, each in sums.items()},
        capacity=_points(capacity, known),
    )


def _by_stretch(
    entries: Iterable[Entry], edges_ms: Sequence[int]
) -> Iterator[tuple[int, list[Entry]]]:
    """Yield the end of each stretch, and what was told of held amounts before it.

    A gap is known at its end, so it is cut where a stretch ends within it.
    """
    coming = iter(entries)
    entry = next(coming, None)
    for edge_ms in edges_ms:
        told: list[Entry] = []
        while entry is not None:
            begin_ms = entry.since_ms if isinstance(entry, Gap) else entry.at_ms
            if begin_ms >= edge_ms:
                break
            if isinstance(entry, Gap) and entry.at_ms > edge_ms:
                told.append(Gap(at_ms=edge_ms, since_ms=begin_ms))
                entry = Gap(at_ms=entry.at_ms, since_ms=edge_ms)
                break
            if isinstance(entry, Capacity):
                told.append(Held(at_ms=entry.at_ms, queue=_CAPACITY, amounts=entry.amounts))
            elif isinstance(entry, Held | Removed | Renamed | Gap):
                told.append(entry)
            entry = next(coming, None)
        yield edge_ms, told


def _points(sums: Sequence[Sums], known: Sequence[Sums]) -> list[Points]:
    """Return the averages of each resource, from what was held in each stretch."""
    return [
        [held / known_ms if known_ms else None for held, known_ms in zip(*both, strict=True)]
        for both in zip(zip(*sums, strict=True), zip(*known, strict=True), strict=True)
    ]


if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_LINES: Final = 7
"""More lines than that cannot be told apart; the smaller ones are drawn as one."""

# Distinct also without seeing red and green, and dark enough on white.
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

    The queues and their colours are the same in all panels; a queue that held nothing has no line.
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
