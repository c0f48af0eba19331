"""Candidates with clocks of their own, on a network that delays and loses, in simulated time."""

from __future__ import annotations

import msgspec

from fairlead.cluster.kubernetes.election.elector import Durations, Elector
from fairlead.cluster.kubernetes.election.lease import Lease, Read, Write
from tests.cluster.kubernetes.election.lease_server import LeaseServer

DURATIONS = Durations(act_s=5)
GIVEN_UP_S = 5.0  # a request without an answer
LOOKS = 4  # at whether acts may begin, in each step of time


class Sent(msgspec.Struct, eq=False):
    """A request on its way to the server, or its answer on the way back."""

    request: Read | Write
    sent_s: float  # by the clock of the candidate
    is_answered: bool = False
    answer: Lease | None = None


class Candidate:
    """A process that takes part, and the times in which its acts may have been on their way."""

    def __init__(self, name: str, rate: float, offset_s: float) -> None:
        """Have a clock that shows *offset_s* at second 0 and runs at *rate*."""
        self.name = name
        self.elector = Elector(name, DURATIONS)
        self.rate, self._offset_s = rate, offset_s
        self.on_its_way: Sent | None = None
        self.late: list[Sent] = []  # given up, and perhaps still on the way to the server
        self.is_alive = True
        self.is_paused = False
        self.is_stopping = False  # begins no act any more
        self.acts: list[tuple[float, float]] = []  # from the first to the end of the last, of each
        self.terms: set[str] = set()

    def local_s(self, now_s: float) -> float:
        return self._offset_s + self.rate * now_s

    def may_act(self, now_s: float) -> bool:
        """Return what the network's thread would be told now."""
        if not self.is_alive or self.is_stopping:
            return False
        return not self.elector.standing.hindrance(self.local_s(now_s), DURATIONS)

    def note_acts(self, from_s: float, to_s: float) -> None:
        """Note when acts may be on their way that began between *from_s* and *to_s*."""
        for part in range(LOOKS + 1):
            now_s = from_s + (to_s - from_s) * part / LOOKS
            if not self.may_act(now_s):
                continue
            self.terms.add(self.elector.standing.term)
            begun_s = now_s
            if self.acts and now_s <= self.acts[-1][1]:
                begun_s, _ = self.acts.pop()
            self.acts.append((begun_s, now_s + DURATIONS.act_s / self.rate))

    def is_ready_to_resign(self, now_s: float) -> bool:
        """Return whether the process stops, and its acts have ended."""
        have_acts_ended = not self.acts or self.acts[-1][1] < now_s
        is_asked = self.is_stopping and not self.elector.is_resigning
        return is_asked and have_acts_ended and self.on_its_way is None

    def send(self, now_s: float) -> None:
        """Send what is due."""
        elector, local_s = self.elector, self.local_s(now_s)
        if self.on_its_way is None and not elector.is_over and elector.due_s <= local_s:
            self.on_its_way = Sent(elector.request, local_s)

    def receive(self, now_s: float) -> None:
        """Take in the answer that has come, or give a request up after a while."""
        sent, local_s = self.on_its_way, self.local_s(now_s)
        if sent is None:
            return
        if sent.is_answered:
            self.on_its_way = None
            if isinstance(sent.request, Read):
                self.elector.found(sent.answer, sent.sent_s, local_s)
            else:
                self.elector.written(sent.answer, sent.sent_s, local_s)
        elif local_s >= sent.sent_s + GIVEN_UP_S:
            self.give_up(now_s)

    def give_up(self, now_s: float) -> None:
        """Learn nothing of a request; the server may yet carry it out."""
        assert self.on_its_way is not None
        sent, self.on_its_way = self.on_its_way, None
        self.late.append(sent)
        self.elector.failed("no answer", sent.sent_s, self.local_s(now_s))

    def die(self) -> None:
        """End without a chance to clean up."""
        self.is_alive = False
        if self.on_its_way is not None:
            self.late.append(self.on_its_way)


def carry_out(sent: Sent, server: LeaseServer) -> None:
    """Let a request reach the server."""
    sent.answer = server.answer(sent.request)
    sent.is_answered = True
