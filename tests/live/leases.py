"""The Lease by which replicas of `fairlead run` agree on the one that acts."""

from tests.live.api import Api
from tests.live.installation import LEASE_NAMESPACE

# A leader that stops in order leaves a duration of 1 s; a Lease that is only empty may be that of
# an administrator who took it away from a leader.
RELEASED = {"holderIdentity": "", "leaseDurationSeconds": 1}
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{LEASE_NAMESPACE}/leases"


def release_lease(api: Api, name: str = "fairlead") -> None:
    """Leave a Lease as a leader leaves it that stops in order.

    Then the next leader acts at once. Without a Lease, or with that of a process that was killed,
    it waits 15 s, because there may be another leader.
    """
    if api.find(f"{LEASES}/{name}") is not None:
        api.patch(f"{LEASES}/{name}", {"spec": RELEASED})
        return
    body = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name},
        "spec": {**RELEASED, "leaseTransitions": 0},
    }
    api.create(LEASES, body)
