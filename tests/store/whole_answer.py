"""A client of a server on this machine, and its answer as one, however it came."""

import json
from decimal import Decimal

import pytest

from fairlead.errors import StoreError
from fairlead.store.prometheus.answer import Answer, Series
from fairlead.store.prometheus.client import PrometheusClient
from fairlead.usage.settings import Credentials, PrometheusSource
from tests.store.told_series import labels

MINUTE = 60_000
START = 1_767_225_600_000
A = labels(queue_name="a")


def client_of(
    url: str, credentials: Credentials | None = None, timeout_ms: int = 10_000
) -> PrometheusClient:
    source = PrometheusSource(
        url=url, credentials=credentials or Credentials(), query_timeout_ms=timeout_ms
    )
    return PrometheusClient(source, {})


def whole(client: PrometheusClient, query: str, begin_ms: int, end_ms: int, step_ms: int) -> Answer:
    """All pieces of an answer as one."""
    samples: dict[str, list[tuple[int, Decimal]]] = {}
    warnings: list[str] = []
    for answer in client.range(query, begin_ms, end_ms, step_ms):
        warnings += answer.warnings
        for series in answer.series:
            samples.setdefault(json.dumps(series.labels), []).extend(series.samples)
    joined = [Series(labels=json.loads(each), samples=found) for each, found in samples.items()]
    return Answer(series=joined, warnings=tuple(warnings))


def problem_of(url: str, credentials: Credentials | None = None, timeout_ms: int = 10_000) -> str:
    with pytest.raises(StoreError) as problem:
        whole(client_of(url, credentials, timeout_ms), "up", START, START + MINUTE, MINUTE)
    return str(problem.value)
