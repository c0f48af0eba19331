"""The fixed axes on which amounts are measured.

Two things are measured. Pods and nodes have *resources* (cpu, memory, nvidia.com/gpu, ...). Queues
have *quota axes*: a resource, or under flavored quotas a flavor and a resource. A policy may count
several resources on one axis (every vendor's GPU counts as ``gpu``) or a resource on none.

An amount vector is a tuple with one whole number per axis, in the order of the axes. Because the
axes are fixed, a missing entry cannot be confused with zero, nor zero with "no limit" (``None``).
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NewType, TypeAlias

import msgspec

Amounts: TypeAlias = tuple[int, ...]
"""One amount in base units for each axis."""

Limits: TypeAlias = tuple[int | None, ...]
"""One amount for each axis, or None where there is no limit."""

QueueName = NewType("QueueName", str)
WorkloadName = NewType("WorkloadName", str)


class Axis(msgspec.Struct, frozen=True, order=True):
    """A resource that queues share, or one flavor of it."""

    resource: str
    flavor: str | None = None

    def __str__(self) -> str:
        return self.resource if self.flavor is None else f"{self.flavor}/{self.resource}"


class QuotaAxes:
    """The axes of all queues, and on which of them a pod's resources are charged."""

    def __init__(
        self,
        axes: Sequence[Axis],
        *,
        counted_as: Mapping[str, str] | None = None,
        worth: Mapping[str, int] | None = None,
    ):
        """Fix *axes*; ``counted_as`` says which resources are charged under another name.

        ``worth`` is how many base units of the axis one of a resource is, if not one.
        """
        assert len(set(axes)) == len(axes), "an axis is listed once"
        self.axes = tuple(axes)
        self.counted_as = dict(counted_as or {})
        self.worth = dict(worth or {})
        self._index = {(axis.resource, axis.flavor): i for i, axis in enumerate(axes)}
        # Pods come in few sizes, so most charges have been worked out before.
        self._charge = lru_cache(maxsize=4096)(self._charge_anew)
        self.zero: Amounts = (0,) * len(axes)
        self.unlimited: Limits = (None,) * len(axes)

    def __len__(self) -> int:
        return len(self.axes)

    def index(self, resource: str, flavor: str | None = None) -> int | None:
        """Return the axis on which *resource* is charged, or None if no queue counts it."""
        return self._index.get((self.counted_as.get(resource, resource), flavor))

    def charge(
        self, resources: tuple[str, ...], amounts: Amounts, flavors: Mapping[str, str] | None = None
    ) -> Amounts:
        """Return what a queue is charged for *amounts* of *resources*.

        With *flavors*, each resource is charged to the flavor it was given. What no axis counts
        is not charged. Linear: the charge of a sum is the sum of the charges.
        """
        return self._charge(resources, amounts, tuple(flavors.items()) if flavors else ())

    def _charge_anew(
        self, resources: tuple[str, ...], amounts: Amounts, flavors: tuple[tuple[str, str], ...]
    ) -> Amounts:
        given = dict(flavors)
        charged = [0] * len(self.axes)
        for resource, amount in zip(resources, amounts, strict=True):
            place = self.index(resource, given.get(resource))
            if place is not None:
                charged[place] += amount * self.worth.get(resource, 1)
        return tuple(charged)
