"""From families to the text that Prometheus reads.

Prometheus keeps every number as a float, so exactness ends here, and only here: whole numbers up to
2^53 and decimals of 15 digits come out as they are.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from prometheus_client import generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from fairlead.store.metrics.family import Family

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


def exposition(families: Sequence[Family]) -> bytes:
    """Write *families* in their order; one without samples is left out. Cost: O(samples)."""
    return generate_latest(_Gauges(families))


class _Gauges(Collector):
    """Hands the families over in the form that the library wants."""

    def __init__(self, families: Sequence[Family]) -> None:
        self._families = families

    def collect(self) -> Iterable[GaugeMetricFamily]:
        for family in self._families:
            if family.samples:
                gauge = GaugeMetricFamily(family.name, family.meaning, labels=family.labels)
                for labels, value in family.samples:
                    gauge.add_metric(labels, float(value))
                yield gauge
