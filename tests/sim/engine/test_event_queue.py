"""The order in which things happen."""

from fairlead.sim.engine.event_queue import EventOrder, EventQueue


def test_time_goes_first_then_rank_then_who_came_first() -> None:
    queue, order = EventQueue(), []

    def call(at_ms: int, what: str) -> None:
        order.append((at_ms, what))

    queue.push(5, EventOrder.CYCLE, call, "cycle")
    queue.push(5, EventOrder.SUBMIT, call, "first")
    queue.push(5, EventOrder.SUBMIT, call, "second")
    queue.push(5, EventOrder.FINISH, call, "end")
    queue.push(4, EventOrder.CYCLE, call, "earlier")
    assert queue.next_ms() == 4
    while queue:
        queue.step()
    assert order == [(4, "earlier"), (5, "end"), (5, "first"), (5, "second"), (5, "cycle")]
    assert queue.next_ms() is None
