"""Which reports wait: the newest of each subject, in bounds, never two of a subject at once."""

import asyncio
import threading

import pytest

from fairlead.cluster.kubernetes.reporting.outbox import LaneName, Outbox
from fairlead.cluster.kubernetes.reporting.reports import Report
from tests.cluster.kubernetes import virtual_time
from tests.cluster.kubernetes.reporting.written import event, status


@pytest.fixture
def outbox() -> Outbox:
    return Outbox({"prompt": 2, "waits": 2, "starts": 2})


def taken(outbox: Outbox, lane: LaneName) -> list[Report]:
    """Return what can be taken out now, which is then being written."""

    async def story() -> list[Report]:
        found: list[Report] = []
        while True:
            try:
                async with asyncio.timeout(1):
                    found.append(await outbox.next(lane))
            except TimeoutError:
                return found

    return virtual_time.run(story())


def test_of_one_subject_the_newest_is_taken_in_the_place_of_the_first(outbox: Outbox) -> None:
    for report in (status("p", "old"), event("p"), status("p", "new")):
        assert outbox.put("waits", report)
    assert taken(outbox, "waits") == [status("p", "new"), event("p")]


def test_what_is_too_much_is_refused_and_news_of_what_waits_is_not(outbox: Outbox) -> None:
    assert outbox.put("waits", status("p"))
    assert outbox.put("waits", status("q"))
    assert not outbox.put("waits", status("r"))
    assert outbox.put("waits", status("q", "new"))
    assert outbox.put("prompt", status("r"))
    assert taken(outbox, "waits") == [status("p"), status("q", "new")]


def test_what_becomes_prompt_is_not_said_slowly_as_well(outbox: Outbox) -> None:
    outbox.put("waits", status("p", "old"))
    outbox.put("prompt", status("p", "nominated", node="n1"))
    assert taken(outbox, "waits") == []
    assert taken(outbox, "prompt") == [status("p", "nominated", node="n1")]


def test_what_is_prompt_stays_so_when_more_is_said(outbox: Outbox) -> None:
    outbox.put("prompt", status("p", "nominated", node="n1"))
    outbox.put("waits", status("p", "more", node="n1"))
    assert taken(outbox, "prompt") == [status("p", "more", node="n1")]


def test_about_one_subject_nothing_is_written_before_the_last_is(outbox: Outbox) -> None:
    outbox.put("waits", status("p", "first"))
    (first,) = taken(outbox, "waits")
    outbox.put("prompt", status("p", "second"))
    assert taken(outbox, "prompt") == []
    outbox.done(first)
    assert taken(outbox, "prompt") == [status("p", "second")]


def test_what_could_not_be_written_waits_again_unless_there_is_something_newer(
    outbox: Outbox,
) -> None:
    for name in ("p", "q"):
        outbox.put("waits", status(name, "old"))
    old = taken(outbox, "waits")
    outbox.put("prompt", status("q", "new"))
    for report in old:
        outbox.put_back("waits", report)
    assert taken(outbox, "waits") == [status("p", "old")]
    assert taken(outbox, "prompt") == [status("q", "new")]


def test_a_thread_wakes_the_task_that_waits(outbox: Outbox) -> None:
    async def story() -> Report:
        waiting = asyncio.create_task(outbox.next("waits"))
        await asyncio.sleep(0)
        thread = threading.Thread(target=outbox.put, args=("waits", status("p")))
        thread.start()
        async with asyncio.timeout(20):
            report = await waiting
        thread.join()
        return report

    assert asyncio.run(story()) == status("p")
