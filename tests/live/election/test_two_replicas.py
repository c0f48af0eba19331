"""Two processes of `fairlead run` on one cluster, with the durations that are in use."""

from tests.live.api import Api, Object
from tests.live.conftest import StartFairlead
from tests.live.leases import LEASES
from tests.live.nodes import create_node
from tests.live.pods import create_pod, nodes_by_pod, wait_until_bound
from tests.live.waiting import wait_until

LEASE_EXPIRES_WITHIN_S = 40.0  # 15, on a slow machine


def lease(api: Api) -> Object:
    found: Object = api.get(f"{LEASES}/fairlead")["spec"]
    return found


def test_a_leader_that_stalls_is_followed_and_ends_when_it_goes_on(
    api: Api, namespace: str, start_fairlead: StartFairlead
) -> None:
    create_node(api, "n1")
    first = start_fairlead()
    create_pod(api, namespace, "before")
    wait_until_bound(api, namespace, "before")
    former = lease(api)["holderIdentity"]
    second = start_fairlead(user="fairlead-2")
    first.pause()
    create_pod(api, namespace, "meanwhile")
    wait_until(
        "another holder of the Lease",
        lambda: lease(api)["holderIdentity"],
        lambda found: found not in ("", former),
        within_s=LEASE_EXPIRES_WITHIN_S,
    )
    wait_until_bound(api, namespace, "meanwhile")
    first.resume()
    wait_until("the former leader ends", lambda: first.exit_code is not None)
    assert first.terminate() == 1
    assert "another replica, " in first.text()
    create_pod(api, namespace, "after")
    wait_until_bound(api, namespace, "after")
    assert set(nodes_by_pod(api, namespace).values()) == {"n1"}
    assert second.exit_code is None


def test_a_leader_that_is_stopped_leaves_a_lease_that_the_next_one_takes_at_once(
    api: Api, namespace: str, start_fairlead: StartFairlead
) -> None:
    create_node(api, "n1")
    first = start_fairlead()
    wait_until("the first leads", lambda: lease(api)["holderIdentity"])
    first_term = lease(api)["leaseTransitions"]
    assert first.terminate() == 0
    released = lease(api)
    assert (released["holderIdentity"], released["leaseTransitions"]) == ("", first_term)
    assert released["leaseDurationSeconds"] == 1
    start_fairlead()
    create_pod(api, namespace, "a")
    wait_until_bound(api, namespace, "a")
    assert lease(api)["leaseTransitions"] == first_term + 1
