"""On which nodes the pods around allow a pod: required pod affinity and anti-affinity.

As in Kubernetes. A node is in the domains that its labels say. A pod with affinity goes where, for
each of its terms, a pod is in the node's domain that *all* of its terms mean; if there is no such
pod in any domain and the pod is itself what it asks for, it is the first and needs only a node with
those labels. A pod with anti-affinity goes where no pod is in the domain that the term means, and
keeps such pods away once it is there, whatever they ask for. A node without the label is in no
domain, so it fails every affinity and passes every anti-affinity.

Like room, all of this is asked about two times. *Now* the pods count that run, whoever schedules
them, those that are leaving included. *Later* the pods count that stay, and those that have a
reservation. So nobody is started beside a pod that is still to come, or promised a place beside one
that will be gone, and who must keep away from a pod that is leaving waits for it to leave.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from fairlead.model.node import Node
from fairlead.model.state import ClusterState
from fairlead.model.workload import Workload
from fairlead.placement.pod_domains import DomainCounts, PodDomains


class _Neighbours:
    """What the pods that are around at one time allow one more pod."""

    __slots__ = ("_apart_from", "_is_first", "_near", "_repelled_by")

    def __init__(
        self,
        *,
        near: DomainCounts | None = None,
        means_itself: bool = False,
        apart_from: Sequence[DomainCounts] = (),
        repelled_by: Iterable[DomainCounts] = (),
    ) -> None:
        """Take in where the pods are that matter; *means_itself*: the pod is what it asks for."""
        self._near = near
        self._is_first = means_itself and near is not None and not near.domains
        self._apart_from = apart_from
        # In an order that does not depend on which of them was met first.
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
    """What the placed pods allow one more pod, now and later. Good until the state changes."""

    __slots__ = ("_later", "_now", "allow_all")

    def __init__(self, now: _Neighbours, later: _Neighbours) -> None:
        """Take in who is around now, and who will be."""
        self._now = now
        self._later = later
        self.allow_all: Final = now.allow_all and later.allow_all
        """Whether no node can have anything against it, so that none needs to be asked about."""

    def defect(self, node: Node) -> str | None:
        """Return why the pods around *node* will not allow the pod there; None if they will.

        The text goes on after "3 of 8 nodes". Cost: a look-up for each term that matters.
        """
        return self._later.defect(node)

    def holds_now(self, node: Node) -> bool:
        """Return whether the pods that are around *node* now allow the pod there.

        It may start there if they will do so later as well. Cost: as of `defect`.
        """
        return self._now.defect(node) is None


_ALL: Final = PodsAround(_Neighbours(), _Neighbours())


class PodAffinity:
    """Judges pod after pod of one state, and remembers what it found."""

    def __init__(self, state: ClusterState) -> None:
        """Follow *state* through all its changes, trials and their undoing included."""
        self._domains = PodDomains(state)

    def around(self, workload: Workload, pod_set: int) -> PodsAround:
        """Return what the placed pods allow one more pod of a set of *workload*.

        Law: equals looking at every placed pod, at both times. Cost: a look at the nodes that
        changed since the last call, and where no pod has terms, nothing besides.
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
    """Return the first topology key by which *node* is in a domain of *counts*."""
    for each in counts:
        for key in each.keys:
            value = node.labels.get(key)
            if value is not None and (key, value) in each.domains:
                return key
    return None
