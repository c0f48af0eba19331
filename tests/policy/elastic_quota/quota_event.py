"""A namespace that gets an ElasticQuota, told in cpus alone."""

from decimal import Decimal

from fairlead.model.axes import QueueName
from fairlead.model.events import Event, QueueChanged
from fairlead.model.queue import ElasticQuota, Queue
from tests.policy.elastic_quota.random_world import AXES


def quota(namespace: str, *, least: int, most: int | None = None) -> Event:
    return QueueChanged(
        Queue(
            name=QueueName(namespace),
            weights=(Decimal(1),) * len(AXES),
            guaranteed=(least, 0, 0),
            ceiling=(most, None, None),
            borrow_limit=AXES.unlimited,
            lend_limit=AXES.unlimited,
            extension=ElasticQuota(),
        )
    )
