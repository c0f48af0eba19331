"""How acts are carried out at the same time, and that each ends in exactly one outcome."""

import asyncio
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.cluster.kubernetes.acting.acts import Act, Outcome
from fairlead.errors import ClusterError
from tests.cluster.kubernetes.acting.led_lane import (
    LedLane,
    bind,
    evict,
    idle,
    look,
    running,
    settled,
)
from tests.cluster.kubernetes.acting.scripted_session import (
    OK,
    Answer,
    Request,
    ScriptedSession,
    broken,
    error,
    late,
    pod,
)
from tests.cluster.kubernetes.virtual_time import run
from tests.scale_examples import scale_examples

BUDGET = error(429, retry_after_s=20, cause="DisruptionBudget")
NO_LOGIN = ClusterError("the plugin for credentials failed", retry_after_s=0)


def carried_out(
    acts: list[Act], *answers: Answer, width: int = 1
) -> tuple[list[str], list[str], LedLane]:
    """Return the requests and the reports of acts whose requests get *answers* in their order."""
    left = list(answers)
    scripted = ScriptedSession(lambda _: left.pop(0))

    async def story() -> LedLane:
        async with running(scripted, width=width) as led:
            led.submit(*([each] for each in acts))
            await idle(led)
            return led

    led = run(story())
    assert left == []
    return scripted.sent(), led.said(), led


@pytest.mark.parametrize(
    ("act", "answers", "said"),
    [
        (bind("p"), [OK], ["done p"]),
        (evict("p"), [OK], ["done p"]),
        # The pod is read after a conflict. What came first makes another plan.
        (bind("p"), [error(409), pod("p", node="n2")], ["seen p", "overtaken p"]),
        (bind("p"), [error(409), pod("p", node="n1")], ["seen p", "done p"]),
        (bind("p"), [error(409), pod("p", deletionTimestamp="T")], ["seen p", "overtaken p"]),
        (bind("p"), [error(404), error(404)], ["gone p", "overtaken p"]),
        (bind("p"), [error(409), pod("p", uid="other")], ["gone p", "overtaken p"]),
        (evict("p"), [error(409), pod("p", version="8")], ["seen p", "overtaken p"]),
        (evict("p"), [error(409), pod("p", deletionTimestamp="T")], ["seen p", "done p"]),
        (evict("p"), [error(404), error(404)], ["gone p", "done p"]),
        # Nothing came first: the same would fail again.
        (bind("p"), [error(409), pod("p")], ["seen p", "refused p"]),
        (evict("p"), [error(409), pod("p")], ["seen p", "refused p"]),
        (bind("p"), [error(403)], ["refused p"]),
        (bind("p"), [error(422)], ["refused p"]),
        (evict("p"), [BUDGET], ["refused p"]),
        # The server wants fewer requests: the same is asked again after a pause.
        (bind("p"), [error(429), error(429), OK], ["done p"]),
        # Nothing was sent, so that nothing is to be found out.
        (bind("p"), [broken(is_sent=False)], ["overtaken p"]),
        (bind("p"), [NO_LOGIN], ["overtaken p"]),
        # The answer is lost: the pod shows what became of it, at once or at the second look.
        (bind("p"), [late(), pod("p", node="n1")], ["seen p", "done p"]),
        (bind("p"), [error(500), pod("p"), pod("p", node="n1")], ["seen p", "seen p", "done p"]),
        (bind("p"), [error(500), pod("p"), pod("p")], ["seen p", "seen p", "refused p"]),
        (bind("p"), [broken(is_sent=True), pod("p", node="n2")], ["seen p", "overtaken p"]),
        (bind("p"), [late(), error(503), NO_LOGIN, pod("p", node="n1")], ["seen p", "done p"]),
        (evict("p"), [late(), error(404)], ["gone p", "done p"]),
        (evict("p"), [late(), pod("p"), pod("p")], ["seen p", "seen p", "refused p"]),
    ],
)
def test_an_answer_says_what_became_of_an_act(
    act: Act, answers: list[Answer], said: list[str]
) -> None:
    assert carried_out([act], *answers)[1] == said


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (pod("p"), ["seen p"]),
        (error(404), ["gone p"]),
        (error(403), []),
        (error(500), []),
        (late(), []),
        (broken(is_sent=False), []),
        (NO_LOGIN, []),
    ],
)
def test_a_look_shows_the_pod_and_never_undoes_what_it_cannot_see(
    answer: Answer, said: list[str]
) -> None:
    """A bind took effect, its watch is late, and the API server cannot be reached for the look.

    An outcome of the look would count as one of the bind: its room would be given out twice.
    """
    assert carried_out([look("p")], answer)[1] == said


@pytest.mark.parametrize(
    ("answers", "is_on_any_node"),
    [
        ([error(403)], True),
        ([error(422)], True),
        ([error(409), pod("p")], False),
        ([error(500), pod("p"), pod("p")], False),
    ],
)
def test_a_bind_without_a_right_or_a_form_would_be_refused_for_any_node(
    answers: list[Answer], is_on_any_node: bool
) -> None:
    report = carried_out([bind("p")], *answers)[2].reports[-1]
    assert isinstance(report, Outcome)
    assert (report.result, report.is_on_any_node) == ("refused", is_on_any_node)


def test_a_budget_is_respected_for_as_long_as_the_server_says() -> None:
    [report] = carried_out([evict("p")], BUDGET)[2].reports
    assert isinstance(report, Outcome)
    assert report.retry_after_ms == 20_000


def test_so_many_acts_are_on_their_way_at_once_and_no_more() -> None:
    async def story() -> None:
        scripted = ScriptedSession()
        async with running(scripted, width=2) as led:
            led.submit([bind("a")], [bind("b")], [bind("c")])
            await settled()
            assert scripted.sent() == ["binding a", "binding b"]
            assert (led.lane.waiting, led.lane.busy) == (1, 2)
            scripted.requests[1].gets(OK)
            await settled()
            assert scripted.sent() == ["binding a", "binding b", "binding c"]

    run(story())


def test_acts_of_one_order_are_begun_all_or_none() -> None:
    """A gang of three is bound to two nodes, one of which was cordoned since.

    Only the pod on that node is refused, so that the next plan does not try the same at once.
    """

    async def story() -> None:
        scripted = ScriptedSession(lambda _: OK)
        async with running(scripted) as led:
            led.refused_nodes.add("n2")
            led.submit([bind("a"), bind("b", "n2"), bind("c")], [bind("d")])
            await idle(led)
        assert scripted.sent() == ["binding d"]
        assert led.said() == ["overtaken a", "refused b", "overtaken c", "done d"]

    run(story())


def test_nothing_is_begun_while_something_hinders_it_but_looks() -> None:
    async def story() -> None:
        scripted = ScriptedSession(lambda _: pod("p"))
        async with running(scripted) as led:
            led.hindrance = "waiting for Pod"
            led.submit([bind("a")], [evict("b")], [look("p")])
            await idle(led)
        assert scripted.sent() == ["GET p"]
        assert led.said() == ["overtaken a", "overtaken b", "seen p"]

    run(story())


def test_what_hinders_acts_is_asked_again_for_each_act_of_an_order() -> None:
    """The lease is lost when one of two pods of a gang is bound."""

    async def story() -> None:
        scripted = ScriptedSession()
        async with running(scripted, width=1) as led:
            led.submit([bind("a"), bind("b")])
            await settled()
            led.hindrance = "this process does not lead"
            scripted.requests[0].gets(OK)
            await idle(led)
        assert scripted.sent() == ["binding a"]
        assert led.said() == ["done a", "overtaken b"]

    run(story())


def test_a_server_that_asks_for_less_gets_none_for_as_long_as_it_says_and_in_order() -> None:
    """Three of four binds are refused by flow control; a fifth waits behind them."""

    async def story() -> None:
        scripted = ScriptedSession()
        clock = asyncio.get_running_loop()
        async with running(scripted, width=4) as led:
            led.submit(*([bind(name)] for name in "abcde"))
            await settled()
            began_s = clock.time()
            for request in scripted.requests[:3]:
                request.gets(error(429, retry_after_s=7))
            await settled()
            assert len(scripted.requests) == 4
            scripted.rule = lambda _: OK
            scripted.requests[3].gets(OK)
            await idle(led)
            assert clock.time() - began_s >= 7
        assert scripted.sent()[4:] == ["binding a", "binding b", "binding c", "binding e"]
        assert Counter(led.said()) == Counter(f"done {name}" for name in "abcde")

    run(story())


def test_one_interruption_of_many_requests_is_one_failure() -> None:
    """A proxy in between is started anew while eight binds are on their way.

    Counted one by one, eight failures would be a pause of 12 s, and 24 one of half a minute.
    """

    async def story() -> float:
        scripted = ScriptedSession()
        clock = asyncio.get_running_loop()
        async with running(scripted, width=8) as led:
            led.submit(*([bind(f"p{number}")] for number in range(8)))
            await settled()
            began_s = clock.time()
            for request in scripted.requests:
                request.gets(broken(is_sent=False))
            await settled()
            led.submit([bind("next")])
            scripted.rule = lambda _: OK
            await idle(led)
        assert led.said() == [*(f"overtaken p{number}" for number in range(8)), "done next"]
        return clock.time() - began_s

    assert run(story()) < 0.2


def test_a_server_that_fails_is_asked_less_often() -> None:
    """Each bind ends in 500: the lane pauses, so that ten thousand pods are not all tried now."""
    left = {"POST": 20}
    times: list[float] = []

    def fails(request: Request) -> Answer:
        if request.method == "GET":
            return pod(request.path.rpartition("/")[2])
        times.append(asyncio.get_running_loop().time())
        left["POST"] -= 1
        return error(500) if left["POST"] >= 10 else OK

    async def story() -> None:
        async with running(ScriptedSession(fails), width=1) as led:
            led.submit(*([bind(f"p{number}")] for number in range(20)))
            await idle(led)

    run(story())
    pauses = [later - earlier for earlier, later in pairwise(times)]
    assert pauses[:3] == pytest.approx([0.075, 0.15, 0.3])
    assert pauses[10:] == pytest.approx([0.0] * 9)


def test_nothing_is_begun_after_the_lane_is_abandoned() -> None:
    """The engine ends its plan after Fairlead was asked to stop, and hands over what it decided."""

    async def story() -> None:
        scripted = ScriptedSession()
        async with running(scripted, width=1) as led:
            led.submit([bind("a")], [bind("b")])
            await settled()
            led.lane.abandon()
            led.submit([bind("c"), bind("d")])
            await settled()
            assert not led.lane.is_idle()
            scripted.requests[0].gets(error(429))
            await idle(led)
        assert scripted.sent() == ["binding a"]
        assert led.said() == ["overtaken b", "overtaken c", "overtaken d", "overtaken a"]

    run(story())


def test_requests_end_with_the_lane() -> None:
    """A bind has no answer, and the process ends: nothing goes on to look what became of it."""

    async def story() -> None:
        scripted = ScriptedSession()
        async with running(scripted) as led:
            led.submit([bind("a")])
            await settled()
        await settled()
        assert led.lane.is_idle()
        assert led.said() == []
        assert all(request.answer.cancelled() for request in scripted.requests)

    run(story())


def test_a_defect_ends_the_lane_in_place_of_an_act_without_an_outcome() -> None:
    def fails(_: Request) -> Answer:
        raise ZeroDivisionError

    async def story() -> None:
        led = LedLane(ScriptedSession(fails), 1)
        led.submit([bind("a")])
        await led.lane.run()

    with pytest.raises(ZeroDivisionError):
        run(story())


ANSWERS = st.sampled_from(
    [
        OK,
        OK,
        error(403),
        error(429),
        BUDGET,
        error(500),
        late(),
        broken(is_sent=True),
        broken(is_sent=False),
        NO_LOGIN,
    ]
)
READS = st.sampled_from(
    [{}, {"node": "n1"}, {"node": "n2"}, {"deletionTimestamp": "T"}, {"uid": "other"}, None]
)


@settings(max_examples=scale_examples(150), deadline=None)
@given(data=st.data(), width=st.integers(1, 5))
def test_each_act_ends_in_exactly_one_outcome(data: st.DataObject, width: int) -> None:
    """Whatever is answered, in whatever order, and whatever hinders acts now and then."""
    writes = Counter[str]()

    def rule(request: Request) -> Answer | None:
        if data.draw(st.booleans()):
            return None
        return answer_to(request)

    def answer_to(request: Request) -> Answer:
        name = request.path.partition("/pods/")[2].partition("/")[0]
        if request.method == "GET":
            read = data.draw(READS)
            return error(404) if read is None else pod(name, **read)
        answer = data.draw(ANSWERS)
        writes[name] += not isinstance(answer, Exception)
        return answer

    async def story() -> None:
        scripted = ScriptedSession(rule)
        async with running(scripted, width=width) as led:
            names = [f"p{number}" for number in range(data.draw(st.integers(1, 8)))]
            for name in names:
                act: Act = bind(name) if data.draw(st.booleans()) else evict(name)
                led.submit([act])
            while not led.lane.is_idle():
                assert led.lane.busy <= width
                led.hindrance = data.draw(st.sampled_from(["", "", "", "no lease"]))
                for request in scripted.open():
                    if data.draw(st.booleans()):
                        request.gets(answer_to(request))
                await asyncio.sleep(data.draw(st.sampled_from([0, 0.5, 5])))
        ended = [each.act.target.name for each in led.reports if isinstance(each, Outcome)]
        assert sorted(ended) == sorted(names)
        assert max(writes.values(), default=0) <= 1

    run(story())
