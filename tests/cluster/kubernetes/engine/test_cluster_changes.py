"""Changes of the cluster itself: quotas, kinds and resources that come and go while pods run."""

from fairlead.cluster.kubernetes.watching.facts import Listed
from tests.cluster.kubernetes.engine.led_engine import (
    QUOTA,
    LedEngine,
    listed,
    node,
    node_key,
    pod,
    quota,
    quota_key,
    started,
)
from tests.manifest.translate.api_server import POD

NOT_SERVED = Listed((QUOTA.group, QUOTA.kind), [], "", is_served=False)


def used(led: LedEngine, namespace: str) -> int:
    """Return the thousandths of CPUs that a namespace uses, as its queue counts them."""
    [at] = [at for at, axis in enumerate(led.state.axes.axes) if axis.resource == "cpu"]
    [name] = [name for name in led.state.queues if namespace in name]
    return led.state.sums[name].allocated[at]


def test_a_quota_that_is_made_anew_knows_the_pods_that_run() -> None:
    """The plugin of scheduler-plugins starts such a quota at 0, and exceeds its max."""
    led = LedEngine(node("n1", 8), quota("a", 2, 2), pod("a/p", 2))
    started(led, ["a/p"])
    led.remove(quota_key("a"))
    led.deliver()
    assert led.places() == {"a/p": "n1 running"}
    led.create(quota("a", 2, 2), pod("a/q", 1))
    led.deliver()
    assert used(led, "a") == 2000
    assert led.decide() == []


def test_a_quota_that_is_deleted_while_a_pod_is_bound_leaves_the_bind_as_it_is() -> None:
    led = LedEngine(node("n1", 2), quota("a", 2, 2), pod("a/p", 2))
    assert led.decide() == ["bind a/p to n1"]
    led.remove(quota_key("a"))
    led.deliver()
    assert led.places() == {"a/p": "n1 binding"}
    led.bind("a/p", "n1")
    led.end("a/p", "done")
    led.deliver()
    led.create(quota("a", 2, 2))
    led.deliver()
    assert used(led, "a") == 2000


def test_of_two_quotas_of_a_namespace_the_first_counts_until_it_is_gone() -> None:
    led = LedEngine(node("n1", 8), quota("a", 2, 2), quota("b", 4, 4), pod("a/p"), pod("a/q"))
    led.create(quota("a", 4, 4, name="second"), pod("a/r"))
    led.deliver()
    assert led.decide() == ["bind a/p to n1", "bind a/q to n1"]
    led.remove(quota_key("a"))
    led.deliver()
    assert led.decide() == ["bind a/r to n1"]


def test_quotas_of_a_kind_that_is_not_served_for_a_while_count_again_afterwards() -> None:
    """An API server that starts does not serve its CRDs yet; the objects are the same ones then.

    Would they count as gone for good, every namespace were without a limit.
    """
    led = LedEngine(node("n1", 8), quota("a", 1, 1), quota("b", 4, 4), pod("a/p"), pod("a/q"))
    assert led.decide() == ["bind a/p to n1"]
    led.take(NOT_SERVED)
    assert not led.state.queues
    led.take(Listed((QUOTA.group, QUOTA.kind), listed(led.server, QUOTA), "9"))
    assert len(led.state.queues) == 2
    assert led.decide() == []


def test_a_quota_that_went_while_its_kind_was_not_served_stays_gone() -> None:
    led = LedEngine(node("n1", 8), quota("a", 1, 1), quota("b", 4, 4))
    led.take(NOT_SERVED)
    led.take(Listed((QUOTA.group, QUOTA.kind), listed(led.server, QUOTA)[:1], "9"))
    assert len(led.state.queues) == 1


def test_orders_on_their_way_survive_a_resource_that_appears() -> None:
    """A node with devices joins while one pod is being bound and another one evicted.

    The state is built anew. Neither is ordered a second time, and their outcomes still count.
    """
    least = quota("a", 8, 8, nvidia_com_gpu="8")
    led = LedEngine(node("n1", 2), node("n2", 2), least, quota("b", 0, 8), pod("b/old", 2))
    started(led, ["b/old"])
    led.change(node_key("n2"), unschedulable=True)
    led.create(pod("a/new", 2))
    led.deliver()
    assert led.decide() == ["evict b/old"]
    led.change(node_key("n2"), unschedulable=False)
    led.create(pod("a/more", 2))
    led.deliver()
    assert led.decide() == ["bind a/more to n2"]
    before = led.state
    devices = node("n3")
    devices["status"]["allocatable"]["nvidia.com/gpu"] = "8"
    devices["spec"]["unschedulable"] = True
    led.create(devices)
    led.deliver()
    assert led.state is not before
    assert led.places() == {"a/more": "n2 binding", "b/old": "n1 leaving"}
    assert led.decide() == []
    led.end("a/more", "refused")
    led.end("b/old", "refused")
    assert led.places() == {"b/old": "n1 running"}
    assert led.decide() == ["bind a/new to n2"]


def test_a_list_shows_what_a_broken_watch_did_not() -> None:
    """A pod is bound, another one deleted and made anew, and none of it is delivered."""
    led = LedEngine(node("n1", 4), quota("a", 8, 8), pod("a/p"), pod("a/q"))
    assert led.decide() == ["bind a/p to n1", "bind a/q to n1"]
    led.bind("a/p", "n1")
    led.delete("a/q")
    led.create(pod("a/q"))
    led.relist(POD)
    assert led.places() == {"a/p": "n1 running"}
    assert led.decide() == ["bind a/q to n1"]


def test_a_node_that_is_being_deleted_takes_no_pods() -> None:
    """A finalizer keeps it until its machine is gone."""
    led = LedEngine(node("n1", 4), quota("a", 8, 8), pod("a/p"))
    gone = {"deletionTimestamp": "2023-11-14T22:14:00Z"}
    led.server.update(node_key("n1"), lambda value: value["metadata"].update(gone))
    led.deliver()
    assert led.decide() == []
