"""A pod that is not ours to schedule, as far as it matters to where ours may go."""

import msgspec

from fairlead.model.selector import PodTerm


class ForeignPod(msgspec.Struct, frozen=True, kw_only=True):
    """Another scheduler's pod on a node: whom it attracts, whom it keeps away, what it opens.

    What it holds is in the node's ``occupied``. Its own affinity binds nobody else.
    """

    namespace: str
    labels: tuple[tuple[str, str], ...] = ()
    host_ports: tuple[tuple[str, int], ...] = ()  # protocol and port
    pod_anti_affinity: tuple[PodTerm, ...] = ()
    leaving: bool = False
