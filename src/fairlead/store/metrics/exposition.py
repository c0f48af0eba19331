"""From families to the text that Prometheus reads.

Prometheus keeps every number as a float, so exactness ends here, and only here: whole numbers up to
2^53 and decimals of 15 digits come out as they are.
"""

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Final

from prometheus_client import generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from fairlead.store.metrics.family import Family, Histogram

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


def exposition(families: Sequence[Family | Histogram]) -> bytes:
    """Write *families* in their order; one without samples is left out. Cost: O(samples)."""
    return generate_latest(_Families(families))


class _Families(Collector):
    """Hands the families over in the form that the library wants."""

    def __init__(self, families: Sequence[Family | Histogram]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        for family in self._families:
            if isinstance(family, Histogram):
                yield _histogram(family)
            elif family.samples:
                yield _plain(family)


def _plain(family: Family) -> Metric:
    kind = CounterMetricFamily if family.kind == "counter" else GaugeMetricFamily
    metric = kind(family.name, family.meaning, labels=family.labels)
    for labels, value in family.samples:
        metric.add_metric(labels, float(value))
    return metric


def _histogram(family: Histogram) -> Metric:
    bounds = map(floatToGoString, family.bounds)
    buckets = list(zip(bounds, accumulate(family.counts), strict=True))
    return HistogramMetricFamily(
        family.name, family.meaning, buckets=buckets, sum_value=family.total
    )
