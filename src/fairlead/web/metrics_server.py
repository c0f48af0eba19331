"""Serves ``/metrics`` to Prometheus, and nothing else."""

from collections.abc import Callable

from fairlead.store.metrics.exposition import CONTENT_TYPE
from fairlead.web.page_server import Answer, PageServer


class MetricsServer(PageServer):
    """Answers ``GET /metrics`` with what *answer* returns; see `last_good_metrics`."""

    def __init__(self, host: str, port: int, answer: Callable[[], bytes]) -> None:
        """Listen as `PageServer` does. Raises FairleadError if that cannot be."""
        super().__init__(host, port, {"/metrics": lambda: Answer(answer(), CONTENT_TYPE)})

    @property
    def url(self) -> str:
        """Where the metrics are."""
        return f"{self.address}/metrics"
