"""Pods that are not ours: what they hold, and which of them matter to where ours may go.

A cluster is full of such pods, on every node the same daemons. Most matter only by what they hold:
no affinity of ours looks at them, they open no port that ours would open, and they repel no pod.
"""

from typing import Final

import msgspec

from fairlead.manifest.core.live_pods import is_placed
from fairlead.manifest.core.node_amounts import amounts_on
from fairlead.manifest.core.objects import PodObject, full_name, pod_id
from fairlead.manifest.core.pod_selectors import PodSelectors
from fairlead.model.foreign_pod import ForeignPod

NO_SELECTORS: Final = PodSelectors()


def foreign_pod(
    pod: PodObject, resources: tuple[str, ...], selectors: PodSelectors = NO_SELECTORS
) -> ForeignPod | None:
    """Return a pod that is not ours with amounts on *resources*; None: it is on no node.

    Of its labels and ports it has only those that *selectors* of our pods select. Law: leaving out
    the rest changes no answer about where one of ours may go. Cost: its labels and ports.
    """
    if pod.node is None or not is_placed(pod):
        return None
    held = ForeignPod(
        id=pod_id(pod),
        name=full_name(pod),
        node=pod.node,
        requests=amounts_on(resources, pod.requests),
        leaving=pod.terminating,
    )
    asked = selectors.labels
    found = [each for each in pod.labels.items() if each[0] in asked] if asked else []
    ports = tuple([port for port in pod.constraints.host_ports if port in selectors.ports])
    repels = pod.constraints.pod_anti_affinity
    if not (found or ports or repels or selectors.select_unlabelled):
        return held
    return msgspec.structs.replace(
        held,
        asked_about=True,
        namespace=pod.namespace,
        labels=tuple(sorted(found)),
        host_ports=ports,
        pod_anti_affinity=repels,
    )
