"""The law of the election, for any order of delays, losses, pauses, deletions, stops and kills.

Time is simulated. Every candidate has a clock of its own, whose rate is wrong by 2 % at most. A
request may be lost, may be carried out without an answer, and may be carried out long after it was
given up.
"""

from collections.abc import Callable, Sequence
from itertools import groupby, pairwise
from typing import TypeVar

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cluster.kubernetes.election.candidates import Candidate, Sent, carry_out
from tests.cluster.kubernetes.election.lease_server import LeaseServer
from tests.scale_examples import scale_examples

T = TypeVar("T")

NEEDED_S = 90  # a Lease expires in 15, another one is created, and its acts wait for 15; and again
STAYS_S = 20

rates = st.sampled_from([0.98, 1.0, 1.02])


class Replicas:
    """Two replicas, the Lease, and what can happen to them. A number says to which of them."""

    def __init__(self, rates: Sequence[float]) -> None:
        self.now_s = 0.0
        self.server = LeaseServer()
        self.candidates: list[Candidate] = []
        for rate in rates:
            self._start(rate)
        self.all_is_well_for(20)

    def all_is_well(self, number: int) -> None:
        self.all_is_well_for(2 * number)

    def one_is_cut_off(self, number: int) -> None:
        """All is well but for one, whose requests or their answers do not come through."""
        self.all_is_well_for(12 + number, cut_off=_picked(self._running(), number))

    def the_leader_is_cut_off(self, number: int) -> None:
        leaders = [each for each in self._running() if each.may_act(self.now_s)]
        self.all_is_well_for(12 + number, cut_off=leaders)

    def time_passes_without_any_request(self, number: int) -> None:
        self._pass(0.7 * number)

    def a_request_is_sent(self, number: int) -> None:
        for each in _picked(self._running(), number):
            each.send(self.now_s)

    def a_request_is_carried_out(self, number: int) -> None:
        for sent in _picked(self._unanswered(), number):
            carry_out(sent, self.server)

    def an_answer_comes(self, number: int) -> None:
        for each in _picked(self._waiting(), number):
            each.receive(self.now_s)

    def a_connection_breaks(self, number: int) -> None:
        for each in _picked(self._waiting(), number):
            each.give_up(self.now_s)

    def a_process_is_paused_or_goes_on(self, number: int) -> None:
        for each in _picked(self._alive(), number):
            each.is_paused = not each.is_paused

    def the_lease_is_deleted(self, _number: int) -> None:
        self.server.body = None

    def a_person_removes_the_holder(self, _number: int) -> None:
        if self.server.body is not None:
            self.server.empty()

    def a_person_annotates_the_lease(self, _number: int) -> None:
        if self.server.body is not None:
            self.server.annotate()

    def a_process_is_asked_to_stop(self, number: int) -> None:
        """It begins no act any more, and releases the Lease when those on their way have ended."""
        for each in _picked(self._running(), number):
            each.is_stopping = True

    def a_process_is_killed(self, number: int) -> None:
        for each in _picked(self._running(), number):
            self._replace(each)

    def all_is_well_for(self, seconds: int, cut_off: Sequence[Candidate] = ()) -> None:
        """Let all that are not paused ask, and be answered at once if they are not *cut_off*."""
        for _ in range(seconds):
            self._pass(1)
            for each in self._running():
                if each.elector.is_over:
                    self._replace(each)
                elif each.is_ready_to_resign(self.now_s):
                    each.elector.resign(each.local_s(self.now_s))
                elif each in cut_off:
                    each.send(self.now_s)
                    each.receive(self.now_s)
                else:
                    self._converse(each)

    def heal(self) -> None:
        """Let paused processes go on, and those that stop be replaced."""
        for each in self._alive():
            each.is_paused = False
            if each.is_stopping:
                self._replace(each)

    def acting(self) -> list[str]:
        """Return the replicas that may act now."""
        return [each.name for each in self._alive() if each.may_act(self.now_s)]

    def assert_acts_never_overlap(self) -> None:
        spans = sorted((*span, each.name) for each in self.candidates for span in each.acts)
        for (_, ended_s, before), (begun_s, _, after) in pairwise(spans):
            assert before == after or ended_s < begun_s, (before, ended_s, after, begun_s)

    def assert_terms_end_for_good(self) -> None:
        """No replica acts again after another one has acted, and each acts in one term only."""
        spans = sorted((*span, each.name) for each in self.candidates for span in each.acts)
        leaders = [name for name, _ in groupby(name for _, _, name in spans)]
        assert len(leaders) == len(set(leaders))
        assert all(len(each.terms) <= 1 for each in self.candidates)
        terms = [term for each in self.candidates for term in each.terms]
        assert len(terms) == len(set(terms))

    def _pass(self, seconds: float) -> None:
        for each in self.candidates:
            each.note_acts(self.now_s, self.now_s + seconds)
        self.now_s += seconds

    def _converse(self, candidate: Candidate) -> None:
        """Let a candidate send all that is due, each time with an answer at once."""
        for _ in range(4):  # the answer to an older request, a read, a write, and no more
            sent = candidate.on_its_way
            if sent is not None and not sent.is_answered:
                carry_out(sent, self.server)
            candidate.receive(self.now_s)
            candidate.send(self.now_s)

    def _start(self, rate: float) -> None:
        number = len(self.candidates)
        self.candidates.append(Candidate(f"replica-{number}", rate, offset_s=1000.0 * number))

    def _replace(self, candidate: Candidate) -> None:
        """End a process, however it is, and start another, as a Deployment does."""
        candidate.die()
        self._start(candidate.rate)

    def _alive(self) -> list[Candidate]:
        return [each for each in self.candidates if each.is_alive]

    def _running(self) -> list[Candidate]:
        return [each for each in self._alive() if not each.is_paused]

    def _waiting(self) -> list[Candidate]:
        return [each for each in self._running() if each.on_its_way is not None]

    def _unanswered(self) -> list[Sent]:
        """Return the requests that may reach the server now, long given up or not."""
        on_their_way = [sent for each in self.candidates for sent in (each.on_its_way, *each.late)]
        return [sent for sent in on_their_way if sent is not None and not sent.is_answered]


def _picked(found: Sequence[T], at: int) -> Sequence[T]:
    """Return one of what was found, or nothing."""
    return found[at % len(found) :][:1] if found else ()


# What leads to a change of the leader comes more often than what only disturbs one.
HAPPENINGS: tuple[Callable[[Replicas, int], None], ...] = (
    *(3 * (Replicas.all_is_well, Replicas.the_leader_is_cut_off, Replicas.one_is_cut_off)),
    *(2 * (Replicas.time_passes_without_any_request, Replicas.a_request_is_carried_out)),
    Replicas.a_request_is_sent,
    Replicas.an_answer_comes,
    Replicas.a_connection_breaks,
    Replicas.a_process_is_paused_or_goes_on,
    Replicas.the_lease_is_deleted,
    Replicas.a_person_removes_the_holder,
    Replicas.a_person_annotates_the_lease,
    Replicas.a_process_is_asked_to_stop,
    Replicas.a_process_is_killed,
)
happenings = st.tuples(st.sampled_from(HAPPENINGS), st.integers(0, 9))


@settings(max_examples=scale_examples(300))
@given(rates=st.tuples(rates, rates), history=st.lists(happenings, min_size=8, max_size=25))
def test_acts_of_two_leaders_never_overlap_and_all_comes_right(
    rates: tuple[float, float], history: list[tuple[Callable[[Replicas, int], None], int]]
) -> None:
    """When all is well again, one replica acts and goes on to do so."""
    replicas = Replicas(rates)
    for happen, number in history:
        happen(replicas, number)
    replicas.heal()
    replicas.all_is_well_for(NEEDED_S)
    acting = replicas.acting()
    assert len(acting) == 1
    replicas.all_is_well_for(STAYS_S)
    assert replicas.acting() == acting
    replicas.assert_acts_never_overlap()
    replicas.assert_terms_end_for_good()
