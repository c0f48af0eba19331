"""On which nodes the pods around allow a pod: required pod affinity and anti-affinity.

As in Kubernetes. A node is in the domains that its labels say. A pod with affinity goes where, for
each of its terms, a pod is in the node's domain that *all* of its terms mean; if there is no such
pod in any domain and the pod is itself what it asks for, it is the first and needs only a node with
those labels. A pod with anti-affinity goes where no pod is in the domain that the term means, and
keeps such pods away once it is there, whatever they ask for. A node without the label is in no
domain, so it fails every affinity and passes every anti-affinity. Pods count while they hold a
node, whoever schedules them: also those that are leaving, and those that have a reservation.
"""

from collections.abc import Sequence
from typing import Final

from fairlead.model.node import Node
from fairlead.model.state import ClusterState
from fairlead.model.workload import Workload
from fairlead.placement.pod_domains import PodCount, PodDomains


class PodsAround:
    """What the pods that are placed now allow one more pod. Good until the state changes."""

    __slots__ = ("_apart_from", "_is_first", "_near", "_repelled_by")

    def __init__(
        self,
        *,
        near: PodCount | None = None,
        is_first: bool = False,
        apart_from: Sequence[PodCount] = (),
        repelled_by: Sequence[PodCount] = (),
    ) -> None:
        """Take in where the pods are that matter; *is_first*: being near nobody is allowed."""
        self._near = near
        self._is_first = is_first
        self._apart_from = apart_from
        self._repelled_by = repelled_by

    @property
    def allow_all(self) -> bool:
        """Whether no node can have a defect, so that none needs to be asked about."""
        return self._near is None and not self._apart_from and not self._repelled_by

    def defect(self, node: Node) -> str | None:
        """Return why the pods around *node* do not allow the pod there; None if they do.

        The text goes on after "3 of 8 nodes". Cost: a look-up for each term that matters.
        """
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


_ALL: Final = PodsAround()


class PodAffinity:
    """Judges pod after pod of one state, and remembers what it found."""

    def __init__(self, state: ClusterState) -> None:
        """Follow *state* through all its changes, trials and their undoing included."""
        self._domains = PodDomains(state)

    def around(self, workload: Workload, pod_set: int) -> PodsAround:
        """Return what the placed pods allow one more pod of a set of *workload*.

        Law: equals looking at every placed pod. Cost: a look at the nodes that changed since the
        last call, and where no pod has terms, nothing besides.
        """
        asked = workload.pod_sets[pod_set]
        near, apart_from = asked.constraints.pod_affinity, asked.constraints.pod_anti_affinity
        domains = self._domains
        if not near and not apart_from and not domains.has_repelling():
            return _ALL
        pod_count = domains.meant_by(near) if near else None
        repelled_by = [each for each in domains.repelling(workload, pod_set) if each.domains]
        return PodsAround(
            near=pod_count,
            is_first=pod_count is not None
            and not pod_count.domains
            and domains.means(near, workload.namespace, dict(asked.labels)),
            apart_from=[domains.meant_by((term,)) for term in apart_from],
            # In an order that does not depend on which of them was met first.
            repelled_by=sorted(repelled_by, key=lambda each: each.keys),
        )


def _shared_key(node: Node, pod_counts: Sequence[PodCount]) -> str | None:
    """Return the first topology key by which *node* is in a domain of *pod_counts*."""
    for pod_count in pod_counts:
        for key in pod_count.keys:
            value = node.labels.get(key)
            if value is not None and (key, value) in pod_count.domains:
                return key
    return None
