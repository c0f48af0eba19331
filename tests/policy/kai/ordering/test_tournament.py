"""The leading queue is that of all brackets played anew, whatever has changed."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fairlead.model.axes import Amounts, QueueName
from fairlead.model.events import Placement, QueueChanged, WorkloadAdded, WorkloadStarted
from fairlead.model.queue import Queue
from fairlead.model.state import ClusterState
from fairlead.model.workload import Workload
from fairlead.policy.kai.fair_share.shares import KaiShares
from fairlead.policy.kai.ordering.pending_jobs import PendingJobs
from fairlead.policy.kai.ordering.queue_order import (
    QueueNumbers,
    contender,
    precedes,
    queue_numbers,
)
from fairlead.policy.kai.ordering.tournament import Draw, QueueTournament
from tests.model.worlds import node, queue, state_with, workload
from tests.scale_examples import scale_examples


class Race:
    """A tournament, and the same played anew from the numbers of the queues."""

    def __init__(self, state: ClusterState) -> None:
        self.state = state
        total = state.total()
        shares = KaiShares(state, total, Fraction(0)).rows()
        self.numbers = {row.queue: queue_numbers(state, row, total) for row in shares}
        self.jobs = PendingJobs(state, None)
        self.leaves = [name for name in self.numbers if not state.children(name)]
        self.jobs.add_queues(dict.fromkeys(self.leaves).keys())
        self.tournament = QueueTournament(
            state,
            Draw(state, self.numbers),
            self.numbers,
            self.jobs.next_request,
            self.jobs.queues(),
        )

    def leader(self) -> QueueName | None:
        leader = self.tournament.leader()
        found = played_anew(self.state, self.numbers, self.jobs, None)
        assert leader == (found[0] if found else None)
        return leader

    def let_first_start(self, leaf: QueueName) -> None:
        """Start the next pods of the first job of *leaf*; where does not matter here."""
        job = self.jobs.first(leaf)
        assert job is not None
        places = tuple(Placement(pod, None) for pod in self.jobs.next_pods(job))
        self.state.apply(WorkloadStarted(workload=job, placements=places, at_ms=0))
        self.jobs.renew_first(leaf)
        self.tournament.renew(leaf)

    def let_first_go(self, leaf: QueueName) -> None:
        self.jobs.drop_first(leaf)
        self.tournament.renew(leaf)


def played_anew(
    state: ClusterState,
    numbers: Mapping[QueueName, QueueNumbers],
    jobs: PendingJobs,
    parent: QueueName | None,
) -> tuple[QueueName, Amounts] | None:
    """Return the leaf that is next below *parent*, and what its first job asks for."""
    children = [name for name in numbers if state.queues[name].parent == parent]
    if not children:
        job = None if parent is None else jobs.first(parent)
        return None if job is None or parent is None else (parent, jobs.request(job))
    children.sort(key=lambda name: (numbers[name].created_ms, name))
    below = {name: played_anew(state, numbers, jobs, name) for name in children}
    winner = last_left(children, numbers, {name: won[1] for name, won in below.items() if won})
    return None if winner is None else below[winner]


def last_left(
    children: Sequence[QueueName],
    numbers: Mapping[QueueName, QueueNumbers],
    requests: Mapping[QueueName, Amounts],
) -> QueueName | None:
    """Let neighbours meet, round after round; a queue without a request is out."""
    left: list[QueueName | None] = [name if name in requests else None for name in children]
    while len(left) > 1:
        left += [None] * (len(left) % 2)
        pairs = zip(left[::2], left[1::2], strict=True)
        left = [
            (one or other)
            if one is None or other is None
            else other
            if precedes(*(contender(numbers[name], requests[name]) for name in (other, one)))
            else one
            for one, other in pairs
        ]
    return left[0]


@st.composite
def worlds(draw: st.DrawFn) -> ClusterState:
    """A queue tree of up to three departments with up to five teams each, and jobs that wait."""
    state = state_with(node("n", cpu=12_000, gpu=8000))
    for department in range(draw(st.integers(1, 3))):
        state.apply(QueueChanged(draw(queues(f"d{department}", None))))
        for team in range(draw(st.integers(0, 5))):
            name = f"t{department}{team}"
            state.apply(QueueChanged(draw(queues(name, f"d{department}"))))
            for at in range(draw(st.integers(0, 3))):
                state.apply(WorkloadAdded(draw(jobs(f"{name}-{at}", name))))
    return state


@st.composite
def queues(draw: st.DrawFn, name: str, parent: str | None) -> Queue:
    return replace(
        queue(name, parent),
        priority=draw(st.sampled_from([100, 100, 200])),
        created_ms=draw(st.integers(0, 2)),
        guaranteed=(None, 1000 * draw(st.integers(0, 3))),
        ceiling=draw(st.sampled_from([(None, None), (2000, None), (None, 3000), (None, 0)])),
    )


@st.composite
def jobs(draw: st.DrawFn, name: str, queue_name: str) -> Workload:
    pods, cpu, gpu = draw(st.tuples(st.integers(1, 3), st.integers(0, 2), st.integers(0, 2)))
    whole = workload(name, queue_name, pods=pods, cpu=cpu * 500, gpu=gpu * 1000)
    return replace(whole, min_count=draw(st.integers(1, pods)), priority=draw(st.integers(0, 1)))


@settings(max_examples=scale_examples(60))
@given(worlds(), st.lists(st.tuples(st.booleans(), st.integers(0, 9)), max_size=12))
def test_the_leader_is_that_of_the_brackets_played_anew(
    state: ClusterState, turns: list[tuple[bool, int]]
) -> None:
    """Jobs start or are let go in any leaf, not only in the one that leads."""
    tournament = Race(state)
    for is_started, which in turns:
        tournament.leader()
        busy = [name for name in tournament.leaves if tournament.jobs.first(name) is not None]
        if not busy:
            break
        leaf = busy[which % len(busy)]
        (tournament.let_first_start if is_started else tournament.let_first_go)(leaf)
    tournament.leader()


@settings(max_examples=scale_examples(30))
@given(worlds())
def test_every_job_that_is_ready_has_its_turn(state: ClusterState) -> None:
    tournament = Race(state)
    ready = {
        name
        for leaf in tournament.leaves
        for name in tournament.state.waiting(leaf)
        if tournament.jobs.next_pods(name)
    }
    served = set()
    while (leaf := tournament.leader()) is not None:
        first = tournament.jobs.first(leaf)
        assert first is not None
        served.add(first)
        tournament.let_first_go(leaf)
    assert served == ready


def test_two_equal_queues_take_turns() -> None:
    """8 devices, a and b: whoever holds fewer of them is next, then the name."""
    state = state_with(node("n", cpu=8000, gpu=8000), queue("a"), queue("b"))
    for name in ("a1", "a2", "a3", "b1", "b2"):
        state.apply(WorkloadAdded(workload(name, name[0])))
    tournament = Race(state)
    served = []
    while (leaf := tournament.leader()) is not None:
        served.append(tournament.jobs.first(leaf))
        tournament.let_first_start(leaf)
    assert served == ["a1", "b1", "a2", "b2", "a3"]


def test_departments_meet_before_their_teams_do() -> None:
    """Of 8 devices y asks for 3 and x for 6: fair shares 3 and 5.

    With the next job: x 1/5 against y 1/3; x 2/5, y 1/3; x 2/5, y 2/3; x 3/5, y 2/3; x 4/5, y 2/3;
    x 4/5, y 3/3. Inside x the team that has less of its share is next.
    """
    state = state_with(node("n", cpu=8000, gpu=8000), queue("x"), queue("y"))
    for name, parent in (("x1", "x"), ("x2", "x"), ("y1", "y")):
        state.apply(QueueChanged(queue(name, parent)))
        for at in range(3):
            state.apply(WorkloadAdded(workload(f"{name}-{at}", name)))
    tournament = Race(state)
    served = []
    for _ in range(6):
        leaf = tournament.leader()
        assert leaf is not None
        served.append(leaf)
        tournament.let_first_start(leaf)
    assert served == ["x1", "y1", "x2", "x1", "y1", "x2"]


def test_without_queues_or_jobs_there_is_no_leader() -> None:
    assert Race(state_with()).leader() is None
    assert Race(state_with(queue("a"), queue("b"))).leader() is None


def test_a_leaf_that_was_alone_meets_a_newcomer_with_what_it_holds_by_then() -> None:
    """A is due 3 devices and b 1; once a holds 2, each would be full with its next, and b has 0."""
    state = state_with(node("n", cpu=8000, gpu=8000), queue("a"), queue("b"))
    for name in ("a1", "a2", "a3", "b1"):
        state.apply(WorkloadAdded(workload(name, name[0])))
    tournament = Race(state)
    a, b = map(QueueName, "ab")
    offer, draw = tournament.jobs.next_request, Draw(state, tournament.numbers)
    tournament.tournament = alone = QueueTournament(state, draw, tournament.numbers, offer, [a])
    assert alone.leader() == a
    tournament.let_first_start(a)
    tournament.let_first_start(a)
    assert alone.leader() == a
    assert alone.contender(a) == contender(
        tournament.numbers[a], tournament.jobs.next_request(a) or ()
    )
    other = QueueTournament(state, draw, tournament.numbers, offer, [a])
    other.renew(b)
    assert other.leader() == b
    tournament.tournament = other
    for leaf in (b, a):
        assert other.leader() == leaf
        tournament.let_first_go(leaf)
    assert other.leader() is None


def test_a_leaf_that_is_alone_leads_until_it_offers_nothing() -> None:
    state = state_with(node("n", cpu=8000, gpu=8000), queue("a"), queue("b"))
    state.apply(WorkloadAdded(workload("a1", "a")))
    tournament = Race(state)
    assert tournament.leader() == "a"
    tournament.let_first_start(QueueName("a"))
    assert tournament.leader() is None
