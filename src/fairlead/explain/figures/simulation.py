"""Static pictures of a report: what queues held, what was due to each, how long jobs waited.

They show what the page shows, from the same document. The library that draws is an extra, and slow
to load, so it is loaded only here.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from fairlead.errors import FairleadError
from fairlead.explain.figures.drawing import DAY_MS, drawing_with, drawn, finish_panel
from fairlead.explain.text.names import printable, short_name
from fairlead.explain.text.whole_file import write_inside
from fairlead.model.duration import format_duration
from fairlead.sim.report.report_page import Points, QueueLines, ReportPage, RunPage, ShownResource

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Neighbours differ in lightness as well as in colour; the last is for all others together.
COLOURS: Final = tuple("#1b5fa8 #f2b134 #0b7a5f #e88fb4 #6b3fa0 #6cc3e8 #b5421a #8d97a3".split())
OTHERS_COLOUR: Final = "#b9c0c8"
DUE_COLOUR: Final = "#1a1d21"
FAINT_COLOUR: Final = "#555c66"
NAME_COLUMNS: Final = 32


class Drawn(msgspec.Struct, frozen=True, kw_only=True):
    """Which files were written, and what is wrong with them if something is."""

    files: tuple[Path, ...]
    note: str | None


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """A queue of a picture, or several that are drawn as one."""

    name: str
    colour: str
    place: int | None  # None: several
    lines: Mapping[str, QueueLines]


def draw_figures(page: ReportPage, folder: Path, form: str) -> Drawn:
    """Draw all runs of *page* into *folder*, which is made if it is not there.

    Each run has for each resource what queues held and each of them against what was due to it, and
    once how long jobs waited. Equal pages give equal pictures. Raises FairleadError if the library
    is missing or a file cannot be written.
    """
    names = "".join(_shown(queue.name) for run in page.runs for queue in run.queues)
    files = []
    with drawing_with(names + page.scenario, font_size=9) as missing:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as wrong:
            raise FairleadError(f"cannot make {folder}: {wrong.strerror or wrong}") from wrong
        for name, figure in _figures(page):
            file = folder / f"{name}.{form}"
            write_inside(file, [drawn(figure, form)])
            files.append(file)
    return Drawn(files=tuple(files), note=_note(missing, form))


def members_of(run: RunPage) -> list[Member]:
    """Return the queues of the first group of *run*, those that are drawn as one last."""
    group = run.groups[0]
    members = [
        Member(
            name=run.queues[at].name,
            colour=COLOURS[place],
            place=at,
            lines=run.lines[str(at)],
        )
        for place, at in enumerate(group.members)
    ]
    if group.others:
        name = f"{len(group.others)} others"
        others = Member(name=name, colour=OTHERS_COLOUR, place=None, lines=group.others_lines)
        members.append(others)
    return members


def _note(missing: str, form: str) -> str | None:
    if not missing or form == "svg":  # whose text the viewer draws, with fonts of its own
        return None
    letters = short_name(missing, NAME_COLUMNS)
    return f"no installed font has {letters}, so pictures have boxes there: draw --format svg"


def _figures(page: ReportPage) -> Iterator[tuple[str, "Figure"]]:
    for run in page.runs:
        for resource in page.resources:
            kind = re.sub(r"[^A-Za-z0-9.]+", "-", resource.name)
            yield f"{run.name}-held-{kind}", _held(page, run, resource)
            yield f"{run.name}-due-{kind}", _against_due(page, run, resource)
        yield f"{run.name}-waits", _waits(page, run)


def _held(page: ReportPage, run: RunPage, resource: ShownResource) -> "Figure":
    """Draw areas on each other, what is due in all, the capacity, and evictions."""
    figure, (panel,) = _panels(1, 1, (9, 3.6))
    floor = due = [0.0] * run.buckets
    for member in members_of(run):
        roof = list(map(add, floor, _points(member, resource, "allocated", run)))
        due = list(map(add, due, _points(member, resource, "entitled", run)))
        _area(panel, run, floor, roof, member.colour, _shown(member.name))
        floor = roof
    capacity = run.capacity[resource.name]
    _line(panel, run, due, color=DUE_COLOUR, linewidth=1.4, label="due in all")
    _line(panel, run, capacity, color=FAINT_COLOUR, linestyle="--", label="capacity")
    _finish(panel, run, max([*floor, *due, *capacity]))
    _mark_evictions(panel, run)
    _title(panel, page, run, f"{_shown(resource.name)} held, in {resource.unit}")
    panel.legend(
        loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, borderaxespad=0, reverse=True
    )
    return figure


def _mark_evictions(panel: "Axes", run: RunPage) -> None:
    """Put a mark below the time axis for each of those that are listed."""
    marks = [(run.start_ms + at_ms) / DAY_MS for at_ms in run.evictions.at_ms]
    if not marks:
        return
    panel.plot(
        marks,
        [-0.035] * len(marks),
        "|",
        color=DUE_COLOUR,
        markersize=5,
        transform=panel.get_xaxis_transform(),
        clip_on=False,
        label=f"evicted ({run.evictions.total})",
    )
    panel.tick_params(axis="x", pad=9)


def _against_due(page: ReportPage, run: RunPage, resource: ShownResource) -> "Figure":
    """Draw a panel for each queue: what it held as an area, what was due as a line."""
    members = members_of(run)
    columns = 1 if len(members) == 1 else 2
    rows = -(-len(members) // columns)
    figure, panels = _panels(rows, columns, (9, 0.9 + 1.7 * rows))
    lines = {
        member.name: [_points(member, resource, kind, run) for kind in ("allocated", "entitled")]
        for member in members
    }
    top = max((value for each in lines.values() for line in each for value in line), default=0)
    for panel, member in zip(panels, members, strict=False):
        held, due = lines[member.name]
        _area(panel, run, [0.0] * run.buckets, held, member.colour)
        _line(panel, run, due, color=DUE_COLOUR, linewidth=1.4)
        _finish(panel, run, top)
        panel.set_title(_shown(member.name), loc="left", fontsize=10, parse_math=False)
    for panel in panels[len(members) :]:
        panel.set_axis_off()
    text = f"{_shown(resource.name)} held (area) against what was due (line), in {resource.unit}"
    figure.suptitle(
        f"{_about(page, run)}: {text}", x=0.01, ha="left", fontsize=11, parse_math=False
    )
    return figure


def _waits(page: ReportPage, run: RunPage) -> "Figure":
    """Draw for each queue how many jobs waited how long, in bins that grow."""
    members = [member for member in members_of(run) if member.place is not None]
    figure, panels = _panels(len(members), 1, (9, 0.9 + 1.1 * len(members)))
    ends = [format_duration(edge) for edge in page.wait_edges_ms]
    used = [at for at, count in enumerate(run.waits[""].counts) if count]
    last = max([4, *used])
    for panel, member in zip(panels, members, strict=True):
        bins = run.waits.get(str(member.place))
        counts = bins.counts[: last + 1] if bins else [0] * (last + 1)
        panel.bar(range(last + 1), counts, color=member.colour, width=0.9)
        panel.set_ylabel(_shown(member.name), rotation=0, ha="right", va="center", parse_math=False)
        panel.set_xticks([at + 0.5 for at in range(last)], ends[:last])
        panel.tick_params(labelbottom=panel is panels[-1], labelsize=8)
        panel.set_xlim(-0.6, last + 0.6)
        panel.spines[["top", "right"]].set_visible(False)
    panels[-1].set_xlabel("time from submission to the first start")
    text = f"{_about(page, run)}: how many jobs waited how long"
    figure.suptitle(text, x=0.01, ha="left", fontsize=11, parse_math=False)
    return figure


def _panels(
    rows: int, columns: int, size: tuple[float, float]
) -> tuple["Figure", Sequence["Axes"]]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    return figure, list(figure.subplots(rows, columns, sharex=True, squeeze=False).flat)


def _points(member: Member, resource: ShownResource, kind: str, run: RunPage) -> Points:
    points: Points | None = getattr(member.lines[resource.name], kind)
    return [0.0] * run.buckets if points is None else points


def _area(
    panel: "Axes", run: RunPage, floor: Points, roof: Points, colour: str, label: str | None = None
) -> None:
    edges, low, high = _few_steps(_edges(run), floor, roof)
    panel.stairs(high, edges, baseline=low, fill=True, color=colour, label=label)


def _line(panel: "Axes", run: RunPage, points: Points, **style: Any) -> None:
    edges, values = _few_steps(_edges(run), points)
    panel.stairs(values, edges, baseline=None, **style)


def _few_steps(edges: list[float], *lines: Points) -> list[list[float]]:
    """Return edges and lines without the steps at which no line changes: files become small."""
    columns = list(zip(*lines, strict=True))
    kept = [at for at, column in enumerate(columns) if at == 0 or column != columns[at - 1]]
    return [
        [edges[at] for at in kept] + edges[-1:],
        # All bytes of a cluster may be a whole number that the library cannot take as one.
        *([float(line[at]) for at in kept] for line in lines),
    ]


def _edges(run: RunPage) -> list[float]:
    """Where buckets begin and the last one ends, in days, as the library counts."""
    edges = [min(run.end_ms, run.start_ms + at * run.bucket_ms) for at in range(run.buckets + 1)]
    edges[-1] = max(edges[-1], edges[0] + 1)
    return [edge / DAY_MS for edge in edges]


def _finish(panel: "Axes", run: RunPage, top: float) -> None:
    edges = _edges(run)
    panel.set_xlim(edges[0], edges[-1])
    panel.set_ylim(0, top * 1.06 or 1)
    finish_panel(panel, is_dated=run.start_ms >= DAY_MS)


def _title(panel: "Axes", page: ReportPage, run: RunPage, text: str) -> None:
    panel.set_title(f"{_about(page, run)}: {text}", loc="left", fontsize=11, parse_math=False)


def _about(page: ReportPage, run: RunPage) -> str:
    partial = "" if run.complete else " (partial)"
    return f"{_shown(page.scenario)}, {_shown(run.name)}{partial}"


def _shown(name: str) -> str:
    return short_name(printable(name), NAME_COLUMNS)
