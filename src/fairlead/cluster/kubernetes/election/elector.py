"""The rules of an election: what to ask next, and when acts may begin. No network, no clock.

Times are those of a monotonic clock of this process and are handed in. The times in a Lease are
never compared: clocks of other machines may be wrong. A Lease has expired when it did not change
for its duration, as seen from here.

Law: the acts of two leaders never overlap, whatever is delayed, lost, paused or deleted, as long as
clocks run at the same rate within 2 %. It rests on three rules.

- A renewal counts from the time before it was sent, and no act begins that could end later than the
  renew deadline after that.
- After a Lease has expired, was deleted or was emptied by others, acts begin one lease duration
  after the last moment at which the former holder could have renewed it.
- Only a holder that has released the Lease makes room at once.

A term ends for good: a process that has lost the Lease does not lead again, so that no two terms
have the same name.
"""

import msgspec

from fairlead.cluster.kubernetes.election.lease import RELEASED_S, Lease, Read, Write

STOPPING = "Fairlead is stopping"


class Durations(msgspec.Struct, frozen=True, kw_only=True):
    """How long things may take; the first three as in other Kubernetes components."""

    lease_s: int = 15  # without a change, until another replica may take the Lease
    renew_deadline_s: float = 10.0  # all acts of a leader that cannot renew have ended by then
    retry_s: float = 2.0  # from one request to the next
    act_s: float  # the longest time from the permission of an act to the end of its request

    def __post_init__(self) -> None:
        """Check the order on which the law rests."""
        assert 0 < self.retry_s + self.act_s < self.renew_deadline_s < self.lease_s


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """Whether this process leads, as of the last answer. May be read by any thread."""

    term: str = ""  # "": it does not lead
    why_not: str = ""  # why it does not lead
    acts_from_s: float = 0.0
    renewed_s: float = 0.0
    problem: str = ""  # of the last request that failed, until a write succeeds

    def hindrance(self, now_s: float, durations: Durations) -> str:
        """Return why no act may begin at *now_s*; "": it may."""
        if not self.term:
            return self.why_not
        if now_s < self.acts_from_s:
            return (
                "the lease was not released by the leader before, which may still act: waiting "
                f"{self.acts_from_s - now_s:.0f} s"
            )
        if now_s > self.renewed_s + durations.renew_deadline_s - durations.act_s:
            reason = f" ({self.problem})" if self.problem else ""
            return f"the lease was not renewed for {now_s - self.renewed_s:.0f} s{reason}"
        return ""


class Elector:
    """One candidate. After each answer, `request` is what to send at `due_s`."""

    def __init__(self, identity: str, durations: Durations) -> None:
        """Begin by reading. *identity* is never used by another process."""
        self.request: Read | Write = Read()
        self.due_s = 0.0
        self.standing = Standing(why_not="the lease was not read yet")
        self.is_over = False  # lost or released; nothing is to be asked any more
        self.is_resigning = False  # nothing is written any more but a release
        self._identity = identity
        self._durations = durations
        self._seen: Lease | None = None
        self._seen_since_s = 0.0
        self._held: Lease | None = None  # as we wrote it
        self._is_second_try = False

    def found(self, lease: Lease | None, sent_s: float, now_s: float) -> None:
        """Go on after a read that was sent at *sent_s* and answered at *now_s*."""
        if self._held is not None:
            self._compare(self._held, lease, now_s)
            return
        if lease is None:
            self._seen = None
            # A write that is refused again and again is one problem, not a new one each time.
            problem = self.standing.problem
            self.standing = Standing(why_not="there is no lease yet", problem=problem)
            self._ask(self._written_as(None, transitions=0), now_s)
            return
        if self._seen is None or self._seen.version != lease.version:
            self._seen, self._seen_since_s = lease, now_s
        is_ours = lease.holder == self._identity  # an answer to us was lost
        if is_ours or not lease.holder or now_s >= self._free_from_s(lease, now_s):
            transitions = lease.transitions + (not is_ours)
            self._ask(self._written_as(lease, transitions=transitions), now_s)
            return
        self.standing = Standing(why_not=f"another replica, {lease.holder}, is the leader")
        self._ask(Read(), sent_s + self._durations.retry_s)

    def written(self, lease: Lease | None, sent_s: float, now_s: float) -> None:
        """Go on after a write; None: the Lease had changed, and nothing was written."""
        assert isinstance(self.request, Write)
        old = self.request.old
        if lease is None:
            self._look_again(sent_s, now_s)
        elif self.is_resigning:
            self.end(STOPPING)
        elif old is not None and old.version == lease.version:
            # Written twice within a microsecond of the wall clock: others see no renewal.
            self.failed("the lease did not change", sent_s, now_s)
        else:
            acts_from_s = self.standing.acts_from_s
            if self._held is None:
                acts_from_s = self._free_from_s(old, now_s)
            self._held = lease
            self._is_second_try = False
            self.standing = Standing(term=str(lease), acts_from_s=acts_from_s, renewed_s=sent_s)
            self._ask(self._renewed(lease), sent_s + self._durations.retry_s)

    def failed(self, problem: str, sent_s: float, now_s: float) -> None:
        """Go on after a request of which the outcome is not known.

        A leader keeps trying for as long as no other replica has taken the Lease: meanwhile it may
        not act, and if the version is still its own, nothing has acted in between.
        """
        if self.is_resigning:
            self.end(f"the lease could not be released ({problem})")
        elif self._held is not None:
            self.standing = msgspec.structs.replace(self.standing, problem=problem)
            self._ask(self._renewed(self._held), max(now_s, sent_s + self._durations.retry_s))
        else:
            self.standing = Standing(why_not=problem, problem=problem)
            self._ask(Read(), max(now_s, sent_s + self._durations.retry_s))

    def resign(self, now_s: float) -> None:
        """Give the Lease up. All acts have ended.

        A Lease under which no act could begin yet is left to expire, because a release would say
        that no leader before acts any more, either.
        """
        if self._held is None or now_s < self.standing.acts_from_s:
            self.end(STOPPING)
            return
        self.is_resigning = True
        self.standing = Standing(why_not=STOPPING)
        self._ask(self._renewed(self._held), now_s)

    def end(self, why: str) -> None:
        """Ask nothing and lead no more."""
        self.is_over = True
        self.standing = Standing(why_not=why)

    def _look_again(self, sent_s: float, now_s: float) -> None:
        """Read what has changed; a leader does so at once, but not again and again."""
        is_urgent = self._held is not None and not self._is_second_try
        self._is_second_try = is_urgent
        self._ask(Read(), now_s if is_urgent else sent_s + self._durations.retry_s)

    def _compare(self, held: Lease, found: Lease | None, now_s: float) -> None:
        """Go on as the leader if the Lease is still the one held; a version may be newer."""
        if found is None or found.uid != held.uid:
            self.end("the lease was deleted")
        elif str(found) != str(held):
            self.end(_why_lost(held, found))
        else:
            self._held = found
            self._ask(self._renewed(found), now_s)

    def _free_from_s(self, lease: Lease | None, now_s: float) -> float:
        """Return when no leader before this *lease* is replaced or created can act any more."""
        if lease is None:
            return now_s + self._durations.lease_s  # it may have been deleted a moment ago
        if lease.is_released:
            return self._seen_since_s
        return self._seen_since_s + max(self._durations.lease_s, lease.duration_s)

    def _renewed(self, held: Lease) -> Write:
        if not self.is_resigning:
            return self._written_as(held, transitions=held.transitions)
        return Write(old=held, holder="", transitions=held.transitions, duration_s=RELEASED_S)

    def _written_as(self, old: Lease | None, *, transitions: int) -> Write:
        return Write(
            old=old,
            holder=self._identity,
            transitions=transitions,
            duration_s=self._durations.lease_s,
        )

    def _ask(self, request: Read | Write, due_s: float) -> None:
        self.request, self.due_s = request, due_s


def _why_lost(held: Lease, found: Lease) -> str:
    if not found.holder:
        return "the holder was removed from the lease"
    if found.holder != held.holder:
        return f"another replica, {found.holder}, has taken the lease"
    return f"the lease names the term {found}, not {held}"
