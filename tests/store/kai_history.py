"""Twelve hours of a cluster as KAI tells them, and the same hours as entries for a ledger.

Times are whole minutes from the beginning of 2026. An hour is missing, a queue comes and goes, a
node is added, and a department is told with all that is below it.
"""

from collections.abc import Callable

from fairlead.model.axes import QueueName
from fairlead.usage.entries import Capacity, Entry, Gap, Guarantee, Held

MINUTE = 60_000
HOUR = 60 * MINUTE
START = 1_767_225_600_000
HOURS = 12
SILENT = range(8 * 60, 9 * 60)  # minutes of which nothing is told
A, B, DEPARTMENT = QueueName("a"), QueueName("b"), QueueName("department")
QUEUES = (A, B, DEPARTMENT)

Value = Callable[[int], object]


def held(queue: QueueName, minute: int) -> tuple[int, int, int] | None:
    """Millicores, bytes and thousandths of a GPU; None: the queue is not there."""
    if queue == DEPARTMENT:
        below = [held(each, minute) or (0, 0, 0) for each in (A, B)]
        return (below[0][0] + below[1][0], below[0][1] + below[1][1], below[0][2] + below[1][2])
    if queue == B and 3 * 60 <= minute < 4 * 60:
        return None
    size = minute // 7 % 5 if queue == A else minute // 45 % 3
    return (size * 1500, size * (2**34 + 1), size * 500 + (250 if queue == A else 0))


def capacity(minute: int) -> tuple[int, int, int]:
    """A second node comes after five hours."""
    nodes = 1 if minute < 5 * 60 else 2
    return (nodes * 64_000, nodes * 2**38, nodes * 8_000)


def guaranteed(queue: QueueName, minute: int) -> tuple[int, int | None, int]:
    """The memory of one queue has no limit; what is due to the other grows after six hours."""
    gpus = 1_000 if minute < 6 * 60 else 1_500
    return (2_000, None if queue == B else 2**35, gpus)


def entries() -> list[Entry]:
    """Everything, minute by minute, without a thought of what has changed."""
    found: list[Entry] = []
    for minute in range(HOURS * 60):
        at_ms = START + minute * MINUTE
        if minute in SILENT:
            continue
        if minute == SILENT.stop:
            since_ms = START + SILENT.start * MINUTE
            found.append(Gap(at_ms=at_ms, since_ms=since_ms))
        found.append(Capacity(at_ms=at_ms, amounts=capacity(minute)))
        for queue in QUEUES:
            limits = guaranteed(queue, minute)
            found.append(Guarantee(at_ms=at_ms, queue=queue, amounts=limits))
            amounts = held(queue, minute) or (0, 0, 0)
            found.append(Held(at_ms=at_ms, queue=queue, amounts=amounts))
    return found


def series() -> list[tuple[str, Value]]:
    """What an exporter would tell, by name; moments are in seconds."""
    told: list[tuple[str, Value]] = []
    names = ("kai_queue_allocated_cpu_cores", "kai_queue_allocated_memory_bytes")
    for place, name in enumerate((*names, "kai_queue_allocated_gpus")):
        told += [(f'{name}{{queue_name="{queue}"}}', _held(queue, place)) for queue in QUEUES]
    names = ("kai_queue_quota_cpu_cores", "kai_queue_quota_memory_bytes")
    for place, name in enumerate((*names, "kai_queue_deserved_gpus")):
        told += [(f'{name}{{queue_name="{queue}"}}', _guaranteed(queue, place)) for queue in QUEUES]
    for place, resource in enumerate(("cpu", "memory", "nvidia_com_gpu")):
        told += [
            (
                f'kube_node_status_capacity{{node="{node}",resource="{resource}"}}',
                _capacity(node, place),
            )
            for node in (0, 1)
        ]
    return told


def _minute(at_s: int) -> int:
    return (at_s * 1000 - START) // MINUTE


def _text(amount: int, place: int) -> str:
    if place == 1:
        return str(amount)
    whole, thousandths = divmod(amount, 1000)
    return f"{whole}.{thousandths:03d}"


def _held(queue: QueueName, place: int) -> Value:
    def value(at_s: int) -> object:
        amounts = None if _minute(at_s) in SILENT else held(queue, _minute(at_s))
        return None if amounts is None else _text(amounts[place], place)

    return value


def _guaranteed(queue: QueueName, place: int) -> Value:
    def value(at_s: int) -> object:
        limit = guaranteed(queue, _minute(at_s))[place]
        return "-1" if limit is None else _text(limit, place)

    return value


def _capacity(node: int, place: int) -> Value:
    def value(at_s: int) -> object:
        minute = _minute(at_s)
        if minute in SILENT or (node == 1 and minute < 5 * 60):
            return None
        return _text(capacity(0)[place], place)

    return value
