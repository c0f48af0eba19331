"""What is asked of the API server for an act, and under which conditions it may do it."""

import asyncio

import pytest

from fairlead.cluster.kubernetes.acting.acts import Bind, Evict
from fairlead.cluster.kubernetes.acting.requests import bind, evict, read_pod
from tests.cluster.kubernetes.acting import led_lane
from tests.cluster.kubernetes.acting.scripted_session import OK, ScriptedSession, error, pod
from tests.cluster.kubernetes.virtual_time import run

POD = "/api/v1/namespaces/lab/pods/p"
TERM = {"annotations": {"fairlead/term": "me/7"}}


def sent(act: Bind | Evict, term: str) -> tuple[str, str, object]:
    scripted = ScriptedSession(lambda _: OK)
    if isinstance(act, Bind):
        run(bind(scripted.session, act, term))
    else:
        run(evict(scripted.session, act, term))
    [request] = scripted.requests
    return request.method, request.path, request.body


def test_a_bind_is_of_this_pod_and_no_other_one_of_its_name() -> None:
    assert sent(led_lane.bind("p", "n1"), "") == (
        "POST",
        f"{POD}/binding",
        {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": "p", "namespace": "lab", "uid": "uid-p"},
            "target": {"apiVersion": "v1", "kind": "Node", "name": "n1"},
        },
    )


def test_an_eviction_is_of_this_pod_as_it_was_when_that_was_decided() -> None:
    assert sent(led_lane.evict("p", "12"), "") == (
        "POST",
        f"{POD}/eviction",
        {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": "p", "namespace": "lab"},
            "deleteOptions": {"preconditions": {"uid": "uid-p", "resourceVersion": "12"}},
        },
    )


@pytest.mark.parametrize("act", [led_lane.bind("p"), led_lane.evict("p")])
def test_every_write_says_in_which_term_it_was_sent(act: Bind | Evict) -> None:
    """The API server compares it with the Lease, where the policy for that is installed."""
    _, _, body = sent(act, "me/7")
    assert isinstance(body, dict)
    assert body["metadata"].items() >= TERM.items()


@pytest.mark.parametrize(
    ("answer", "is_found"),
    [(pod("p"), True), (pod("p", uid="another"), False), (error(404), False)],
)
def test_a_pod_is_the_same_one_or_gone(answer: bytes | Exception, is_found: bool) -> None:
    target = led_lane.bind("p").target

    async def story() -> bool:
        scripted = ScriptedSession(lambda _: answer)
        return await asyncio.create_task(read_pod(scripted.session, target)) is not None

    assert run(story()) == is_found
