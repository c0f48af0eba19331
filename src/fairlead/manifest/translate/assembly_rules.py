"""What an assembly makes of objects that are not complete: in files, and in a live cluster."""

from typing import Final, Literal

import msgspec


class AssemblyRules(msgspec.Struct, frozen=True, kw_only=True):
    """How to take objects that name others.

    ``missing_group``: a pod that names a PodGroup which is not there runs *alone*, because a user
    may have left the group out of a file; or it *waits*, because a cluster may show pods before
    their group.

    ``queue_totals``: where no pods are there at all, the status of queues says what they ask for
    and have. Pods may have been left out of a file; a cluster without pods asks for nothing.
    """

    missing_group: Literal["alone", "waits"] = "alone"
    queue_totals: bool = True


OF_FILES: Final = AssemblyRules()
OF_A_CLUSTER: Final = AssemblyRules(missing_group="waits", queue_totals=False)
