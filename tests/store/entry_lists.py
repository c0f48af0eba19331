"""Lists of entries that a ledger takes, of every type and with odd names, for laws."""

from collections.abc import Callable

from hypothesis import strategies as st

from fairlead.model.axes import QueueName
from fairlead.usage.entries import (
    Capacity,
    Entry,
    Forgiven,
    Gap,
    Granted,
    Guarantee,
    Held,
    Removed,
    Renamed,
)

RESOURCES = ("cpu", "nvidia.com/gpu")
BEGIN_MS = 1_790_000_000_000

# Commas, quotes, line ends and the word for no limit are what a text form could trip over.
ODD_TEXTS = st.text(alphabet='a,";|\r\n\t=é漢 ', max_size=6) | st.just("unlimited")
QUEUES = st.sampled_from(["a", 'b,"c"', "line\nbreak", "漢 ", "unlimited"]).map(QueueName)
AMOUNTS = st.tuples(st.integers(0, 2**70), st.integers(0, 5000))
TIMES = st.tuples(st.integers(-(2**90), 2**90), st.integers(-5000, 5000))


def _entry(draw: st.DrawFn, at_ms: int, last_ms: int, number: int) -> Entry:
    queue = draw(QUEUES)
    who, reason = draw(ODD_TEXTS), draw(ODD_TEXTS)
    kinds: dict[str, Callable[[], Entry]] = {
        "held": lambda: Held(at_ms=at_ms, queue=queue, user=draw(ODD_TEXTS), amounts=draw(AMOUNTS)),
        "capacity": lambda: Capacity(at_ms=at_ms, amounts=draw(AMOUNTS)),
        "guarantee": lambda: Guarantee(
            at_ms=at_ms, queue=queue, amounts=(draw(st.none() | st.integers(0, 9)), 0)
        ),
        "granted": lambda: Granted(
            at_ms=at_ms, queue=queue, resource_time=draw(TIMES), who=who, reason=reason
        ),
        "forgiven": lambda: Forgiven(
            at_ms=at_ms, queue=draw(st.none() | QUEUES), who=who, reason=reason
        ),
        "renamed": lambda: Renamed(at_ms=at_ms, queue=queue, name=QueueName(f"new {number}")),
        "removed": lambda: Removed(at_ms=at_ms, queue=queue),
        "gap": lambda: Gap(at_ms=at_ms, since_ms=last_ms),
    }
    return kinds[draw(st.sampled_from([*kinds, "held", "held"]))]()


@st.composite
def entry_lists(draw: st.DrawFn) -> list[Entry]:
    """Up to twelve entries in the order of time."""
    found: list[Entry] = []
    at_ms = BEGIN_MS
    for number, step_ms in enumerate(draw(st.lists(st.integers(0, 10**7), max_size=12))):
        found.append(_entry(draw, at_ms + step_ms, at_ms, number))
        at_ms += step_ms
    return found
