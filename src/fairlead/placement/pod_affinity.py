"""On which nodes other pods allow a pod: required pod affinity and anti-affinity.

As in Kubernetes. The labels of a node say in which domains it is. A pod with affinity needs, for
each of its terms, a pod in the node's domain that *all* of its terms match; if there is no such pod
in any domain and the terms match the pod itself, it is the first one and needs only a node with
those labels. A pod with anti-affinity needs a domain without a pod that the term matches, and keeps
such pods away once it is there, whatever their own terms. A node without the label is in no domain,
so it fails every affinity and passes every anti-affinity.

Like room, this is evaluated at two times. *Now* all running pods count, of any scheduler, and
terminating ones too. *Later* the pods that stay and those with a reservation count. So no pod is
started beside one that is still to come, or reserved a place beside one that will be gone; and a
pod that must keep away from a terminating one waits until that is gone.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from fairlead.model.node import Node
from fairlead.model.state import ClusterState
from fairlead.model.workload import Workload
from fairlead.placement.pod_domains import DomainCounts, PodDomains


class _Neighbours:
    """What the pods that are placed at one time allow one more pod."""

    __slots__ = ("_apart_from", "_is_first", "_near", "_repelled_by")

    def __init__(
        self,
        *,
        near: DomainCounts | None = None,
        means_itself: bool = False,
        apart_from: Sequence[DomainCounts] = (),
        repelled_by: Iterable[DomainCounts] = (),
    ) -> None:
        """Read where the matching pods are; *means_itself*: the terms match the pod itself."""
        self._near = near
        self._is_first = means_itself and near is not None and not near.domains
        self._apart_from = apart_from
        # In an order that does not depend on which one was found first.
        self._repelled_by = sorted(
            [each for each in repelled_by if each.domains], key=lambda each: each.keys
        )

    @property
    def allow_all(self) -> bool:
        return self._near is None and not self._apart_from and not self._repelled_by

    def defect(self, node: Node) -> str | None:
        if self._near is not None:
            for near_key in self._near.keys:
                value = node.labels.get(near_key)
                if value is None:
                    return f"lack the label {near_key} of the pod affinity"
                if not self._is_first and (near_key, value) not in self._near.domains:
                    return f"are in no {near_key} with a pod that the pod affinity asks for"
        key = _shared_key(node, self._apart_from)
        if key is not None:
            return f"are in one {key} with a pod that the pod anti-affinity excludes"
        key = _shared_key(node, self._repelled_by)
        if key is not None:
            return f"are in one {key} with a pod whose anti-affinity excludes this one"
        return None


class PodsAround:
    """What the placed pods allow one more pod, now and later; valid until the state changes."""

    __slots__ = ("_later", "_now", "allow_all")

    def __init__(self, now: _Neighbours, later: _Neighbours) -> None:
        """Read which pods count now, and which will."""
        self._now = now
        self._later = later
        self.allow_all: Final = now.allow_all and later.allow_all
        """Whether other pods can rule out no node, so that no node needs a check."""

    def defect(self, node: Node) -> str | None:
        """Return why other pods will not allow the pod on *node*; None if they will.

        The text follows "3 of 8 nodes". Cost: a look-up for each term that matters.
        """
        return self._later.defect(node)

    def holds_now(self, node: Node) -> bool:
        """Return whether the pods that are placed now allow the pod on *node*.

        It may start there if they will do so later as well. Cost: that of `defect`.
        """
        return self._now.defect(node) is None


_ALL: Final = PodsAround(_Neighbours(), _Neighbours())


class PodAffinity:
    """Evaluates affinity for pods of one state, and caches what it found."""

    def __init__(self, state: ClusterState) -> None:
        """Follow *state* through all its changes, including trials and their undoing."""
        self._domains = PodDomains(state)

    def around(self, workload: Workload, pod_set: int) -> PodsAround:
        """Return what the placed pods allow one more pod of a pod set of *workload*.

        Law: equal to examining every placed pod, at both times. Cost: the nodes that changed since
        the last call, and nothing else if no pod has terms.
        """
        asked = workload.pod_sets[pod_set]
        near, apart_from = asked.constraints.pod_affinity, asked.constraints.pod_anti_affinity
        domains = self._domains
        if not near and not apart_from and not domains.has_repelling():
            return _ALL
        wanted = domains.meant_by(near) if near else None
        means_itself = bool(near) and domains.means(near, workload.namespace, dict(asked.labels))
        unwanted = [domains.meant_by((term,)) for term in apart_from]
        repelling = domains.repelling(workload, pod_set)
        return PodsAround(
            now=_Neighbours(
                near=wanted.now if wanted else None,
                means_itself=means_itself,
                apart_from=[each.now for each in unwanted],
                repelled_by=[each.now for each in repelling],
            ),
            later=_Neighbours(
                near=wanted.later if wanted else None,
                means_itself=means_itself,
                apart_from=[each.later for each in unwanted],
                repelled_by=[each.later for each in repelling],
            ),
        )


def _shared_key(node: Node, counts: Sequence[DomainCounts]) -> str | None:
    """Return the first topology key on which *node* is in a domain of *counts*."""
    for each in counts:
        for key in each.keys:
            value = node.labels.get(key)
            if value is not None and (key, value) in each.domains:
                return key
    return None
