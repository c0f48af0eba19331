"""A server that tells of a small cluster what a test wants it to, and feeds that ask it."""

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from fairlead.model.axes import QueueName
from fairlead.store.feed.usage_feed import UsageFeed
from fairlead.store.feed.usage_vector import UsageVector
from fairlead.usage.settings import PrometheusSource, UsageRules
from fairlead.usage.window import Tumbling
from tests.store.loopback_server import Request, Response, serving
from tests.store.told_series import Value, labels, range_of

MINUTE = 60_000
HOUR = 60 * MINUTE
START = 1_767_225_600_000
A, B, TOP = QueueName("a"), QueueName("b"), QueueName("top")
PARENTS = {A: TOP, B: TOP, TOP: None}
AXES = ("cpu", "memory", "gpu")
RULES = UsageRules(window=Tumbling(1000 * HOUR, START - 1))


class Script:
    """A cluster of 8 GPUs of which *a* holds 2 and *b* 1; a test may change anything about it.

    Of cores and memory everybody holds none, as KAI says it; how much there is nobody tells.
    """

    def __init__(self) -> None:
        self.url = ""
        self.held: dict[str, Value] = {A: lambda _: 2, B: lambda _: 1}
        self.capacity: Value = lambda _: 8
        self.guaranteed: dict[str, Value] = {}
        self.response: Response | None = None  # in the place of any other
        self.now_ms = START
        self.stopwatch_ms = 0
        self.takes_ms = 0  # each request, by the stopwatch
        self.more: dict[str, object] = {}
        self.asked: list[Request] = []

    def answer(self, request: Request) -> Response:
        self.asked.append(request)
        self.stopwatch_ms += self.takes_ms
        query = request.fields["query"]
        if self.response is not None:
            return self.response
        if query == "kai_queue_allocated_gpus":
            told = {labels(queue_name=name): value for name, value in self.held.items()}
            return range_of(told, request, **self.more)
        if query == "kai_queue_deserved_gpus":
            told = {labels(queue_name=name): value for name, value in self.guaranteed.items()}
            return range_of(told, request)
        if query == 'sum(kube_node_status_capacity{resource="nvidia_com_gpu"})':
            return range_of({(): self.capacity}, request)
        told_of = {"allocated": self.held, "quota": self.guaranteed}
        names = told_of.get(query.split("_")[2], {})
        return range_of({labels(queue_name=name): lambda _: 0 for name in names}, request)

    def shift_time(self) -> None:
        """Answer every question about the two minutes before anything was asked for."""
        fields = {"start": str(START // 1000 - 60), "end": str(START // 1000), "step": "60"}
        then = Request("", fields, "")
        self.response = range_of({labels(queue_name=A): lambda _: 1}, then)

    def feed(
        self, rules: UsageRules = RULES, *, keeps_sums: bool = False, **source: int
    ) -> UsageFeed:
        prometheus = PrometheusSource(url_variable="PROMETHEUS")
        chosen = msgspec.structs.replace(prometheus, **source)
        return UsageFeed(
            rules,
            chosen,
            {"PROMETHEUS": self.url},
            keeps_sums=keeps_sums,
            stopwatch_ms=lambda: self.stopwatch_ms,
        )

    def refresh(self, feed: UsageFeed, now_ms: int) -> None:
        self.now_ms = now_ms
        feed.refresh(now_ms)


@contextmanager
def scripted() -> Iterator[Script]:
    found = Script()
    with serving(found.answer) as url:
        found.url = url
        yield found


def gpus(vector: UsageVector) -> dict[QueueName, int] | None:
    """The last axis, in millionths."""
    if vector.usage is None:
        return None
    assert all(parts[:2] == (0, 0) for parts in vector.usage.values())
    return {name: parts[2] // 1000 for name, parts in vector.usage.items()}


def ask(feed: UsageFeed, now_ms: int) -> UsageVector:
    return feed.vector(now_ms, PARENTS, AXES)
